"""Opening runs: of stores, files, lists and streams."""

from __future__ import annotations

import builtins
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn, overload

from . import _tagq, ttbin
from ._errors import QuestionError, unexpected
from ._opening import OPENING, opening_of
from ._paths import path_of as _path
from ._run import Run
from ._sum import Sum

if TYPE_CHECKING:
    Path = str | os.PathLike[str]
    Progress = Callable[[str, int, int], object]


# A text is a sequence of texts, too, but the first overload takes it.
@overload
def open(  # type: ignore[overload-overlap]
    path: Path | BinaryIO,
    *,
    tick: str | None = None,
    store: Path | None = None,
    recursive: bool = False,
    io: Literal["map", "read"] = "map",
    ingest: bool = True,
    source_format: str | None = None,
    columns: str | None = None,
    micro_tick: str | None = None,
    setup: Path | None = None,
    no_setup: bool = False,
    threads: int | None = None,
    view_factor: int = 16,
    long: bool = False,
    progress: Progress | None = None,
) -> Run: ...


@overload
def open(
    path: Sequence[Path],
    *,
    tick: str | None = None,
    recursive: bool = False,
    io: Literal["map", "read"] = "map",
    ingest: bool = True,
    source_format: str | None = None,
    columns: str | None = None,
    micro_tick: str | None = None,
    setup: Path | None = None,
    no_setup: bool = False,
    threads: int | None = None,
    view_factor: int = 16,
    long: bool = False,
    progress: Progress | None = None,
) -> Sum: ...


def open(
    path: Path | BinaryIO | Sequence[Path],
    *,
    tick: str | None = None,
    store: Path | None = None,
    recursive: bool = False,
    io: Literal["map", "read"] = "map",
    ingest: bool = True,
    source_format: str | None = None,
    columns: str | None = None,
    micro_tick: str | None = None,
    setup: Path | None = None,
    no_setup: bool = False,
    threads: int | None = None,
    view_factor: int = 16,
    long: bool = False,
    progress: Progress | None = None,
    **unknown: NoReturn,
) -> Run | Sum:
    """Opens a run: a store, a folder of tag files, or one such file. "-" is standard input, and a file object opened for
    bytes is read to its end; their store goes with the run, unless ``store`` names one. A ``.ttbin`` file is read by
    Swabian's library (``pip install tagq[swabian]``), its store ``x.ttbin.tagq`` by any call.

    A list of paths is opened as one ``Sum``, with the same queries: their answers are those of the command line with
    ``--sum``, in which counts and live times are added up and no pair is made of tags of two runs. To join files of one
    measurement to one run, use ``tagq.ingest(paths, store="DIR")``.

    New files are ingested first, unless ``ingest`` is False. Meanwhile ``progress`` is called with the name
    of the file, the bytes read and its length. Ctrl-C, or an exception from ``progress``, stops the ingest;
    committed data stays.

    tick
        Unit of the recorded times of this object, such as "156.25ps", "1/3ps", "1/12.288GHz" [default: that of the
        store]. ``tagq.ingest`` and ``tagq.toml`` keep it in the store. Of text, which has no tick, opening keeps it,
        too.
    store
        Folder of the store [default: in or beside the source].
    recursive
        Whether a folder is searched for sources in nested folders, too. Give it each time.
    io
        How columns are read.
        "map": data is read only when it is used, and arrays are views of the file. If another program
        truncates the file during the use of an array, the system ends the process (SIGBUS).
        "read": the columns are copied into memory at opening, nine bytes per tag. Use it if files may be
        truncated.
    source_format
        Format of the files, such as "qutag", whatever their content says; ``tagq formats`` lists them.
    columns
        Columns of a table or a text: "time=NAME,channel=NAME,micro=NAME" with some of these, or the order of two
        columns without names: "channel,time" or "time,channel". Times that are no ticks have a unit, as in
        "time=NAME:ns". "channel:N" gives the channel of a text without a column of channels, and
        "time=NAME,time=NAME" are columns with the times of one channel each.
    micro_tick
        Unit of the micro times of files that do not say it, such as "4.07ps", as of .spc without .set.
    setup
        File with tick, names, delays and groups of the experiment [default: ``tagq.toml`` in the run's
        folder]. ``no_setup`` uses no file.
    threads
        Number of threads [default: one per core].
    view_factor
        Derived channels have at most so many times the tags of the run.
    long
        Whether queries are counted that are estimated to take longer than a day.
    """
    if unknown:
        raise unexpected("open", unknown, OPENING)
    opening = opening_of(
        tick=tick,
        store=store,
        recursive=recursive,
        io=io,
        ingest=ingest,
        source_format=source_format,
        columns=columns,
        micro_tick=micro_tick,
        setup=setup,
        no_setup=no_setup,
        threads=threads,
        view_factor=view_factor,
        long=long,
        progress=progress,
    )
    if isinstance(path, (str, os.PathLike)):
        if path == "-":
            return _of_stream(sys.stdin.buffer, opening)
        return _of_path(path, opening)
    if isinstance(path, Sequence):
        return _of_list(path, opening)
    if hasattr(path, "read"):
        return _of_stream(path, opening)
    return Run(_tagq.open(_path(path), opening))


