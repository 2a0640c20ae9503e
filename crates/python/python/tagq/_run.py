"""Runs: opening, ingesting, and asking them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _tagq
from ._errors import MissingLibraryError, QuestionError, WrongTypeError
from ._requests import Requests, given
from ._result import Result
from ._show import html_table, text_table

T = TypeVar("T")

if TYPE_CHECKING:
    import numpy

    from ._scan import ScanCounters

    Path = str | os.PathLike[str]
    Channel = int | str
    Progress = Callable[[str, int, int], object]


def open(
    path: Path,
    *,
    tick: str | None = None,
    store: Path | None = None,
    io: Literal["map", "read"] = "map",
    ingest: bool = True,
    columns: str | None = None,
    setup: Path | None = None,
    no_setup: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Opens a run: a store, a folder of tag files, or one such file.

    New files are taken into the store first, unless ``ingest`` is False; ``progress`` is then called with
    the name of the file, the bytes read and its length. Ctrl-C, and what ``progress`` raises, end that;
    what was committed stays.

    tick
        The unit of the recorded times, as "156.25ps", "1/3ps", "1/12.288GHz".
    store
        Where the store is, instead of in or beside the source.
    io
        "map": nothing is read before it is used, and arrays lie in the file. If another program cuts that
        file short under an array, the system ends the process (SIGBUS). "read": copied into memory when
        it is opened, nine bytes a tag; the safe way where files may be cut under a view.
    columns
        The order of the columns of text without a header, "channel,time" or "time,channel".
    setup
        Tick, names, delays and groups of the experiment; ``tagq.toml`` in the run's folder without it,
        nothing with ``no_setup``.
    threads
        Threads that count, one a core without it.
    """
    opening = _opening(
        tick=tick,
        store=store,
        io=io,
        ingest=ingest,
        columns=columns,
        setup=setup,
        no_setup=no_setup,
        threads=threads,
        progress=progress,
    )
    return Run(_tagq.open(_path(path), opening))


