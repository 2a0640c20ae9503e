"""A run inherited by fork, as with multiprocessing on Linux: each call answers or raises a clear error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy
import pyarrow
import pytest

import tagq
from conftest import PROGRAM, cli

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

#: Timeout in seconds for a child process.
BOUND = 60


def start(work: Callable[[], object]) -> tuple[int, int]:
    """Forks a child that does this work and writes its result. Returns its process id and the pipe."""
    source, sink = os.pipe()
    with warnings.catch_warnings():
        # Python warns about threads, which these tests use on purpose.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(source)
        signal.alarm(BOUND)
        try:
            said = str(work())
        except BaseException as error:
            traceback.print_exc()
            said = f"{type(error).__name__}: {error}"
        os.write(sink, said.encode())
        os._exit(0)
    os.close(sink)
    return child, source


def end(child: int, source: int) -> str:
    said = b"".join(iter(lambda: os.read(source, 4096), b""))
    os.close(source)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the child hung"
    return said.decode()


def forked(work: Callable[[], object]) -> str:
    """Returns the result of this work in a child."""
    return end(*start(work))


def counts(run: tagq.Run) -> list[int]:
    return [row["count"] for row in run.coincidences(window="2ns").rows]


@pytest.mark.filterwarnings("ignore:.*counted twice:tagq.TagqWarning")
def test_a_child_asks_what_its_parent_opened_and_asked(run: tagq.Run, folder: Path) -> None:
    expected = counts(run)
    assert sum(expected) > 0
    assert forked(lambda: counts(run)) == str(expected)
    # A child of a child, a sum of runs, a trace, a run opened in the child, and a closed run.
    assert forked(lambda: forked(lambda: counts(run))) == str(expected)
    both = [2 * count for count in expected]
    in_sum = lambda: [row["count"] for row in tagq.sum([run, run]).coincidences(window="2ns").rows]  # noqa: E731
    assert forked(in_sum) == str(both)
    trace = lambda: run.coincidences(window="2ns", bin="50ms").rows  # noqa: E731
    assert forked(trace) == str(trace())
    assert forked(lambda: counts(tagq.open(folder))) == str(expected)
    assert forked(lambda: run.close()) == "None"
    assert counts(run) == expected


def test_a_child_takes_sources_in_and_has_lists_and_views(run: tagq.Run, tmp_path: Path) -> None:
    channel, time = run.channel, run.time
    # A list created by the parent, one created in the child, and a table.
    assert forked(lambda: time.sum()) == str(time.sum())
    assert forked(lambda: run.channel.sum()) == str(channel.sum())
    assert forked(lambda: pyarrow.table(run.tags(channels=[1])).num_rows) == str((channel == 1).sum())
    listed = lambda: pyarrow.table(run.tuples(window="2ns", groups=[(1, 2)])).num_rows  # noqa: E731
    assert forked(listed) == str(listed())
    text = tmp_path / "a.tsv"
    text.write_text("1\t0\n2\t1\n1\t50\n")
    assert forked(lambda: counts(tagq.open(text, tick="1ns"))) == "[1]"
    made = lambda: counts(tagq.from_arrays(time[:99], channel[:99], tick="1ns"))  # noqa: E731
    assert forked(made) == str(made())


def test_a_child_is_forked_while_threads_ask(run: tagq.Run) -> None:
    expected = counts(run)
    stop, began = threading.Event(), threading.Barrier(3)

    def ask() -> None:
        began.wait()
        while not stop.is_set():
            counts(run)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    began.wait()
    try:
        said = [forked(lambda: counts(run)) for _ in range(20)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert said == [str(expected)] * 20


def test_a_column_that_is_cut_short_is_an_error_in_a_child_too(run: tagq.Run, folder: Path) -> None:
    assert sum(counts(run)) > 0
    (gaps,) = (folder / ".tagq").glob("gap.*")
    os.truncate(gaps, 4096)
    said = forked(lambda: counts(run))
    assert "could not be read: it was cut short" in said, said


def test_what_the_parent_began_is_the_parents(folder: Path, blocks: tagq.Run) -> None:
    run = tagq.open(folder)
    watched = run.watch("rates", timeout="5s")
    first = next(watched)
    assert len(first) > 0
    assert forked(lambda: next(watched)).startswith("ForkedError: what follows this run belongs to the process")
    scan = blocks._run.scan(None, None, None, None, True, True, False)
    whole = next(scan)
    assert forked(lambda: next(scan)).startswith("ForkedError: this scan belongs to the process")
    assert len(whole) > 0
    reader = pyarrow.RecordBatchReader.from_stream(run.tuples(window="2ns", groups=[(1, 2)]))
    assert "this list belongs to the process" in forked(lambda: reader.read_all())
    # A new watch in the child answers from the commits of the parent.
    assert forked(lambda: len(next(run.watch("rates", timeout="5s")))) == str(len(first))
    watched.close()


def test_a_child_neither_holds_nor_gives_back_the_lock_of_its_parent(folder: Path) -> None:
    second = (folder / "2.tags.zst").rename(folder.parent / "second")
    run = tagq.open(folder)
    ingest = [PROGRAM, "ingest", folder]
    watched = run.watch("rates", timeout="5s")
    next(watched)
    second.rename(folder / "2.tags.zst")
    assert next(result for result in watched if result.run["sources"] == 2)
    # The child closes everything, and the parent still follows.
    assert forked(lambda: (watched.close(), run.close())) == "(None, None)"
    assert subprocess.run(ingest, capture_output=True, check=False).returncode == 4
    goes_on, say = os.pipe()
    child, source = start(lambda: os.read(goes_on, 1).decode())
    watched.close()
    # The child is running and has all files open.
    cli("ingest", folder)
    os.write(say, b"x")
    assert end(child, source) == "x"


def test_a_store_on_its_way_stays_where_a_child_ends(tmp_path: Path) -> None:
    at = tmp_path / "a.tagq"
    new = tagq._tagq.NewStore(at, "1ns")
    time, channel = numpy.arange(3, dtype="<i8").tobytes(), numpy.ones(3, dtype="<u2").tobytes()
    new.append(time, channel)

    def drop() -> str:
        nonlocal new
        refused = ""
        try:
            new.append(time, channel)
        except tagq.ForkedError as error:
            refused = str(error)
        del new
        return refused

    assert forked(drop).startswith("this new store belongs to the process")
    assert tagq.Run(new.finish("arrays")).facts["tags"] == 3


START = """
import multiprocessing, sys, tagq