def _of_list(paths: Sequence[Path], opening: dict[str, Any]) -> Sum:
    """Opens each path as a run, to be asked as one."""
    if opening["store"] is not None:
        raise QuestionError('store: each of several runs has its own; tagq.ingest(paths, store="DIR") makes one run of them')
    if isinstance(paths, bytes):
        _path(paths)
    if not paths:
        raise QuestionError('path: the list is empty; name one run or more, as ["monday.ptu", "tuesday.ptu"]')
    return Sum([_of_path(path, opening) for path in paths])


def _of_path(path: Path, opening: dict[str, Any]) -> Run:
    """Opens a store, a folder or a file; a ``.ttbin`` file by its store."""
    name = _path(path)
    if ttbin.is_ttbin(name):
        name = ttbin.store_of(name, opening)
        opening = {**opening, "store": None, "source_format": None, "columns": None}
    return Run(_tagq.open(name, opening))


def _of_stream(stream: BinaryIO, opening: dict[str, Any]) -> Run:
    """Opens the tags that a stream delivers until its end. Without a name for the store, it goes with the run."""
    with tempfile.TemporaryDirectory(prefix="tagq-") as folder:
        path = os.path.join(folder, "stream")
        with builtins.open(path, "xb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
        if opening["store"] is None:
            opening["store"] = os.path.join(folder, "store")
        # Mapped columns stay valid after the folder is removed.
        return Run(_tagq.open(path, opening))


def ingest(
    sources: Path | Iterable[Path],
    *,
    store: Path | None = None,
    recursive: bool = False,
    tick: str | None = None,
    source_format: str | None = None,
    columns: str | None = None,
    micro_tick: str | None = None,
    rebuild: bool = False,
    rebase: bool = False,
    salvage: bool = False,
    times: bool = False,
    gaps: bool = True,
    io: Literal["map", "read"] = "map",
    setup: Path | None = None,
    no_setup: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    **unknown: NoReturn,
) -> Run:
    """Ingests new files into the store, durably, and opens it. Several sources become one run in ``store``.

    ``progress`` is called about twenty times per second with the name of the file, the bytes read and its
    length. Ctrl-C, or an exception from ``progress``, stops the ingest. Committed data stays, and the next
    ingest continues from there.

    recursive
        Whether folders are searched for sources in nested folders, too. Give it each time.
    source_format
        Format of the files, such as "qutag", whatever their content says; ``tagq formats`` lists them.
    micro_tick
        Unit of the micro times of files that do not say it, such as "4.07ps".
    rebuild
        Ingest every source again, in one commit.
    rebase
        Move a file that begins before the run's end to 1 s after it.
    salvage
        Ingest also the readable part of a torn end.
    times
        Whether a new store gets a column of times: 11 bytes a tag in place of 3 to 7. Without it, times are decoded from
        gaps and far distances.
    gaps
        Whether a new store has gaps; without, it has times alone: 9 bytes a tag, and slower queries.
    tick, columns, io, setup, no_setup, threads
        As in ``tagq.open``; the store keeps the tick.
    """
    if unknown:
        raise unexpected("ingest", unknown, OPENING)
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    opening = opening_of(
        tick=tick,
        store=store,
        recursive=recursive,
        source_format=source_format,
        columns=columns,
        micro_tick=micro_tick,
        rebuild=rebuild,
        rebase=rebase,
        salvage=salvage,
        times=times,
        gaps=gaps,
        io=io,
        setup=setup,
        no_setup=no_setup,
        threads=threads,
        progress=progress,
    )
    return Run(_tagq.ingest([_path(source) for source in sources], opening))
