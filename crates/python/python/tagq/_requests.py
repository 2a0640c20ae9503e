"""The requests, with the options of the command line. Generated from their table; a test compares it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ._errors import QuestionError, unexpected
from ._result import Result, Tuples

if TYPE_CHECKING:
    from typing import TypedDict

    from . import _tagq
    from ._types import Channel, Channels, Delays, DelaysInSeconds, Duration


#: The keywords that arguments without a keyword have, in order.
POSITIONAL: dict[str, tuple[str, ...]] = {
    "coincidences": ("groups",),
    "histogram": ("start", "stop"),
    "g2": ("start", "stop"),
    "histogram2d": ("herald", "a", "b"),
    "micro": ("channels",),
    "rates": ("channels",),
    "delays": ("channels",),
    "tuples": ("groups",),
}


def given(arguments: dict[str, Any], of: str) -> dict[str, Any]:
    """The arguments of the call ``of`` that have a value, by name; channels without a keyword, which are in ``of``, with theirs."""
    channels = arguments.pop("of", ())
    if unknown := arguments.pop("unknown", None):
        raise unexpected(of, unknown, arguments)
    words = {name: value for name, value in arguments.items() if name != "self" and value is not None}
    return with_channels(of, channels, words)


def with_channels(query: str, of: tuple[Any, ...], words: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a query with those that channels without a keyword have."""
    named = _named(query, of)
    for name in named:
        if words.get(name) is not None:
            raise QuestionError(f"{name}: given with and without its keyword; give it once")
    return {**words, **named}


def _named(query: str, of: Iterable[Any]) -> dict[str, Any]:
    given = list(of)
    if all(each is None for each in given):
        return {}
    lists = [isinstance(each, Iterable) and not isinstance(each, str) for each in given]
    is_list = lists == [True]
    name, *more = POSITIONAL.get(query, ("channels",))
    if more:
        names = [name, *more]
        given = list(given[0]) if is_list else given
        if len(given) > len(names):
            raise QuestionError(f"{query}: {len(given)} channels for {', '.join(names)}")
        return {name: channel for name, channel in zip(names, given, strict=False) if channel is not None}
    # One list is all channels, or all groups. One channel is no group.
    if is_list or (name == "groups" and len(given) == 1):
        return {name: given[0]}
    is_group = name == "groups" and not all(lists)
    return {name: [given] if is_group else given}