def ask(run):
    return [row["count"] for row in run.coincidences(window="2ns").rows]

def inherited(queue):
    queue.put(ask(RUN))

if __name__ == "__main__":
    RUN = tagq.open(sys.argv[2])
    expected = ask(RUN)
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        same = [found == expected for found in pool.map(ask, [RUN] * 6)]
    # The parent still counts, and its children are gone.
    print(same == [True] * 6 and ask(RUN) == expected, expected)
    if sys.argv[1] == "fork":
        queue = context.Queue()
        child = context.Process(target=inherited, args=(queue,))
        child.start()
        print(queue.get(timeout=30) == expected, child.join(), child.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_each_start_of_multiprocessing_asks_an_open_run(run: tagq.Run, folder: Path, tmp_path: Path, method: str) -> None:
    script = tmp_path / "start.py"
    script.write_text(START)
    command = [sys.executable, "-W", "ignore", str(script), method, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * BOUND)
    lines = done.stdout.splitlines()
    assert lines[:1] == [f"True {counts(run)}"], done.stderr
    assert lines[1:] == (["True None 0"] if method == "fork" else [])


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are not listed here")
def test_many_runs_share_their_threads_and_hold_no_files(folder: Path) -> None:
    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

    first = tagq.open(folder)
    expected = counts(first)
    threads, files = held()
    runs = [tagq.open(folder) for _ in range(100)]
    assert [counts(run) for run in runs] == [expected] * 100
    more_threads, more_files = held()
    assert more_threads <= threads and more_files <= files
    # So do the runs of a child, with threads of its own.
    assert int(forked(lambda: sum(counts(run) == expected for run in runs) + 1000 * (held()[0] > threads))) == 100


def test_multiprocessing_forks(run: tagq.Run, folder: Path) -> None:
    expected = counts(run)
    script = f"""
import multiprocessing, tagq
run = tagq.open({str(folder)!r})
ask = lambda _: [row["count"] for row in run.coincidences(window="2ns").rows]
count = ask(0)
def work(at):
    return ask(at)
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(all(count == other for other in pool.map(work, range(4))), count)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, check=True, timeout=BOUND
    )
    assert done.stdout.decode().strip() == f"True {expected}"
