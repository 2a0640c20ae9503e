"""Tables as arrays of NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._errors import MissingLibraryError, WrongTypeError

if TYPE_CHECKING:
    import numpy


def array_of(columns: Mapping[str, numpy.ndarray], dtype: Any, copy: bool | None) -> numpy.ndarray:
    """Returns columns as ``__array__`` does: a structured array with a field for each column, or with a type of numbers
    a plain array, shape (rows, columns)."""
    try:
        import numpy
    except ImportError:
        raise MissingLibraryError("arrays want NumPy: pip install numpy") from None
    if copy is False:
        raise ValueError("an array of a table is a copy; leave copy=False out, or take a column by its name")
    wanted = None if dtype is None else numpy.dtype(dtype)
    plain = {name: as_plain(column) for name, column in columns.items()}
    if wanted is not None and wanted.kind in "biufc":
        return _numbers(plain, wanted)
    rows = len(next(iter(plain.values()), ()))
    array = numpy.empty(rows, dtype=[(name, column.dtype) for name, column in plain.items()])
    for name, column in plain.items():
        array[name] = column
    return array if wanted is None else array.astype(wanted)


def _numbers(columns: Mapping[str, numpy.ndarray], wanted: numpy.dtype) -> numpy.ndarray:
    import numpy

    for name, column in columns.items():
        if column.dtype.kind not in "biuf":
            raise WrongTypeError(
                f"dtype: column {name} holds text, not numbers; numpy.asarray(table) has a field for each column, and "
                f'table["NAME"] is one column'
            )
        if column.dtype.kind == "f" and wanted.kind not in "fc":
            raise WrongTypeError(f"dtype: column {name} holds {column.dtype}, which {wanted} would cut; use dtype=float")
    return numpy.column_stack(list(columns.values())).astype(wanted)


def as_plain(column: numpy.ndarray) -> numpy.ndarray:
    """Returns a column of objects as floats, if they are numbers or None, or else as texts."""
    import numpy

    if column.dtype.kind != "O":
        return column
    if len(column) and all(cell is None or (isinstance(cell, int) and not isinstance(cell, bool)) for cell in column):
        return numpy.array([numpy.nan if cell is None else cell for cell in column], dtype=float)
    return numpy.array([_text(cell) for cell in column], dtype=str)


def _text(cell: object) -> str:
    if isinstance(cell, (list, tuple)):
        return ",".join(map(_text, cell))
    return "" if cell is None else str(cell)
