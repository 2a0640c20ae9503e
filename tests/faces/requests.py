"""The requests, with the options of the command line. Generated from their table; a test compares it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ._errors import unexpected
from ._result import Result, Tuples

if TYPE_CHECKING:
    import datetime
    from typing import TypedDict

    import numpy

    from . import _tagq

    Channel = int | str
    #: A text with its unit, such as "2ns" or "13t" (whole ticks), or a timedelta. Seconds have keywords of their own.
    Duration = str | datetime.timedelta | numpy.timedelta64
    #: The keys of a mapping are numbers, names, or both: a type of keys is not the type of more keys. What ``delays`` found,
    #: ``query["delays"]``, is a list of dicts.
    Delays = Mapping[int, Duration] | Mapping[str, Duration] | Mapping[Channel, Duration] | Iterable[Mapping[str, Any]]
    DelaysInSeconds = Mapping[int, float] | Mapping[str, float] | Mapping[Channel, float]


def given(arguments: dict[str, Any], of: str) -> dict[str, Any]:
    """The arguments of the method ``of`` that have a value, by name."""
    if unknown := arguments.pop("unknown", None):
        raise unexpected(of, unknown, arguments)
    return {name: value for name, value in arguments.items() if name != "self" and value is not None}


class Requests:
    """The requests that a run, or the sum of several runs, answers."""

    # Functions of the extension module, so that warnings name the line of the caller.
    _ask: Callable[[str, dict[str, Any]], _tagq.Answer]
    _list: Callable[[dict[str, Any]], _tagq.Tuples]
