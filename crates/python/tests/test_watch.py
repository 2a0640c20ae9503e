"""Growing runs: refresh and watch."""

from __future__ import annotations

import itertools
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import polars
import pytest

import tagq
from conftest import PROGRAM, ROOT, cli_json, interruptible, needs_signals

FIRST = ROOT / "data/fixtures/pairs/1.tags.zst"
SECOND = ROOT / "data/fixtures/pairs/2.tags.zst"


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    """Creates a run of only the first file."""
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(FIRST, run)
    return run


def test_refresh_takes_in_what_came(growing: Path) -> None:
    run = tagq.open(growing)
    before, time = len(run), run.time
    assert run.refresh() is False
    shutil.copy(SECOND, growing)
    assert len(run) == before, "it stays what it is until then"
    assert run.refresh() is True
    assert len(run) > before and len(time) == before
    pairs = cli_json("coincidences", "--window", "2ns", "--no-cache", growing)["rows"]
    assert run.coincidences(window="2ns").rows == pairs
    with pytest.raises(tagq.ClosedError):
        run.close()
        run.refresh()


def test_a_run_of_arrays_has_nothing_to_take_in(tmp_path: Path) -> None:
    run = tagq.from_arrays(numpy.array([1, 2, 3]), numpy.array([1, 1, 2]), tick="1ps", store=tmp_path / "a.tagq")
    assert run.refresh() is False
    assert len(run) == 3


def test_watch_answers_now_and_with_each_growth(growing: Path) -> None:
    run = tagq.open(growing)
    watched = run.watch("coincidences", window="2ns", groups=[(1, 2)], delays={2: "6t"}, timeout="5s")
    first = next(watched)
    assert first.rows == run.coincidences(window="2ns", groups=[(1, 2)], delays={2: "6t"}).rows
    shutil.copy(SECOND, growing)
    both = next(result for result in watched if result.run["sources"] == 2)
    assert both.rows[0]["count"] > first.rows[0]["count"]
    # The file is ingested to its end after it has stopped growing.
    last = list(watched)[-1]
    words = ["--window", "2ns", "--group", "1,2", "--delay", "2=6t", "--no-cache", "--no-ingest"]
    assert last.rows == cli_json("coincidences", *words, growing)["rows"]
    assert polars.DataFrame(last)["count"][0] == last.rows[0]["count"]
    # It has released the lock of the store.
    assert cli_json("rates", growing)["run"]["tags"] == len(run)


@pytest.mark.filterwarnings("ignore::tagq.TagqWarning")
def test_chosen_bins_stay_in_a_watch(tmp_path: Path) -> None:
    """Steady light has no structure, and more tags fill finer bins."""

    def write(name: str, tags: int, seed: int) -> None:
        random = numpy.random.default_rng(seed)
        times = numpy.sort(random.integers(0, 10**11, tags)) + seed * 10**11
        lines = numpy.column_stack([random.integers(1, 3, tags), times])
        numpy.savetxt(tmp_path / name, lines, fmt="%d", delimiter="\t")

    write("1.tsv", 3_000, 0)
    run = tagq.open(tmp_path, tick="1ps")
    watched = run.watch("g2", start=1, stop=2, timeout="5s")
    first = next(watched)
    write("2.tsv", 60_000, 1)
    both = next(result for result in watched if result.run["sources"] == 2)
    watched.close()
    assert both.query["bin_ticks"] == first.query["bin_ticks"]
    assert run.g2(1, 2).query["bin_ticks"] < first.query["bin_ticks"], "a new question chooses again"


def test_a_function_is_watched_with_its_interval(growing: Path) -> None:
    run = tagq.open(growing)
    watched = run.watch(lambda run: (len(run), run.rates()["count"].sum()), every="10ms", timeout="200ms")
    seen = list(watched)
    assert seen and all(rows == counts for rows, counts in seen)


def test_while_another_writes_its_commits_are_watched(growing: Path) -> None:
    follower = subprocess.Popen([PROGRAM, "ingest", "--follow", "--quiet", str(growing)])
    try:
        while not (growing / ".tagq/manifest.json").exists():
            time.sleep(0.01)
        run = tagq.open(growing, ingest=False)
        watched = run.watch("rates", timeout="20s")
        next(watched)
        shutil.copy(SECOND, growing)
        both = next(result for result in watched if result.run["sources"] == 2)
        assert both.run["tags"] > 0
    finally:
        follower.kill()
        follower.wait()


def test_leaving_the_loop_lets_go_of_the_store(growing: Path) -> None:
    run = tagq.open(growing)
    for result in run.watch("rates"):
        assert len(result) == 4
        break
    tagq.ingest(growing, rebuild=True)


def test_wrong_words_are_refused_before_anything_is_waited_for(growing: Path) -> None:
    run = tagq.open(growing)
    with pytest.raises(tagq.QuestionError, match="rate"):
        run.watch("rate")  # type: ignore[call-overload]
    with pytest.raises(tagq.WrongTypeError, match="every"):
        run.watch("rates", every=1)  # type: ignore[call-overload]
    with pytest.raises(tagq.QuestionError, match="every"):
        run.watch("rates", every="-1s")
    with pytest.raises(tagq.QuestionError, match="hold_back"):
        run.watch("rates", hold_back="soon")
    with pytest.raises(tagq.WrongTypeError, match="window"):
        run.watch(len, window="2ns")  # type: ignore[call-overload]
    with pytest.raises(tagq.QuestionError, match="window"):
        next(run.watch("coincidences"))
    run.close()
    with pytest.raises(tagq.ClosedError):
        run.watch("rates")


WATCHING = """
import sys, tagq
run = tagq.open(sys.argv[1])
try:
    for result in run.watch("rates"):
        print("answered", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


@needs_signals
def test_ctrl_c_ends_a_watch(growing: Path) -> None:
    words = [*interruptible(), sys.executable, "-c", WATCHING, str(growing)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "answered\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().endswith("interrupted\n")
        assert process.wait(timeout=30) == 7


def test_several_watches_of_one_run_take_turns(growing: Path) -> None:
    run, other = tagq.open(growing), tagq.open(growing)
    one, two = run.watch("rates", timeout="3s"), other.watch("rates", timeout="3s")
    pairs = list(itertools.islice(zip(one, two), 1))
    assert pairs[0][0].rows == pairs[0][1].rows
    one.close()
    shutil.copy(SECOND, growing)
    assert any(result.run["sources"] == 2 for result in two)
