"""Results of queries."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _tagq
from ._errors import MissingLibraryError
from ._show import html_table, text_table

if TYPE_CHECKING:
    import numpy

#: Maximum number of rows to print; longer tables are cut in the middle.
ROWS_SHOWN = 24


class Result:
    """The result of a query: a header, the query as it was counted, the run, and rows.

    It has the Arrow PyCapsule stream interface, so ``polars.DataFrame(result)``, ``pyarrow.table(result)``,
    ``pandas.DataFrame.from_arrow(result)`` and ``duckdb.sql("from result")`` can read it. docs/queries.md
    describes the columns.
    """

    def __init__(self, answer: _tagq.Answer) -> None:
        self._answer = answer
        self._read: dict[str, Any] | None = None

    def __reduce__(self) -> tuple[Callable[[bytes], Result], tuple[bytes]]:
        return _result_of_state, (self._answer.state(),)

    def _json(self) -> dict[str, Any]:
        if self._read is None:
            self._read = json.loads(self._answer.to_json())
        return self._read

    @property
    def header(self) -> str:
        """The query and how it was counted, on one line."""
        return self._answer.header

    @property
    def query(self) -> dict[str, Any]:
        """The query as it was counted, in ticks and seconds."""
        query: dict[str, Any] = self._json()["query"]
        return query

    @property
    def run(self) -> dict[str, Any]:
        """The run that was counted: path, tick, commit, live seconds, channels."""
        run: dict[str, Any] = self._json()["run"]
        return run

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts; undefined values are None."""
        rows: list[dict[str, Any]] = self._json()["rows"]
        return rows

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._answer.columns

    def to_json(self) -> str:
        """Returns the JSON that the command line prints with ``--format json``."""
        return self._answer.to_json()

    def to_dict(self) -> dict[str, Any]:
        """Returns the same content as a dict."""
        read: dict[str, Any] = json.loads(self._answer.to_json())
        return read

    def __len__(self) -> int:
        return len(self._answer)

    def __getitem__(self, name: str) -> numpy.ndarray | list[list[Any]]:
        """Returns a column as a NumPy array, shape (rows,): counts as uint64, ticks as int64, other
        quantities as float64 with NaN for undefined values. The channels of groups, and values for each of
        them, are returned as lists."""
        column = self._answer.column(name)
        if isinstance(column, list):
            return column
        try:
            import numpy
        except ImportError:
            raise MissingLibraryError("columns want NumPy: pip install numpy; .rows does not") from None
        kind, values = column
        return numpy.frombuffer(values, dtype=kind)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._answer.__arrow_c_stream__(requested_schema)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the result on ``ax``, or on new axes, and returns the axes: a histogram with errors, a matrix
        of coincidences, or a trace of rates. Needs matplotlib."""
        from ._plot import plot

        return plot(self, ax, style)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return self._answer.fields(ROWS_SHOWN)

    def __repr__(self) -> str:
        return f"{_tagq.escaped(self.header)}\n\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        return html_table(self.header, *self._table())


def _result_of_state(answer: bytes) -> Result:
    return Result(_tagq.Answer.of_state(answer))


class Tuples:
    """The tags of each coincidence, as an Arrow stream. Each reader starts at the first row."""

    def __init__(self, tuples: _tagq.Tuples) -> None:
        self._tuples = tuples

    @property
    def header(self) -> str:
        """The query and how it was counted, on one line."""
        return self._tuples.header

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._tuples.columns

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._tuples.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"tagq.Tuples ({', '.join(self.columns)}): {_tagq.escaped(self.header)}"
