"""A result is a sequence of rows, a mapping of columns, and a table for other libraries."""

from __future__ import annotations

import json
import math
from pathlib import Path

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import tagq
from conftest import cli


@pytest.fixture
def pairs(run: tagq.Run) -> tagq.Result:
    return run.coincidences(window="2ns")


def test_a_result_is_a_sequence_of_rows(pairs: tagq.Result) -> None:
    rows = list(pairs)
    assert len(rows) == len(pairs) == len(pairs.rows) > 2
    for row, expected in zip(rows, pairs.rows, strict=True):
        for name, value in row._asdict().items():
            assert value == expected[name] or (expected[name] is None and math.isnan(value)), name
    assert (pairs[0], pairs[-1], pairs[1:3], pairs[::-1]) == (rows[0], rows[-1], rows[1:3], rows[::-1])
    assert (pairs.head(2), pairs.head(), pairs[numpy.int64(1)]) == (rows[:2], rows[:5], rows[1])
    assert pairs[0].channels == [1, 2] and pairs[0].count == pairs.rows[0]["count"]
    wrong = [(len(rows), IndexError, "row"), (-1 - len(rows), IndexError, "row"), (1.5, TypeError, "name"), ("no", KeyError, "they are")]
    for key, error, message in wrong:
        with pytest.raises(error, match=message):
            pairs[key]  # type: ignore[call-overload]


def test_a_result_is_a_mapping_of_columns(pairs: tagq.Result) -> None:
    assert pairs.keys() == pairs.columns == list(pairs.rows[0]) and list(dict(pairs)) == pairs.columns
    assert "count" in pairs and "counts" not in pairs and 0 not in pairs
    counts = numpy.asarray(pairs["count"])
    assert counts.dtype == numpy.int64 and (pairs["count"] - 10**9 < 0).all()
    assert pairs["channels"][0] == [1, 2] and pairs["channels"].shape == (len(pairs),)


def test_every_library_takes_a_result_without_a_word(pairs: tagq.Result, run: tagq.Run) -> None:
    counts, columns = [row["count"] for row in pairs.rows], pairs.columns
    for frame in (pandas.DataFrame(pairs), pairs.to_pandas()):
        assert list(frame.columns) == columns and frame["count"].tolist() == counts
        assert frame["count"].dtype == frame["car"].dtype.type(1).astype("i8").dtype
        assert frame["channels"].tolist() == [row["channels"] for row in pairs.rows]
    for table in (pairs.to_polars(), polars.DataFrame(pairs)):
        assert table.columns == columns and table["count"].to_list() == counts
        assert table.schema["count"] == polars.Int64
    assert pairs.to_arrow().equals(pyarrow.table(pairs)) and pairs.to_arrow()["count"].to_pylist() == counts
    assert duckdb.sql("select sum(count) from pairs").fetchall() == [(sum(counts),)]
    tuples = run.tuples(window="2ns", groups=[(1, 2)])
    assert len(tuples.to_polars()) == len(tuples.to_pandas()) == tuples.to_arrow().num_rows == counts[0]
    assert tuples.keys() == tuples.columns and "time" in tuples


def test_numpy_takes_a_result_as_an_array(pairs: tagq.Result, run: tagq.Run) -> None:
    array = numpy.asarray(pairs)
    assert array.shape == (len(pairs),) and list(array.dtype.names or ()) == pairs.columns
    assert array.dtype["count"] == numpy.int64 and array.dtype["car"] == numpy.float64
    assert array["channels"].tolist()[:2] == ["1,2", "1,3"]
    for name in ("count", "car", "rate_err_hz"):
        assert numpy.array_equal(array[name], pairs[name], equal_nan=True), name
    g2 = run.g2(1, 2, bin="5ns", range="20ns")
    plain = numpy.asarray(g2, dtype=float)
    assert plain.shape == (len(g2), len(g2.columns)) and plain.dtype == float
    assert plain[:, g2.columns.index("count")].tolist() == g2["count"].tolist()
    assert numpy.array(g2, dtype=numpy.float32, copy=True).dtype == numpy.float32
    rates = run.rates(channels=[1])
    assert numpy.asarray(rates, dtype=numpy.asarray(rates).dtype) == numpy.asarray(rates)
    for ask, message in (
        (lambda: numpy.asarray(pairs, dtype=float), "dtype: column channels holds text, not numbers"),
        (lambda: numpy.asarray(g2, dtype=int), "dtype: column delay_s holds float64, which int64 would cut; use dtype=float"),
    ):
        with pytest.raises(tagq.WrongTypeError, match=message):
            ask()
    # NumPy 1 calls it without `copy`; NumPy 2 may forbid a copy.
    assert numpy.array_equal(g2.__array__(float), plain, equal_nan=True)
    with pytest.raises(ValueError, match="is a copy"):
        g2.__array__(copy=False)
    # Undefined whole numbers are NaN, and an answer without rows has all fields.
    named = tagq._arrays.array_of({"n": numpy.array([1, None], dtype=object), "of": numpy.array(["a", None], dtype=object)}, None, None)
    assert math.isnan(named["n"][1]) and named["of"].tolist() == ["a", ""]
    with pytest.warns(tagq.TagqWarning, match="nothing is selected"):
        empty = numpy.asarray(run.rates(bin="1ms", from_="1h"))
    assert len(empty) == 0 and "rate_hz" in (empty.dtype.names or ())


