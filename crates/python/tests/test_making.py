"""Runs from arrays and tables, and refused input."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest

import tagq
from conftest import cli_json

TIME = numpy.array([1, 5, 5, 9], dtype="i8")
CHANNEL = numpy.array([3, 300, 3, 15], dtype="u2")


def test_arrays_become_a_run(tmp_path: Path) -> None:
    store = tmp_path / "made.tagq"
    run = tagq.from_arrays(TIME, CHANNEL, tick="1/3ps", store=store)
    assert run.time.tolist() == TIME.tolist() and run.channel.tolist() == CHANNEL.tolist()
    info = cli_json("info", store)
    assert (info["tags"], info["tick"], info["tick_assumed"]) == (4, "1000000/3", False)
    assert [path.name for path in tmp_path.iterdir()] == ["made.tagq"]
    with pytest.raises(tagq.TagqError, match="is there already"):
        tagq.from_arrays(TIME, CHANNEL, tick="1ps", store=store)
    for kind in ("i1", "i4", "u4", "u8", ">i8"):
        same = tagq.from_arrays(TIME.astype(kind), CHANNEL.astype(">u4"), tick="1ps")
        assert same.time.tolist() == TIME.tolist() and same.channel.tolist() == CHANNEL.tolist()
    strided = tagq.from_arrays(numpy.repeat(TIME, 2)[::2], numpy.repeat(CHANNEL, 2)[::2], tick="1ps")
    assert strided.time.tolist() == TIME.tolist()
    assert not Path(strided.store).exists()
    empty = tagq.from_arrays(TIME[:0], CHANNEL[:0], tick="1ps")
    assert len(empty) == 0 and empty.span is None and len(polars.DataFrame(empty.tags())) == 0
    assert empty.scan().collect().height == 0 and empty.time.tolist() == []
    repr(empty)


def test_tables_become_a_run(tmp_path: Path) -> None:
    frame = polars.DataFrame({"time": TIME, "channel": CHANNEL, "other": ["a", "b", "c", "d"]})
    relation = duckdb.sql("select * from frame")
    for table in (frame, frame.to_arrow(), pandas.DataFrame({"time": TIME, "channel": CHANNEL}), relation):
        run = tagq.from_table(table, tick="4ps")
        assert run.time.tolist() == TIME.tolist() and run.channel.tolist() == CHANNEL.tolist()
        assert run.tick == "4 ps"
    chunked = polars.concat([frame[:1], frame[1:]], rechunk=False)
    assert len(tagq.from_table(chunked, tick="4ps")) == 4
    renamed = frame.rename({"time": "t", "channel": "c"})
    assert len(tagq.from_table(renamed, tick="4ps", time="t", channel="c")) == 4
    # An export of tagq contains its tick, so none is needed.
    run = tagq.from_table(frame, tick="1/3ps")
    again = tagq.from_table(run.tags(), store=tmp_path / "again")
    assert again.facts["tick"] == "1000000/3" and not again.facts["tick_assumed"]
    assert numpy.array_equal(again.time, run.time)
    assert tagq.from_table(frame).facts["tick_assumed"]


WRONG_ARRAYS = [
    ([1, 2, 3, 4], CHANNEL, tagq.WrongTypeError, "NumPy array"),
    (TIME.astype("f8"), CHANNEL, tagq.WrongTypeError, "floats cannot hold"),
    (numpy.array([1, numpy.nan, 3, 4]), CHANNEL, tagq.WrongTypeError, "NaN"),
    (TIME.astype("M8[ns]"), CHANNEL, tagq.WrongTypeError, "whole numbers"),
    (TIME.astype(object), CHANNEL, tagq.WrongTypeError, "whole numbers"),
    (TIME.astype(str), CHANNEL, tagq.WrongTypeError, "whole numbers"),
    (TIME.astype(bool), CHANNEL, tagq.WrongTypeError, "whole numbers"),
    (TIME.reshape(2, 2), CHANNEL, tagq.WrongTypeError, "2 dimensions"),
    (numpy.ma.masked_array(TIME, TIME == 5), CHANNEL, tagq.WrongTypeError, "masked"),
    (TIME[::-1], CHANNEL, tagq.QuestionError, "argsort"),
    (TIME[:3], CHANNEL, tagq.QuestionError, "4 channels for 3 times"),
    (TIME, CHANNEL.astype("f4"), tagq.WrongTypeError, "float32"),
    (TIME, CHANNEL.astype("i4") - 4, tagq.QuestionError, "row 0 is -1"),
    (TIME, CHANNEL.astype("i4") + 65_300, tagq.QuestionError, "row 1 is 65600"),
    (numpy.array([0, 0, 0, 2**63], dtype="u8"), CHANNEL, tagq.QuestionError, "row 3 is 9223372036854775808"),
    (numpy.array([-(2**63), 0, 1, 2**63 - 1]), CHANNEL, tagq.QuestionError, "2\\^63"),
]


@pytest.mark.parametrize(("time", "channel", "error", "message"), WRONG_ARRAYS)
def test_wrong_arrays_are_refused(tmp_path: Path, time, channel, error, message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        tagq.from_arrays(time, channel, tick="1ps", store=tmp_path / "made")
    assert isinstance(raised.value, tagq.TagqError)
    assert list(tmp_path.iterdir()) == []


WRONG_TABLES = [
    ({"time": [1.0, 2.0], "channel": [1, 2]}, tagq.WrongTypeError, "divide by the tick"),
    ({"time": [1, None], "channel": [1, 2]}, tagq.QuestionError, "time: row 1 is null"),
    ({"time": [1, 2], "channel": ["a", "b"]}, tagq.WrongTypeError, "channel is"),
    ({"time": [1, 2], "channel": [1, -1]}, tagq.QuestionError, "channel: row 1 is -1"),
    ({"time": [[1], [2]], "channel": [1, 1]}, tagq.WrongTypeError, "time is"),
    ({"t": [1, 2], "channel": [1, 1]}, tagq.QuestionError, "they are t, channel"),
    ({"time": [2, 1], "channel": [1, 1]}, tagq.QuestionError, "argsort"),
    ({"time": numpy.array([1, 2], dtype="m8[ns]"), "channel": [1, 1]}, tagq.WrongTypeError, "Duration"),
]


@pytest.mark.parametrize(("columns", "error", "message"), WRONG_TABLES)
def test_wrong_tables_are_refused(tmp_path: Path, columns: dict, error, message: str) -> None:
    with pytest.raises(error, match=message):
        tagq.from_table(polars.DataFrame(columns), tick="1ps", store=tmp_path / "made")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("table", [None, 3, "run/", [1, 2], {"time": [1]}, TIME])
def test_what_is_no_table_is_refused(table) -> None:
    with pytest.raises(tagq.WrongTypeError, match="is no table"):
        tagq.from_table(table, tick="1ps")


def test_wrong_words_are_refused(run: tagq.Run) -> None:
    wrong = [
        (lambda: tagq.from_arrays(TIME, CHANNEL, tick=1.0), tagq.WrongTypeError, "tick"),
        (lambda: tagq.from_arrays(TIME, CHANNEL, tick="1"), tagq.QuestionError, "tick: `1`"),
        (lambda: run.coincidences(window=2), tagq.WrongTypeError, 'window: a duration is a text .* "2ns"'),
        (lambda: run.coincidences(window="2"), tagq.QuestionError, "has no unit; write 2ns"),
        (lambda: run.coincidences(window="-2ns"), tagq.QuestionError, "is negative"),
        (lambda: run.coincidences(), tagq.QuestionError, "`window` is missing"),
        (lambda: run.coincidences(window="2ns", full_width="2ns"), tagq.QuestionError, "give one"),
        (lambda: run.coincidences(window="2ns", groups="1,2"), tagq.WrongTypeError, "groups"),
        (lambda: run.coincidences(window="2ns", groups=[(1,)]), tagq.QuestionError, "2 to 16"),
        (lambda: run.coincidences(window="2ns", groups=[(1, 1)]), tagq.QuestionError, "twice"),
        (lambda: run.coincidences(window="2ns", groups=[(1, 2.0)]), tagq.WrongTypeError, "whole number"),
        (lambda: run.coincidences(window="2ns", groups=[(1, 70_000)]), tagq.QuestionError, "65535"),
        (lambda: run.coincidences(window="2ns", rule="some"), tagq.QuestionError, "none of all, herald"),
        (lambda: run.coincidences(window="2ns", delays=["1ns"]), tagq.WrongTypeError, "a dict"),
        (lambda: run.coincidences(window="2ns", delays={1: 3}), tagq.WrongTypeError, "delays"),
        (lambda: run.coincidences(window="2ns", accidentals="none"), tagq.QuestionError, "shifted:10"),
        (lambda: run.histogram(1, 2, bin="1ns", exact_bins=True), tagq.QuestionError, "937.5ps"),
        (lambda: run.histogram(1), tagq.QuestionError, "`start` needs `stop`"),
        (lambda: run.rates(channels=2.5), tagq.WrongTypeError, "a channel is a whole number or a name"),
        (lambda: run.rates(from_="soon"), tagq.QuestionError, "from_"),
        (lambda: tagq.open("/no/such/run"), tagq.NotFoundError, "no such file"),
        (lambda: tagq.open(3), tagq.WrongTypeError, "a path is wanted"),
        (lambda: tagq.open("/tmp", io="mmap"), tagq.QuestionError, "io"),
        (lambda: tagq.ingest(["a", "b"]), tagq.QuestionError, "store"),
        (lambda: run.rates()["nothing"], KeyError, "they are channel"),
    ]
    for ask, error, message in wrong:
        with pytest.raises(error, match=message):
            ask()
    with pytest.raises(TypeError, match="unexpected keyword"):
        run.rates(windows="2ns")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="has no unit"):
        run.coincidences(window="2")
    with pytest.raises(FileNotFoundError):
        tagq.open("/no/such/run")
