"""Stores and sources on S3-compatible storage: only the bytes that are needed are copied here.

A store of the package ``obstore`` names the storage, and a path where a run lies in it::

    import tagq
    from obstore.store import S3Store

    bucket = S3Store("lab", region="eu-central-1")
    counted = tagq.objects.partial("plan.json", 3, bucket, "monday/.tagq")

A part of a plan needs the index of its store, a few bytes in ten thousand, and the blocks of rows in its interval of
time.
"""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

from . import _tagq
from ._errors import MissingLibraryError, NotFoundError, QuestionError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Bytes of a request, and requests at once.
REQUEST_BYTES = 8 << 20
REQUESTS = 8
MANIFEST = "manifest.json"

__all__ = ["download", "partial"]


def partial(
    plan: str | os.PathLike[str],
    index: int,
    store: ObjectStore,
    path: str,
    *,
    threads: int = 1,
) -> bytes:
    """Counts part ``index`` of a plan that ``tagq plan`` wrote, and returns the partial result, as ``tagq partial``
    writes it.

    store, path
        The storage, and the folder in it with the files of the store of the run. What the part needs is copied into a
        temporary folder (``$TMPDIR``), which is removed.
    """
    text = pathlib.Path(plan).read_text()
    return count(_tagq.Plan(text), index, (store, path), threads, None)


def download(
    store: ObjectStore, path: str, folder: str | os.PathLike[str], *, replace: bool = False
) -> pathlib.Path:
    """Copies the file at ``path``, or all files in the folder ``path`` and in nested ones, into ``folder``, and returns
    the path of the copy. Files are complete under their names, or absent. ``replace`` allows an existing copy, and
    replaces its files."""
    obstore = _obstore()
    path = path.strip("/")
    if ".." in pathlib.PurePosixPath(path).parts:
        raise QuestionError(f"{path}: a path has no `..`; name the file or folder itself")
    copy = pathlib.Path(folder) / pathlib.PurePosixPath(path).name
    if not replace and os.path.lexists(copy):
        raise QuestionError(f"{copy}: it exists already; replace=True replaces its files")
    found = False
    for listed in obstore.list(store, prefix=path):
        for file in listed:
            inside = pathlib.PurePosixPath(file["path"]).relative_to(path)
            if ".." in inside.parts:
                continue
            found = True
            _download(store, file["path"], file["size"], copy / inside)
    if not found:
        try:
            size = obstore.head(store, path)["size"]
        except FileNotFoundError as error:
            raise NotFoundError(f"{path}: nothing is there ({error})") from None
        _download(store, path, size, copy)
    return copy


def count(plan: _tagq.Plan, part: int, place: tuple[ObjectStore, str], threads: int, cache: str | None) -> bytes:
    """Counts a part of a plan over a copy of what it needs."""
    with tempfile.TemporaryDirectory(prefix="tagq-") as folder:
        _stage(plan, part, place, folder)
        return plan.count(part, threads, "map", cache, folder)


def _stage(plan: _tagq.Plan, part: int, place: tuple[ObjectStore, str], folder: str) -> None:
    """Copies the bytes of a store that a part needs. Files have holes where it needs nothing."""
    store, path = place
    try:
        manifest = _obstore().get(store, f"{path}/{MANIFEST}").bytes()
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: there is no store ({error})") from None
    (pathlib.Path(folder) / MANIFEST).write_bytes(manifest)
    # The rows are known once the index is there.
    for rows in (False, True):
        for name, size, begin, end in plan.ranges(part, folder, rows):
            with open(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as copy:
                copy.truncate(size)
                _copy(store, f"{path}/{name}", begin, end, copy)


def _download(store: ObjectStore, path: str, size: int, copy: pathlib.Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    unfinished = copy.with_name(f"{copy.name}.{os.getpid()}.new")
    try:
        with open(unfinished, "xb") as file:
            _copy(store, path, 0, size, file)
        unfinished.replace(copy)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _copy(store: ObjectStore, path: str, begin: int, end: int, copy: Any) -> None:
    """Copies bytes of a file to the same place in another one."""
    copy.seek(begin)
    starts = list(range(begin, end, REQUEST_BYTES))
    for first in range(0, len(starts), REQUESTS):
        batch = starts[first : first + REQUESTS]
        ends = [min(start + REQUEST_BYTES, end) for start in batch]
        for piece in _obstore().get_ranges(store, path, starts=batch, ends=ends):
            copy.write(piece)


def _obstore() -> Any:
    try:
        import obstore
    except ImportError:
        raise MissingLibraryError("files on object storage need the package obstore: pip install tagq[s3]") from None
    return obstore
