"""Queries and ingests on the workers of an executor: of Dask, or of ``concurrent.futures``.

A query is divided into parts, as ``tagq plan`` does; each worker opens the store of its run and counts an interval of
time, and the answer is that of a single process, digit by digit. Workers see the stores by the same paths::

    import tagq
    from dask.distributed import Client

    runs = [tagq.open(f"runs/{day}") for day in ("monday", "tuesday")]
    pairs = tagq.distributed.query(runs, executor=Client("scheduler:8786")).coincidences(window="2ns")
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _tagq
from ._errors import DamageError, NotFoundError, QuestionError, WrongTypeError
from ._requests import Requests
from ._open import ingest as ingest_here
from ._run import Run
from .objects import count as count_copied

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    Path = str | os.PathLike[str]
    Progress = Callable[[int, int], object]
    Objects = Sequence[tuple[ObjectStore, str]] | None
    #: Threads of a part, how columns are read, the folder of partial results, and the storage of each run.
    _How = tuple[int, str, str | None, Objects]

#: Tags of a part, at least, if the number of parts is not given: fewer are counted faster than they are sent.
TAGS_MIN = 1 << 22
#: Parts for each thread of the workers, so that they end at about the same time.
PARTS_PER_THREAD = 4
#: Partial results that are added at once.
ADDED = 16

__all__ = ["Query", "ingest", "query"]


def query(
    runs: Run | Iterable[Run],
    *,
    executor: Any,
    parts: int | None = None,
    part_tags: int | None = None,
    threads: int = 1,
    io: Literal["map", "read"] = "map",
    cache: Path | None = None,
    objects: Sequence[tuple[ObjectStore, str]] | None = None,
    retries: int = 2,
    progress: Progress | None = None,
) -> Query:
    """Returns an object whose methods are the queries of a run, answered by the workers of ``executor``. The counts
    of several runs are added up, as by ``tagq.sum``.

    executor
        A ``dask.distributed.Client``, or any ``concurrent.futures.Executor``, such as ``ProcessPoolExecutor``.
    parts
        About so many parts [default: four for each thread of the workers, but no part below four million tags].
    part_tags
        Divide each run after every so many tags instead. Parts stay the same when runs grow.
    threads
        Threads of each part. Dask counts as many parts at once as a worker has threads.
    io
        How workers read columns, as in ``tagq.open``.
    cache
        A folder that all workers see. Partial results are kept in it and taken from it: with ``part_tags``, a query that
        is repeated after runs have grown counts only the new parts.
    objects
        For each run the object storage and the path in it where workers find its store, as in ``tagq.objects.partial``,
        if they do not see the path of the run.
    retries
        How often a part is counted again after an error that may pass, such as one of the file system.
    progress
        Called with the number of parts that are counted, and the number of all.
    """
    if isinstance(runs, Run):
        runs = [runs]
    runs = list(runs)
    if not runs or not all(isinstance(run, Run) for run in runs):
        raise WrongTypeError("runs: a run that tagq.open returned, or several, are wanted")
    if objects is not None and len(objects) != len(runs):
        raise QuestionError(f"objects: {len(objects)} stores of {len(runs)} runs")
    how = (threads, io, None if cache is None else os.path.abspath(cache), objects)
    return Query(runs, _workers(executor), (parts, part_tags), how, retries, progress)


def ingest(
    sources: Iterable[Path] | Mapping[Path, Path | Sequence[Path]],
    *,
    executor: Any,
    **options: Any,
) -> list[Run]:
    """Ingests each of ``sources`` into a store of its own, on the workers, and opens all of these.

    sources
        Paths as ``tagq.ingest`` takes one, or a dict of stores with the sources of each.
    options
        Further arguments of ``tagq.ingest``.
    """
    if isinstance(sources, Mapping):
        tasks = [(_paths(of), {**options, "store": os.fspath(store)}) for store, of in sources.items()]
    else:
        tasks = [(os.fspath(path), dict(options)) for path in sources]
    workers = _workers(executor)
    futures = [workers.submit(_ingest, of, given) for of, given in tasks]
    with workers.cancelled_on_error(futures):
        return [future.result() for future in futures]


class Query(Requests):
    """Queries that the workers of an executor answer. Made by ``query``."""

    def __init__(
        self,
        runs: list[Run],
        workers: _Workers,
        parts: tuple[int | None, int | None],
        how: _How,
        retries: int,
        progress: Progress | None,
    ) -> None:
        self._runs = runs
        self._workers = workers
        self._parts = parts
        self._how = how
        self._retries = retries
        self._progress = progress
        self._ask = self._answer
        self._list = _refuse_list

    def _answer(self, name: str, words: dict[str, Any]) -> _tagq.Answer:
        parts, part_tags = self._parts
        if parts is None:
            tags = sum(len(run) for run in self._runs)
            parts = max(1, min(PARTS_PER_THREAD * self._workers.threads(), tags // TAGS_MIN))
        elif part_tags is not None:
            raise QuestionError("parts excludes part_tags; give one of them")
        for of, number in (("parts", parts), ("part_tags", part_tags)):
            if number is not None and (not isinstance(number, int) or number < 1):
                raise QuestionError(f"{of}: a number from 1 on is wanted, not {number}")
        plan = _tagq.Plan.make([run._run for run in self._runs], name, words, parts, part_tags)
        total = self._workers.count(plan, self._how, self._retries, self._progress)
        return plan.answer([total])


def _refuse_list(_: dict[str, Any]) -> _tagq.Tuples:
    raise QuestionError("lists are of one process: ask the run itself")


class _Workers:
    """The workers of an executor of ``concurrent.futures``."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor

    def threads(self) -> int:
        return getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._executor.submit(function, *args)

    def cancelled_on_error(self, futures: Iterable[Any]) -> _Cancelled:
        return _Cancelled(lambda: [future.cancel() for future in futures])

    def count(self, plan: _tagq.Plan, how: _How, retries: int, progress: Progress | None) -> bytes:
        """Counts all parts, and adds them up while they come."""
        from concurrent.futures import FIRST_COMPLETED, wait

        text = plan.text()
        tries = dict.fromkeys(range(len(plan)), retries)
        waiting = {self.submit(_count, text, part, *how): part for part in tries}
        total: list[bytes] = []
        done = 0
        with self.cancelled_on_error(waiting):
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    part = waiting.pop(future)
                    try:
                        counted = future.result()
                    except (QuestionError, DamageError, NotFoundError):
                        raise
                    except Exception:
                        if not tries[part]:
                            raise
                        tries[part] -= 1
                        waiting[self.submit(_count, text, part, *how)] = part
                        continue
                    total = [plan.add([*total, counted])]
                    done += 1
                    if progress is not None:
                        progress(done, len(plan))
        return total[0]


