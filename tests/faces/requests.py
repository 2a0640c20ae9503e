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
POSITIONAL: dict[str, tuple[str, ...]] = {}


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
