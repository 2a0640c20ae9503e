"""OME-TIFF: valid by its schema, and read by tifffile as it was counted."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy
import pytest

import tagq
from test_image import FRAME, FRAMES, LINE, LINE_END, LINES, PIXELS, flim, scan

tifffile = pytest.importorskip("tifffile")
WORDS = dict(line=LINE, line_end=LINE_END, frame=FRAME, pixels=PIXELS, lines=LINES, frames="apart")


@pytest.fixture(scope="module")
def schema():
    xmlschema = pytest.importorskip("xmlschema")
    pytest.importorskip("ome_types")
    return xmlschema.XMLSchema(str(files("ome_types") / "ome-2016-06.xsd"))


def counted(tmp_path: Path, seed: int, micro_tick: str = "100ps") -> tagq.Run:
    time, channel, micro = scan(seed)
    return tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick=micro_tick, store=tmp_path / "scan")


def read(path: Path, schema, number: int = 0):
    """Returns axes, values, and the attributes of pixels and of the annotation; checks the description."""
    with tifffile.TiffFile(path) as file:
        assert file.is_ome
        text = file.ome_metadata
        series = file.series[number]
        axes, values = series.get_axes(squeeze=False), series.asarray(squeeze=False)
        # One sample for each pixel.
        assert axes[-1] == "S" and values.shape[-1] == 1
        # By its own count of pages.
        assert sum(len(of.pages) for of in file.series) == len(file.pages)
    schema.validate(text)
    import ome_types

    ome = ome_types.from_xml(text)
    pixels = ome.images[number].pixels
    assert (pixels.size_y, pixels.size_x) == values.shape[-3:-1]
    return axes[:-1], values[..., 0], ome


def modulo(ome) -> dict[str, str]:
    (annotation,) = ome.structured_annotations.xml_annotations
    (along,) = annotation.value.any_elements[0].children
    assert along.qname.endswith("ModuloAlongT")
    return along.attributes


def test_frames_are_times(tmp_path: Path, schema) -> None:
    image = counted(tmp_path, 4).image(**WORDS)
    image.save(tmp_path / "image.ome.tif")
    axes, values, ome = read(tmp_path / "image.ome.tif", schema)
    assert axes == "TZCYX" and values.dtype == "u4" and numpy.array_equal(values[:, 0, 0], image.counts)
    assert ome.images[0].description == image.header and ome.images[0].pixels.physical_size_x is None


@pytest.mark.parametrize(("bin", "range"), [("1t", ("0t", "60t")), ("2t", ("0t", "60t")), ("3t", ("12t", "57t")), ("60t", ("0t", "60t"))])
@pytest.mark.parametrize("micro_tick", ["1ps", "156.25ps", "96.97ps"])
def test_bins_are_the_axis_of_lifetimes(tmp_path: Path, schema, bin: str, range: tuple[str, str], micro_tick: str) -> None:
    image = counted(tmp_path, 5, micro_tick).image(micro=True, bin=bin, range=range, **WORDS)
    image.save(tmp_path / "cube.ome.tif")
    axes, values, ome = read(tmp_path / "cube.ome.tif", schema)
    bins = image.cube.shape[-1]
    assert axes == "THZCYX" and values.shape == (FRAMES, bins, 1, 1, LINES, PIXELS)
    assert numpy.array_equal(values[:, :, 0, 0], numpy.moveaxis(image.cube, 3, 1))
    along = modulo(ome)
    assert (along["Type"], along["TypeDescription"], along["Unit"]) == ("lifetime", "TCSPC", "ps")
    start, step, end = (float(along[name]) for name in ("Start", "Step", "End"))
    assert numpy.floor((end - start) / step) + 1 == bins == len(numpy.arange(start, end + step, step))
    tick = float(micro_tick[:-2])
    assert start == pytest.approx(int(range[0][:-1]) * tick, rel=1e-12)
    assert step == pytest.approx(int(bin[:-1]) * tick, rel=1e-12)


def test_lifetimes_are_named_channels(tmp_path: Path, schema) -> None:
    time, channel, micro, _ = flim(100)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    words = dict(line=LINE, line_end=LINE_END, pixels=10, lines=12, pulse_period="10ns")
    for method, names in [
        ("mean", []),
        ("exp", ["background"]),
        ("phasor", ["phasor_g", "phasor_g_err", "phasor_s", "phasor_s_err", "phasor_covariance"]),
    ]:
        image = run.image(lifetime=method, **words)
        image.save(tmp_path / "lifetimes.ome.tif", replace=True)
        axes, values, ome = read(tmp_path / "lifetimes.ome.tif", schema)
        channels = [channel.name for channel in ome.images[0].pixels.channels]
        assert channels == ["count", "lifetime_ns", "lifetime_ns_err", *names]
        assert axes == "TZCYX" and values.dtype == "f4" and values.shape == (1, 1, len(channels), 12, 10)
        columns = [image["count"], image["lifetime_s"] * 1e9, image["lifetime_s_err"] * 1e9, *(image[name] for name in names)]
        for plane, column in zip(values[0, 0], columns, strict=True):
            assert numpy.array_equal(plane.ravel(), column.astype("f4"), equal_nan=True)
    both = run.image(lifetime="mean", micro=True, **words)
    both.save(tmp_path / "both.ome.tif")
    _, cube, _ = read(tmp_path / "both.ome.tif", schema)
    # One frame: the bins alone are the times.
    assert numpy.array_equal(cube[:, 0, 0], numpy.moveaxis(both.cube[0], 2, 0))
    _, maps, _ = read(tmp_path / "both.ome.tif", schema, 1)
    assert numpy.array_equal(maps[0, 0, 0], both.counts[0])
