"""The requests, with the options of the command line. Generated from their table; a test compares it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ._result import Result, Tuples

if TYPE_CHECKING:
    from . import _tagq

    Channel = int | str


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a method that have a value, by name."""
    return {name: value for name, value in arguments.items() if name != "self" and value is not None}


class Requests:
    """The requests that a run, or the sum of several runs, answers."""

    # Functions of the extension module, so that warnings name the line of the caller.
    _ask: Callable[[str, dict[str, Any]], _tagq.Answer]
    _list: Callable[[dict[str, Any]], _tagq.Tuples]

    def coincidences(
        self,
        groups: Iterable[Iterable[Channel]] | None = None,
        *,
        window: str | None = None,
        full_width: str | None = None,
        choose: int | None = None,
        rule: Literal["all", "herald", "per-herald", "once", "cluster", "grid"] = "all",
        veto: Iterable[Channel] | None = None,
        guard: str | None = None,
        bin: str | None = None,
        exact_bins: bool = False,
        errors: str = "formula",
        accidentals: str = "formula",
        shift: str | None = None,
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
        live_time: str | None = None,
    ) -> Result:
        """Count coincidences of channels within a window.

        Every pair of channels is counted, without markers and syncs, or the given groups. By rule ``all`` a
        pair counts if its times differ by at most the window W: |Δt| ≤ W, half the full width. Every answer
        states the rule, the window in ticks and the live time.

        window
            Largest time difference allowed: a duration (2ns, 156.25ps) or whole ticks (13t).
        full_width
            The window as its full width: 2w + 1 ticks of a pair; of larger groups, clusters and cells from
            the earliest tag to the latest.
        groups
            2 to 16 channels, for example 3,15; may be repeated [default: every pair].
        choose
            Every choice of N of the channels in use.
        rule
            Combinations of tags that count.
            "all": Each combination of one tag of each channel, latest minus earliest within the window.
            "herald": Each combination of a tag of the first channel with one of each other within the window.
            "per-herald": Each tag of the first channel at most once, if all others have one near it.
            "once": One-to-one: matched tags are used up, the earliest first.
            "cluster": Events: all tags up to the window after the first; one row per set of channels.
            "grid": Pairs with both tags in one cell of t / W, as tagtools counts.
        veto
            Reject coincidences that have a tag of these channels nearby.
        guard
            Reach of a veto before the earliest and after the latest tag [default: the window].
        bin
            Trace: a row for each bin of this width and group.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        errors
            Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time.
        accidentals
            Method for accidentals: formula, or shifted[:K] by K counts with a channel moved.
        shift
            Move channels by multiples of P, the period of a pulsed source.
        channels
            Only these channels, by number or name.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.
        live_time
            Live time, in place of last minus first tag of each file.
        """
        return Result(self._ask("coincidences", given(locals())))

    def histogram(
        self,
        start: Channel | None = None,
        stop: Channel | None = None,
        *,
        mode: Literal["all", "next", "last", "grid"] = "all",
        g2: bool = False,
        period: str | None = None,
        sync_divider: int | None = None,
        bin: str | None = None,
        range: str | None = None,
        log: int | None = None,
        covariance: bool = False,
        exact_bins: bool = False,
        errors: str = "formula",
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
    ) -> Result:
        """Count differences of the times of two channels, in bins.

        Bin k holds LO + k·W ≤ Δ < LO + (k+1)·W with Δ the delayed time of the stop minus that of the start.
        All pairs count, however many; a tag is never paired with itself.

        start
            Differences from the tags of this channel.
        stop
            Differences to the tags of this channel, which may be the same.
        mode
            Pairs that are counted.
            "all": Every start with every stop.
            "next": Each start with its first stop at or after it.
            "last": Each stop with its latest start at or before it.
            "grid": Every pair, with times in cells of a bin's width and both ends of the range included.
        g2
            Normalise by the expectation for uncorrelated light.
        period
            Fold differences into [0, P), with mode next or last.
        sync_divider
            Fold by the period of the recorded sync, which is each N-th pulse.
        bin
            Width of a bin, rounded to ticks [default: chosen from the tags of the channels, or about 100 bins
            of the range].
        range
            Differences to count: D for both sides of zero, or LO..HI [default: chosen from the data; with a
            bin, 64 bins on either side of zero].
        log
            N bins a decade from LO to HI of the range, both above zero.
        covariance
            With g2 and errors from blocks: the covariance of each bin with every bin.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        errors
            Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time.
        channels
            Only these channels, by number or name.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.
        """
        return Result(self._ask("histogram", given(locals())))

    def g2(
        self,
        start: Channel | None = None,
        stop: Channel | None = None,
        *,
        bin: str | None = None,
        range: str | None = None,
        log: int | None = None,
        covariance: bool = False,
        exact_bins: bool = False,
        errors: str = "formula",
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
    ) -> Result:
        """The correlation g2 of two channels: a histogram with g2.

        start
            Differences from the tags of this channel.
        stop
            Differences to the tags of this channel, which may be the same.
        bin
            Width of a bin, rounded to ticks [default: chosen from the tags of the channels, or about 100 bins
            of the range].
        range
            Differences to count: D for both sides of zero, or LO..HI [default: chosen from the data; with a
            bin, 64 bins on either side of zero].
        log
            N bins a decade from LO to HI of the range, both above zero.
        covariance
            With g2 and errors from blocks: the covariance of each bin with every bin.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        errors
            Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time.
        channels
            Only these channels, by number or name.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.
        """
        return Result(self._ask("g2", given(locals())))

    def histogram2d(
        self,
        herald: Channel | None = None,
        a: Channel | None = None,
        b: Channel | None = None,
        *,
        bin: str | None = None,
        range: str | None = None,
        g3: bool = False,
        exact_bins: bool = False,
        channels: Iterable[Channel] | None = None,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
    ) -> Result:
        """Count differences of the times of two channels to a herald, in a grid of cells.

        Every combination of a herald H, a tag of A and a tag of B counts once, in the cell of both
        differences: the delayed times of A and of B minus that of H.

        herald
            The channel of the heralds.
        a
            A second channel.
        b
            A third channel.
        bin
            Width of a bin, rounded to ticks [default: about 64 bins of the range].
        range
            Differences to count: D for both sides of zero, or LO..HI [default: with a bin, 32 bins on either
            side of zero].
        g3
            Normalise by the expectation for uncorrelated light and short differences.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        channels
            Only these channels, by number or name.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.
        """
        return Result(self._ask("histogram2d", given(locals())))

    def micro_times(
        self,
        channels: Iterable[Channel] | None = None,
        *,
        bin: str | None = None,
        range: str | None = None,
        trace: str | None = None,
        exact_bins: bool = False,
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
    ) -> Result:
        """Count the micro times of channels, in bins.

        A micro time is the time of a photon after the sync pulse before it, as recorded in mode T3. Bin k
        holds LO + k·W ≤ micro time < LO + (k+1)·W, in units of the recorded micro times.

        bin
            Width of a bin, rounded to units of the micro times [default: one unit].
        range
            Micro times to count, LO..HI [default: 0 to the largest].
        trace
            Trace: these bins for each interval D of the run.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        channels
            Only these channels, by number or name.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.
        """
        return Result(self._ask("micro", given(locals())))

    def rates(
        self,
        channels: Iterable[Channel] | None = None,
        *,
        bin: str | None = None,
        exact_bins: bool = False,
        errors: str = "formula",
        delays: Mapping[Channel, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        join: bool = False,
        live_time: str | None = None,
    ) -> Result:
        """Count the tags of each channel, and their rates.

        bin
            Trace: a row for each bin of this width and channel.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        errors
            Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time.
        channels
            Only these channels, by number or name.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.
        live_time
            Live time, in place of last minus first tag of each file.
        """
        return Result(self._ask("rates", given(locals())))

    def tuples(
        self,
        groups: Iterable[Iterable[Channel]] | None = None,
        *,
        window: str | None = None,
        full_width: str | None = None,
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
        """List the tags of each count of ``coincidences``, as an Arrow stream in order of time.

        It is made while it is read, in bounded memory. Each row has the time of a tuple, and of each of its
        tags the row in the run, the recorded time and the difference from the first tag of the group, in
        ticks; by rule ``cluster`` a row for each tag.

        window
            Largest time difference allowed: a duration (2ns, 156.25ps) or whole ticks (13t).
        full_width
            The window as its full width: 2w + 1 ticks of a pair; of larger groups, clusters and cells from
            the earliest tag to the latest.
        groups
            2 to 16 channels, for example 3,15; may be repeated [default: every pair].
        choose
            Every choice of N of the channels in use.
        rule
            Combinations of tags that count.
            "all": Each combination of one tag of each channel, latest minus earliest within the window.
            "herald": Each combination of a tag of the first channel with one of each other within the window.
            "per-herald": Each tag of the first channel at most once, if all others have one near it.
            "once": One-to-one: matched tags are used up, the earliest first.
            "cluster": Events: all tags up to the window after the first; one row per set of channels.
            "grid": Pairs with both tags in one cell of t / W, as tagtools counts.
        veto
            Reject coincidences that have a tag of these channels nearby.
        guard
            Reach of a veto before the earliest and after the latest tag [default: the window].
        channels
            Only these channels, by number or name.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.
        """
        return Tuples(self._list(given(locals())))