def ingest(
    sources: Path | Iterable[Path],
    *,
    store: Path | None = None,
    tick: str | None = None,
    columns: str | None = None,
    rebuild: bool = False,
    rebase: bool = False,
    salvage: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Takes new files into the store, durably, and opens it. Several sources become one run in ``store``.

    ``progress`` is called about twenty times a second with the name of the file, the bytes read and its
    length. Ctrl-C, and what it raises, end the ingest; what was committed stays, and the next one goes on
    from there.

    rebuild
        Take everything anew, in one commit.
    rebase
        Put a file that begins before the run's end 1 s behind it.
    salvage
        Take what can be read of a torn end, too.
    """
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    opening = _opening(
        tick=tick,
        store=store,
        columns=columns,
        rebuild=rebuild,
        rebase=rebase,
        salvage=salvage,
        progress=progress,
    )
    return Run(_tagq.ingest([_path(source) for source in sources], opening))


def _opening(**given: Any) -> dict[str, Any]:
    opening: dict[str, Any] = {
        "store": None,
        "tick": None,
        "columns": None,
        "io": "map",
        "ingest": True,
        "rebuild": False,
        "rebase": False,
        "salvage": False,
        "setup": None,
        "no_setup": False,
        "threads": None,
        "progress": None,
    }
    opening.update(given)
    for name in ("tick", "columns", "io"):
        if opening[name] is not None and not isinstance(opening[name], str):
            found = type(opening[name]).__name__
            raise WrongTypeError(f"{name}: a text is wanted, not {found}")
    for name in ("store", "setup"):
        if opening[name] is not None:
            opening[name] = _path(opening[name], name)
    for name in ("ingest", "rebuild", "rebase", "salvage", "no_setup"):
        if not isinstance(opening[name], bool):
            raise WrongTypeError(f"{name}: True or False is wanted")
    threads = opening["threads"]
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 0 < threads < 4096):
        raise WrongTypeError("threads: a whole number above zero is wanted")
    if opening["progress"] is not None and not callable(opening["progress"]):
        raise WrongTypeError("progress: a function of (name, bytes_read, bytes_all) is wanted")
    return opening


def _path(path: object, name: str = "path") -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise WrongTypeError(f"{name}: a path is wanted, not {type(path).__name__}")
    path = os.fspath(path)
    if not isinstance(path, str):
        raise WrongTypeError(f"{name}: a path of text is wanted, not of bytes")
    return path


class Run(Requests):
    """An open run: its tags as of the commit that was the last when it was opened.

    It stays what it is while files are added, until ``refresh`` or ``watch`` brings it up to date. Arrays and
    tables that were taken from it stay what they are, also after it is closed.
    """

    def __init__(self, run: _tagq.Run) -> None:
        self._run = run
        self._ask = run.ask
        self._list = run.tuples

    # What is known without counting.

    @property
    def facts(self) -> dict[str, Any]:
        """Path, tick (a fraction of attoseconds), commit, tags, live and elapsed seconds, channels."""
        facts: dict[str, Any] = json.loads(self._run.facts())
        return facts

    @property
    def tick(self) -> str:
        """The unit of times, as "156.25 ps"."""
        return self._run.tick()

    @property
    def tick_s(self) -> float:
        """The unit of times in seconds."""
        attoseconds, parts = map(int, self.facts["tick"].split("/"))
        return attoseconds / (parts * 10**18)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last time in ticks; None without tags."""
        return self._run.span()

    @property
    def store(self) -> str:
        """The folder of the store."""
        return str(self._run.store())

    @property
    def sources(self) -> list[str]:
        """The names of the files that were taken, in order of time."""
        return list(self._run.sources())

    def __len__(self) -> int:
        return len(self._run.time())

    # Columns.

    @property
    def time(self) -> numpy.ndarray:
        """All times in ticks: int64, in order, shape (tags,). Read-only, and not a copy."""
        return self._array(self._run.time())

    @property
    def channel(self) -> numpy.ndarray:
        """All channels: uint8, or uint16 once one is above 255, shape (tags,). Read-only, not a copy."""
        return self._array(self._run.channel())

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
        *,
        channels: Iterable[Channel] | None = None,
        from_: str | None = None,
        to: str | None = None,
        last: str | None = None,
        time_unit: Literal["ps", "ns", "us", "s"] | None = None,
    ) -> Tags:
        """Tags as an Arrow stream, for ``polars.DataFrame``, ``pyarrow.table`` and others: ``time`` (Int64,
        ticks), ``channel`` (UInt8 or UInt16), and with ``time_unit`` a Float64 relative to the run's
        first tag. Not a copy where nothing had to be picked out.

        from_, to
            Moments as "1s" after the run's first tag, "-1s" before its last, "@123t" as recorded.
        last
            Only so long before the newest tag.
        """
        return Tags(self._run.tags(given(locals())))

    def scan(self, *, counters: ScanCounters | None = None) -> Any:
        """The same as ``tagq.scan(run)``."""
        from ._scan import scan

        return scan(self, counters=counters)

    # While it grows.

    def refresh(self) -> bool:
        """Takes in what its files have grown by, and new ones; True if it is another commit now. While
        another process takes them, it becomes that one's last commit."""
        return self._run.refresh()

    @overload
    def watch(
        self,
        query: Callable[[Run], T],
        *,
        every: str | None = None,
        hold_back: str | None = None,
        timeout: str | None = None,
    ) -> Iterator[T]: ...

    @overload
    def watch(
        self,
        query: Literal["coincidences", "histogram", "g2", "histogram2d", "rates"],
        *,
        every: str | None = None,
        hold_back: str | None = None,
        timeout: str | None = None,
        **words: Any,
    ) -> Iterator[Result]: ...

    def watch(
        self,
        query: str | Callable[[Run], Any],
        *,
        every: str | None = None,
        hold_back: str | None = None,
        timeout: str | None = None,
        **words: Any,
    ) -> Iterator[Any]:
        """Answers now, and again whenever something new was recorded: an iterator without end.

        New files and what files have grown by are taken in as it goes; this run is what was answered last.
        What stops that (a full disk) is a warning, and tried again. Ctrl-C, or leaving the loop, ends it.

        query
            The name of a request with its keywords, as
            ``run.watch("coincidences", window="2ns")``; or a function of the run, as
            ``run.watch(lambda run: (run.rates(), run.g2(1, 2)))``.
        every
            Not more often than this, as "1s".
        hold_back
            Of a file that grows, tags up to so long before its newest wait for late ones; "10ms".
        timeout
            End when nothing new came for so long.
        """
        for name, given in (("every", every), ("hold_back", hold_back), ("timeout", timeout)):
            if given is not None and not isinstance(given, str):
                raise WrongTypeError(f"{name}: a text with its unit is wanted, as \"1s\", not {type(given).__name__}")
        if callable(query):
            if words:
                raise WrongTypeError(f"{next(iter(words))}: the function asks with its own keywords")
            ask = query
        elif query in (names := _tagq.request_types()):
            name = query

            def ask(run: Run) -> Any:
                return getattr(run, name)(**words)
        else:
            raise QuestionError(f"{query!r} is no query; watch {', '.join(names)} or a function")
        return self._watch(ask, _tagq.Follower(self._run, every, hold_back, timeout))

    def _watch(self, ask: Callable[[Run], Any], follower: _tagq.Follower) -> Iterator[Any]:
        try:
            while follower.next(self._run):
                yield ask(self)
        finally:
            follower.close()

    # Its end.

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._run.is_closed()

    def close(self) -> None:
        """Lets go of the run. Arrays, tables and results that were taken from it stay valid."""
        self._run.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # How it looks.

    def _header(self) -> str:
        facts = self.facts
        assumed = " (assumed)" if facts["tick_assumed"] else ""
        return (
            f"tagq.Run {facts['path']}: {facts['tags']:,} tags, {facts['live_s']:.6g} s live, "
            f"tick {self.tick}{assumed}, commit {facts['commit']}"
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


class Tags:
    """Selected tags of a run, for whatever reads an Arrow stream. Each reader begins at the first tag."""

    def __init__(self, tags: _tagq.Tags) -> None:
        self._tags = tags

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._tags.schema()[0]

    @property
    def metadata(self) -> dict[str, str]:
        """What the schema says: the tick as a fraction of attoseconds (``tagq.tick``), the run."""
        return self._tags.schema()[1]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._tags.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"tagq.Tags ({', '.join(self.columns)}) of {_tagq.escaped(self.metadata['tagq.run'])}"
