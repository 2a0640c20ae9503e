"""Columns without a copy: the same addresses everywhere, valid as long as an object uses them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest

import tagq
from conftest import cli


def address(array: numpy.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_arrays_are_the_columns(run: tagq.Run, folder: Path) -> None:
    lines = [line.split("\t") for line in cli("cat", folder).decode().splitlines()]
    assert run.channel.tolist() == [int(channel) for channel, _ in lines]
    assert run.time.tolist() == [int(time) for _, time in lines]
    assert (run.time.dtype, run.channel.dtype) == (numpy.int64, numpy.uint8)
    assert len(run) == len(lines) > 18_000
    assert address(run.time) == address(run.time)
    assert address(run.time) % 4096 == 0
    for array in (run.time, run.channel):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_every_library_has_the_same_address(blocks: tagq.Run) -> None:
    expected = address(blocks.time), address(blocks.channel)
    table = pyarrow.table(blocks.tags())
    assert [table[name].num_chunks for name in ("time", "channel")] == [1, 1]
    chunks = table["time"].chunk(0), table["channel"].chunk(0)
    assert tuple(chunk.buffers()[1].address for chunk in chunks) == expected
    frame = polars.DataFrame(blocks.tags())
    assert frame["time"].n_chunks() == 1
    columns = [frame[name].to_numpy(allow_copy=False) for name in ("time", "channel")]
    assert tuple(map(address, columns)) == expected
    whole = polars.DataFrame(next(iter(blocks._run.scan(None, None, None, None, True, True, False))))
    assert address(whole["time"].to_numpy(allow_copy=False)) == expected[0]
    pandas_frame = pandas.DataFrame.from_arrow(blocks.tags())
    assert numpy.array_equal(pandas_frame["time"], blocks.time)
    # A part of the rows has the same addresses.
    cut = int(blocks.time[70_000])
    part = pyarrow.table(blocks.tags(from_=f"@{cut}t"))
    part_buffer = part["time"].chunk(0)
    assert part_buffer.buffers()[1].address + 8 * part_buffer.offset == expected[0] + 8 * 70_000
    tags = blocks.tags()
    counted = duckdb.sql("select channel, count(*) as n, min(time), max(time) from tags group by 1 order by 1")
    labels, counts = numpy.unique(blocks.channel, return_counts=True)
    assert [row[:2] for row in counted.fetchall()] == list(zip(labels.tolist(), counts.tolist(), strict=True))


def columns(run: tagq.Run) -> list[str]:
    return run.info(fast=True)["columns"]


@pytest.mark.parametrize("io", ["map", "read"])
def test_both_layouts_of_a_store_give_the_same_tags(folder: Path, tmp_path: Path, io: str) -> None:
    tagq.ingest(folder)
    compact = tagq.open(folder, io=io)
    tagq.ingest(folder, store=tmp_path / "times.tagq", times=True)
    mapped = tagq.open(tmp_path / "times.tagq", ingest=False, io=io)
    assert columns(compact) == ["channel", "gap", "far", "steps"]
    assert columns(mapped) == ["time", "channel", "gap"]
    channels, part = [1, 3], {"from_": "50ms", "to": "150ms"}

    def everything(run: tagq.Run) -> list[object]:
        start = int(run.span[0]) + 1_000_000
        wanted = run.lookup(["10ms", "100ms", f"@{start}t"]).tolist()
        tables = [pyarrow.table(run.tags(**of)) for of in ({}, part, {"channels": channels}, {"time_unit": "ns", **part})]
        lazy = tagq.scan(run).filter((polars.col("time") >= start) & (polars.col("channel") == 1)).collect()
        tags = run.tags()
        sums = duckdb.sql("select channel, count(*), min(time), max(time), sum(time) from tags group by 1 order by 1")
        frames = [polars.DataFrame(run).rows(), lazy.rows(), pandas.DataFrame.from_arrow(run.tags()).values.tolist()]
        return [wanted, [table.to_pydict() for table in tables], sums.fetchall(), frames]

    # Batches are decoded one by one, before and after somebody asked for all times at once.
    before = everything(compact)
    assert before == everything(mapped)
    assert numpy.array_equal(compact.time, mapped.time) and not compact.time.flags.writeable
    assert address(compact.time) == address(compact.time)
    assert everything(compact) == before
    assert numpy.array_equal(numpy.asarray(compact), numpy.asarray(mapped))
    assert pyarrow.table(compact.tags())["time"].chunk(0).buffers()[1].address == address(compact.time)


def test_new_stores_are_compact(tmp_path: Path) -> None:
    time, channel = numpy.arange(1000) * 70_000, numpy.ones(1000, "u1")
    made = tagq.from_arrays(time, channel, tick="1ps", store=tmp_path / "a.tagq")
    table = tagq.from_table(polars.DataFrame({"time": time, "channel": channel}), tick="1ps", store=tmp_path / "t.tagq")
    with tagq.Recorder(tmp_path / "r.tagq", "1ps") as recorder:
        recorder.append(time, channel)
    for run in (made, table, tagq.open(tmp_path / "r.tagq")):
        assert columns(run) == ["channel", "gap", "far", "steps"]
        # A label, a gap and a far distance of each tag, and pages of headers.
        info = run.info(fast=True)
        assert info["bytes_per_tag"] == info["store_bytes"] / 1000
        assert numpy.array_equal(run.time, time)
        tagq.set(run.store, times=True)
        again = tagq.open(run.store)
        assert columns(again) == ["time", "channel", "gap"] and numpy.array_equal(again.time, time)


def test_columns_that_were_copied_have_one_address_too(blocks: tagq.Run) -> None:
    copied = tagq.open(blocks.store, io="read")
    assert address(copied.time) != address(blocks.time)
    assert numpy.array_equal(copied.time, blocks.time)
    table = pyarrow.table(copied.tags())
    assert table["time"].chunk(0).buffers()[1].address == address(copied.time)


def test_rows_are_looked_up_by_their_times(blocks: tagq.Run) -> None:
    time = blocks.time
    wanted = numpy.concatenate([time[::997] - 1, time[::997], time[::997] + 1, [-(2**62), 2**62]])
    rows = blocks.lookup(wanted)
    assert (rows.dtype, rows.shape) == (numpy.int64, wanted.shape)
    assert numpy.array_equal(rows, numpy.searchsorted(time, wanted))
    grid = wanted[:600].reshape(20, 30).astype("i4")
    assert numpy.array_equal(blocks.lookup(grid), numpy.searchsorted(time, grid))
    assert blocks.lookup([int(time[5]), f"@{time[9]}t", "0s"]).tolist() == [5, 9, 0]
    assert blocks.lookup("-0s").shape == ()
    assert int(blocks.lookup(int(time[-1]))) == len(blocks) - 1
    assert blocks.lookup([]).shape == (0,)
    with pytest.raises(tagq.WrongTypeError, match="whole ticks"):
        blocks.lookup([0.5])
    with pytest.raises(tagq.QuestionError, match="recorded time"):
        blocks.lookup("@1s")


def test_wide_channels(tmp_path: Path) -> None:
    made = tagq.from_arrays(numpy.array([1, 2]), numpy.array([3, 65535]), tick="1ps", store=tmp_path / "w")
    assert made.channel.dtype == numpy.uint16
    assert polars.DataFrame(made.tags()).schema == {"time": polars.Int64, "channel": polars.UInt16}
    assert made.scan().filter(polars.col("channel") == 65535).collect()["time"].to_list() == [2]


def test_views_outlive_their_run(folder: Path) -> None:
    run = tagq.open(folder)
    rates = run.rates()
    time, frame, tags = run.time, polars.DataFrame(run.tags()), run.tags()
    total = int(time.sum())
    run.close()
    assert run.closed and repr(run) == "tagq.Run (closed)"
    del run
    gc.collect()
    assert int(time.sum()) == frame["time"].sum() == total
    assert polars.DataFrame(tags)["time"].sum() == total
    assert len(rates) == len(polars.DataFrame(rates))


def test_a_closed_run_says_so(run: tagq.Run) -> None:
    with run as same:
        assert same is run
    for ask in (
        run.rates,
        run.tags,
        lambda: run.time,
        lambda: run.facts,
        lambda: len(run),
        lambda: run.coincidences(window="2ns"),
        lambda: run.g2(1, 2),
        lambda: tagq.scan(run),
    ):
        with pytest.raises(tagq.ClosedError, match="open it again"):
            ask()
    run.close()


def test_a_run_is_a_snapshot_while_its_source_grows(tmp_path: Path) -> None:
    source = tmp_path / "grows.tsv"
    source.write_text("".join(f"1\t{10 * t}\n" for t in range(100_000)))
    before = tagq.open(source, tick="1ps")
    time, frame = before.time, polars.DataFrame(before.tags())
    lazy = tagq.scan(before)
    total = int(time.sum())
    for more in range(3):
        with source.open("a") as out:
            out.write("".join(f"{300 * more + 1}\t{1_000_000 + 10 * (t + 1000 * more)}\n" for t in range(1000)))
        after = tagq.open(source)
        # Above 255 the labels widen, and the column is written again.
        assert len(after) == 101_000 + 1000 * more
    assert (len(before), len(time), len(frame)) == (100_000, 100_000, 100_000)
    assert int(time.sum()) == frame["time"].sum() == total == lazy.collect()["time"].sum()
    assert before.rates()["count"].tolist() == [100_000]
    assert before.channel.max() == 1 and after.channel.max() == 601
    assert before.facts["commit"] < after.facts["commit"]


CUT = """
import glob, sys, os, threading, numpy, tagq
run = tagq.open(sys.argv[1], io=sys.argv[2])
view = run.time
os.truncate(glob.glob(os.path.join(run.store, "time.*"))[0], 4096)
try:
    run.coincidences(window="2ns")
