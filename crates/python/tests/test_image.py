"""Images by markers, compared with a decoding in NumPy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy
import pytest

import tagq

LINE, LINE_END, FRAME = 4, 5, 6
PIXELS, LINES, FRAMES = 7, 5, 3


def scan(seed: int) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ma.MaskedArray]:
    """Returns times, channels and micro times of a scan with lines of slightly different lengths."""
    draw = numpy.random.default_rng(seed)
    tags = []
    time = 1_000
    for _ in range(FRAMES):
        tags.append((time, FRAME, None))
        for _ in range(LINES):
            length = int(draw.integers(900, 1_100))
            tags += [(time, LINE, None), (time + length, LINE_END, None)]
            at = draw.integers(time - 50, time + length + 50, size=200)
            tags += [(int(t), int(draw.integers(1, 3)), int(draw.integers(0, 60))) for t in at]
            time += length + int(draw.integers(0, 200))
    tags.sort(key=lambda tag: tag[0])
    micro = numpy.ma.MaskedArray([m or 0 for *_, m in tags], mask=[m is None for *_, m in tags], dtype="u2")
    return numpy.array([t for t, *_ in tags]), numpy.array([c for _, c, _ in tags], dtype="u2"), micro


def decoded(time, channel, micro, *, two_way: bool, sine: float | None, edges) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the photons of each pixel, and those of each bin of micro times."""
    counts = numpy.zeros((FRAMES, LINES, PIXELS), dtype="i8")
    cube = numpy.zeros((FRAMES, LINES, PIXELS, len(edges) - 1), dtype="i8")
    starts, ends, frames = (time[channel == of] for of in (LINE, LINE_END, FRAME))
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        frame = int(numpy.searchsorted(frames, start, side="right")) - 1
        line = number % LINES
        of_line = (channel < LINE) & (start <= time) & (time < end)
        ticks = time[of_line] - start
        if sine is None:
            pixel = ticks * PIXELS // (end - start)
        else:
            k = numpy.arange(PIXELS + 1)
            first = 0.5 + numpy.arcsin((2 * k / PIXELS - 1) * sine) / (2 * numpy.arcsin(sine))
            pixel = numpy.searchsorted(numpy.ceil((end - start) * first), ticks, side="right") - 1
        if two_way and line % 2:
            pixel = PIXELS - 1 - pixel
        numpy.add.at(counts, (frame, line, pixel), 1)
        bins = numpy.searchsorted(edges, micro[of_line].data, side="right") - 1
        inside = (bins >= 0) & (bins < len(edges) - 1)
        numpy.add.at(cube, (frame, line, pixel[inside], bins[inside]), 1)
    return counts, cube


@pytest.mark.parametrize("two_way", [False, True])
@pytest.mark.parametrize(("sine", "part"), [(None, None), (80, "amplitude"), (100, "amplitude"), (60, "period")])
def test_pixels_are_those_of_numpy(tmp_path: Path, two_way: bool, sine: int | None, part: str | None) -> None:
    time, channel, micro = scan(3)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    amplitude = None if sine is None else numpy.sin(sine / 200 * numpy.pi) if part == "period" else sine / 100
    counts, cube = decoded(time, channel, micro, two_way=two_way, sine=amplitude, edges=numpy.arange(0, 61, 10))
    how = {(False, False): "one-way", (True, False): "two-way", (False, True): "sinusoidal"}
    words = dict(
        line=LINE,
        line_end=LINE_END,
        frame=FRAME,
        pixels=PIXELS,
        lines=LINES,
        scan=how.get((two_way, sine is not None), "two-way-sinusoidal"),
        **({} if sine is None else {"sine": sine, "sine_of": part}),
    )
    image = run.image(frames="apart", micro=True, bin="1ns", range=("0ns", "6ns"), **words)
    assert image.counts.shape == (FRAMES, LINES, PIXELS) and numpy.array_equal(image.counts, counts)
    assert image.cube.shape == (FRAMES, LINES, PIXELS, 6) and numpy.array_equal(image.cube, cube)
    together = run.image(**words)
    assert numpy.array_equal(together.counts, counts.sum(axis=0, keepdims=True))
    assert together.query["seen"]["photons_in_pixels"] == counts.sum()
    with pytest.raises(AttributeError, match="micro=True"):
        _ = together.cube
    with pytest.raises(AttributeError, match="only images"):
        _ = run.rates().counts


