"""The exceptions of tagq. Their messages are the same as on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

__all__ = [
    "BusyError",
    "ClosedError",
    "DamageError",
    "ForkedError",
    "MissingLibraryError",
    "NotFoundError",
    "NotReproducedError",
    "QuestionError",
    "TagqError",
    "TagqWarning",
    "TextError",
    "WrongTypeError",
]


class TagqError(Exception):
    """Base class of all errors of tagq."""


class QuestionError(TagqError, ValueError):
    """A query or an argument is invalid: a name, a number or a combination (exit code 2)."""


class WrongTypeError(QuestionError, TypeError):
    """An argument has the wrong type, such as floats as times or a list as an array."""


class NotFoundError(TagqError, FileNotFoundError):
    """The run does not exist, or nothing was ingested yet."""


class DamageError(TagqError):
    """A store or a source is damaged (exit code 3)."""


class NotReproducedError(TagqError):
    """An answer that was counted again is another one. ``differences`` has the first of them: where, the key, the value in
    the answer and that of today."""

    def __init__(self, differences: list[tuple[str, str, object, object]]) -> None:
        self.differences = differences
        lines = [f"{where}: {key} was {saved} and is {now}" for where, key, saved, now in differences]
        super().__init__("not reproduced: " + "; ".join(lines))

    def __reduce__(self) -> tuple[type[NotReproducedError], tuple[list[tuple[str, str, object, object]]]]:
        return type(self), (self.differences,)


class TextError(TagqError, ValueError):
    """A line of a text file is no tag; the message names the line."""


class BusyError(TagqError):
    """Another process is writing the store (exit code 4)."""


class ClosedError(TagqError):
    """The run was closed."""


class ForkedError(TagqError):
    """A forked process cannot continue a scan, a list or a watch that its parent started. Queries of the run
    work in the forked process."""


class MissingLibraryError(TagqError, ImportError):
    """A library that only this call needs is not installed."""


class TagqWarning(UserWarning):
    """A problem that does not stop the call; the command line prints it as a note."""


#: Keywords of other programs, and the keyword that means the same here.
MEANT = {
    "force": "replace",
    "overwrite": "replace",
    "exist_ok": "replace",
    "filename": "path",
    "start": "from_",
    "begin": "from_",
    "from": "from_",
    "stop": "to",
    "end": "to",
    "binwidth": "bin",
    "bin_width": "bin",
    "coincidence_window": "window",
    "delay": "delays",
    "channel": "channels",
    "group": "groups",
    "gate": "gates",
}


def unexpected(of: str, unknown: Mapping[str, object], known: Iterable[str]) -> TypeError:
    """The exception for keywords that the function ``of`` does not have."""
    known = [name for name in known if name != "self"]
    name = next(iter(unknown))
    # Suggest `window`, not `window_s`, unless the misspelt keyword ends with `_s`, too.
    plain = known if name.endswith("_s") else [name for name in known if not name.endswith("_s")]
    meant = MEANT.get(name)
    near = [meant] if meant in known else difflib.get_close_matches(name, plain, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"its keywords are {', '.join(known)}"
    return TypeError(f"{of}() got an unexpected keyword argument '{name}'; {hint}")
