"""Micro times: made from arrays and tables, handed over to every library, and read back from exports."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import tagq
from conftest import cli, cli_json

TIME = numpy.array([1, 5, 5, 9], dtype="i8")
CHANNEL = numpy.array([3, 4, 3, 15], dtype="u2")
#: The third tag has none.
NARROW = numpy.ma.masked_array([0, 65_534, 7, 2], mask=[False, False, True, False], dtype="i8")
WIDE = numpy.ma.masked_array([0, 65_535, 7, 2**32 - 2], mask=[False, False, True, False], dtype="u4")


@pytest.mark.parametrize(("micro", "kind", "column"), [(NARROW, "u2", polars.UInt16), (WIDE, "u4", polars.UInt32)])
def test_micro_times_come_back(tmp_path: Path, micro, kind: str, column) -> None:
    store = tmp_path / "made.tagq"
    run = tagq.from_arrays(TIME, CHANNEL, tick="1ps", micro=micro, micro_tick="4ps", store=store)
    expected = [0, int(micro.data[1]), None, int(micro.data[3])]
    assert run.micro_times.tolist() == expected
    assert (run.micro_times.dtype, run.micro_tick) == (numpy.dtype(kind), "4 ps")
    assert not run.micro_times.data.flags.writeable
    assert cli_json("info", store)["micro"] == {"tick": "4000000/1"}
    schema = {"time": polars.Int64, "channel": polars.UInt8, "micro": column}
    frame = polars.DataFrame(run.tags())
    assert frame.schema == schema and frame["micro"].to_list() == expected
    assert pandas.DataFrame.from_arrow(run.tags())["micro"].isna().tolist() == [False, False, True, False]
    table = pyarrow.table(run.tags())
    assert table["micro"].to_pylist() == expected and table.schema.field("micro").nullable
    # Lazy frames read it only if it is used.
    assert run.scan().collect_schema() == schema
    assert run.scan().collect().equals(frame)
    assert run.scan().select("micro").collect()["micro"].to_list() == expected
    late = run.scan().filter(polars.col("micro") > 1).select("time").collect()
    assert late["time"].to_list() == [5, 9]
    assert run.scan().select("channel").collect()["channel"].to_list() == CHANNEL.tolist()
    # Runs made from tables and exports are equal.
    parquet = tmp_path / "made.parquet"
    cli("export", store, "-q", "-o", parquet)
    for table in (run.tags(), frame, pyarrow.parquet.read_table(parquet)):
        again = tagq.from_table(table, tick="1ps")
        assert again.micro_times.tolist() == expected and again.micro_times.dtype == run.micro_times.dtype
        # A Polars frame has no metadata.
        assert again.micro_tick == (None if table is frame else "4 ps")
    renamed = tagq.from_table(frame.rename({"micro": "m"}), tick="1ps", micro="m", micro_tick="2ps")
    assert renamed.micro_times.tolist() == expected and renamed.micro_tick == "2 ps"


def test_a_run_without_micro_times_has_no_column(run: tagq.Run) -> None:
    assert run.micro_times is None and run.micro_tick is None
    assert run.tags().columns == ["time", "channel"]
    assert list(run.scan().collect_schema()) == ["time", "channel"]
    none = tagq.from_arrays(TIME, CHANNEL, tick="1ps", micro=numpy.ma.masked_all(4, dtype="i4"), micro_tick="1ps")
    assert none.micro_times is None and none.micro_tick is None


WRONG = [
    ({"micro": [1, 2, 3, 4]}, tagq.WrongTypeError, "micro: a NumPy array"),
    ({"micro": TIME[:3]}, tagq.QuestionError, "3 micro times for 4 times"),
    ({"micro": TIME - 2}, tagq.QuestionError, "micro: row 0 is -1"),
    ({"micro": TIME + 2**32 - 2}, tagq.QuestionError, "micro: row"),
    ({"micro": TIME.astype("f8")}, tagq.WrongTypeError, "floats cannot hold"),
    ({"micro": NARROW.astype("f8")}, tagq.WrongTypeError, "floats cannot hold"),
    ({"micro": TIME, "micro_tick": 4}, tagq.WrongTypeError, "micro_tick"),
    ({"micro": TIME, "micro_tick": "4"}, tagq.QuestionError, "micro_tick: `4`"),
    ({"micro_tick": "4ps"}, tagq.QuestionError, "no micro times"),
]


@pytest.mark.parametrize(("words", "error", "message"), WRONG)
def test_wrong_arrays_are_refused(tmp_path: Path, words: dict, error, message: str) -> None:
    with pytest.raises(error, match=message):
        tagq.from_arrays(TIME, CHANNEL, tick="1ps", store=tmp_path / "made", **words)
    assert list(tmp_path.iterdir()) == []


WRONG_TABLES = [
    ({"micro": ["a", "b"]}, {}, tagq.WrongTypeError, "micro is"),
    ({"micro": [1.0, 2.0]}, {}, tagq.WrongTypeError, "micro is"),
    ({"micro": [1, -1]}, {}, tagq.QuestionError, "micro: row 1 is -1"),
    ({"micro": [None, 2**32 - 1]}, {}, tagq.QuestionError, "micro: row 1 is 4294967295"),
    ({"m": [1, 2]}, {"micro": "n"}, tagq.QuestionError, "they are time, channel, m"),
    ({"m": [1, 2]}, {"micro": 3}, tagq.WrongTypeError, "micro: the name"),
    ({"m": [1, 2]}, {"micro_tick": "4ps"}, tagq.QuestionError, "no column of micro times"),
]


@pytest.mark.parametrize(("columns", "words", "error", "message"), WRONG_TABLES)
def test_wrong_tables_are_refused(tmp_path: Path, columns: dict, words: dict, error, message: str) -> None:
    frame = polars.DataFrame({"time": [1, 2], "channel": [1, 2], **columns})
    with pytest.raises(error, match=message):
        tagq.from_table(frame, tick="1ps", store=tmp_path / "made", **words)
    assert list(tmp_path.iterdir()) == []


def test_micro_times_are_counted_by_channel_and_interval() -> None:
    random = numpy.random.default_rng(7)
    time, channel = numpy.sort(random.integers(0, 1_000, 500)), random.integers(1, 4, 500)
    micro = random.integers(0, 50, 500)
    run = tagq.from_arrays(time, channel, tick="1ps", micro=micro, micro_tick="4ps")

    def counted(part: numpy.ndarray, of: int) -> list[int]:
        return numpy.histogram(micro[part & (channel == of)], bins=numpy.arange(0, 51, 10))[0].tolist()

    whole = numpy.ones(500, dtype=bool)
    options = {"bin": "10t", "range": "0t..50t"}
    expected = [count for of in (1, 2, 3) for count in counted(whole, of)]
    assert polars.DataFrame(run.micro(**options))["count"].to_list() == expected
    frame = polars.DataFrame(run.micro([3, 1], trace="250t", **options))
    interval = (time - time[0]) // 250
    expected = [
        count for number in range(interval.max() + 1) for of in (3, 1) for count in counted(interval == number, of)
    ]
    assert frame["count"].to_list() == expected
    assert frame["start_ticks"].unique(maintain_order=True).to_list() == [0, 250, 500, 750][: interval.max() + 1]


def test_micro_times_and_sync_pulses_of_a_file(tmp_path: Path) -> None:
    recorded = Path(__file__).parents[3] / "data/fixtures/picoquant/t3.ptu"
    run = tagq.open(shutil.copy(recorded, tmp_path))
    micro = run.micro_times[run.channel == 1]
    counts = polars.DataFrame(run.micro([1]))["count"].to_list()
    assert counts == numpy.bincount(micro).tolist()
    assert polars.DataFrame(next(run.watch("micro", channels=[1])))["count"].to_list() == counts
    # The period of the pulses is 1000 ticks.
    since = polars.DataFrame(run.histogram(start="sync", stop=1, mode="last", bin="1t", range="0t..1000t"))
    assert since["count"].to_list() == numpy.bincount(run.time[run.channel == 1] % 1_000, minlength=1_000).tolist()
