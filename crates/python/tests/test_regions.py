"""Regions of an image, compared with NumPy: sums over pixels by label."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import tagq
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
