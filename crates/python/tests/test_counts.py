"""Files of Becker & Hickl with counts, made here and read by sdtfile, too."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy
import pytest

import tagq

INFO = b"*IDENTIFICATION\r\n  ID : SPC Setup & Data File\r\n  Title : cells\r\n*END\r\n"
RANGE, GAIN, BINS = 5.0027859e-8, 4, 256
DECAY, PAGE, FCS, IMAGE, ZIPPED = 0x08, 0x11, 0x228, 0x68, 0x1000


def sdt(sdtfile, blocks: list[tuple[int, numpy.ndarray]], *, image=(0, 0)) -> bytes:
    """Returns a file with these blocks: the type, and the counts."""
    module = sdtfile.sdtfile
    header, block_header, description = (
        numpy.zeros(1, numpy.dtype(of)) for of in (module.FILE_HEADER, module.BLOCK_HEADER, module.MEASURE_INFO)
    )
    description["tac_r"], description["tac_g"], description["adc_re"] = RANGE, GAIN, BINS
    description["image_x"], description["image_y"] = image
    described = header.nbytes + len(INFO)
    at = described + description.nbytes
    header["revision"], header["header_valid"], header["chksum"] = 0x28F, 0x5555, 0x55AA
    header["info_offs"], header["info_length"] = header.nbytes, len(INFO)
    header["meas_desc_block_offs"], header["no_of_meas_desc_blocks"] = described, 1
    header["meas_desc_block_length"] = description.nbytes
    header["data_block_offs"], header["no_of_data_blocks"] = at, len(blocks)
    parts = [header.tobytes(), INFO, description.tobytes()]
    for kind, counts in blocks:
        data = counts.tobytes()
        block_header["block_type"], block_header["block_length"] = kind, len(data)
        if kind & ZIPPED:
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("data_block", data)
            data = packed.getvalue()
        block_header["data_offs"] = at + block_header.nbytes
        at += block_header.nbytes + len(data)
        block_header["next_block_offs"] = at
        parts += [block_header.tobytes(), data]
    return b"".join(parts)


def decay(draw: numpy.random.Generator, photons: float, lifetime: float = 2.5e-9) -> numpy.ndarray:
    """Returns the curve of a decay, whose photons scatter."""
    width = RANGE / GAIN / BINS
    share = numpy.exp(-numpy.arange(BINS) * width / lifetime) * -numpy.expm1(-width / lifetime)
    return draw.poisson(photons * share)


def test_decay_curves_are_those_of_sdtfile_and_are_fitted(tmp_path: Path) -> None:
    sdtfile = pytest.importorskip("sdtfile")
    draw = numpy.random.default_rng(1)
    curves = [decay(draw, photons).astype("<u4") for photons in (300_000, 70_000)]
    page = numpy.stack([decay(draw, 900), decay(draw, 500)]).astype("<u2")
    blocks = [(DECAY | 0x100, curves[0]), (FCS, numpy.zeros(2 * BINS)), (DECAY | 0x100, curves[1]), (PAGE | ZIPPED, page)]
    path = tmp_path / "decay.sdt"
    path.write_bytes(sdt(sdtfile, blocks))
    with sdtfile.SdtFile(path) as known:
        expected = numpy.concatenate([of for of in known.data if of.dtype != "f8"])
        times = known.times[0]
    run = tagq.open(path)
    micro = run.micro()
    assert numpy.array_equal(numpy.asarray(micro["count"]).reshape(4, BINS), expected)
    # Bins are centred on whole units. sdtfile has the range with its 24 bits, and tagq its shortest decimal number.
    assert numpy.allclose(numpy.asarray(micro["delay_s"])[:BINS], times, rtol=1e-7)
    wide = run.micro([3, 1], bin="4t", range="8t..208t")
    sums = expected[[2, 0], 8:208].reshape(2, 50, 4).sum(axis=-1)
    assert numpy.array_equal(numpy.asarray(wide["count"]).reshape(2, 50), sums)
    fitted = run.fit("decay", "micro", channels=[1])
    # There is no background: at its bound, the lifetime has an interval.
    lifetime, low, high = (float(fitted[f"tau_s{end}"][0]) for end in ("", "_low", "_high"))
    assert abs(lifetime - 2.5e-9) < 4 * (high - low) / 2 < 0.1e-9


def test_images_are_those_of_sdtfile(tmp_path: Path) -> None:
    sdtfile = pytest.importorskip("sdtfile")
    draw = numpy.random.default_rng(2)
    cubes = [numpy.stack([decay(draw, 40) for _ in range(12)]).astype("<u2") for _ in range(2)]
    path = tmp_path / "image.sdt"
    path.write_bytes(sdt(sdtfile, [(IMAGE | ZIPPED, cubes[0]), (IMAGE, cubes[1])], image=(4, 3)))
    with sdtfile.SdtFile(path) as known:
        first, second = known.data
        assert first.shape == (3, 4, BINS)
    run = tagq.open(path)
    image = run.image(channels=[2], micro=True)
    assert numpy.array_equal(image.cube, [second])
    both = run.image()
    photons = (first + second).sum(axis=-1)
    assert numpy.array_equal(numpy.squeeze(both.counts), photons)
    means = ((first + second) * numpy.arange(BINS)).sum(axis=-1) / photons * (RANGE / GAIN / BINS)
    assert numpy.allclose(numpy.asarray(both["micro_mean_s"]).reshape(3, 4), means)
    micro = run.micro()
    assert numpy.array_equal(numpy.asarray(micro["count"]).reshape(2, BINS), [first.sum(axis=(0, 1)), second.sum(axis=(0, 1))])


def test_what_needs_tags_is_refused(tmp_path: Path) -> None:
    sdtfile = pytest.importorskip("sdtfile")
    path = tmp_path / "decay.sdt"
    path.write_bytes(sdt(sdtfile, [(DECAY, numpy.arange(BINS, dtype="<u2"))]))
    run = tagq.open(path)
    for ask in (run.rates, lambda: run.g2(1, 2), lambda: run.coincidences(window="1ns"), lambda: str(run.tags()), run.delays):
        with pytest.raises(tagq.TagqError, match="holds counts and no tags"):
            ask()
    with pytest.raises(tagq.TagqError, match="no image"):
        run.image()
    with pytest.raises(tagq.TagqError, match="is for tags"):
        run.micro(trace="1s")
