"""Several runs that are asked as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _tagq
from ._errors import QuestionError, WrongTypeError
from ._fit import Fits
from ._requests import Requests, with_channels
from ._result import Result
from ._run import Run

if TYPE_CHECKING:
    from ._types import Channels


class Sum(Requests, Fits):
    """Several runs that are asked as one: counts and live times are added up, and no pair is made of tags of
    two runs. Made by ``tagq.open`` of a list and by ``tagq.sum``; ``runs`` has each of them."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = list(runs)
        self._ask = partial(_tagq.ask_sum, [run._run for run in runs])
        self._fit = partial(_tagq.fit_sum, [run._run for run in runs])
        self._list = self._refuse

    def scan(
        self,
        query: str,
        *channels: Channels,
        x: str | tuple[str, Sequence[float]] | None = None,
        **words: Any,
    ) -> Result:
        """Asks a query for several values of one option, as ``Run.scan`` does, or each run if ``x`` is its setting: a pattern with a group
        for the number in the path of a run, ``"phase=(\\d+)"``; the name of a column of ``settings.csv`` beside the runs; or a name and
        one number for each run, ``("phase", [0, 30, 60])``. The result has one column of the values or settings before those of the
        query, and can be fitted."""
        given = (x[0], [float(value) for value in x[1]]) if isinstance(x, tuple) else x
        runs = [run._run for run in self._runs]
        return Result(_tagq.scan_sum(runs, query, with_channels(query, channels, words), given))

    @property
    def runs(self) -> list[Run]:
        """The runs, in the order in which they were given."""
        return list(self._runs)

    def refresh(self) -> bool:
        """Calls ``Run.refresh`` of each run, and returns True if the commit of one has changed."""
        return any([run.refresh() for run in self._runs])

    @property
    def closed(self) -> bool:
        """Whether one of the runs is closed."""
        return any(run.closed for run in self._runs)

    def close(self) -> None:
        """Closes all runs."""
        for run in self._runs:
            run.close()

    def __enter__(self) -> Sum:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Sum], tuple[list[Run]]]:
        """Pickles each run, as ``Run`` does."""
        return Sum, (self._runs,)

    @staticmethod
    def _refuse(_: dict[str, Any]) -> _tagq.Tuples:
        raise QuestionError("a list is of one run after the other; ask each run for its tuples")

    def __repr__(self) -> str:
        return f"tagq.Sum of {len(self._runs)} runs"


def sum(runs: Iterable[Run]) -> Sum:
    """Several runs to be asked as one, as ``--sum`` does: ``tagq.sum([monday, tuesday]).g2(1, 2)``. They have
    the same tick."""
    try:
        runs = list(runs)
    except TypeError:
        raise WrongTypeError(f"runs: a list of runs is wanted, not {type(runs).__name__}") from None
    for run in runs:
        if not isinstance(run, Run):
            raise WrongTypeError(f"runs: runs as of tagq.open are wanted, not {type(run).__name__}")
    if not runs:
        raise QuestionError("no runs to sum up")
    return Sum(runs)