def test_tiff_is_read_by_others(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    time, channel, micro = scan(4)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    words = dict(line=LINE, line_end=LINE_END, frame=FRAME, pixels=PIXELS, lines=LINES, frames="apart")
    image = run.image(**words)
    image.save(tmp_path / "image.tif")
    assert numpy.array_equal(tifffile.imread(tmp_path / "image.tif"), image.counts)
    cube = run.image(micro=True, bin="2ns", range=("0ns", "6ns"), **words)
    cube.save(tmp_path / "cube.tif")
    pages = tifffile.imread(tmp_path / "cube.tif").reshape(FRAMES, 3, LINES, PIXELS)
    assert numpy.array_equal(pages, numpy.moveaxis(cube.cube, 3, 1))


def test_detectors_are_apart(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    time, channel, micro = scan(3)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    options = dict(line=LINE, line_end=LINE_END, frame=FRAME, pixels=PIXELS, lines=LINES, frames="apart", micro=True)
    result = run.image(**options, detectors="apart")
    each = [run.image(**options, channels=[of]) for of in (1, 2)]
    assert result.counts.shape == (FRAMES, 2, LINES, PIXELS)
    assert (result.counts == numpy.stack([of.counts for of in each], axis=1)).all()
    array = result.to_xarray()
    assert array.dims == ("T", "C", "Y", "X", "H")
    assert array["C"].values.tolist() == [1, 2]
    bins = min(of.cube.shape[-1] for of in each)
    assert (array.values[..., :bins] == numpy.stack([of.cube[..., :bins] for of in each], axis=1)).all()
    tiff = tmp_path / "detectors.tif"
    run.image(**{**options, "micro": False}, detectors="apart").save(tiff)
    with tifffile.TiffFile(tiff) as file:
        pages = [series.asarray() for series in file.series]
        assert [series.name for series in file.series] == ["counts of channel 1", "counts of channel 2"]
    assert (numpy.stack(pages, axis=1) == result.counts).all()
    # The first line and the first frame are left out.
    later = run.image(**{**options, "lines": LINES - 1}, first_line=1, first_frame=1)
    assert (later["frame"][:1] == [1]).all()
    assert (later.counts == result.counts.sum(axis=1)[1:, 1:]).all()


def test_a_lost_line_is_put_in(tmp_path: Path) -> None:
    time, channel, micro = scan(4)
    # The second line of the second frame has lost both of its markers.
    lost = numpy.concatenate([numpy.flatnonzero(channel == of)[[LINES + 1]] for of in (LINE, LINE_END)])
    kept = numpy.delete(numpy.arange(len(time)), lost)
    run = tagq.from_arrays(time[kept], channel[kept], tick="1ns", store=tmp_path / "scan")
    options = dict(line=LINE, line_end=LINE_END, frame=FRAME, pixels=PIXELS, lines=LINES, frames="apart")
    with pytest.warns(tagq.TagqWarning, match="1 with fewer than 5 lines"):
        shifted = run.image(**options)
    with pytest.warns(tagq.TagqWarning, match="put in 1 line start, 1 line end"):
        repaired = run.image(**options, repair=True)
    assert repaired.query["seen"]["repaired"] == {
        "line_starts_added": 1, "line_ends_added": 1, "frame_markers_added": 0, "double_markers_left_out": 0,
    }
    whole, _ = decoded(time, channel, micro, two_way=False, sine=None, edges=[0, 1])
    others = [line for line in range(LINES) if line != 1]
    assert (repaired.counts[:, others] == whole[:, others]).all()
    assert (shifted.counts[1, 2:] != whole[1, 2:]).any()


def test_an_image_is_drawn_from_the_top(tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    time, channel, micro = scan(5)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    image = run.image(line=LINE, line_end=LINE_END, frame=FRAME, pixels=PIXELS, lines=LINES)
    given = pyplot.subplots()[1]
    for ax in (image.plot(), image.plot(given), image.plot(given)):
        low, high = ax.get_ylim()
        assert low > high and ax.get_aspect() == 1
        mesh = ax.collections[-1]
        drawn = numpy.asarray(mesh.get_array()).reshape(LINES, PIXELS)
        # The rows of the mesh go with their edges: those of the last line come first.
        assert numpy.array_equal(drawn[::-1], image.counts[0])
    pyplot.close("all")


def test_figures_of_lifetimes(tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    time, channel, micro, truth = flim(400)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    image = run.image(line=LINE, line_end=LINE_END, pixels=10, lines=12, pulse_period="10ns", lifetime="phasor")
    ax = image.plot(figure="phasor")
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("g", "s", 1)
    # All pixels are in cells, and lifetimes are on the semicircle.
    assert numpy.nansum(ax.collections[0].get_array().filled(0)) == 120
    circle = ax.lines[0].get_xydata()
    assert numpy.allclose(numpy.hypot(circle[:, 0] - 0.5, circle[:, 1]), 0.5)
    marks = {text.get_text(): text.xy for text in ax.texts}
    angle = 2 * numpy.pi * 0.2
    assert numpy.allclose(marks["2 ns"], (1 / (1 + angle**2), angle / (1 + angle**2)))
    ax = image.plot(figure="histogram")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("lifetime (ns)", "pixels")
    ax = image.plot(brightness=True)
    drawn = numpy.asarray(ax.collections[0].get_array()).reshape(12, 10, 3)[::-1]
    # Short lifetimes are blue and long ones orange, and all pixels have about as many photons.
    assert (drawn[:, :4, 2] > drawn[:, :4, 0]).mean() > 0.9 and (drawn[:, 4:, 0] > drawn[:, 4:, 2]).mean() > 0.9
    image.save(tmp_path / "phasors.svg", figure="phasor")
    assert "2 ns" in (tmp_path / "phasors.svg").read_text(encoding="utf-8")
    for words, reason in (({"figure": "pie"}, "none of map"), ({"figure": "phasor", "quantity": "count"}, "map and histogram")):
        with pytest.raises(tagq.QuestionError, match=reason):
            image.plot(**words)
    with pytest.raises(tagq.QuestionError, match="map of an image"):
        run.rates().plot(brightness=True)
    pyplot.close("all")


def flim(
    each: int, lifetimes: tuple[float, float] = (0.8, 2.4), background: float = 0.04, seed: int = 11
) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ma.MaskedArray, numpy.ndarray]:
    """Returns times, channels and micro times of a scan of 12 x 10 pixels, in units of 100 ps with pulses every 10 ns, and
    the lifetime of each pixel in nanoseconds. The response is 2.0 ns late, with a jitter of 0.15 ns."""
    draw = numpy.random.default_rng(seed)
    lines, pixels, length = 12, 10, 10_000
    truth = numpy.where(numpy.arange(pixels) < 4, *lifetimes) * numpy.ones((lines, 1))
    starts = numpy.arange(lines) * 20_000
    line, pixel = (of.ravel() for of in numpy.indices((lines, pixels)))
    line, pixel = (numpy.repeat(of, each) for of in (line, pixel))
    at = starts[line] + pixel * 1_000 + draw.integers(0, 1_000, line.size)
    decay = draw.normal(2.0, 0.15, line.size) + draw.exponential(truth[line, pixel])
    flat = draw.random(line.size) < background
    micro = numpy.where(flat, draw.random(line.size) * 10, decay) % 10 / 0.1
    time = numpy.concatenate([at, starts, starts + length])
    channel = numpy.repeat([1, LINE, LINE_END], [line.size, lines, lines]).astype("u2")
    order = numpy.lexsort((channel != LINE, time))
    micro = numpy.ma.MaskedArray(numpy.concatenate([micro.astype("u2"), numpy.zeros(2 * lines, "u2")]), mask=channel != 1)
    return time[order], channel[order], micro[order], truth


@pytest.mark.parametrize("harmonic", [1, 2])
def test_a_reference_calibrates_as_in_phasorpy(tmp_path: Path, harmonic: int) -> None:
    cubes, runs = [], {}
    scan = dict(line=LINE, line_end=LINE_END, pixels=10, lines=12)
    for name, light in (("scan", flim(400)), ("dye", flim(900, (1.7, 1.7), 0.02, 3))):
        time, channel, micro, _ = light
        run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / name)
        cubes.append(run.image(micro=True, range=("0ns", "10ns"), **scan).cube[0].astype(float))
        runs[name] = run
    words = dict(scan, pulse_period="10ns", lifetime="phasor", harmonic=harmonic)
    image = runs["scan"].image(irf=str(tmp_path / "dye"), reference_lifetime="1.7ns", **words)
    used = image.query["lifetime"]
    response = used["response"]
    assert response["kind"] == "reference" and response["photons"] == cubes[1].sum()
    # 2 % of 108,000 photons.
    assert abs(response["background"] - 2_160) < 3 * response["background_err"]
    wave = numpy.exp(2j * numpy.pi * harmonic * (numpy.arange(100) + 0.5) / 100)
    backgrounds = (used["background_per_pixel"], response["background"])
    counts = (cubes[0], cubes[1].sum(axis=(0, 1)))
    measured, dye = (
        (of @ wave - less * wave.mean()) / (of.sum(axis=-1) - less) for of, less in zip(counts, backgrounds, strict=True)
    )
    ideal = 1 / (1 - 2j * numpy.pi * harmonic * 0.17)
    # The phase of the response is that of bins whose unit k is at k: half a bin earlier.
    assert numpy.isclose(response["modulation"], abs(dye / ideal))
    turned = numpy.angle(dye / ideal / numpy.exp(1j * response["phase"]))
    assert numpy.isclose(turned, numpy.pi * harmonic / 100)
    expected = measured / dye * ideal
    phasors = (image["phasor_g"] + 1j * image["phasor_s"]).reshape(12, 10)
    assert numpy.allclose(phasors, expected, rtol=1e-9)
    # The common error of the phase, as a time, is far below that of a pixel with 400 photons.
    assert 0 < response["phase_err"] < 0.02 and 0 < response["modulation_err"] < 0.02
    calibrate = pytest.importorskip("phasorpy.lifetime").phasor_calibrate
    by_phasorpy = calibrate(measured.real, measured.imag, 1.0, dye.real, dye.imag, 100.0 * harmonic, 1.7)
    assert numpy.allclose(phasors, by_phasorpy[0] + 1j * by_phasorpy[1], rtol=1e-6)


def test_lifetimes_are_those_of_numpy(tmp_path: Path) -> None:
    """Phasors and mean arrival times by their definitions, from the counts of micro times alone."""
    time, channel, micro, truth = flim(400)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    scan = dict(line=LINE, line_end=LINE_END, pixels=10, lines=12)
    words = dict(scan, pulse_period="10ns")
    cube = run.image(micro=True, range=("0ns", "10ns"), **scan).cube[0].astype(float)
    for harmonic in (1, 2):
        image = run.image(lifetime="phasor", harmonic=harmonic, **words)
        used = image.query["lifetime"]
        background, response = used["background_per_pixel"], used["response"]
        omega = 2 * numpy.pi * harmonic / used["period_s"]
        # A unit k is at k; a Gaussian that is counted in bins is smeared by them, as the decays are.
        angles = omega * numpy.arange(100) * 1e-10
        sums = cube @ numpy.exp(1j * angles) - background * numpy.exp(1j * angles).mean()
        sigma = response["fwhm_s"] / 2.354820045
        irf = numpy.exp(1j * omega * response["centre_s"] - (omega * sigma) ** 2 / 2) * numpy.sinc(omega * 1e-10 / 2 / numpy.pi)
        phasors = sums / (cube.sum(axis=-1) - background) / irf
        assert numpy.allclose(image["phasor_g"].reshape(12, 10), phasors.real, atol=2e-3)
        assert numpy.allclose(image["phasor_s"].reshape(12, 10), phasors.imag, atol=2e-3)
        assert numpy.allclose(image.lifetimes[0], phasors.imag / phasors.real / omega, rtol=5e-3)
    mean = run.image(lifetime="mean", **words)
    used = mean.query["lifetime"]
    after = (numpy.arange(100) * 1e-10 - used["response"]["centre_s"] + 5e-10) % 10e-9 - 5e-10
    net = cube.sum(axis=-1) - used["background_per_pixel"]
    measured = (cube @ after - used["background_per_pixel"] * after.mean()) / net
    # The folded mean of an exponential, less half a bin in which it begins late.
    taus = numpy.linspace(0.3e-9, 9e-9, 20_000)
    expected = taus - 10e-9 / numpy.expm1(10e-9 / taus)
    found = numpy.interp(measured, expected, taus)
    assert numpy.allclose(mean.lifetimes[0], found, rtol=0.08, atol=6e-11)
    for method in ("mean", "phasor", "exp"):
        image = run.image(lifetime=method, **words)
        assert image.lifetimes.shape == (1, 12, 10)
        pulls = (image.lifetimes[0] - truth * 1e-9) / image["lifetime_s_err"].reshape(12, 10)
        assert 0.6 < (pulls**2).mean() < 1.5, method
    blocks = run.image(lifetime="exp", bin_pixels=5, **words)
    assert blocks.lifetimes.shape == (1, 3, 2) and blocks.counts.shape == (1, 3, 2)
    assert blocks.counts.sum() == cube.sum() and "Gaussian" in str(blocks)
    with pytest.raises(AttributeError, match='lifetime="auto"'):
        _ = run.image(**scan).lifetimes
    with pytest.raises(tagq.QuestionError, match="none of auto, mean, phasor, exp"):
        run.image(lifetime="likelihood", **words)


def test_a_real_image_is_that_of_ptufile(tmp_path: Path) -> None:
    ptufile = pytest.importorskip("ptufile")
    if "TAGQ_REAL_DATA" not in os.environ:
        pytest.skip("TAGQ_REAL_DATA names no folder of real data")
    file = tmp_path / "cells.ptu"
    shutil.copyfile(Path(os.environ["TAGQ_REAL_DATA"]) / "instruments/picoharp300_t3_image.ptu", file)
    with ptufile.PtuFile(file) as ptu:
        known = ptu.decode_image(channel=0, keepdims=False)
    run = tagq.ingest(file)
    image = run.image(micro=True, range=("0t", f"{known.shape[-1]}t"))
    assert numpy.array_equal(image.cube, known)
    assert numpy.array_equal(image.counts, known.sum(axis=-1))


@pytest.mark.parametrize("two_way", [False, True])
def test_a_simulated_scan_is_that_of_ptufile(tmp_path: Path, two_way: bool) -> None:
    ptufile = pytest.importorskip("ptufile")
    file = tmp_path / "scan.ptu"
    words = dict(fluorescence="3ns", disc="1ns", rate="2MHz", pulsed="25ns", delays={1: "2ns"}, channels=1, tick="50ps")
    tagq.simulate(file, scan=(12, 8, 3), dwell="20us", two_way=two_way, **words)
    with ptufile.PtuFile(file) as ptu:
        assert ptu.is_image and ptu.is_bidirectional == two_way
        known = ptu.decode_image(channel=0, keepdims=False)
    image = tagq.ingest(file).image(micro=True, frames="apart", range=("0t", f"{known.shape[-1]}t"))
    assert numpy.array_equal(image.cube, known)
    # 3 frames of 96 pixels of 20 us at 2 MHz: 11,520, give or take the square root.
    assert abs(int(known.sum()) - 11_520) < 540


def _with_records(path: Path, records: numpy.ndarray, header: bytes) -> None:
    """Writes a PTU with these records."""
    at = header.index(b"TTResult_NumberOfRecords") + 40
    path.write_bytes(header[:at] + len(records).to_bytes(8, "little") + header[at + 8 :] + records.tobytes())


def _frames(file: Path, bins: int) -> tuple[numpy.ndarray, dict[str, int]]:
    """Returns the cubes of both channels of all frames, and the markers and photons that were seen."""
    shutil.rmtree(file.with_name(f"{file.name}.tagq"), ignore_errors=True)
    run = tagq.ingest(file)
    words = dict(micro=True, frames="apart", range=("0t", f"{bins}t"))
    images = [run.image(channels=channel, **words) for channel in (1, 2)]
    return numpy.stack([image.cube for image in images], axis=3), images[0].query["seen"]


@pytest.mark.filterwarnings("ignore::tagq.TagqWarning")
def test_lost_and_double_markers_beside_ptufile(tmp_path: Path) -> None:
    """Three frames of two channels, written by ptufile, with markers left out or twice: pixel by pixel where the definitions agree, else
    what each does."""
    ptufile = pytest.importorskip("ptufile")
    if not hasattr(ptufile, "imwrite"):
        pytest.skip("an older ptufile, which writes nothing")
    file, bins = tmp_path / "scan.ptu", 16
    written = numpy.random.default_rng(1).poisson(1.5, (3, 6, 5, 2, bins)).astype("u4")
    ptufile.imwrite(file, written, 25e-9, 25e-9 / bins)
    with ptufile.PtuFile(file) as ptu:
        start, count = ptu.record_offset, ptu.number_records
    content = file.read_bytes()
    header, records = content[:start], numpy.frombuffer(content[start : start + 4 * count], "u4")
    # PicoHarp, T3: channel 15 has the bits of markers in place of a micro time, and none for an overflow of the 16 bits of sync pulses.
    marker = numpy.where(records >> 28 == 15, records >> 16 & 0xFFF, 0)
    lines, ends, frames = (numpy.flatnonzero(marker == bit) for bit in (1, 2, 4))
    assert (len(lines), len(ends), len(frames)) == (18, 18, 3)
    # Line 2 of frame 1.
    line, end, frame = lines[8], ends[8], frames[0]

    def again(at: int, later: int) -> numpy.ndarray:
        """Returns the records with a marker once more, so many sync pulses later."""
        more = records[at] + numpy.uint32(later)
        place = at + 1
        while (records[place] & 0xFFFF) < (more & 0xFFFF):
            place += 1
        return numpy.insert(records, place, more)

    def both(changed: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray, dict[str, int]]:
        _with_records(file, changed, header)
        with ptufile.PtuFile(file) as ptu:
            # The pixels of a line by its markers.
            known = ptu.decode_image(pixel_time=0)
        return known, *_frames(file, bins)

    for name, changed, seen in [
        ("all", records, {}),
        ("no start", numpy.delete(records, line), {"line_ends_without_start": 1, "frames_with_fewer_lines": 1}),
        ("no start and no end", numpy.delete(records, [line, end]), {"line_starts": 17, "frames_with_fewer_lines": 1}),
        ("start twice", again(line, 0), {"line_starts_without_end": 1, "frames_with_more_lines": 1}),
        ("end twice", again(end, 0), {"line_ends_without_start": 1}),
        # It ends the next line, too.
        ("end again in the next line", again(end, 20), {"line_ends_without_start": 1}),
        ("no frame", numpy.delete(records, frame), {"frames_with_lines": 2, "frames_with_more_lines": 1}),
    ]:
        known, ours, found = both(changed)
        assert known.sum() > 2_000 and numpy.array_equal(ours, known), name
        assert {of: found[of] for of in seen} == seen, name
        assert name != "all" or numpy.array_equal(ours, written)

    # Without its end ptufile gives a line the length that the header states; here it is in no pixel.
    known, ours, found = both(numpy.delete(records, end))
    assert numpy.array_equal(known, written) and found["line_starts_without_end"] == 1
    assert not ours[1, 2].any()
    ours[1, 2] = written[1, 2]
    assert numpy.array_equal(ours, written)
    # A start within a line: both number it as a line of its own. For ptufile the line before ends there; here it has no end.
    known, ours, found = both(again(line, 20))
    assert 0 < known[1, 2].sum() < written[1, 2].sum() and not ours[1, 2].any() and found["line_starts_without_end"] == 1
    known[1, 2] = 0
    assert numpy.array_equal(ours, known)
    # Two frame markers in a row: here an empty frame; ptufile leaves the frame before them out.
    known, ours, found = both(again(frame, 0))
    assert numpy.array_equal(known, written[1:]) and found["frames_without_lines"] == 1
    assert numpy.array_equal(ours[[0, 2, 3]], written) and not ours[1].any()


@pytest.mark.parametrize("each", [2.4, 8, 40, 120])
def test_errors_of_pixels_cover(each: float) -> None:
    """4,096 pixels of one truth: counts and mean micro times scatter by their errors."""
    draw = numpy.random.default_rng(8)
    pixels, length, mean = 64, 64_000, 40.0
    starts = numpy.arange(pixels) * 100_000
    photons = draw.poisson(each * pixels * pixels)
    lines = draw.integers(0, pixels, photons)
    at = starts[lines] + draw.integers(0, length, photons)
    micro = numpy.floor(draw.exponential(mean, photons)).astype("u2")
    time = numpy.concatenate([at, starts, starts + length])
    channel = numpy.repeat([1, LINE, LINE_END], [photons, pixels, pixels]).astype("u2")
    order = numpy.argsort(time, kind="stable")
    micro = numpy.ma.MaskedArray(numpy.concatenate([micro, numpy.zeros(2 * pixels, "u2")]), mask=channel != 1)
    run = tagq.from_arrays(time[order], channel[order], tick="1ns", micro=micro[order], micro_tick="100ps")
    image = run.image(line=LINE, line_end=LINE_END, pixels=pixels, lines=pixels)
    # The mean of floor(t) is 1 / (exp(1 / mean) - 1).
    truth = 100e-12 / numpy.expm1(1 / mean)
    off = (image["micro_mean_s"] - truth) / image["micro_mean_s_err"]
    assert len(off) == pixels * pixels
    assert 0.8 < numpy.nanmean(off**2) < 1.25
    if each >= 40:
        # The error of a few counts is that of the count, not of its mean.
        counts = (image["count"] - each) / image["count_err"]
        assert 0.8 < numpy.mean(counts**2) < 1.25
