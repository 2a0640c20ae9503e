"""The exceptions of tagq. Their messages are the same as on the command line."""

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
    """Base class of all errors of tagq."""


class QuestionError(TagqError, ValueError):
    """A query or an argument is invalid: a name, a number or a combination (exit code 2)."""


class WrongTypeError(QuestionError, TypeError):
    """An argument has the wrong type, such as floats as times or a list as an array."""


class NotFoundError(TagqError, FileNotFoundError):
    """The run does not exist, or nothing was ingested yet."""


class DamageError(TagqError):
    """A store or a source is damaged (exit code 3)."""


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
