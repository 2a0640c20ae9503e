"""What all tables have: results, lists of coincidences and tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._errors import MissingLibraryError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


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
            import pandas  # noqa: F401
        except ImportError:
            raise MissingLibraryError("a pandas frame wants pandas: pip install pandas pyarrow") from None
        return self.to_arrow().to_pandas()
