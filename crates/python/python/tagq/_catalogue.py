"""The runs in a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _tagq
from ._show import html_table, text_table

if TYPE_CHECKING:
    Path = str | os.PathLike[str]


class Runs:
    """The runs in a folder, as ``tagq runs`` lists them: iterate over them, or read them as an Arrow table
    (``polars.DataFrame(runs)``). Made by ``tagq.runs``."""

    def __init__(self, catalogue: _tagq.Catalogue) -> None:
        self._catalogue = catalogue
        self._read: list[dict[str, Any]] = json.loads(catalogue.to_json())

    @property
    def paths(self) -> list[str]:
        """The paths of the runs, as ``tagq.open`` takes them."""
        return self._catalogue.paths()

    def __len__(self) -> int:
        return len(self._read)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each run as a dict: name, path, state, ended (UTC), and facts, which are None without a store."""
        return iter(self._read)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._catalogue.__arrow_c_stream__(requested_schema)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        def tags(run: dict[str, Any]) -> str:
            return f"{run['facts']['tags']:,}" if run["facts"] else "–"

        rows = [[run["name"], run["ended"] or "–", run["state"], tags(run)] for run in self._read]
        return ["name", "ended", "state", "tags"], rows

    def __repr__(self) -> str:
        return _tagq.escaped(f"tagq.Runs: {len(self)}") + "\n\n" + text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(f"tagq.Runs: {len(self)}", *self._table())


def runs(
    folder: Path,
    *,
    since: str | None = None,
    until: str | None = None,
    name: str | None = None,
) -> Runs:
    """Lists the runs in a folder and in nested folders: stores, folders of sources, and sources with a store of their
    own. Reads manifests, but no tags, and writes nothing.

    since, until
        Only runs that ended at this moment or later, or before it: "2026-11-24" or "2026-11-24T18:30", in UTC. The end
        is the last change of the sources.
    name
        Only runs whose path in the folder fits a pattern, such as "bell*".
    """
    return Runs(_tagq.Catalogue(os.fspath(folder), since, until, name))
