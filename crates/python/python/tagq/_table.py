"""What all tables have: results, lists of coincidences and tags."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ._arrays import array_of
from ._errors import MissingLibraryError

if TYPE_CHECKING:
    from typing import Protocol

    import numpy
    import pandas
    import polars
    import pyarrow

    class MakesArray(Protocol):
        """The method by which NumPy takes an object."""

        def __call__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray: ...


class Table:
    """A table with the Arrow PyCapsule stream interface. Each reader starts at the first row."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise NotImplementedError

    def keys(self) -> list[str]:
        """Returns the names of the columns."""
        return self.columns

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def _arrays(self) -> dict[str, numpy.ndarray]:
        """Returns the columns as arrays."""
        table = self.to_arrow()
        return {name: table[name].to_numpy() for name in table.column_names}

    @property
    def __array__(self) -> MakesArray:
        """``numpy.asarray(table)`` is a structured array, shape (rows,), with a field for each column: int64, float64 with
        NaN for undefined values, bool, or text, in which a group is "1,2". With ``dtype=float`` it is a plain array,
        shape (rows, columns), if all columns are numbers."""
        # `pandas.DataFrame(table)` would make one column of tuples of an array. Without it, pandas takes the rows.
        if sys._getframe(1).f_globals.get("__name__") == "pandas.core.frame":
            raise AttributeError("__array__")
        return lambda dtype=None, copy=None: array_of(self._arrays(), dtype, copy)

    def to_polars(self) -> polars.DataFrame:
        """Returns the table as a Polars frame."""
        try:
            import polars
        except ImportError:
            raise MissingLibraryError("a Polars frame wants Polars: pip install polars") from None
        return polars.DataFrame(self)

    def to_arrow(self) -> pyarrow.Table:
        """Returns the table as a pyarrow table."""
        try:
            import pyarrow
        except ImportError:
            raise MissingLibraryError("an Arrow table wants pyarrow: pip install pyarrow") from None
        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the table as a pandas frame."""
        try:
            importlib.import_module("pandas")
        except ImportError:
            raise MissingLibraryError("a pandas frame wants pandas: pip install pandas pyarrow") from None
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame
