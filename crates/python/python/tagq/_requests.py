"""The requests, with the options of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from . import _tagq
from ._errors import QuestionError, WrongTypeError
from ._result import Result, Tuples

if TYPE_CHECKING:
    from ._run import Run

    Channel = int | str


class Requests:
    """The requests that a run, or the sum of several runs, answers."""

    # Functions of the extension module, so that warnings name the line of the caller.
    _ask: Callable[[str, dict[str, Any]], _tagq.Answer]
    _list: Callable[[dict[str, Any]], _tagq.Tuples]

    def coincidences(
        self,
        *,
        window: str | None = None,
        full_width: str | None = None,
        groups: Iterable[Iterable[Channel]] | None = None,
        choose: int | None = None,
        rule: Literal["all", "herald", "per-herald", "once", "cluster", "grid"] = "all",
        veto: Iterable[Channel] | None = None,
        guard: str | None = None,
        accidentals: str = "formula",
        shift: str | None = None,
        errors: str = "formula",
        bin: str | None = None,
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        live_time: str | None = None,
        join: bool = False,
    ) -> Result:
        """Counts coincidences within a window, of every pair of channels or of the given groups.

        Markers and the sync of an instrument are in no pair unless ``channels`` or ``delays`` names them.

        By rule "all" a pair counts when its times differ by at most ``window``, half the full width. One row
        per group, and with ``bin`` one row per bin and group.

        groups
            2 to 16 channels each, as [(3, 15), (3, 15, 16)].
        choose
            Every choice of so many channels instead.
        delays
            Added to the times of channels, as {15: "-4.0625ns"}, rounded to whole ticks.
        accidentals
            "formula", or "shifted:10" by ten counts with a channel moved by multiples of ``shift``.
        errors
            How standard errors are found: by "formula" for steady light, or from "blocks:50" of time.
        """
        return Result(self._ask("coincidences", given(locals())))

    def tuples(
        self,
        *,
        window: str | None = None,
        full_width: str | None = None,
        groups: Iterable[Iterable[Channel]] | None = None,
        choose: int | None = None,
        rule: Literal["all", "herald", "per-herald", "once", "cluster", "grid"] = "all",
        veto: Iterable[Channel] | None = None,
        guard: str | None = None,
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
    ) -> Tuples:
        """Lists the tags of each coincidence, as ``coincidences --list`` does, as an Arrow stream in
        order of time. One row per coincidence: its time, and row in the run, time as recorded and difference from
        the group's first channel of each tag, in ticks; by rule "cluster" one row per tag.

        It is made while it is read, in bounded memory: ``polars.DataFrame(tuples)`` takes all of it,
        ``pyarrow.RecordBatchReader.from_stream(tuples)`` batch after batch.
        """
        return Tuples(self._list(given(locals())))

    def histogram(
        self,
        start: Channel,
        stop: Channel,
        *,
        bin: str | None = None,
        range: str | None = None,
        log: int | None = None,
        mode: Literal["all", "next", "last", "grid"] = "all",
        g2: bool = False,
        errors: str = "formula",
        covariance: bool = False,
        period: str | None = None,
        sync_divider: int | None = None,
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
    ) -> Result:
        """Counts differences of the times of two channels (stop minus start), in bins: a row a bin.

        bin
            Width of a bin, a whole number of ticks, as "16t"; "~1ns" takes the nearest. Without it, and without
            ``range``, bins are chosen by what the channels hold.
        range
            "100ns" on both sides of zero, or "-64t..65t".
        log
            So many bins a decade of a range above zero.
        mode
            Which pairs: "all", each start with the "next" stop, each stop with its "last" start; "grid" counts all
            pairs with times in cells of a bin's width.
        errors
            How standard errors are found: by "formula" for steady light, or from "blocks:50" of time.
        covariance
            With g2 and blocks: the covariance of each bin with every bin, a list in each row.
        """
        return Result(self._ask("histogram", given(locals())))

    def g2(self, start: Channel, stop: Channel, **words: Any) -> Result:
        """The correlation g2 of two channels with its error: ``histogram`` normalised by the expectation for
        uncorrelated light. Takes ``bin``, ``range``, ``log``, ``errors``, ``covariance`` and the selection of
        ``histogram``."""
        return Result(self._ask("g2", {"start": start, "stop": stop, **words}))

    def histogram2d(
        self,
        herald: Channel,
        a: Channel,
        b: Channel,
        *,
        bin: str | None = None,
        range: str | None = None,
        g3: bool = False,
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
    ) -> Result:
        """Counts triples of a herald, a tag of ``a`` and a tag of ``b``, in cells of both differences of time to
        the herald: one row per cell.

        bin
            Width of a bin of both differences, a whole number of ticks, as "16t"; "~1ns" takes the nearest.
        range
            "100ns" on both sides of zero, or "-64t..65t".
        g3
            Also the counts over those of uncorrelated light, for differences much shorter than the run.
        """
        return Result(self._ask("histogram2d", given(locals())))

    def micro_times(
        self,
        channels: Iterable[Channel] | None = None,
        *,
        bin: str | None = None,
        range: str | None = None,
        trace: str | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
    ) -> Result:
        """Counts the micro times of channels, in bins: the times of photons after the sync pulse before them.

        channels
            The channels, each counted by itself, as [1, 2]; all channels if it is not given.

        bin
            Width of a bin, a whole number of units of the micro times, as "4t"; "~100ps" takes the nearest.
        range
            "0ns..12ns"; from 0 to the largest micro time if it is not given.
        trace
            Count these bins for each interval of this width, as "10ms".
        """
        return Result(self._ask("micro", given(locals())))

    def rates(
        self,
        *,
        bin: str | None = None,
        errors: str = "formula",
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        live_time: str | None = None,
        join: bool = False,
    ) -> Result:
        """Counts the tags of each channel, and their rates in Hz; with ``bin`` a row a bin and channel.
        ``errors`` are by "formula", or from "blocks:50" of time."""
        return Result(self._ask("rates", given(locals())))


class Sum(Requests):
    """Several runs that are asked as one: counts and live times are added up, and no pair is made of tags of
    two runs."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        self._ask = partial(_tagq.ask_sum, [run._run for run in runs])
        self._list = self._refuse

    @staticmethod
    def _refuse(_: dict[str, Any]) -> _tagq.Tuples:
        raise QuestionError("a list is of one run after the other; ask each run for its tuples")

    def __repr__(self) -> str:
        return f"tagq.Sum of {len(self._runs)} runs"


def sum(runs: Iterable[Run]) -> Sum:
    """Several runs to be asked as one, as ``--sum`` does: ``tagq.sum([monday, tuesday]).g2(1, 2)``. They have
    the same tick."""
    from ._run import Run

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


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a method that have a value, by name."""
    return {name: value for name, value in arguments.items() if name != "self" and value is not None}