class Requests:
    """The requests that a run, or the sum of several runs, answers."""

    # Functions of the extension module, so that warnings name the line of the caller.
    _ask: Callable[[str, dict[str, Any]], _tagq.Answer]
    _list: Callable[[dict[str, Any]], _tagq.Tuples]

    def coincidences(
        self,
        *of: Channels,
        groups: Iterable[Channel | Iterable[Channel]] | None = None,
        window: Duration | None = None,
        window_s: float | None = None,
        full_width: Duration | None = None,
        full_width_s: float | None = None,
        choose: int | None = None,
        rule: Literal["all", "herald", "per-herald", "once", "cluster", "grid"] = "all",
        veto: Channel | Iterable[Channel] | None = None,
        guard: Duration | None = None,
        guard_s: float | None = None,
        bin: Duration | None = None,
        bin_s: float | None = None,
        by: Channel | None = None,
        exact_bins: bool = False,
        errors: str = "formula",
        accidentals: str = "formula",
        shift: Duration | None = None,
        shift_s: float | None = None,
        channels: Channel | Iterable[Channel] | None = None,
        derive: str | Iterable[str] | Mapping[str, str] | None = None,
        gates: str | Iterable[str] | None = None,
        delays: Delays | Literal["auto"] | None = None,
        delays_s: DelaysInSeconds | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        live_time: Duration | None = None,
        live_time_s: float | None = None,
        **unknown: NoReturn,
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
        by
            A row for each interval: from each tag of channel M to the next, or those of a gate: its name in
            tagq.toml, or ``A .. B``.
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
        derive
            Make a channel from others: ``X = 1 | 2``, ``X = 1 & 2 within 2ns``, and as ``tagq help derive``
            says; may be repeated.
        gates
            Only tags inside of gate G: the name of one in tagq.toml, ``A .. B`` from tag to tag, or ``A for
            D``; may be repeated.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated. ``auto`` adds what
            moves the peaks to zero, as ``tagq delays`` finds them.
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

        Returns
            One row for each group, or for each bin of time and group: ``channels``, ``count`` with
            ``count_err``, ``rate_hz``, ``accidentals``, ``car`` ((count − accidentals) / accidentals; below
            zero if there are fewer than by chance), ``p_a_given_b``, ``p_b_given_a`` and their errors; of a
            trace ``start_s``, ``start_ticks`` and ``partial``.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> pairs = run.coincidences(window="2ns", groups=[(1, 2)])
            >>> pairs[0].count
            1976
            >>> run.coincidences(window_s=2e-9, groups=[(1, 2)])["count"].tolist()
            [1976]
        """
        return Result(self._ask("coincidences", given(locals(), "coincidences")))

    def histogram(
        self,
        *of: Channels,
        start: Channel | None = None,
        stop: Channel | None = None,
        mode: Literal["all", "next", "last", "grid"] = "all",
        g2: bool = False,
        period: Duration | None = None,
        period_s: float | None = None,
        sync_divider: int | None = None,
        by: Channel | None = None,
        bin: Duration | None = None,
        bin_s: float | None = None,
        range: Duration | tuple[Duration, Duration] | None = None,
        range_s: float | tuple[float, float] | None = None,
        log: int | None = None,
        covariance: bool = False,
        exact_bins: bool = False,
        errors: str | None = None,
        channels: Channel | Iterable[Channel] | None = None,
        derive: str | Iterable[str] | Mapping[str, str] | None = None,
        gates: str | Iterable[str] | None = None,
        delays: Delays | Literal["auto"] | None = None,
        delays_s: DelaysInSeconds | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        **unknown: NoReturn,
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
        by
            A row for each interval: from each tag of channel M to the next, or those of a gate: its name in
            tagq.toml, or ``A .. B``.
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
            Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time
            [default: formula; with pulsed, blocks].
        channels
            Only these channels, by number or name.
        derive
            Make a channel from others: ``X = 1 | 2``, ``X = 1 & 2 within 2ns``, and as ``tagq help derive``
            says; may be repeated.
        gates
            Only tags inside of gate G: the name of one in tagq.toml, ``A .. B`` from tag to tag, or ``A for
            D``; may be repeated.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated. ``auto`` adds what
            moves the peaks to zero, as ``tagq delays`` finds them.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.

        Returns
            One row for each bin: ``first_tick`` (its first tick), ``width_ticks``, ``delay_s`` (its middle),
            ``count`` with ``count_err``.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> counts = run.histogram(1, 2, bin="5ns", range="20ns")
            >>> int(counts["count"].sum())
            1976
        """
        return Result(self._ask("histogram", given(locals(), "histogram")))

    def g2(
        self,
        *of: Channels,
        start: Channel | None = None,
        stop: Channel | None = None,
        by: Channel | None = None,
        bin: Duration | None = None,
        bin_s: float | None = None,
        range: Duration | tuple[Duration, Duration] | None = None,
        range_s: float | tuple[float, float] | None = None,
        log: int | None = None,
        covariance: bool = False,
        pulsed: Duration | None = None,
        pulsed_s: float | None = None,
        peak: Duration | None = None,
        peak_s: float | None = None,
        sides: int | None = None,
        skip: int | None = None,
        exact_bins: bool = False,
        errors: str | None = None,
        channels: Channel | Iterable[Channel] | None = None,
        derive: str | Iterable[str] | Mapping[str, str] | None = None,
        gates: str | Iterable[str] | None = None,
        delays: Delays | Literal["auto"] | None = None,
        delays_s: DelaysInSeconds | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        **unknown: NoReturn,
    ) -> Result:
        """The correlation g2 of two channels: a histogram with g2.

        start
            Differences from the tags of this channel.
        stop
            Differences to the tags of this channel, which may be the same.
        by
            A row for each interval: from each tag of channel M to the next, or those of a gate: its name in
            tagq.toml, or ``A .. B``.
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
        pulsed
            Light in pulses of period P, ``auto``, or sync=CH: g2 of each pulse, from the counts around
            multiples of P.
        peak
            With pulsed: the full width in which pairs belong to a peak [default: half of the period].
        sides
            With pulsed: peaks on each side of zero that are the reference [default: 10].
        skip
            With pulsed: peaks next to zero, on each side, that are no reference [default: 0].
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        errors
            Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time
            [default: formula; with pulsed, blocks].
        channels
            Only these channels, by number or name.
        derive
            Make a channel from others: ``X = 1 | 2``, ``X = 1 & 2 within 2ns``, and as ``tagq help derive``
            says; may be repeated.
        gates
            Only tags inside of gate G: the name of one in tagq.toml, ``A .. B`` from tag to tag, or ``A for
            D``; may be repeated.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated. ``auto`` adds what
            moves the peaks to zero, as ``tagq delays`` finds them.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.

        Returns
            One row for each bin: ``first_tick`` (its first tick), ``width_ticks``, ``delay_s`` (its middle),
            ``count`` with ``count_err``, and ``g2`` (1 by chance) with ``g2_err``.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> g2 = run.g2(1, 2, bin="5ns", range=("-20ns", "20ns"))
            >>> len(g2), max(g2, key=lambda row: row.g2).first_tick
            (8, 0)
        """
        return Result(self._ask("g2", given(locals(), "g2")))

    def histogram2d(
        self,
        *of: Channels,
        herald: Channel | None = None,
        a: Channel | None = None,
        b: Channel | None = None,
        bin: Duration | None = None,
        bin_s: float | None = None,
        range: Duration | tuple[Duration, Duration] | None = None,
        range_s: float | tuple[float, float] | None = None,
        g3: bool = False,
        exact_bins: bool = False,
        channels: Channel | Iterable[Channel] | None = None,
        derive: str | Iterable[str] | Mapping[str, str] | None = None,
        gates: str | Iterable[str] | None = None,
        delays: Delays | Literal["auto"] | None = None,
        delays_s: DelaysInSeconds | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        **unknown: NoReturn,
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
        derive
            Make a channel from others: ``X = 1 | 2``, ``X = 1 & 2 within 2ns``, and as ``tagq help derive``
            says; may be repeated.
        gates
            Only tags inside of gate G: the name of one in tagq.toml, ``A .. B`` from tag to tag, or ``A for
            D``; may be repeated.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated. ``auto`` adds what
            moves the peaks to zero, as ``tagq delays`` finds them.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.

        Returns
            One row for each cell: ``first_tick_a``, ``first_tick_b`` (its first ticks), ``delay_a_s``,
            ``delay_b_s`` (its middle) and ``count``; with ``g3`` the normalised value and its error.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> cells = run.histogram2d(1, 2, 3, bin="10ns", range="50ns")
            >>> int(cells["count"].sum())
            3
        """
        return Result(self._ask("histogram2d", given(locals(), "histogram2d")))

    def image(
        self,
        *of: Channels,
        line: Channel | None = None,
        line_end: Channel | None = None,
        frame: Channel | None = None,
        pixels: int | None = None,
        lines: int | None = None,
        scan: Literal["one-way", "two-way", "sinusoidal", "two-way-sinusoidal"] | None = None,
        sine: int | None = None,
        sine_of: Literal["amplitude", "period"] | None = None,
        first_line: int | None = None,
        first_frame: int | None = None,
        repair: bool = False,
        frames: Literal["together", "apart"] = "together",
        detectors: Literal["together", "apart"] = "together",
        micro: bool = False,
        bin: Duration | None = None,
        bin_s: float | None = None,
        range: Duration | tuple[Duration, Duration] | None = None,
        range_s: float | tuple[float, float] | None = None,
        lifetime: Literal["auto", "mean", "phasor", "exp"] | None = None,
        irf: str | None = None,
        irf_channel: Channel | None = None,
        reference_lifetime: Duration | None = None,
        reference_lifetime_s: float | None = None,
        pulse_period: Duration | None = None,
        pulse_period_s: float | None = None,
        harmonic: int | None = None,
        min_photons: int | None = None,
        bin_pixels: int | None = None,
        mask: str | None = None,
        exact_bins: bool = False,
        channels: Channel | Iterable[Channel] | None = None,
        derive: str | Iterable[str] | Mapping[str, str] | None = None,
        gates: str | Iterable[str] | None = None,
        delays: Delays | Literal["auto"] | None = None,
        delays_s: DelaysInSeconds | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        **unknown: NoReturn,
    ) -> Result:
        """Count photons in the pixels of a scan, by the markers of its lines and frames.

        A line lasts from its start marker to its end marker, and pixel ⌊(t − start)·N/(end − start)⌋ of it
        counts the photon at t. Markers and sizes are those of the file's header if it states them.

        line
            The marker at which a line begins [default: that of the header].
        line_end
            The marker at which a line ends [default: that of the header; without one, the next line or
            frame].
        frame
            The marker at which a frame begins [default: that of the header; without one, after so many
            lines].
        pixels
            Pixels of a line [default: as the header says].
        lines
            Lines of a frame [default: as the header says].
        scan
            How lines are scanned [default: as the header says, or one-way].
            "one-way": Every line from left to right, at constant speed.
            "two-way": Every other line from right to left.
            "sinusoidal": Every line from left to right, along a sine.
            "two-way-sinusoidal": Every other line from right to left, along a sine.
        sine
            The part of the sine that a line covers [default: as the header says, or 100].
        sine_of
            What that is a part of [default: as the header says, or amplitude].
            "amplitude": The amplitude, as PicoQuant counts it.
            "period": The half period in which a line lies, as Leica counts it.
        first_line
            The line of each frame that is the first of the image; those before it are left out [default: 0].
        first_frame
            The first frame that is counted; those before it are left out [default: 0].
        repair
            Put in lost markers by the median time of lines and frames, and leave out double ones.
        frames
            Whether frames are added up.
            "together": All are added up.
            "apart": Each has pixels of its own.
        detectors
            Whether the photons of all channels are added up.
            "together": All are added up.
            "apart": Each has pixels of its own.
        micro
            Also count the micro times of each pixel, in bins.
        bin
            Width of a bin of micro times, rounded to their units [default: one unit; of lifetimes at most 256
            bins].
        range
            Micro times that are counted in bins, LO..HI [default: 0 to the largest].
        lifetime
            Find the lifetime of each pixel.
            "auto": exp if most photons are in pixels with at least 100, else mean.
            "mean": From the mean arrival time, less that of the background.
            "phasor": From the phase at a harmonic of the pulses.
            "exp": The likeliest exponential over a background.
        irf
            Instrument response, for lifetimes: a run, a text file with one count a bin, auto (a Gaussian at
            the rise) or tail (only photons after it are used) [default: auto].
        irf_channel
            Instrument response: this channel, of the same run or of ``irf``.
        reference_lifetime
            Calibrate phasors by a dye with this lifetime, measured in ``irf`` with the same instrument.
        pulse_period
            Period of the pulses, for lifetimes [default: that of the file].
        harmonic
            Harmonic of the pulses at which phasors are [default: 1].
        min_photons
            Leave out mean micro times and lifetimes of pixels with fewer photons [default: 1; of lifetimes
            20].
        bin_pixels
            Take blocks of K x K pixels as pixels.
        mask
            Count regions in place of pixels: the label of each pixel, 0 outside, as .npy or as .tif of one
            page.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        channels
            Only these channels, by number or name.
        derive
            Make a channel from others: ``X = 1 | 2``, ``X = 1 & 2 within 2ns``, and as ``tagq help derive``
            says; may be repeated.
        gates
            Only tags inside of gate G: the name of one in tagq.toml, ``A .. B`` from tag to tag, or ``A for
            D``; may be repeated.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated. ``auto`` adds what
            moves the peaks to zero, as ``tagq delays`` finds them.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.

        Returns
            One row for each pixel: ``line``, ``pixel``, ``count`` with ``count_err``, of frames apart also
            ``frame``; of a run with micro times ``micro_mean_s`` with its error, and with ``micro`` the list
            ``micro_counts``. ``counts`` is an array of all pixels, ``cube`` one of their micro times.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> image = run.image(line=3, pixels=4, lines=1, channels=[1, 2])
            >>> image.counts.shape
            (1, 1, 4)
        """
        return Result(self._ask("image", given(locals(), "image")))

    def micro(
        self,
        *of: Channels,
        channels: Channel | Iterable[Channel] | None = None,
        bin: Duration | None = None,
        bin_s: float | None = None,
        range: Duration | tuple[Duration, Duration] | None = None,
        range_s: float | tuple[float, float] | None = None,
        trace: Duration | None = None,
        trace_s: float | None = None,
        by: Channel | None = None,
        exact_bins: bool = False,
        derive: str | Iterable[str] | Mapping[str, str] | None = None,
        gates: str | Iterable[str] | None = None,
        delays: Delays | Literal["auto"] | None = None,
        delays_s: DelaysInSeconds | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        **unknown: NoReturn,
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
        by
            A row for each interval: from each tag of channel M to the next, or those of a gate: its name in
            tagq.toml, or ``A .. B``.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        channels
            Only these channels, by number or name.
        derive
            Make a channel from others: ``X = 1 | 2``, ``X = 1 & 2 within 2ns``, and as ``tagq help derive``
            says; may be repeated.
        gates
            Only tags inside of gate G: the name of one in tagq.toml, ``A .. B`` from tag to tag, or ``A for
            D``; may be repeated.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated. ``auto`` adds what
            moves the peaks to zero, as ``tagq delays`` finds them.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.

        Returns
            One row for each channel and bin: ``channel``, ``first_tick`` (its first micro time) and
            ``width_ticks``, in ticks of micro times, ``delay_s`` (its middle) and ``count`` with
            ``count_err``.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> run.micro(1)
            Traceback (most recent call last):
            tagq._errors.QuestionError: this run has no micro times
        """
        return Result(self._ask("micro", given(locals(), "micro")))

    def rates(
        self,
        *of: Channels,
        channels: Channel | Iterable[Channel] | None = None,
        bin: Duration | None = None,
        bin_s: float | None = None,
        by: Channel | None = None,
        exact_bins: bool = False,
        errors: str = "formula",
        derive: str | Iterable[str] | Mapping[str, str] | None = None,
        gates: str | Iterable[str] | None = None,
        delays: Delays | Literal["auto"] | None = None,
        delays_s: DelaysInSeconds | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        live_time: Duration | None = None,
        live_time_s: float | None = None,
        **unknown: NoReturn,
    ) -> Result:
        """Count the tags of each channel, and their rates.

        bin
            Trace: a row for each bin of this width and channel.
        by
            A row for each interval: from each tag of channel M to the next, or those of a gate: its name in
            tagq.toml, or ``A .. B``.
        exact_bins
            Refuse bins that are no whole number of ticks, in place of rounding them.
        errors
            Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time.
        channels
            Only these channels, by number or name.
        derive
            Make a channel from others: ``X = 1 | 2``, ``X = 1 & 2 within 2ns``, and as ``tagq help derive``
            says; may be repeated.
        gates
            Only tags inside of gate G: the name of one in tagq.toml, ``A .. B`` from tag to tag, or ``A for
            D``; may be repeated.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated. ``auto`` adds what
            moves the peaks to zero, as ``tagq delays`` finds them.
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

        Returns
            One row for each channel, or for each bin of time and channel: ``channel``, ``count``, ``rate_hz``
            with ``rate_err_hz``; of a trace ``start_s``, ``start_ticks`` and ``partial``. ``total`` has the
            sums of all channels.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> rates = run.rates(channels=[1, 2])
            >>> dict(zip(rates["channel"].tolist(), rates["count"].tolist()))
            {1: 4797, 2: 4808}
            >>> rates.total[0].count
            9605
        """
        return Result(self._ask("rates", given(locals(), "rates")))

    def tuples(
        self,
        *of: Channels,
        groups: Iterable[Channel | Iterable[Channel]] | None = None,
        window: Duration | None = None,
        window_s: float | None = None,
        full_width: Duration | None = None,
        full_width_s: float | None = None,
        choose: int | None = None,
        rule: Literal["all", "herald", "per-herald", "once", "cluster", "grid"] = "all",
        veto: Channel | Iterable[Channel] | None = None,
        guard: Duration | None = None,
        guard_s: float | None = None,
        channels: Channel | Iterable[Channel] | None = None,
        derive: str | Iterable[str] | Mapping[str, str] | None = None,
        gates: str | Iterable[str] | None = None,
        delays: Delays | Literal["auto"] | None = None,
        delays_s: DelaysInSeconds | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        **unknown: NoReturn,
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
        derive
            Make a channel from others: ``X = 1 | 2``, ``X = 1 & 2 within 2ns``, and as ``tagq help derive``
            says; may be repeated.
        gates
            Only tags inside of gate G: the name of one in tagq.toml, ``A .. B`` from tag to tag, or ``A for
            D``; may be repeated.
        delays
            Add D to the times of channel CH, rounded to whole ticks; may be repeated. ``auto`` adds what
            moves the peaks to zero, as ``tagq delays`` finds them.
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.

        Returns
            A stream of rows: ``time`` (delayed, of the latest tag) in ticks, and of each channel ``row_CH``,
            ``time_CH`` (as recorded) and ``dt_CH``.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> run.tuples(window="2ns", groups=(1, 2)).to_arrow().num_rows
            1976
        """
        return Tuples(self._list(given(locals(), "tuples")))


class Searches:
    """The searches that a run answers; that of several runs is asked of each."""

    # A function of the extension module, so that warnings name the line of the caller.
    _ask: Callable[[str, dict[str, Any]], _tagq.Answer]

    def delays(
        self,
        *of: Channels,
        channels: Channel | Iterable[Channel] | None = None,
        range: Duration | tuple[Duration, Duration] | None = None,
        range_s: float | tuple[float, float] | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        join: bool = False,
        **unknown: NoReturn,
    ) -> Result:
        """Find the delays between channels: the peaks of their differences, from coarse to fine.

        Searches each pair of the channels, in the recorded times without delays. A peak is reported if chance
        would give no peak as high in the whole range (7 sigmas). The delays that put the peaks at zero are
        part of the answer.

        channels
            Two or more channels, by number or name [default: all detectors].
        range
            Search this far on both sides of zero [default: 1ms].
        from_
            Start: a time after the run's first tag; if negative, before its last; @T: recorded ticks.
        to
            End, excluded; stated as the start.
        last
            Only the last D of the run; of a trace in whole bins.
        join
            Files follow each other without a gap: coincidences may span two.

        Returns
            One row for each pair: ``channels``, ``peak_ticks`` (``peak_s``, rounded), ``peak_s``, of a fit
            ``width_s`` and ``coincidences`` with their errors, ``sigmas``, and of pulsed light ``comb_s``,
            its period. ``query["delays"]`` has the delay of each channel that aligns them.

        Raises
            ``QuestionError`` (a ``ValueError``): an option is not valid, or not for this run.
            ``WrongTypeError`` (a ``TypeError``, too): a value of the wrong type, such as a number for a
            duration; seconds have keywords of their own. ``DamageError``: the store is damaged.

        Example
            >>> delays = run.delays([1, 2])
            >>> delays[0].peak_ticks
            0
        """
        return Result(self._ask("delays", given(locals(), "delays")))


if TYPE_CHECKING:

    class Waits(TypedDict, total=False):
        """The keywords of ``Run.watch`` for every query."""

        every: Duration | None
        every_s: float | None
        hold_back: Duration | None
        hold_back_s: float | None
        timeout: Duration | None
        timeout_s: float | None

    class WatchCoincidences(Waits, total=False):
        """The keywords of ``Run.watch("coincidences", …)``."""

        window: Duration | None
        window_s: float | None
        full_width: Duration | None
        full_width_s: float | None
        groups: Iterable[Channel | Iterable[Channel]] | None
        choose: int | None
        rule: Literal["all", "herald", "per-herald", "once", "cluster", "grid"]
        veto: Channel | Iterable[Channel] | None
        guard: Duration | None
        guard_s: float | None
        bin: Duration | None
        bin_s: float | None
        by: Channel | None
        exact_bins: bool
        errors: str
        accidentals: str
        shift: Duration | None
        shift_s: float | None
        channels: Channel | Iterable[Channel] | None
        derive: str | Iterable[str] | Mapping[str, str] | None
        gates: str | Iterable[str] | None
        delays: Delays | Literal["auto"] | None
        delays_s: DelaysInSeconds | None
        from_: Duration | None
        from_s: float | None
        to: Duration | None
        to_s: float | None
        last: Duration | None
        last_s: float | None
        join: bool
        live_time: Duration | None
        live_time_s: float | None

    class WatchHistogram(Waits, total=False):
        """The keywords of ``Run.watch("histogram", …)``."""

        start: Channel | None
        stop: Channel | None
        mode: Literal["all", "next", "last", "grid"]
        g2: bool
        period: Duration | None
        period_s: float | None
        sync_divider: int | None
        by: Channel | None
        bin: Duration | None
        bin_s: float | None
        range: Duration | tuple[Duration, Duration] | None
        range_s: float | tuple[float, float] | None
        log: int | None
        covariance: bool
        exact_bins: bool
        errors: str | None
        channels: Channel | Iterable[Channel] | None
        derive: str | Iterable[str] | Mapping[str, str] | None
        gates: str | Iterable[str] | None
        delays: Delays | Literal["auto"] | None
        delays_s: DelaysInSeconds | None
        from_: Duration | None
        from_s: float | None
        to: Duration | None
        to_s: float | None
        last: Duration | None
        last_s: float | None
        join: bool

    class WatchG2(Waits, total=False):
        """The keywords of ``Run.watch("g2", …)``."""

        start: Channel | None
        stop: Channel | None
        by: Channel | None
        bin: Duration | None
        bin_s: float | None
        range: Duration | tuple[Duration, Duration] | None
        range_s: float | tuple[float, float] | None
        log: int | None
        covariance: bool
        pulsed: Duration | None
        pulsed_s: float | None
        peak: Duration | None
        peak_s: float | None
        sides: int | None
        skip: int | None
        exact_bins: bool
        errors: str | None
        channels: Channel | Iterable[Channel] | None
        derive: str | Iterable[str] | Mapping[str, str] | None
        gates: str | Iterable[str] | None
        delays: Delays | Literal["auto"] | None
        delays_s: DelaysInSeconds | None
        from_: Duration | None
        from_s: float | None
        to: Duration | None
        to_s: float | None
        last: Duration | None
        last_s: float | None
        join: bool

    class WatchHistogram2d(Waits, total=False):
        """The keywords of ``Run.watch("histogram2d", …)``."""

        herald: Channel | None
        a: Channel | None
        b: Channel | None
        bin: Duration | None
        bin_s: float | None
        range: Duration | tuple[Duration, Duration] | None
        range_s: float | tuple[float, float] | None
        g3: bool
        exact_bins: bool
        channels: Channel | Iterable[Channel] | None
        derive: str | Iterable[str] | Mapping[str, str] | None
        gates: str | Iterable[str] | None
        delays: Delays | Literal["auto"] | None
        delays_s: DelaysInSeconds | None
        from_: Duration | None
        from_s: float | None
        to: Duration | None
        to_s: float | None
        last: Duration | None
        last_s: float | None
        join: bool

    class WatchImage(Waits, total=False):
        """The keywords of ``Run.watch("image", …)``."""

        line: Channel | None
        line_end: Channel | None
        frame: Channel | None
        pixels: int | None
        lines: int | None
        scan: Literal["one-way", "two-way", "sinusoidal", "two-way-sinusoidal"] | None
        sine: int | None
        sine_of: Literal["amplitude", "period"] | None
        first_line: int | None
        first_frame: int | None
        repair: bool
        frames: Literal["together", "apart"]
        detectors: Literal["together", "apart"]
        micro: bool
        bin: Duration | None
        bin_s: float | None
        range: Duration | tuple[Duration, Duration] | None
        range_s: float | tuple[float, float] | None
        lifetime: Literal["auto", "mean", "phasor", "exp"] | None
        irf: str | None
        irf_channel: Channel | None
        reference_lifetime: Duration | None
        reference_lifetime_s: float | None
        pulse_period: Duration | None
        pulse_period_s: float | None
        harmonic: int | None
        min_photons: int | None
        bin_pixels: int | None
        mask: str | None
        exact_bins: bool
        channels: Channel | Iterable[Channel] | None
        derive: str | Iterable[str] | Mapping[str, str] | None
        gates: str | Iterable[str] | None
        delays: Delays | Literal["auto"] | None
        delays_s: DelaysInSeconds | None
        from_: Duration | None
        from_s: float | None
        to: Duration | None
        to_s: float | None
        last: Duration | None
        last_s: float | None
        join: bool

    class WatchMicro(Waits, total=False):
        """The keywords of ``Run.watch("micro", …)``."""

        bin: Duration | None
        bin_s: float | None
        range: Duration | tuple[Duration, Duration] | None
        range_s: float | tuple[float, float] | None
        trace: Duration | None
        trace_s: float | None
        by: Channel | None
        exact_bins: bool
        channels: Channel | Iterable[Channel] | None
        derive: str | Iterable[str] | Mapping[str, str] | None
        gates: str | Iterable[str] | None
        delays: Delays | Literal["auto"] | None
        delays_s: DelaysInSeconds | None
        from_: Duration | None
        from_s: float | None
        to: Duration | None
        to_s: float | None
        last: Duration | None
        last_s: float | None
        join: bool

    class WatchRates(Waits, total=False):
        """The keywords of ``Run.watch("rates", …)``."""

        bin: Duration | None
        bin_s: float | None
        by: Channel | None
        exact_bins: bool
        errors: str
        channels: Channel | Iterable[Channel] | None
        derive: str | Iterable[str] | Mapping[str, str] | None
        gates: str | Iterable[str] | None
        delays: Delays | Literal["auto"] | None
        delays_s: DelaysInSeconds | None
        from_: Duration | None
        from_s: float | None
        to: Duration | None
        to_s: float | None
        last: Duration | None
        last_s: float | None
        join: bool
        live_time: Duration | None
        live_time_s: float | None

    class WatchDelays(Waits, total=False):
        """The keywords of ``Run.watch("delays", …)``."""

        channels: Channel | Iterable[Channel] | None
        range: Duration | tuple[Duration, Duration] | None
        range_s: float | tuple[float, float] | None
        from_: Duration | None
        from_s: float | None
        to: Duration | None
        to_s: float | None
        last: Duration | None
        last_s: float | None
        join: bool
