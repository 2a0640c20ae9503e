"""The recipes with phasorpy and napari do what their page says."""

from __future__ import annotations

import importlib
import re
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

from conftest import ROOT

PAGE = ROOT / "docs/book/src/cookbook/phasorpy-napari.md"


def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *titles: str) -> dict[str, Any]:
    """Runs the blocks of these chapters, and returns their names."""
    monkeypatch.chdir(tmp_path)
    chapters = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names: dict[str, Any] = {}
    for title in titles:
        (chapter,) = [of for of in chapters if of.startswith(f"{title}\n")]
        for block in re.findall(r"```python\n(.*?)```", chapter, re.DOTALL):
            exec(block, names)
    return names


def test_phasorpy_finds_the_lifetimes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("phasorpy")
    names = ran(tmp_path, monkeypatch, "A recording", "phasorpy")
    signal = names["signal"]
    assert signal.dims == ("T", "Y", "X", "H") and signal.shape == (1, 16, 24, 250)
    angles = 2 * numpy.pi * numpy.arange(250) / 250
    phasors = [(of.values @ numpy.exp(1j * angles))[0] / of.values.sum(axis=-1)[0] for of in (signal, names["reference"])]
    # A decay of 2 ns has 1 / (1 - iωτ).
    expected = phasors[0] / phasors[1].mean() / (1 - 2j * numpy.pi * 0.08 * 2.0)
    assert numpy.allclose(names["real"][0] + 1j * names["imag"][0], expected, atol=2e-3)
    # 400 photons tell a lifetime to about 1.5 / √400, and 192 pixels their mean to 0.6 %.
    for found in (names["by_phase"], names["by_modulation"]):
        assert abs(found[0][:, :12].mean() - 1) < 0.03 and abs(found[0][:, 12:].mean() - 3) < 0.12


def test_files_and_layers_of_napari(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("tifffile")
    # The package is a shell without its layers if a part of it is missing.
    chapters = ["A recording", "OME-TIFF"]
    with warnings.catch_warnings():
        # Those of its libraries.
        warnings.simplefilter("ignore")
        try:
            importlib.import_module("napari.layers")
            chapters.append("napari")
        except ImportError:
            pass
        names = ran(tmp_path, monkeypatch, *chapters)
    lifetimes = names["lifetimes"].lifetimes[0] * 1e9
    assert abs(numpy.nanmean(lifetimes[:, :12]) - 1) < 0.05 and abs(numpy.nanmean(lifetimes[:, 12:]) - 3) < 0.15
    if "napari" not in chapters:
        pytest.skip("napari cannot be imported")
    layers = {layer.name: layer for layer in names["layers"]}
    assert list(layers) == ["count", "lifetime_ns", "lifetime_ns_err", "micro times"]
    assert numpy.array_equal(layers["lifetime_ns"].data, lifetimes.astype("f4"), equal_nan=True)
    assert layers["micro times"].data.shape == (1, 250, 16, 24)
