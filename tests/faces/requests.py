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