class _DaskWorkers(_Workers):
    """The workers of Dask: partial results stay with them until they are added."""

    def threads(self) -> int:
        return sum(self._executor.nthreads().values()) or 1

    def submit(self, function: Callable[..., Any], *args: Any, retries: int = 0) -> Any:
        return self._executor.submit(function, *args, pure=False, retries=retries)

    def cancelled_on_error(self, futures: Iterable[Any]) -> _Cancelled:
        return _Cancelled(lambda: self._executor.cancel(list(futures)))

    def count(self, plan: _tagq.Plan, how: _How, retries: int, progress: Progress | None) -> bytes:
        from distributed import as_completed

        # By its hash, Dask would take it for the same plan of a query before, which it is about to forget. Dask counts a
        # part where the plan is: everywhere.
        text = self._executor.scatter(plan.text(), hash=False, broadcast=True)
        counted = [self.submit(_count, text, part, *how, retries=retries) for part in range(len(plan))]
        made = [text, *counted]
        with self.cancelled_on_error(made):
            level = counted
            while len(level) > 1:
                level = [self.submit(_add, text, group, retries=retries) for group in _groups(level)]
                made += level
            if progress is not None:
                for done, _ in enumerate(as_completed(counted), start=1):  # type: ignore[no-untyped-call]
                    progress(done, len(plan))
            total: bytes = level[0].result()
        return total


class _Cancelled:
    """Cancels what was begun when it is left by an exception, such as Ctrl-C."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._cancel()


def _workers(executor: Any) -> _Workers:
    if hasattr(executor, "scatter") and hasattr(executor, "nthreads"):
        return _DaskWorkers(executor)
    if hasattr(executor, "submit"):
        return _Workers(executor)
    raise WrongTypeError(
        "executor: a dask.distributed.Client or a concurrent.futures.Executor is wanted, "
        f"not {type(executor).__name__}"
    )


def _groups(futures: list[Any]) -> Iterator[list[Any]]:
    for first in range(0, len(futures), ADDED):
        yield futures[first : first + ADDED]


def _paths(of: Path | Sequence[Path]) -> str | list[str]:
    return os.fspath(of) if isinstance(of, (str, os.PathLike)) else [os.fspath(path) for path in of]


# What workers run.


@functools.lru_cache(maxsize=4)
def _plan(text: str) -> _tagq.Plan:
    return _tagq.Plan(text)


def _count(text: str, part: int, threads: int, io: str, cache: str | None, objects: Objects) -> bytes:
    plan = _plan(text)
    if objects is None:
        return plan.count(part, threads, io, cache, None)
    return count_copied(plan, part, objects[plan.run_of(part)], threads, cache)


def _add(text: str, parts: list[bytes]) -> bytes:
    return _plan(text).add(parts)


def _ingest(sources: str | list[str], options: dict[str, Any]) -> Run:
    return ingest_here(sources, **options)
