"""Answers that are counted again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from . import _tagq
from ._errors import NotReproducedError
from ._paths import path_of as _path
from ._result import Result


def reproduce(
    answer: str | os.PathLike[str],
    runs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    *,
    threads: int | None = None,
) -> Result | list[Result]:
    """Counts an answer again from the same tags, as ``tagq reproduce`` does, and returns the result of today if all counts
    are equal. Of a file with several answers, returns a list; of a list of tags, an empty one.

    answer
        A file with the JSON of a result: ``result.save("answer.json")``, or ``--format json``.
    runs
        The runs, in place of those that the answer names, in the same order.
    threads
        Number of threads; by default one per core.

    Raises
        ``NotReproducedError``: something differs; it has the differences. ``QuestionError``: the file is no answer.
        ``TagqError``: a run does not begin with the tags that were counted.
    """
    given = [runs] if isinstance(runs, (str, os.PathLike)) else runs
    paths = [_path(run, "runs") for run in given]
    answers, different = _tagq.reproduce(_path(answer, "answer"), paths, threads)
    if different:
        raise NotReproducedError([(where, key, _value(saved), _value(now)) for where, key, saved, now in different])
    results = [Result(one) for one in answers]
    return results[0] if len(results) == 1 else results


def _value(text: str | None) -> object:
    return None if text is None else json.loads(text)
