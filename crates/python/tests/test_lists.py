"""Lists of coincidences and sums of runs equal those of the command line."""

from __future__ import annotations

import contextlib
import gc
import json
import pickle
import time
from pathlib import Path

import numpy
import polars
import pyarrow
import pytest

import tagq
from conftest import cli, cli_json

#: The threads of this process, on Linux.
TASKS = Path("/proc/self/task")

LISTS = [
    (dict(window="2ns", groups=[(1, 2)]), ["--window", "2ns", "--group", "1,2"]),
    (
        dict(window="1us", groups=[(1, 2, 3)], rule="herald", delays={2: "5ns"}, veto=[4], last="100ms"),
        [*"--window 1us --group 1,2,3 --rule herald --delay 2=5ns --veto 4 --last 100ms".split()],
    ),
    (dict(window="100ns", choose=2, rule="once"), ["--window", "100ns", "--choose", "2", "--rule", "once"]),
    (dict(full_width="1us", rule="cluster"), ["--full-width", "1us", "--rule", "cluster"]),
]


@pytest.mark.parametrize(("words", "flags"), LISTS)
def test_tuples_are_those_of_the_command_line(run: tagq.Run, folder: Path, words: dict, flags: list) -> None:
    tuples = run.tuples(**words)
    assert tuples.columns == pyarrow.table(tuples).column_names
    path = folder.parent / "list.arrow"
    cli("coincidences", "--list", *flags, folder, "-o", path)
    expected = pyarrow.ipc.open_file(path).read_all()
    assert len(expected) > 3
    read = pyarrow.table(tuples)
    assert read.equals(expected)
    assert read.schema.metadata == expected.schema.metadata
    assert tuples.header in repr(tuples)
    if "rule" not in words:
        assert len(expected) == run.coincidences(**words).rows[0]["count"]


@pytest.mark.skipif(not TASKS.exists(), reason="the names of threads are not known")
def test_a_list_is_made_while_it_is_read(tmp_path: Path) -> None:
    # Each tag of 1 has one of 2 next to it: four million pairs.
    tags = numpy.arange(8_000_000)
    run = tagq.from_arrays(tags // 2 * 100, (tags % 2 + 1).astype("u1"), tick="1ps", store=tmp_path / "s.tagq")
    words = dict(window="10ps", groups=[(1, 2)])
    reader = pyarrow.RecordBatchReader.from_stream(run.tuples(**words))
    first = reader.read_next_batch()
    # Other queries do not wait for the reader of the list.
    assert run.coincidences(**words).rows[0]["count"] == 4_000_000
    assert 0 < first.num_rows < 1_000_000
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 4_000_000
    # A list that is dropped is cancelled, and its thread ends.
    reader = pyarrow.RecordBatchReader.from_stream(run.tuples(**words))
    reader.read_next_batch()
    assert lists_being_made() > 0
    del reader
    until = time.monotonic() + 10
    while lists_being_made() > 0:
        assert time.monotonic() < until
        time.sleep(0.01)


def lists_being_made() -> int:
    gc.collect()
    names = []
    for task in TASKS.iterdir():
        # A thread may end between the two reads.
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text().strip())
    return names.count("tagq-list")


def test_a_list_has_neither_bins_nor_runs(run: tagq.Run) -> None:
    with pytest.raises(tagq.QuestionError, match="one run after the other"):
        tagq.sum([run]).tuples(window="2ns")
    with pytest.raises(tagq.QuestionError, match="`window` is missing"):
        run.tuples()
    with pytest.raises(TypeError):
        run.tuples(window="2ns", bin="1ms")  # type: ignore[call-arg]


SUMS = [
    ("coincidences", dict(window="2ns"), ["--window", "2ns"]),
    ("coincidences", dict(window="2ns", bin="50ms"), ["--window", "2ns", "--bin", "50ms"]),
    ("histogram", dict(start=1, stop=2, bin="8t"), ["--start", "1", "--stop", "2", "--bin", "8t"]),
    ("g2", dict(start=1, stop=2, bin="8t"), ["--start", "1", "--stop", "2", "--bin", "8t"]),
    ("histogram2d", dict(herald=1, a=2, b=3, bin="5us", range="50us"), ["1,2,3", "--bin", "5us", "--range", "50us"]),
    ("rates", {}, []),
]


@pytest.mark.parametrize(("kind", "words", "flags"), SUMS)
def test_sums_are_those_of_the_command_line(folder: Path, kind: str, words: dict, flags: list) -> None:
    files = [folder / "1.tags.zst", folder / "2.tags.zst"]
    expected = cli_json(kind, *flags, "--sum", *files)
    for both in (tagq.sum(tagq.open(file) for file in files), tagq.open(files), tagq.open(tuple(map(str, files)))):
        result = getattr(both, kind)(**words)
        assert json.loads(result.to_json()) == expected
        assert "2 runs" in repr(both)
        assert len(polars.DataFrame(result)) == len(result)


def test_a_list_of_paths_is_one_object(folder: Path) -> None:
    files = [folder / "1.tags.zst", folder / "2.tags.zst"]
    with tagq.open(files, tick="1ns") as both:
        assert [run.tick for run in both.runs] == ["1 ns"] * 2 and not both.closed and not both.refresh()
        counts = both.rates()["count"].tolist()
        again = pickle.loads(pickle.dumps(both))
        assert again.rates()["count"].tolist() == counts and len(again.runs) == 2
        assert "2 runs added up" in both.rates()._repr_html_()
    assert both.closed and all(run.closed for run in both.runs)
    with pytest.raises(tagq.ClosedError):
        both.rates()
    assert tagq.open([folder]).rates()["count"].sum() == len(tagq.open(folder))
    # As the command line does, it warns of files that are counted twice.
    with pytest.warns(tagq.TagqWarning, match="counted twice"):
        tagq.open([folder, files[0]]).rates()
    with pytest.raises(tagq.QuestionError, match="path: the list is empty; name one run or more"):
        tagq.open([])
    with pytest.raises(tagq.WrongTypeError, match="not of bytes|not bytes"):
        tagq.open(b"run")  # type: ignore[call-overload]


def test_only_runs_can_be_summed(run: tagq.Run) -> None:
    with pytest.raises(tagq.QuestionError, match="no runs"):
        tagq.sum([])
    for wrong in (7, ["run/"], [run, None]):
        with pytest.raises(tagq.WrongTypeError, match="runs"):
            tagq.sum(wrong)  # type: ignore[arg-type]
    other = tagq.from_arrays(numpy.array([1, 2]), numpy.array([1, 1]), tick="1ps")
    with pytest.raises(tagq.QuestionError, match="tick"):
        tagq.sum([run, other]).rates()
    other.close()
    with pytest.raises(tagq.ClosedError):
        tagq.sum([run, other]).rates()


def test_floats_that_lose_the_tick_are_warned_of() -> None:
    far = tagq.from_arrays(numpy.array([0, 1, 2**55, 2**55 + 1]), numpy.ones(4, "u1"), tick="1ps")
    with pytest.warns(tagq.TagqWarning, match="time_ns do not always say which tick") as warned:
        frame = polars.DataFrame(far.tags(time_unit="ns"))
    assert warned[0].filename == __file__
    assert frame["time"].to_list() == [0, 1, 2**55, 2**55 + 1]
    # In the first second floats identify each tick.
    assert len(polars.DataFrame(far.tags(time_unit="ns", to="1s"))) == 2
