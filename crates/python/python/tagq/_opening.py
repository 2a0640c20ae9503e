"""The keywords of opening and ingesting."""

from __future__ import annotations

from typing import Any

from ._errors import WrongTypeError
from ._paths import path_of

#: The keywords of opening and ingesting, with their defaults.
OPENING: dict[str, Any] = {
    "store": None,
    "recursive": False,
    "tick": None,
    "source_format": None,
    "columns": None,
    "micro_tick": None,
    "io": "map",
    "ingest": True,
    "rebuild": False,
    "rebase": False,
    "salvage": False,
    "times": False,
    "gaps": True,
    "setup": None,
    "no_setup": False,
    "threads": None,
    "view_factor": 16,
    "long": False,
    "progress": None,
}


def opening_of(**given: Any) -> dict[str, Any]:
    """The options of opening, checked; those that are not given have their defaults."""
    opening = dict(OPENING)
    opening.update(given)
    for name in ("tick", "source_format", "columns", "micro_tick", "io"):
        if opening[name] is not None and not isinstance(opening[name], str):
            found = type(opening[name]).__name__
            raise WrongTypeError(f"{name}: a text is wanted, not {found}")
    # It is kept with the columns of a source.
    micro_tick = opening.pop("micro_tick")
    if micro_tick is not None:
        opening["columns"] = ",".join(filter(None, [opening["columns"], f"micro-tick={micro_tick}"]))
    for name in ("store", "setup"):
        if opening[name] is not None:
            opening[name] = path_of(opening[name], name)
    for name in ("recursive", "ingest", "rebuild", "rebase", "salvage", "times", "gaps", "no_setup", "long"):
        if not isinstance(opening[name], bool):
            raise WrongTypeError(f"{name}: True or False is wanted")
    for name, most in (("threads", 4096), ("view_factor", 1 << 32)):
        number = opening[name]
        if name == "threads" and number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int) or not 0 < number < most:
            raise WrongTypeError(f"{name}: a whole number above zero is wanted")
    if opening["progress"] is not None and not callable(opening["progress"]):
        raise WrongTypeError("progress: a function of (name, bytes_read, bytes_all) is wanted")
    return opening
