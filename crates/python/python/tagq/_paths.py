"""Paths of files and folders."""

from __future__ import annotations

import os

from ._errors import WrongTypeError


def path_of(path: object, name: str = "path") -> str:
    """Returns a path as a text."""
    if not isinstance(path, (str, os.PathLike)):
        raise WrongTypeError(f'{name}: a path is wanted, as "run/" or a pathlib.Path, not {type(path).__name__}')
    text = os.fspath(path)
    if not isinstance(text, str):
        raise WrongTypeError(f"{name}: a path of text is wanted, not of bytes; os.fsdecode makes one of it")
    return text
