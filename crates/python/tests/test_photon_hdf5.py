"""Photon-HDF5 files that h5py and phconvert write, compared with the arrays that they were written from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

import tagq

ROWS = 100_000
TICK_S = 1.25e-8

Photons = dict[str, numpy.ndarray]


def photons(time: str = "i8", detector: str = "u1", micro: str = "u2", rows: int = ROWS) -> Photons:
    """Returns arrays of these types: timestamps in order, detectors and nanotimes."""
    random = numpy.random.default_rng(5)
    return {
        "timestamps": numpy.sort(random.integers(0, 2**31 if time.endswith("4") else 2**62, rows)).astype(time),
        "detectors": random.integers(0, 100, rows).astype(detector),
        "nanotimes": random.integers(0, 30_000, rows).astype(micro),
    }


def write(path: Path, arrays: Photons, libver: Any = "earliest", **stored: Any) -> None:
    """Writes a file with these arrays, stored in this way."""
    with h5py.File(path, "w", libver=libver) as file:
        group = file.create_group("photon_data")
        for name, values in arrays.items():
            group.create_dataset(name, data=values, **stored)
        group["timestamps_specs/timestamps_unit"] = TICK_S
        if "nanotimes" in arrays:
            group["nanotimes_specs/tcspc_unit"] = 1.6e-11


def check(path: Path, arrays: Photons) -> None:
    run = tagq.ingest(path)
    assert numpy.array_equal(run.time, arrays["timestamps"].astype("i8"))
    detectors = arrays.get("detectors", numpy.zeros(len(run.time)))
    assert numpy.array_equal(run.channel, detectors)
    if "nanotimes" in arrays:
        assert numpy.array_equal(run.micro_times, arrays["nanotimes"])
    else:
        assert run.micro_times is None


@pytest.mark.parametrize("types", [("i8", "u1", "u2"), ("u8", "u2", "u4"), (">i8", ">i4", ">u2"), ("i4", "i8", "i2")])
@pytest.mark.parametrize("libver", ["earliest", ("v110", "v110")], ids=["earliest", "v110"])
def test_any_integers_are_read(tmp_path: Path, types: tuple[str, str, str], libver: Any) -> None:
    arrays = photons(*types)
    write(tmp_path / "a.h5", arrays, libver)
    check(tmp_path / "a.h5", arrays)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"chunks": (4_096,)},
        {"chunks": (7_919,), "compression": "gzip", "shuffle": True},
        {"chunks": (1_000,), "compression": "gzip", "fletcher32": True, "maxshape": (None,)},
        {"chunks": (60_000,), "compression": "lzf", "shuffle": True, "maxshape": (None,)},
    ],
    ids=["contiguous", "chunked", "deflate", "fletcher", "lzf"],
)
@pytest.mark.parametrize("libver", ["earliest", ("v110", "v110")], ids=["earliest", "v110"])
def test_any_way_to_store_them_is_read(tmp_path: Path, stored: dict[str, Any], libver: Any) -> None:
    arrays = photons()
    write(tmp_path / "a.h5", arrays, libver, **stored)
    check(tmp_path / "a.h5", arrays)


@pytest.mark.parametrize("left_out", [["nanotimes"], ["detectors"], ["detectors", "nanotimes"]])
def test_arrays_may_be_missing(tmp_path: Path, left_out: list[str]) -> None:
    arrays = {name: values for name, values in photons().items() if name not in left_out}
    write(tmp_path / "a.h5", arrays)
    check(tmp_path / "a.h5", arrays)


@pytest.mark.parametrize("rows", [0, 1, 65_536, 65_537])
def test_any_number_of_rows_is_read(tmp_path: Path, rows: int) -> None:
    arrays = photons(rows=rows)
    write(tmp_path / "a.h5", arrays)
    run = tagq.ingest(tmp_path / "a.h5")
    assert numpy.array_equal(run.time, arrays["timestamps"])


def test_other_filters_are_refused_by_name(tmp_path: Path) -> None:
    arrays = photons()
    del arrays["detectors"]
    write(tmp_path / "a.h5", arrays)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        stored = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        stored.set_chunk((1_000,))
        # The library of h5py has no Blosc and leaves it out where it is optional.
        stored.set_filter(32_001, h5py.h5z.FLAG_OPTIONAL)
        space = h5py.h5s.create_simple((ROWS,))
        h5py.h5d.create(file["photon_data"].id, b"detectors", h5py.h5t.STD_U8LE, space, stored)
        file["photon_data/detectors"][:] = 1
    with pytest.raises(tagq.TagqError, match=r"`photon_data/detectors` is compressed by Blosc.*h5repack"):
        tagq.ingest(tmp_path / "a.h5")
    assert not (tmp_path / "a.h5.tagq").exists()


def test_a_dataset_that_was_never_written_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.h5", {"timestamps": photons()["timestamps"]})
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["photon_data"].create_dataset("detectors", (ROWS,), "u1", chunks=(10,))
    with pytest.raises(tagq.TagqError, match="not stored completely"):
        tagq.ingest(tmp_path / "a.h5")


# phconvert 0.10 was written for an older NumPy and an older PyTables.
@pytest.mark.filterwarnings("ignore")
def test_a_file_of_phconvert_is_read_with_its_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import phconvert

    arrays = photons()
    path = tmp_path / "a.hdf5"
    ones = {"num_pixels": 2, "num_spots": 1, "num_spectral_ch": 2, "num_polarization_ch": 1, "num_split_ch": 1}
    measured = {
        "measurement_type": "smFRET-nsALEX",
        "laser_repetition_rate": 40e6,
        "detectors_specs": {"spectral_ch1": [0], "spectral_ch2": [1]},
    }
    phconvert.hdf5.save_photon_hdf5(
        {
            "_filename": str(path),
            "description": "two dyes",
            "acquisition_duration": 12.5,
            "photon_data": {
                **arrays,
                "timestamps_specs": {"timestamps_unit": TICK_S},
                "nanotimes_specs": {"tcspc_unit": 1.6e-11, "tcspc_num_bins": 4_096, "tcspc_range": 6.5536e-8},
                "measurement_specs": measured,
            },
            "setup": {
                **ones,
                "modulated_excitation": True,
                "lifetime": True,
                "excitation_cw": [False, False],
                "excitation_alternated": [True, True],
                "excitation_wavelengths": [532e-9, 635e-9],
            },
            "identity": {"author": "A. Person", "author_affiliation": "A Place"},
            "sample": {"sample_name": "a DNA", "buffer_name": "TE", "num_dyes": 2, "dye_names": "a, b"},
        },
        overwrite=True,
    )
    capsys.readouterr()
    check(path, arrays)
    manifest = json.loads((tmp_path / "a.hdf5.tagq" / "manifest.json").read_text())
    facts = dict(manifest["sources"][0]["recording"]["facts"])
    assert facts["description"] == "two dyes"
    assert facts["author"] == "A. Person"
    assert facts["sample"] == "a DNA"
    assert facts["acquisition time"] == "12.5 s"
    assert facts["measurement"] == "smFRET-nsALEX"
    assert facts["laser repetition rate"] == "40000000 Hz"
    assert facts["program"] == "phconvert"