except tagq.TagqError as error:
    print("scan:", error, flush=True)
print("sum:", int(view.sum()), flush=True)
"""


@pytest.mark.parametrize("io", ["map", "read"])
def test_a_column_cut_short_is_never_zeros(run: tagq.Run, io: str) -> None:
    total = int(run.time.sum())
    tagq.set(run.store, times=True)
    store, names = run.store, [sys.executable, "-c", CUT, run.store, io]
    del run
    done = subprocess.run(names, capture_output=True, text=True, env={**os.environ, "PYTHONFAULTHANDLER": ""}, check=False)
    if io == "read":
        assert done.stdout == f"sum: {total}\n", done
    else:
        # A scan raises an error. A view gets the system's signal, and never zeros in place of times.
        assert "scan:" in done.stdout and "cut short" in done.stdout, done
        assert done.returncode == -7 and "sum:" not in done.stdout, done
    with pytest.raises(tagq.DamageError, match="promises"):
        tagq.open(store)


def test_times_in_units(blocks: tagq.Run) -> None:
    frame = polars.DataFrame(blocks.tags(time_unit="ns", channels=[1, 9]))
    assert frame.columns == ["time", "channel", "time_ns"]
    keep = (blocks.channel == 1) | (blocks.channel == 9)
    assert numpy.array_equal(frame["time"], blocks.time[keep])
    assert numpy.array_equal(frame["time_ns"], (blocks.time[keep] - blocks.time[0]) / 1000)
    schema = pyarrow.table(blocks.tags(time_unit="ns")).schema
    assert schema.metadata[b"tagq.tick"] == b"1000000/1"
    assert schema.field("time").metadata[b"tagq.unit"] == b"tick"
    assert schema.field("time_ns").metadata[b"tagq.offset_ticks"] == str(blocks.time[0]).encode()
    with pytest.raises(tagq.QuestionError, match="ps, ns, us, ms, s"):
        blocks.tags(time_unit="min")  # type: ignore[arg-type]
