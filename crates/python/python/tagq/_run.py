"""Runs, which answer queries."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, overload

from . import _tagq
from ._arrays import array_of
from ._durations import text_of_either
from ._errors import MissingLibraryError, QuestionError, WrongTypeError
from ._fit import Fits
from ._live import Live
from ._paths import path_of as _path
from ._requests import Requests, Searches, given, with_channels
from ._result import Result
from ._scan import ScanCounters, frame_of
from ._show import html_table, text_table
from ._table import Table

T = TypeVar("T")

if TYPE_CHECKING:
    import numpy
    import polars
    from typing_extensions import Unpack

    from ._requests import (
        Waits,
        WatchCoincidences,
        WatchDelays,
        WatchG2,
        WatchHistogram,
        WatchHistogram2d,
        WatchImage,
        WatchMicro,
        WatchRates,
    )
    from ._types import Channel, Channels, Delays, DelaysInSeconds, Duration

    Path = str | os.PathLike[str]
    Progress = Callable[[str, int, int], object]


def _run_of_text(text: str) -> Run:
    return Run(_tagq.Run.of_text(text))


class Run(Requests, Searches, Fits):
    """An open run with the tags of the last commit at the time of opening.

    Its content does not change while files are added, until ``refresh`` or ``watch`` updates it. Arrays and
    tables from it never change, and stay valid after it is closed.
    """

    def __init__(self, run: _tagq.Run) -> None:
        self._run = run
        self._ask = run.ask
        self._fit = run.fit
        self._list = run.tuples

    def __reduce__(self) -> tuple[Callable[[str], Run], tuple[str]]:
        """Pickles the run by the path of its store, its id and its commit: another process that sees the store
        opens exactly these rows."""
        return _run_of_text, (self._run.text(),)

    # Facts that need no counting.

    @property
    def facts(self) -> dict[str, Any]:
        """Path, tick (a fraction of attoseconds), commit, tags, live and elapsed seconds, channels."""
        facts: dict[str, Any] = json.loads(self._run.facts())
        return facts

    @property
    def tick(self) -> str:
        """The unit of times, such as "156.25 ps"."""
        return self._run.tick()

    @property
    def tick_s(self) -> float:
        """The unit of times in seconds."""
        attoseconds, parts = map(int, self.facts["tick"].split("/"))
        return attoseconds / (parts * 10**18)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last time in ticks, or None without tags."""
        return self._run.span()

    @property
    def store(self) -> str:
        """The folder of the store."""
        return str(self._run.store())

    @property
    def sources(self) -> list[str]:
        """The names of the ingested files, in order of time."""
        return list(self._run.sources())

    def __len__(self) -> int:
        return len(self._run.time())

    # Columns.

    @property
    def time(self) -> numpy.ndarray:
        """All times in ticks: int64, in order, shape (tags,). Read-only, and the same memory each time: a view of the file,
        not a copy, if the store has a column of times; else they are decoded once for all who ask this run."""
        return self._array(self._run.time())

    @property
    def channel(self) -> numpy.ndarray:
        """All channels: uint8, or uint16 if one is above 255, shape (tags,). A read-only view, not a copy."""
        return self._array(self._run.channel())

    @property
    def micro_times(self) -> numpy.ma.MaskedArray | None:
        """All micro times in units of ``micro_tick``: uint16, or uint32 if one is above 65534, shape (tags,), masked
        where a tag has none. None if the run has no micro times. The values are a read-only view, not a copy."""
        column = self._run.micro()
        if column is None:
            return None
        values = self._array(column)
        import numpy

        return numpy.ma.MaskedArray(values, mask=values == numpy.iinfo(values.dtype).max)

    @property
    def micro_tick(self) -> str | None:
        """The unit of micro times, such as "4 ps"; None if it is not known or the run has none."""
        return self._run.micro_tick()

    @staticmethod
    def _array(column: _tagq.Column) -> numpy.ndarray:
        try:
            import numpy
        except ImportError:
            raise MissingLibraryError(
                "arrays want NumPy: pip install numpy; run.tags() gives the same tags as Arrow"
            ) from None
        return numpy.asarray(column)

    def tags(
        self,
        *of: Channels,
        channels: Channel | Iterable[Channel] | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        time_unit: Literal["ps", "ns", "us", "ms", "s"] | None = None,
        **unknown: NoReturn,
    ) -> Tags:
        """Returns tags as an Arrow stream, for ``polars.DataFrame``, ``pyarrow.table`` and others: ``time``
        (Int64, ticks), ``channel`` (UInt8 or UInt16), ``micro`` (UInt16 or UInt32, null for none) if the run has
        micro times, and with ``time_unit`` a Float64 relative to the run's first tag. Blocks with only selected
        tags are views, not copies.

        from_, to
            Start and end: "1s" is after the run's first tag, "-1s" before its last, "@123t" as recorded.
        last
            Select only this duration before the newest tag.
        from_s, to_s, last_s
            The same in seconds, as numbers.
        """
        return Tags(self._run.tags(given(locals(), "tags")))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        """``numpy.asarray(run)`` is a structured array with the fields ``time`` and ``channel``, shape (tags,), which is a
        copy; ``run.time`` and ``run.channel`` are none."""
        return array_of({"time": self.time, "channel": self.channel}, dtype, copy)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All tags, as ``tags()``: ``polars.DataFrame(run)`` and ``duckdb.sql("from run")`` read them."""
        return self._run.tags({}).__arrow_c_stream__(requested_schema)

    def lookup(self, times: int | str | Iterable[int | str] | numpy.ndarray) -> numpy.ndarray:
        """Returns for each time the first row at this time or later, ``len(run)`` if there is none: int64, shape of
        ``times``. The index of the store finds the rows, so that a run of any length is not read.

        times
            Times in ticks as recorded, or moments: "1s" is after the run's first tag, "-1s" before its last, "@123t"
            as recorded.
        """
        try:
            import numpy
        except ImportError:
            raise MissingLibraryError("arrays want NumPy: pip install numpy") from None
        if isinstance(times, str):
            times = self._run.tick_of(times)
        elif not isinstance(times, (int, numpy.ndarray)):
            times = [self._run.tick_of(time) if isinstance(time, str) else time for time in times]
        ticks = numpy.asarray(times)
        if ticks.size and ticks.dtype.kind not in "iu":
            raise WrongTypeError(f"times: whole ticks or moments are wanted, not {ticks.dtype}")
        if ticks.dtype == numpy.uint64 and ticks.size and ticks.max() > numpy.iinfo(numpy.int64).max:
            raise QuestionError("times: a time is not below 2^63")
        rows = self._run.lookup(ticks.astype(numpy.int64).tobytes())
        return numpy.frombuffer(rows, numpy.int64).reshape(ticks.shape)

    def info(self, *, fast: bool = False) -> dict[str, Any]:
        """Returns all that ``tagq info`` says of the run: store, sources, gaps between them, channels with their shortest
        intervals, for which all tags are read unless ``fast``. ``facts`` has what needs no reading."""
        found: dict[str, Any] = json.loads(_tagq.info(self._run, fast))
        return found

    def verify(self, *, sources: bool = False) -> dict[str, int]:
        """Verifies the checksums of all blocks, of views and of cached results, and with ``sources`` those of the files that
        were ingested. Returns the numbers of ``blocks``, ``tags``, ``sources``, ``sources_unknown``, which could not be
        compared, ``views`` and ``results``.

        Raises ``DamageError`` with the first block, view, result or source that is damaged."""
        found = _tagq.verify(self._run, sources)
        return dict(zip(("blocks", "tags", "sources", "sources_unknown", "views", "results"), found, strict=True))

    def derive(
        self,
        store: Path | None = None,
        *,
        gates: str | Iterable[str] | None = None,
        channels: Channel | Iterable[Channel] | None = None,
        delays: Delays | None = None,
        delays_s: DelaysInSeconds | None = None,
        join: bool = False,
        **definitions: str,
    ) -> Run:
        """Returns a run with channels made from channels, such as ``Pair="1 & 2 within 2ns"``, and with the tags inside of all
        ``gates``: names of gates in ``tagq.toml``, or gates as ``"marker1 .. marker2"``. It has the channels of the run and
        the derived ones, or only ``channels``, and the definitions of ``tagq.toml``, too. Definitions see the ``delays``. With
        ``join`` they compare tags of several files. It is written to the new store ``store``; without it to a view in the
        store of the run, which the next call with the same arguments finds again. docs/queries.md, section "Derived channels and
        gates", has all operators.

        Raises ``QuestionError`` for a definition that is wrong."""
        words = {"gates": gates, "channels": channels, "delays": delays, "delays_s": delays_s, "join": join}
        place = None if store is None else _path(store)
        return Run(_tagq.derive(self._run, place, list(definitions.items()), words))

    def merge(
        self,
        *others: Run,
        store: Path,
        offset: Duration | None = None,
        offset_s: float | None = None,
        drift: float | str = 0,
        channels_b: int = 0,
    ) -> Run:
        """Returns a run with the tags of this one and of ``others``, which recorded at the same time on other channels, in
        the new store ``store``, as ``tagq merge`` does. Tags of one run in the dead time of another are left out.

        offset, offset_s
            Of two runs: added to the times of the second.
        drift
            Of two runs: the times of the second are multiplied by 1 + drift/10⁶ first, for a clock that runs slow by so
            many parts per million.
        channels_b
            Of two runs: added to the channels of the second.

        Raises ``QuestionError`` if two runs use a channel, have several files, or do not overlap in time."""
        if not others or len(others) > 1 and (offset, offset_s, drift, channels_b) != (None, None, 0, 0):
            raise QuestionError(
                "others: offset, drift and channels_b are of two runs" if others else "others: a run to merge with is missing"
            )
        moved = text_of_either("offset", offset, offset_s) or "0s"
        if isinstance(drift, bool) or not isinstance(drift, (str, int, float)):
            raise WrongTypeError(f"drift: a number of parts per million is wanted, not {type(drift).__name__}")
        ppm = drift if isinstance(drift, str) else f"{Decimal(str(drift)):f}"
        return Run(_tagq.merge(self._run, [run._run for run in others], _path(store, "store"), moved, ppm, channels_b))

    def gate(self, *gates: str) -> Run:
        """Returns a run with the tags inside of all ``gates``, as ``derive(gates=…)`` does."""
        return self.derive(gates=gates)

    def export(
        self,
        path: Path,
        *,
        channels: Channel | Iterable[Channel] | None = None,
        from_: Duration | None = None,
        from_s: float | None = None,
        to: Duration | None = None,
        to_s: float | None = None,
        last: Duration | None = None,
        last_s: float | None = None,
        time_unit: Literal["ps", "ns", "us", "ms", "s"] | None = None,
        replace: bool = False,
        **unknown: NoReturn,
    ) -> int:
        """Writes tags to a file named .arrow, .parquet, .csv or .tsv, as ``tagq export`` does, in bounded memory, and
        returns their number. The keywords are those of ``tags``; ``replace`` allows a file that is there."""
        words = given(locals(), "export")
        words = {name: value for name, value in words.items() if name not in ("path", "replace")}
        return _tagq.export(self._run, _path(path), words, replace)

    @overload
    def scan(self, *, counters: ScanCounters | None = None) -> Any: ...

    @overload
    def scan(self, query: str, *channels: Channels, **words: Any) -> Result: ...

    def scan(
        self,
        query: str | None = None,
        *channels: Channels,
        counters: ScanCounters | None = None,
        **words: Any,
    ) -> Any:
        """Without a query: the tags as a lazy frame, same as ``tagq.scan(run)``.

        With the name of a query: asks it for several values of one option, FIRST..LAST:N, which are N values at equal distances:
        ``run.scan("coincidences", 1, 2, window="0.5ns..10ns:20")``, or ``delays={2: "-10ns..10ns:41"}``. The result has a column
        of these values, in seconds (``window_s``, ``delay_of_2_s``), before the columns of the query, and can be fitted.

        Raises ``tagq.QuestionError`` if no option has several values, or two have."""
        if query is None:
            if words or channels:
                raise QuestionError("a scan of several values needs the name of a query, as in run.scan('coincidences', ...)")
            return frame_of(self._run, counters)
        return Result(self._run.scan_query(query, with_channels(query, channels, words)))

    # Growing runs.

    def refresh(self) -> bool:
        """Ingests new files and new parts of files, and returns True if the commit has changed. If another
        process ingests them, the run moves to the last commit of that process."""
        return self._run.refresh()

    @overload
    def watch(self, query: Callable[[Run], T], **waits: Unpack[Waits]) -> Iterator[T]: ...

    @overload
    def watch(self, query: Literal["coincidences"], *of: Channels, **words: Unpack[WatchCoincidences]) -> Iterator[Result]: ...

    @overload
    def watch(self, query: Literal["histogram"], *of: Channels, **words: Unpack[WatchHistogram]) -> Iterator[Result]: ...

    @overload
    def watch(self, query: Literal["g2"], *of: Channels, **words: Unpack[WatchG2]) -> Iterator[Result]: ...

    @overload
    def watch(self, query: Literal["histogram2d"], *of: Channels, **words: Unpack[WatchHistogram2d]) -> Iterator[Result]: ...

    @overload
    def watch(self, query: Literal["image"], *of: Channels, **words: Unpack[WatchImage]) -> Iterator[Result]: ...

    @overload
    def watch(self, query: Literal["micro"], *of: Channels, **words: Unpack[WatchMicro]) -> Iterator[Result]: ...

    @overload
    def watch(self, query: Literal["rates"], *of: Channels, **words: Unpack[WatchRates]) -> Iterator[Result]: ...

    @overload
    def watch(self, query: Literal["delays"], *of: Channels, **words: Unpack[WatchDelays]) -> Iterator[Result]: ...

    def watch(
        self,
        query: str | Callable[[Run], Any],
        *of: Channels,
        every: Duration | None = None,
        every_s: float | None = None,
        hold_back: Duration | None = None,
        hold_back_s: float | None = None,
        timeout: Duration | None = None,
        timeout_s: float | None = None,
        **words: Any,
    ) -> Iterator[Any]:
        """Returns an endless iterator over answers: one now, and one whenever new data is recorded.

        New files and new parts of files are ingested, and this run moves to the commit of the last answer.
        An error during ingest (such as a full disk) gives a warning and is retried. Ctrl-C, or leaving the
        loop, stops the watch.

        query
            The name of a request with its keywords, as
            ``run.watch("coincidences", window="2ns")``; or a function of the run, as
            ``run.watch(lambda run: (run.rates(), run.g2(1, 2)))``.
        of
            Channels as in ``live``.
        every
            Shortest time between two answers, such as "1s" [default: answer each commit].
        hold_back
            Hold back the newest tags of a growing file for this duration, to sort late tags
            [default: "10ms"].
        timeout
            Stop after this time without new data [default: never].
        every_s, hold_back_s, timeout_s
            The same in seconds, as numbers.
        """
        waits = [
            text_of_either(name, own, seconds)
            for name, own, seconds in (
                ("every", every, every_s),
                ("hold_back", hold_back, hold_back_s),
                ("timeout", timeout, timeout_s),
            )
        ]
        ask: Callable[[Run], Any]
        if callable(query):
            if words or of:
                raise WrongTypeError(f"{next(iter(words), 'of')}: the function asks with its own channels and keywords")
            ask = query
        else:
            ask = _asking(query, with_channels(query, of, words), "watch {} or a function")
        return self._watch(ask, _tagq.Follower(self._run, *waits))

    @overload
    def live(
        self, query: Literal["coincidences"], *of: Channels, **words: Unpack[WatchCoincidences]
    ) -> Live: ...

    @overload
    def live(self, query: Literal["histogram"], *of: Channels, **words: Unpack[WatchHistogram]) -> Live: ...

    @overload
    def live(self, query: Literal["g2"], *of: Channels, **words: Unpack[WatchG2]) -> Live: ...

    @overload
    def live(self, query: Literal["histogram2d"], *of: Channels, **words: Unpack[WatchHistogram2d]) -> Live: ...

    @overload
    def live(self, query: Literal["image"], *of: Channels, **words: Unpack[WatchImage]) -> Live: ...

    @overload
    def live(self, query: Literal["micro"], *of: Channels, **words: Unpack[WatchMicro]) -> Live: ...

    @overload
    def live(self, query: Literal["rates"], *of: Channels, **words: Unpack[WatchRates]) -> Live: ...

    @overload
    def live(self, query: Literal["delays"], *of: Channels, **words: Unpack[WatchDelays]) -> Live: ...

    def live(
        self,
        query: str,
        *of: Channels,
        every: Duration | None = None,
        every_s: float | None = None,
        hold_back: Duration | None = None,
        hold_back_s: float | None = None,
        timeout: Duration | None = None,
        timeout_s: float | None = None,
        **words: Any,
    ) -> Live:
        """Returns a figure of a query that a notebook shows and that follows the recording, until ``stop()``.

        A thread watches a copy of this run as ``watch`` does; this run stays as it is. A cell with the figure as its last
        line shows it as a widget (``pip install tagq[jupyter]``), and without that library as a picture of the newest
        result. As a context manager, it stops at the end of the block::

            figure = run.live("g2", 1, 2, range="20ns", last="1s")

        query
            The name of a request, whose keywords follow.
        of
            Channels as the request takes them: start and stop of ``histogram`` and ``g2``; herald, a and b of
            ``histogram2d``; those of ``coincidences`` are a group, those of ``micro`` and ``rates`` are counted. Several
            channels may also be one list, and several groups several lists.
        every
            Shortest time between two answers [default: "200ms", and never less].

        The other keywords are those of ``watch``.
        """
        waits = (
            text_of_either(name, own, seconds)
            for name, own, seconds in (
                ("every", every, every_s),
                ("hold_back", hold_back, hold_back_s),
                ("timeout", timeout, timeout_s),
            )
        )
        words = with_channels(query, of, words)
        run = self._run.copy()
        ask = _asking(query, words, "a live figure is of {}")
        return Live(run, lambda: ask(Run(run)), _tagq.Follower(run, *waits))

    def _watch(self, ask: Callable[[Run], Any], follower: _tagq.Follower) -> Iterator[Any]:
        try:
            while follower.next(self._run):
                yield ask(self)
        finally:
            follower.close()

    # Closing.

    @property
    def closed(self) -> bool:
        """Whether the run is closed."""
        return self._run.is_closed()

    def close(self) -> None:
        """Closes the run. Arrays, tables and results from it stay valid."""
        self._run.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Display.

    def _header(self) -> str:
        facts = self.facts
        assumed = " (assumed)" if facts["tick_assumed"] else ""
        return (
            f"tagq.Run {facts['path']}: {facts['tags']:,} tags, {facts['live_s']:.6g} s live, "
            f"tick {self._run.tick_shown()}{assumed}, commit {facts['commit']}"
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        facts = self.facts
        live = facts["live_s"]
        rows = []
        for of in facts["channels"]:
            rate = f"{of['count'] / live:,.6g}" if live > 0 else "–"
            rows.append([of.get("name", str(of["channel"])), f"{of['count']:,}", rate])
        return ["channel", "tags", "rate (Hz)"], rows

    def __repr__(self) -> str:
        if self.closed:
            return "tagq.Run (closed)"
        return f"{_tagq.escaped(self._header())}\n\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        if self.closed:
            return "tagq.Run (closed)"
        return html_table(self._header(), *self._table())


def _asking(query: str, words: dict[str, Any], wanted: str) -> Callable[[Run], Result]:
    """Returns the function that asks a run for a request again and again, in the bins that it chose; ``wanted`` says where the
    names of all requests belong."""
    names = _tagq.query_types()
    if query not in names:
        near = difflib.get_close_matches(str(query), names, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise QuestionError(f"{query!r} is no query; {wanted.format(', '.join(names))}{hint}")
    repeated = _tagq.Repeated(query, words)
    return lambda run: Result(repeated.ask(run._run))


class Tags(Table):
    """Selected tags of a run, as an Arrow stream. Each reader starts at the first tag."""

    def __init__(self, tags: _tagq.SelectedTags) -> None:
        self._tags = tags

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._tags.schema()[0]

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the schema: the tick as a fraction of attoseconds (``tagq.tick``), the run."""
        return self._tags.schema()[1]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._tags.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"tagq.Tags ({', '.join(self.columns)}) of {_tagq.escaped(self.metadata['tagq.run'])}"


def scan(run: Run, *, counters: ScanCounters | None = None) -> polars.LazyFrame:
    """Returns the tags of a run as a lazy frame of Polars: ``time`` (Int64, ticks), ``channel`` (UInt8 or
    UInt16), and ``micro`` (UInt16 or UInt32, null for none) if the run has micro times.

    Filters of ``time`` and ``channel`` by comparisons, ``is_between``, ``is_in``, ``&`` and ``|`` use the
    index: blocks of 65,536 tags without a match are not read, and neither are unused columns. Polars
    applies all other filters. ``counters`` counts the blocks that are read.
    """
    if not isinstance(run, Run):
        raise WrongTypeError(f"tagq.scan wants a run, as tagq.open gives it, not {type(run).__name__}")
    return frame_of(run._run, counters)
