"""Tables as sources: files that other programs wrote give the run of their arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import numpy
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import tagq

ROWS = 70_000
TIME = numpy.cumsum(numpy.random.default_rng(1).integers(0, 1_000, ROWS)).astype("i8")
CHANNEL = numpy.random.default_rng(2).integers(0, 300, ROWS).astype("u2")
MICRO = numpy.random.default_rng(3).integers(0, 4_096, ROWS).astype("u2")


def same(path: Path, columns: str | None = None, micro: bool = False, tick: str | None = "4ps") -> None:
    """Compares the run of a file with that of the arrays."""
    run = tagq.open(path, columns=columns, tick=tick)
    made = tagq.from_arrays(TIME, CHANNEL, tick="4ps", micro=MICRO if micro else None)
    assert run.tick == made.tick == "4 ps"
    assert numpy.array_equal(run.time, made.time)
    assert numpy.array_equal(run.channel, made.channel)
    if micro:
        assert numpy.array_equal(run.micro_times, made.micro_times)


def stream(table: pyarrow.Table, path: Path) -> None:
    """Writes a table as an Arrow stream, in one batch."""
    with pyarrow.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


WRITERS: dict[str, Callable[[pyarrow.Table, Path], None]] = {
    "snappy.parquet": pyarrow.parquet.write_table,
    "zstd.parquet": lambda table, path: pyarrow.parquet.write_table(table, path, compression="zstd"),
    "pages.parquet": lambda table, path: pyarrow.parquet.write_table(
        table, path, row_group_size=9_999, data_page_version="2.0", use_dictionary=False
    ),
    "polars.parquet": lambda table, path: polars.DataFrame(table).write_parquet(path),
    "lz4.feather": pyarrow.feather.write_feather,
    "plain.arrow": lambda table, path: pyarrow.feather.write_feather(table, path, compression="uncompressed"),
    "polars.arrow": lambda table, path: polars.DataFrame(table).write_ipc(path, compression="zstd"),
    "stream.arrows": stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_gives_the_run_of_its_arrays(tmp_path: Path, name: str) -> None:
    table = pyarrow.table({"time": TIME, "channel": CHANNEL, "micro": MICRO, "note": ["x"] * ROWS})
    WRITERS[name](table, tmp_path / name)
    same(tmp_path / name, micro=True)
    renamed = tmp_path / f"renamed.{name}"
    WRITERS[name](table.rename_columns(["stamp", "arm", "other", "note"]), renamed)
    same(renamed, columns="time=stamp,channel=arm")


def test_arrays_of_numpy_give_the_run_of_their_arrays(tmp_path: Path) -> None:
    rows = numpy.empty(ROWS, dtype=[("note", "S3"), ("channel", "u2"), ("time", "i8"), ("micro", "u4")])
    rows["time"], rows["channel"], rows["micro"] = TIME, CHANNEL, MICRO
    numpy.save(tmp_path / "rows.npy", rows)
    same(tmp_path / "rows.npy", micro=True)
    columns = numpy.stack([TIME, CHANNEL, MICRO], axis=1)
    for name, array in (("c.npy", columns), ("fortran.npy", numpy.asfortranarray(columns))):
        numpy.save(tmp_path / name, array)
        same(tmp_path / name, columns="time,channel", micro=True)
    for save in (numpy.savez, numpy.savez_compressed):
        path = tmp_path / f"{save.__name__}.npz"
        save(path, time=TIME, channel=CHANNEL, micro=MICRO, tick="4ps")
        same(path, micro=True, tick=None)
    numpy.save(tmp_path / "big.npy", columns.astype(">i8"))
    with pytest.raises(tagq.TagqError, match="big-endian"):
        tagq.open(tmp_path / "big.npy", columns="time,channel")


def test_other_forms_are_refused_by_name(tmp_path: Path) -> None:
    table = pyarrow.table({"time": TIME * 1.0, "channel": CHANNEL})
    path = tmp_path / "a.feather"
    pyarrow.feather.write_feather(table, path)
    with pytest.raises(tagq.TagqError, match="`time` holds floats"):
        tagq.open(path)
    path.write_bytes(b"FEA1" + bytes(100))
    with pytest.raises(tagq.TagqError, match="Feather file of version 1"):
        tagq.open(path)
    pyarrow.parquet.write_table(table.set_column(0, "time", [TIME]), path, compression="gzip")
    with pytest.raises(tagq.TagqError, match="compressed by gzip"):
        tagq.open(path)
