"""Labelled arrays of xarray: axes, units and values of every kind of result."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy
import pytest

import tagq
from test_image import FRAME, FRAMES, LINE, LINE_END, LINES, PIXELS, flim, scan

xarray = pytest.importorskip("xarray")


def test_an_image_has_the_axes_of_ptufile(tmp_path: Path) -> None:
    time, channel, micro = scan(3)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    words = dict(line=LINE, line_end=LINE_END, frame=FRAME, pixels=PIXELS, lines=LINES, frames="apart")
    image = run.image(**words)
    counts = image.to_xarray()
    assert counts.dims == ("T", "Y", "X") and counts.name == "counts" and numpy.array_equal(counts, image.counts)
    assert counts["T"].values.tolist() == list(range(FRAMES)) and "frequency" not in counts.attrs
    cube = run.image(micro=True, bin="2t", range=("6t", "20t"), **words)
    labelled = cube.to_xarray()
    assert labelled.dims == ("T", "Y", "X", "H") and numpy.array_equal(labelled, cube.cube)
    assert labelled["H"].attrs["units"] == "ns" and numpy.allclose(labelled["H"], [0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8])


def test_an_image_without_frames_has_axes_of_no_length(tmp_path: Path) -> None:
    time, channel, micro = scan(3)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    words = dict(line=LINE, line_end=LINE_END, pixels=PIXELS, lines=LINES, frames="apart")
    with pytest.warns(tagq.TagqWarning):
        image = run.image(micro=True, bin="2t", range=("6t", "20t"), from_="1h", **words)
    assert image.cube.shape == (0, LINES, PIXELS, 7) and image.cube.dtype == "int64"
    assert image.to_xarray().shape == (0, LINES, PIXELS, 7)


def test_lifetimes_are_a_dataset(tmp_path: Path) -> None:
    time, channel, micro, _ = flim(50)
    run = tagq.from_arrays(time, channel, tick="1ns", micro=micro, micro_tick="100ps", store=tmp_path / "scan")
    image = run.image(lifetime="phasor", line=LINE, line_end=LINE_END, pixels=10, lines=12, pulse_period="10ns", micro=True)
    maps = image.to_xarray()
    assert maps.attrs["frequency"] == pytest.approx(100) and maps.attrs["harmonic"] == 1
    assert maps["lifetime_s"].dims == ("T", "Y", "X") and maps["lifetime_s"].attrs == {"units": "s"}
    assert maps["phasor_s"].attrs == {} and maps["micro_counts"].dims == ("T", "Y", "X", "H")
    assert numpy.array_equal(maps["lifetime_s"], image.lifetimes, equal_nan=True)
    assert numpy.array_equal(maps["micro_counts"].sum("H"), maps["count"])


def test_a_real_image_is_that_of_ptufile(tmp_path: Path) -> None:
    ptufile = pytest.importorskip("ptufile")
    if "TAGQ_REAL_DATA" not in os.environ:
        pytest.skip("TAGQ_REAL_DATA names no folder of real data")
    file = tmp_path / "cells.ptu"
    shutil.copyfile(Path(os.environ["TAGQ_REAL_DATA"]) / "instruments/picoharp300_t3_image.ptu", file)
    with ptufile.PtuFile(file) as ptu:
        known = ptu.decode_image(channel=0, keepdims=False, asxarray=True)
    run = tagq.ingest(file)
    found = run.image(micro=True, range=("0t", f"{known.shape[-1]}t")).to_xarray()
    assert found.dims == known.dims and numpy.array_equal(found, known)
    for axis in ("X", "Y"):
        assert numpy.allclose(found[axis], known[axis], rtol=1e-9) and found[axis].attrs["units"] == "m"
    # phasorpy takes nanoseconds and MHz.
    assert numpy.allclose(found["H"], known["H"] * 1e9, rtol=1e-9)
    assert found.attrs["frequency"] == pytest.approx(known.attrs["frequency"] * 1e-6, rel=1e-9)
    curve = run.micro(channels=[1]).to_xarray()
    assert curve.dims == ("C", "H") and curve.attrs["frequency"] == found.attrs["frequency"]


def test_other_results_have_the_axes_of_their_query(run: tagq.Run) -> None:
    g2 = run.g2(1, 2, bin="5ns", range="100ns")
    labelled = g2.to_xarray()
    assert labelled["g2"].dims == ("delay",) and numpy.array_equal(labelled["count"], g2["count"])
    assert numpy.array_equal(labelled["delay"], g2["delay_s"]) and labelled["delay"].attrs["units"] == "s"
    trace = run.rates(bin="10ms", channels=[1, 2])
    rates = trace.to_xarray()
    assert rates["rate_hz"].dims == ("time", "channel") and rates["channel"].values.tolist() == [1, 2]
    assert rates["rate_hz"].attrs["units"] == "Hz" and rates["time"].attrs["units"] == "s"
    row = trace[5]
    assert rates["count"].sel(channel=row.channel, time=row.start_s) == row.count
    pairs = run.coincidences(window="2ns").to_xarray()
    assert pairs["group"].values.tolist()[:2] == ["1,2", "1,3"] and pairs["singles"].dims == ("group", "singles_entry")
    assert pairs.attrs["header"].startswith("rule all")
    traced = run.coincidences(window="2ns", groups=[(1, 2), (1, 3)], bin="50ms").to_xarray()
    assert traced["count"].dims == ("time", "group")
    plane = run.histogram2d(1, 2, 3, bin="5ns", range="20ns")
    assert plane.to_xarray()["count"].dims == ("delay_a", "delay_b")
    correlated = run.g2(1, 2, bin="10ns", range="50ns", errors="blocks:20")
    if "g2_covariance" in correlated.columns:
        matrix = correlated.to_xarray()["g2_covariance"]
        assert matrix.dims == ("delay", "delay_other")
        assert matrix.values.tolist() == pytest.approx([list(row) for row in correlated["g2_covariance"]], nan_ok=True)


def test_a_scan_has_the_axis_of_what_was_scanned(run: tagq.Run) -> None:
    scan = run.scan("coincidences", window="1ns..4ns:4", groups=[(1, 2), (1, 3)])
    labelled = scan.to_xarray()
    assert labelled["count"].dims == ("window_s", "group") and labelled["window_s"].attrs["units"] == "s"
    assert labelled["count"].values.ravel().tolist() == scan["count"].tolist()


def test_a_missing_library_is_named(run: tagq.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(tagq.MissingLibraryError, match="pip install xarray"):
        run.rates().to_xarray()
