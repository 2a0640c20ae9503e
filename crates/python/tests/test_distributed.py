"""Queries and ingests on the workers of an executor give what one process gives."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy
import polars
import pytest
from distributed import Client, LocalCluster

import tagq
from conftest import ROOT, needs_signals
from test_answers import QUESTIONS

pytestmark = pytest.mark.filterwarnings("default", "ignore::tagq.TagqWarning")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def ask(of: object, query: str, words: dict) -> str:
    return getattr(of, query)(**words).to_json()


@pytest.mark.parametrize("kind", ["client", "pool"])
def test_all_queries_are_those_of_one_process(
    run: tagq.Run, kind: str, request: pytest.FixtureRequest
) -> None:
    spread = tagq.distributed.query(run, executor=request.getfixturevalue(kind), parts=5)
    for query, words, _ in QUESTIONS:
        assert ask(spread, query, words) == ask(run, query, words), (query, words)


def test_hundreds_of_cuts_change_nothing(blocks: tagq.Run, client: Client) -> None:
    told: list[tuple[int, int]] = []
    spread = tagq.distributed.query(
        blocks, executor=client, parts=201, progress=lambda done, of: told.append((done, of))
    )
    for query, words in [
        ("coincidences", dict(window="5t", groups=[(1, 2), (1, 2, 3)], errors="blocks:20")),
        ("g2", dict(start=1, stop=2, bin="4t", range="200t", errors="blocks:10")),
        ("histogram", dict(start=1, stop=9, mode="next", bin="1000t", range="0t..100000t")),
        ("rates", dict(bin="7000t")),
    ]:
        told.clear()
        assert ask(spread, query, words) == ask(blocks, query, words)
        assert told == [(done, 201) for done in range(1, 202)]


def test_the_same_query_is_answered_again_and_again(run: tagq.Run, client: Client) -> None:
    spread = tagq.distributed.query(run, executor=client, parts=2)
    answers = {ask(spread, "coincidences", dict(window="2ns")) for _ in range(30)}
    assert answers == {ask(run, "coincidences", dict(window="2ns"))}


def test_parts_that_were_counted_before_are_taken_from_a_folder(
    blocks: tagq.Run, tmp_path: Path, client: Client
) -> None:
    spread = tagq.distributed.query(blocks, executor=client, part_tags=70_000, cache=tmp_path / "parts")
    words = {"window": "9ps"}
    assert ask(spread, "coincidences", words) == ask(blocks, "coincidences", words)
    files = {file: file.stat().st_ino for file in (tmp_path / "parts").iterdir()}
    assert len(files) == 10
    assert ask(spread, "coincidences", words) == ask(blocks, "coincidences", words)
    assert files == {file: file.stat().st_ino for file in (tmp_path / "parts").iterdir()}
    with pytest.raises(tagq.QuestionError, match="parts excludes part_tags"):
        tagq.distributed.query(blocks, executor=client, parts=2, part_tags=9).rates()


@pytest.mark.filterwarnings("ignore:.*counted twice:tagq.TagqWarning")
def test_several_runs_are_added(run: tagq.Run, folder: Path, tmp_path: Path, client: Client) -> None:
    later = tmp_path / "later"
    later.mkdir()
    shutil.copy(folder / "2.tags.zst", later)
    runs = [run, tagq.open(later)]
    spread, one = tagq.distributed.query(runs, executor=client, parts=6), tagq.sum(runs)
    for query, words in [("coincidences", dict(window="1us", rule="cluster")), ("rates", {})]:
        assert ask(spread, query, words) == ask(one, query, words)


@needs_signals
def test_a_worker_that_is_killed_changes_nothing(blocks: tagq.Run, client: Client) -> None:
    pids = list(client.run(os.getpid).values())

    def kill(done: int, _: int) -> None:
        if done == 20:
            os.kill(pids[0], signal.SIGKILL)

    spread = tagq.distributed.query(blocks, executor=client, parts=400, progress=kill)
    words = dict(window="5t", rule="once")
    assert ask(spread, "coincidences", words) == ask(blocks, "coincidences", words)
    assert pids[0] not in client.run(os.getpid).values()


@pytest.mark.parametrize("kind", ["client", "pool"])
def test_an_exception_cancels_the_rest(
    blocks: tagq.Run, kind: str, request: pytest.FixtureRequest
) -> None:
    executor = request.getfixturevalue(kind)
    told: list[int] = []

    def stop(done: int, _: int) -> None:
        told.append(done)
        if done == 3:
            raise KeyboardInterrupt

    spread = tagq.distributed.query(blocks, executor=executor, parts=300, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        spread.coincidences(window="5t")
    assert told == [1, 2, 3]
    # The workers answer the next query.
    spread = tagq.distributed.query(blocks, executor=executor, parts=2)
    assert ask(spread, "rates", {}) == ask(blocks, "rates", {})


def test_what_cannot_be_counted_in_parts_is_refused(run: tagq.Run, client: Client) -> None:
    spread = tagq.distributed.query(run, executor=client)
    with pytest.raises(tagq.QuestionError, match="sync"):
        spread.histogram(1, 2, mode="last", sync_divider=2, bin="1t", range="0t..9t")
    with pytest.raises(tagq.QuestionError, match="lists"):
        spread.tuples(window="2ns")
    with pytest.raises(tagq.WrongTypeError, match="executor"):
        tagq.distributed.query(run, executor=3)
    with pytest.raises(tagq.WrongTypeError, match="runs"):
        tagq.distributed.query([], executor=client)
    with pytest.raises(tagq.QuestionError, match="parts"):
        tagq.distributed.query(run, executor=client, parts=0).rates()


def test_an_error_of_a_part_is_that_of_the_query(folder: Path, tmp_path: Path, client: Client) -> None:
    run = tagq.open(folder)
    shutil.rmtree(run.store)
    tagq.open(folder)
    for executor in [client, ThreadPoolExecutor(2)]:
        spread = tagq.distributed.query(run, executor=executor, parts=2, retries=1)
        with pytest.raises(tagq.TagqError, match="are not those that are asked for"):
            spread.coincidences(window="2ns")


@pytest.mark.filterwarnings("ignore:.*counted twice:tagq.TagqWarning")
def test_the_example_of_the_page_works(
    folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/clusters.md").read_text()
    example = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    monkeypatch.chdir(folder.parent)
    for day in ("monday", "tuesday"):
        shutil.copytree(folder, f"lab/{day}")
    monkeypatch.setattr("dask.distributed.Client", lambda: client)
    names: dict[str, object] = {}
    exec(example, names)
    one = tagq.sum(names["runs"]).coincidences(window="2ns")
    assert names["pairs"].to_json() == one.to_json()


def test_the_submit_file_is_one_of_htcondor() -> None:
    htcondor = pytest.importorskip("htcondor2")
    submit = htcondor.Submit((ROOT / "docs/examples/tagq.sub").read_text())
    assert submit.getQArgs() == "$(parts)"
    assert submit["arguments"] == "partial plan.json --index $(Process) --threads 4 -o p.$(Process)"
    assert (submit["retry_until"], submit["request_cpus"]) == ("ExitCode != 75", "4")


def test_runs_and_results_are_pickled(folder: Path) -> None:
    shutil.move(folder / "2.tags.zst", folder.parent)
    run = tagq.open(folder)
    pairs = run.coincidences(window="2ns")
    state = pickle.dumps(run)
    shutil.move(folder.parent / "2.tags.zst", folder)
    assert len(tagq.open(folder)) > len(run)
    # The run has grown, and the pickled one has not.
    same = pickle.loads(state)
    assert len(same) == len(run)
    assert numpy.array_equal(same.time, run.time)
    assert same.coincidences(window="2ns").to_json() == pairs.to_json()
    read = pickle.loads(pickle.dumps(pairs))
    assert (read.header, read.to_json(), repr(read)) == (pairs.header, pairs.to_json(), repr(pairs))
    assert numpy.array_equal(read["count"], pairs["count"])
    assert polars.DataFrame(read).equals(polars.DataFrame(pairs))


def test_sources_are_ingested_by_workers(folder: Path, tmp_path: Path, client: Client) -> None:
    days = []
    for day in range(3):
        days.append(tmp_path / f"day{day}")
        shutil.copytree(folder, days[-1])
    runs = tagq.distributed.ingest(days, executor=client)
    one = tagq.ingest(folder)
    assert [numpy.array_equal(run.time, one.time) for run in runs] == [True] * 3
    both = {tmp_path / "both.tagq": [folder / "1.tags.zst", folder / "2.tags.zst"]}
    (stored,) = tagq.distributed.ingest(both, executor=client)
    assert (stored.store, len(stored)) == (str(tmp_path / "both.tagq"), len(one))
    with pytest.raises(tagq.NotFoundError):
        tagq.distributed.ingest([tmp_path / "absent"], executor=client)
