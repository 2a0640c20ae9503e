"""Commands of the command line that are of paths: conversion, names and settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from . import _tagq
from ._errors import WrongTypeError, unexpected
from ._paths import path_of as _path
from ._opening import opening_of

if TYPE_CHECKING:
    Path = str | os.PathLike[str]


def convert(
    source: Path,
    out: Path,
    *,
    tick: str | None = None,
    source_format: str | None = None,
    columns: str | None = None,
    micro_tick: str | None = None,
    salvage: bool = False,
    replace: bool = False,
    **unknown: NoReturn,
) -> int:
    """Converts tags to a file in another format, as ``tagq convert`` does, and returns the number of tags. Warns of what
    the new format has no place for.

    source
        A file of tags, or a run.
    out
        The file, whose name selects the format: .tags, .tsv, .csv, .ptu or .swabian, or with .zst or .gz after that.
    tick, source_format, columns, micro_tick
        As in ``tagq.open``.
    salvage
        Whether damaged parts are left out. Without it, damage is an error.
    replace
        Whether a file that is there is replaced.
    """
    if unknown:
        raise unexpected("convert", unknown, ("tick", "source_format", "columns", "micro_tick", "salvage", "replace"))
    opening = opening_of(tick=tick, source_format=source_format, columns=columns, micro_tick=micro_tick, salvage=salvage)
    return _tagq.convert(_path(source, "source"), _path(out, "out"), tick, source_format, opening["columns"], salvage, replace)


def name(run: Path, names: Mapping[int, str | None] | None = None) -> dict[int, str]:
    """Names channels of the run at a path in its ``tagq.toml``, as ``tagq name`` does, and returns all names:
    ``tagq.name("run/", {3: "Alice", 15: "Bob"})``. None removes a name. Runs that are open keep the names they had."""
    given = dict(names or {})
    for channel, text in given.items():
        if isinstance(channel, bool) or not isinstance(channel, int) or not 0 <= channel <= 65535:
            raise WrongTypeError(f"names: {channel!r} is no channel; a dict is wanted, as {{3: \"Alice\"}}")
        if text is not None and not isinstance(text, str):
            raise WrongTypeError(f"names: the name of {channel} is a text, or None, not {type(text).__name__}")
    return dict(_tagq.name(_path(run, "run"), list(given.items())))


def set(
    run: Path,
    *,
    tick: str | None = None,
    times: bool | None = None,
    gaps: bool | None = None,
    store: Path | None = None,
    **unknown: NoReturn,
) -> None:
    """Changes the store of a run, as ``tagq set`` does.

    tick
        The unit of the recorded times, which replaces the earlier one, also in ``tagq.toml``.
    times
        Makes the column of times, or drops it: without it times are decoded from gaps and far distances.
    gaps
        Makes the column of gaps beside that of times, or drops it.
    store
        Folder of the store [default: in or beside the source].
    """
    if unknown:
        raise unexpected("set", unknown, ("tick", "times", "gaps", "store"))
    if tick is not None and not isinstance(tick, str):
        raise WrongTypeError(f'tick: a text is wanted, as "156.25ps", not {type(tick).__name__}')
    for name, value in (("times", times), ("gaps", gaps)):
        if value is not None and not isinstance(value, bool):
            raise WrongTypeError(f"{name}: True or False is wanted")
    _tagq.set(_path(run, "run"), None if store is None else _path(store, "store"), tick, times, gaps)