def test_numpy_takes_tags_lists_and_runs_as_arrays(run: tagq.Run) -> None:
    whole = numpy.asarray(run)
    assert whole.dtype.names == ("time", "channel") and len(whole) == len(run)
    assert numpy.array_equal(whole["time"], run.time) and numpy.array_equal(whole["channel"], run.channel)
    some = numpy.asarray(run.tags(channels=[2]))
    assert numpy.array_equal(some["time"], run.time[run.channel == 2])
    tuples = run.tuples(window="2ns", groups=[(1, 2)])
    listed = numpy.asarray(tuples)
    assert len(listed) == tuples.to_arrow().num_rows > 0 and listed.dtype.names == tuple(tuples.columns)
    assert numpy.asarray(run, dtype="i8").shape == (len(run), 2)


def test_a_total_is_no_row(run: tagq.Run) -> None:
    rates = run.rates()
    assert rates["count"].sum() == len(run) == rates.total["count"][0]
    assert polars.DataFrame(rates)["count"].sum() == len(run) and rates.columns[0] == "channel"
    assert rates.total.columns == ["count", "rate_hz", "rate_err_hz"] and len(rates.total) == 1
    trace = run.rates(bin="10ms")
    each = pandas.DataFrame(trace).groupby("start_ticks")["count"].sum()
    assert trace.total["count"].tolist() == each.tolist() and trace.total["start_ticks"].tolist() == list(each.index)
    assert json.loads(pyarrow.table(rates).schema.metadata[b"tagq.total"]) == rates.total.rows
    assert run.coincidences(window="2ns").total is None and rates.total.total is None
    assert "\n     all " in repr(rates) or " all " in repr(rates)


def test_results_are_saved_as_the_command_line_writes_them(run: tagq.Run, folder: Path, tmp_path: Path) -> None:
    result = run.g2(1, 2, bin="5ns", range="100ns")
    words = ["g2", "1,2", "--bin", "5ns", "--range", "100ns", folder]
    for name in ("a.json", "a.csv", "a.txt", "a.arrow", "a.parquet"):
        result.save(tmp_path / name)
        cli(*words, "-o", tmp_path / f"cli-{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"cli-{name}").read_bytes(), name
    for name in ("a.svg", "a.png", "a.html"):
        result.save(tmp_path / name)
        cli(*words, "--plot", tmp_path / f"cli-{name}", "-o", tmp_path / "b.json", "--force")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"cli-{name}").read_bytes(), name
    assert (tmp_path / "a.svg").read_text().split("?>\n", 1)[1] in result._repr_html_()
    with pytest.raises(tagq.TagqError, match="is there already"):
        result.save(tmp_path / "a.csv")
    result.save(tmp_path / "a.csv", replace=True)
    with pytest.raises(tagq.QuestionError, match="its name does not say"):
        result.save(tmp_path / "a.doc")
    tuples = run.tuples(window="2ns", groups=[(1, 2)])
    for name in ("list.parquet", "list.csv", "list.json", "list.txt", "list.arrow"):
        tuples.save(tmp_path / name)
        cli("coincidences", "--list", "--window", "2ns", "--group", "1,2", folder, "-o", tmp_path / f"cli-{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"cli-{name}").read_bytes(), name
    with pytest.raises(tagq.QuestionError, match="no figure"):
        tuples.save(tmp_path / "list.svg")
    assert not list(tmp_path.glob(".tagq-*")) and not (tmp_path / "list.svg").exists()


def test_names_stand_beside_numbers(folder: Path) -> None:
    (folder / "tagq.toml").write_text('[channels]\n1 = "H"\n2 = "V \\"left\\""\n')
    run = tagq.open(folder)
    rates = run.rates()
    assert rates["name"].tolist()[:3] == ["H", 'V "left"', None]
    pairs = run.coincidences(window="2ns")
    assert pairs["names"][0] == ["H", 'V "left"'] and pairs["names"][1] == ["H", None]
    assert polars.DataFrame(pairs)["names"].to_list() == pairs["names"].tolist()
    assert pyarrow.table(rates)["name"].to_pylist() == rates["name"].tolist()
    lines = cli("rates", folder, "--format", "csv").decode().splitlines()
    assert lines[1].startswith("channel,name,count") and lines[3].startswith('2,"V ""left""",')
    assert "name" not in repr(rates) and " H " in repr(rates)


def test_a_run_is_a_table_of_its_tags(run: tagq.Run, blocks: tagq.Run) -> None:
    for _ in range(2):
        frame = polars.DataFrame(run)
        assert frame.equals(polars.DataFrame(run.tags())) and len(frame) == len(run)
    assert duckdb.sql("select count(*), max(channel) from run").fetchall() == [(len(run), int(run.channel.max()))]
    # The first batch comes before the rest is made.
    reader = pyarrow.RecordBatchReader.from_stream(blocks)
    assert 0 < reader.read_next_batch().num_rows <= len(blocks)


def test_a_wrong_line_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    path.write_text("1\t10\n1\tsoon\n")
    with pytest.raises(tagq.TextError, match="line 2") as raised:
        tagq.open(path, tick="1ps")
    assert isinstance(raised.value, ValueError) and not isinstance(raised.value, tagq.DamageError)
