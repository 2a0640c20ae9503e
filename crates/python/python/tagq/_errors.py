"""The exceptions of tagq. Their messages are those of the command line."""

from __future__ import annotations

__all__ = [
    "BusyError",
    "ClosedError",
    "DamageError",
    "ForkedError",
    "MissingLibraryError",
    "NotFoundError",
    "QuestionError",
    "TagqError",
    "TagqWarning",
    "WrongTypeError",
]


class TagqError(Exception):
    """Anything that tagq refuses or cannot do."""


class QuestionError(TagqError, ValueError):
    """What was asked means nothing: a word, a number or a combination (exit code 2)."""


class WrongTypeError(QuestionError, TypeError):
    """A value of a type that is not wanted there: floats as times, a list as an array."""


class NotFoundError(TagqError, FileNotFoundError):
    """No run is there, or nothing was ingested yet."""


class DamageError(TagqError):
    """A store or a source does not hold what it should (exit code 3)."""


class BusyError(TagqError):
    """Another process writes the store (exit code 4)."""


class ClosedError(TagqError):
    """The run was closed."""


class ForkedError(TagqError):
    """What a process that was forked cannot go on with: a scan, a list or a watch that its parent began. The
    run itself can be asked."""


class MissingLibraryError(TagqError, ImportError):
    """A library that only this call needs is not installed."""


class TagqWarning(UserWarning):
    """What a person should know that stops nothing: the notes of the command line."""
