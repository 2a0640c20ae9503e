"""Regions of an image, compared with NumPy: sums over pixels by label."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import tagq
from conftest import cli_json
from test_image import FRAME, FRAMES, LINE, LINE_END, LINES, PIXELS, scan

WORDS = dict(line=LINE, line_end=LINE_END, frame=FRAME, pixels=PIXELS, lines=LINES)
BINS = dict(micro=True, bin="1ns", range=("0ns", "6ns"))


def counted(tmp_path: Path) -> tagq.Run:
    time, channel, micro = scan(3)
    return tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")


def labels(dtype: str) -> numpy.ndarray:
    mask = numpy.random.default_rng(5).integers(0, 4, size=(LINES, PIXELS))
    return numpy.where(mask == 3, 100, mask).astype(dtype)


@pytest.mark.parametrize("dtype", ["u1", "<u2", "<i4", "<i8", "fortran", "bool"])
def test_regions_are_the_sums_of_numpy(tmp_path: Path, dtype: str) -> None:
    run = counted(tmp_path)
    mask = labels("u2" if dtype == "fortran" else dtype)
    numpy.save(tmp_path / "mask.npy", numpy.asfortranarray(mask) if dtype == "fortran" else mask)
    image = run.image(frames="apart", **BINS, **WORDS)
    regions = run.image(frames="apart", mask=tmp_path / "mask.npy", **BINS, **WORDS)
    found = numpy.unique(mask[mask > 0]).astype(int)
    assert numpy.array_equal(regions["label"], numpy.tile(found, FRAMES))
    assert numpy.array_equal(regions["frame"], numpy.repeat(numpy.arange(FRAMES), len(found)))
    of_pixels = mask.astype(int).ravel()
    sums = [numpy.bincount(of_pixels, frame.ravel(), minlength=101)[found] for frame in image.counts]
    assert numpy.array_equal(regions["count"].reshape(FRAMES, -1), sums)
    assert numpy.array_equal(regions["pixels"], numpy.tile(numpy.bincount(of_pixels)[found], FRAMES))
    cube = numpy.array([[image.cube[frame][mask == label].sum(0) for label in found] for frame in range(FRAMES)])
    labelled = regions.to_xarray()
    assert labelled["count"].dims == ("T", "label") and labelled["micro_counts"].dims == ("T", "label", "H")
    assert numpy.array_equal(labelled["micro_counts"], cube)
    assert numpy.array_equal(labelled["label"], found) and labelled["dwell_s"].attrs["units"] == "s"
    assert labelled["H"].attrs["units"] == "ns" and len(labelled["H"]) == 6
    together = run.image(mask=str(tmp_path / "mask.npy"), **WORDS).to_xarray()
    assert together["count"].dims == ("label",)
    assert numpy.array_equal(together["count"], numpy.sum(sums, axis=0))
    assert numpy.allclose(together["dwell_s"], labelled["dwell_s"].sum("T"), rtol=1e-12)
    with pytest.raises(AttributeError):
        _ = regions.counts


def test_dwell_times_are_those_of_numpy(tmp_path: Path) -> None:
    time, channel, _ = scan(3)
    run = counted(tmp_path)
    mask = labels("u4")
    numpy.save(tmp_path / "mask.npy", mask)
    low, high = 3_000, 12_345
    regions = run.image(mask=tmp_path / "mask.npy", from_=f"{low}ns", to=f"{high}ns", scan="two-way", **WORDS)
    starts, ends = time[channel == LINE], time[channel == LINE_END]
    # A range counts from the first tag on.
    low, high = low + time[0], high + time[0]
    ticks = numpy.zeros(101, dtype="i8")
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        line = number % LINES
        inside = numpy.arange(max(start, low), min(end, high))
        pixel = (inside - start) * PIXELS // (end - start)
        pixel = PIXELS - 1 - pixel if line % 2 else pixel
        numpy.add.at(ticks, mask[line, pixel], 1)
    assert numpy.allclose(regions["dwell_s"] * 1e9, ticks[[1, 2, 100]], rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("compression", "options"),
    [(None, {}), ("zlib", {}), ("lzw", {}), ("packbits", {}), ("zlib", {"predictor": True}), (None, {"tile": (16, 16)}),
     (None, {"byteorder": ">"}), (None, {"bigtiff": True}), (None, {"rowsperstrip": 2}), (None, {"imagej": True})],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4"])
def test_masks_of_tifffile_are_those_of_numpy(tmp_path: Path, compression: str | None, options: dict, dtype: str) -> None:
    tifffile = pytest.importorskip("tifffile")
    if options.get("imagej") and dtype == "u4":
        pytest.skip("ImageJ has no integers of 32 bits")
    if compression is not None:
        pytest.importorskip("imagecodecs")
    run = counted(tmp_path)
    mask = labels(dtype)
    numpy.save(tmp_path / "mask.npy", mask)
    tifffile.imwrite(tmp_path / "mask.tif", mask, compression=compression, **options)
    expected = run.image(mask=tmp_path / "mask.npy", **WORDS)
    read = run.image(mask=tmp_path / "mask.tif", **WORDS)
    assert read.query["mask"] == expected.query["mask"]
    assert numpy.array_equal(read["count"], expected["count"])


def test_other_tiffs_are_refused(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    run = counted(tmp_path)
    colours = dict(photometric="rgb")
    for name, array, options, reason in [
        ("floats", labels("f4"), {}, "floats"),
        ("colours", numpy.zeros((LINES, PIXELS, 3), "u1"), colours, "colours"),
        ("pages", numpy.zeros((3, LINES, PIXELS), "u2"), dict(photometric="minisblack"), "several pages"),
        ("turned", labels("u2").T, {}, "interchanged"),
        ("white", labels("u2"), dict(photometric="miniswhite"), "white where they are 0"),
    ]:
        tifffile.imwrite(tmp_path / f"{name}.tif", array, **options)
        with pytest.raises(tagq.QuestionError, match=reason):
            run.image(mask=tmp_path / f"{name}.tif", **WORDS)


def decays(seed: int, path: Path) -> tuple[tagq.Run, numpy.ndarray]:
    """A scan of 6 lines of 8 pixels of 20 us each with 400 photons: a lifetime of 2 ns in the left half, of 3 ns and 0.5 ns in the
    right one, after a response of 100 ps at 1 ns."""
    random = numpy.random.default_rng(seed)
    lines, pixels, photons, dwell = 6, 8, 400, 20_000
    starts = numpy.arange(lines) * 200_000
    at = numpy.sort(random.integers(0, dwell, (lines, pixels, photons)), axis=-1)
    time = starts[:, None, None] + numpy.arange(pixels)[None, :, None] * dwell + at
    is_right = numpy.broadcast_to(numpy.arange(pixels)[None, :, None] >= 4, time.shape)
    right = numpy.where(random.random(time.shape) < 0.7, 3.0, 0.5)
    tau = numpy.where(is_right, right, 2.0)
    micro = (random.normal(1.0, 0.1, time.shape) + random.exponential(tau)) % 12.5 / 0.05
    times = numpy.concatenate([time.ravel(), starts, starts + pixels * dwell])
    channel = numpy.repeat([1, 3, 4], [time.size, lines, lines]).astype("u2")
    micros = numpy.concatenate([micro.ravel(), numpy.zeros(2 * lines)]).astype("u2")
    # The markers of a line are around its photons.
    order = numpy.lexsort((numpy.where(channel == 3, -1, channel), times))
    run = tagq.from_arrays(
        times[order], channel[order], tick="1ns", micro=micros[order], micro_tick="50ps", store=path
    )
    return run, numpy.where(numpy.arange(lines * pixels).reshape(lines, pixels) % pixels >= 4, 9, 2)


def error(fitted: tagq.Result, name: str, row: int) -> float:
    """The error, or near a bound half of the interval."""
    low, err, high = (fitted[f"{name}_{end}"][row] for end in ("low", "err", "high"))
    return (high - low) / 2 if numpy.isnan(err) else err


def test_decays_of_regions_are_fitted(tmp_path: Path) -> None:
    run, mask = decays(4, tmp_path / "scan")
    numpy.save(tmp_path / "mask.npy", mask.astype("u1"))
    image = dict(line=3, line_end=4, pixels=8, lines=6, range="0ns..12.5ns", channels=[1], mask=tmp_path / "mask.npy")
    words = dict(irf="auto", pulse_period="12.5ns", pile_up="ignored")
    with pytest.warns(tagq.TagqWarning, match="label 9: the model does not describe the counts"):
        fitted = run.fit("decay", "image", **words, **image)
    assert fitted.columns[0] == "label" and list(fitted["label"]) == [2, 9]
    # One exponential describes the left half alone.
    assert abs(fitted["tau_s"][0] - 2e-9) < 4 * error(fitted, "tau_s", 0)
    assert 0.7 < fitted["deviance_ratio"][0] < 1.3 < fitted["deviance_ratio"][1]
    with pytest.warns(tagq.TagqWarning, match="label 2: no second exponential"):
        two = run.fit("decay", "image", exponentials="auto", **words, **image)
    for name, truth in (("tau_1_s", 3e-9), ("tau_2_s", 0.5e-9), ("fraction_1", 0.7), ("centre_s", 0.975e-9), ("fwhm_s", 0.23548e-9)):
        assert abs(two[name][1] - truth) < 4 * error(two, name, 1) < 0.5 * truth, name
    assert numpy.isnan(two["tau_2_s"][0]) and abs(two["tau_1_s"][0] - 2e-9) < 4 * error(two, "tau_1_s", 0)
    # The same of an answer that was counted, and of the command.
    counted = run.image(micro=True, **image)
    with pytest.warns(tagq.TagqWarning, match="label 2: no second exponential"):
        assert counted.fit("decay", exponentials=2, **words).rows == two.rows
    labelled = fitted.to_xarray()
    assert labelled["tau_s"].dims == ("label",) and list(labelled["label"]) == [2, 9]
    assert fitted.plot().figure.axes[1].get_ylabel() == "residuals"
    answer = cli_json(
        "fit", "decay", "--irf", "auto", "--pulse-period", "12.5ns", "--pile-up", "ignored", "image", "--line", 3, "--line-end", 4,
        "--pixels", 8, "--lines", 6, "--range", "0ns..12.5ns", "--channels", 1, "--mask", tmp_path / "mask.npy", tmp_path / "scan",
    )  # fmt: skip
    assert answer["rows"] == fitted.rows and answer["query"] == fitted.query


def test_pulses_of_regions_are_those_of_their_dwell_time(tmp_path: Path) -> None:
    run, mask = decays(5, tmp_path / "scan")
    numpy.save(tmp_path / "mask.npy", (mask % 9).astype("u1"))
    image = dict(line=3, line_end=4, pixels=8, lines=6, range="0ns..12.45ns", channels=[1], mask=tmp_path / "mask.npy")
    # 400 photons in 20 us, which are 1,600 pulses.
    with pytest.warns(tagq.TagqWarning, match="label 2: 25.0 % photons a pulse.*changes tau"):
        run.fit("decay", "image", irf="auto", pulse_period="12.5ns", **image)


def test_fits_of_images_without_regions_are_refused(tmp_path: Path) -> None:
    run, _ = decays(6, tmp_path / "scan")
    with pytest.raises(tagq.QuestionError, match="mask"):
        run.fit("decay", "image", line=3, line_end=4, pixels=8, lines=6)
    with pytest.raises(tagq.QuestionError, match="regions of a `mask`"):
        run.image(line=3, line_end=4, pixels=8, lines=6, micro=True).fit("decay")
