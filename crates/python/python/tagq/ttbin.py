"""Stores of `.ttbin` files, which only the library of Swabian Instruments reads: pip install tagq[swabian].

``tagq.open("x.ttbin")`` makes the store ``x.ttbin.tagq`` beside the file, or opens it if it is there. The same in a
terminal, for the program::

    python -m tagq.ttbin x.ttbin -o x.tagq

The tags go through a temporary file in the folder of the store, 16 bytes each, in the layout of ``tagq``'s format
``swabian``: overflows and missed events become dead time.
"""

from __future__ import annotations

import argparse
import builtins
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from . import _tagq
from ._errors import DamageError, MissingLibraryError, NotFoundError, QuestionError, TagqError
from ._opening import opening_of
from ._paths import path_of

#: How a file begins.
MAGIC = b"SITT"
#: Tags that are in memory at once.
PIECE_TAGS = 1 << 18
#: Type, reserved, missed events, channel, time: the layout of the format ``swabian``.
RECORD = [("type", "u1"), ("reserved", "u1"), ("missed", "<u2"), ("channel", "<i4"), ("time", "<i8")]

__all__ = ["convert", "is_ttbin"]


def is_ttbin(path: str) -> bool:
    """Whether there is a file of a Time Tagger at ``path``."""
    try:
        with builtins.open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def convert(path: str | os.PathLike[str], store: str | os.PathLike[str]) -> None:
    """Makes the store ``store`` of the tags in the file at ``path``. It is there when it is complete."""
    file, target = path_of(path), path_of(store, "store")
    if not is_ttbin(file):
        if os.path.exists(file):
            raise QuestionError(f"{_tagq.escaped(file)}: no .ttbin file; tagq.open reads other files")
        raise NotFoundError(f"{_tagq.escaped(file)}: there is no such file")
    if os.path.lexists(target):
        raise QuestionError(f"{_tagq.escaped(target)}: is there already; name another store, or remove it")
    parent = os.path.dirname(os.path.abspath(target))
    with tempfile.TemporaryDirectory(prefix="tagq-", dir=parent) as folder:
        stem = os.path.splitext(os.path.basename(file))[0]
        records, made = os.path.join(folder, f"{stem}.swabian"), os.path.join(folder, "store")
        with builtins.open(records, "xb") as out:
            for piece in _records(file):
                out.write(piece)
        _tagq.ingest([records], opening_of(store=made, source_format="swabian")).close()
        os.rename(made, target)


def store_of(path: str, opening: dict[str, Any]) -> str:
    """Returns the store of the file at ``path``, and makes it first if it is missing and ``opening`` allows it."""
    store: str = opening["store"] or path + ".tagq"
    if not os.path.exists(store):
        if not opening["ingest"]:
            raise NotFoundError(f"{_tagq.escaped(store)}: there is no store of {_tagq.escaped(path)}")
        convert(path, store)
    elif os.path.getmtime(path) > os.path.getmtime(os.path.join(store, "manifest.json")):
        raise QuestionError(
            f"{_tagq.escaped(path)}: was changed after its store {_tagq.escaped(store)} was made; remove the store, and it "
            "is made again"
        )
    return store


def _records(path: str) -> Iterator[bytes]:
    """Yields the tags of a file as records, piece by piece."""
    try:
        import numpy
        from Swabian import TimeTagger
    except ImportError:
        raise MissingLibraryError(
            "only Swabian's library reads .ttbin files, on Linux and Windows: pip install tagq[swabian]"
        ) from None
    reader = TimeTagger.FileReader(path)
    try:
        # A file that the library does not understand has no tags there, and no error.
        reader.getConfiguration()
    except ValueError:
        raise DamageError(
            f"{_tagq.escaped(path)}: Swabian's library finds no header in it; fetch the file again from where it was "
            "recorded"
        ) from None
    while reader.hasData():
        tags = reader.getData(PIECE_TAGS)
        records = numpy.zeros(tags.size, RECORD)
        records["type"] = tags.getEventTypes()
        records["missed"] = tags.getMissedEvents()
        records["channel"] = tags.getChannels()
        records["time"] = tags.getTimestamps()
        yield records.tobytes()


def main() -> int:
    """Makes a store of a file, as arguments say."""
    parser = argparse.ArgumentParser(
        prog="python -m tagq.ttbin", description="Make a store of a .ttbin file by Swabian's library."
    )
    parser.add_argument("file", help="the .ttbin file")
    parser.add_argument("-o", "--output", metavar="STORE", required=True, help="the new store, such as night.tagq")
    arguments = parser.parse_args()
    try:
        convert(arguments.file, arguments.output)
    except TagqError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
