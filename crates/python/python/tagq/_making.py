"""Stores from arrays and tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from . import _tagq
from ._errors import QuestionError, WrongTypeError, unexpected
from ._paths import path_of as _path
from ._run import Run

if TYPE_CHECKING:
    from typing import Protocol

    import numpy

    class Array(Protocol):
        """An array that NumPy can take."""

        def __array__(self) -> numpy.ndarray: ...

#: Rows per call of the writer.
CHUNK_ROWS = 1 << 20


def from_arrays(
    time: Array,
    channel: Array,
    *,
    tick: str,
    micro: Array | None = None,
    micro_tick: str | None = None,
    store: str | os.PathLike[str] | None = None,
    **unknown: NoReturn,
) -> Run:
    """Creates a run from two arrays of whole numbers, shape (tags,), and opens it: of NumPy, of Arrow, or columns of
    Polars or pandas.

    time
        Times in ticks, in order.
    channel
        Channels from 0 to 65535.
    tick
        Unit of the times, such as "1ps".
    micro
        Micro times from 0 to 4294967294, shape (tags,): delays of the photons after their laser pulses. A masked
        array has none where it is masked. Without it the run has no micro times.
    micro_tick
        Unit of the micro times, such as "4ps" [default: unknown].
    store
        Folder for the store, which appears only when it is complete. Without it the store is temporary and
        is removed with the run.
    """
    if unknown:
        raise unexpected("from_arrays", unknown, ("tick", "micro", "micro_tick", "store"))
    _check_tick(tick)
    times = _whole("time", time, -(2**63), 2**63 - 1)
    channels = _whole("channel", channel, 0, 65535)
    if len(times) != len(channels):
        raise QuestionError(f"channel: {len(channels)} channels for {len(times)} times; a tag has one of each")
    if micro is None and micro_tick is not None:
        raise QuestionError("micro_tick: there are no micro times")
    delays = _delays_of(micro, times)
    if micro_tick is not None:
        _check_tick(micro_tick, "micro_tick")
    new = _tagq.NewStore(None if store is None else _path(store, "store"), tick, micro_tick)
    _append(new, times, channels, delays)
    return Run(new.finish("arrays"))


def from_table(
    table: object,
    *,
    tick: str | None = None,
    time: str = "time",
    channel: str = "channel",
    micro: str | None = None,
    micro_tick: str | None = None,
    store: str | os.PathLike[str] | None = None,
    **unknown: NoReturn,
) -> Run:
    """Creates a run from two or three columns of a table, and opens it. The table is a Polars, pandas or pyarrow
    table, a DuckDB relation, or any object with the Arrow PyCapsule stream interface. It is read batch by
    batch.

    tick
        Unit of the times, such as "1ps" [default: from the metadata of a tagq export, else assumed].
    time, channel
        Names of the columns: whole ticks in order, and whole numbers from 0 to 65535.
    micro
        Name of the column of micro times: whole numbers from 0 to 4294967294, null for none [default: ``micro``, if
        the table has such a column].
    micro_tick
        Unit of the micro times, such as "4ps" [default: from the metadata of a tagq export, else unknown].
    store
        Same as in ``from_arrays``.
    """
    if unknown:
        raise unexpected("from_table", unknown, ("tick", "time", "channel", "micro", "micro_tick", "store"))
    if tick is not None:
        _check_tick(tick)
    if micro_tick is not None:
        _check_tick(micro_tick, "micro_tick")
    for name, of in (("time", time), ("channel", channel), ("micro", micro)):
        if not (isinstance(of, str) or (name == "micro" and of is None)):
            raise WrongTypeError(f"{name}: the name of a column is wanted")
    new = _tagq.NewStore(None if store is None else _path(store, "store"), tick, micro_tick)
    new.append_table(table, time, channel, micro)
    return Run(new.finish("table"))


def _delays_of(micro: Array | None, times: numpy.ndarray) -> numpy.ndarray | None:
    """Returns micro times as they are appended, one for each time."""
    if micro is None:
        return None
    delays = _micro(micro)
    if len(times) != len(delays):
        raise QuestionError(f"micro: {len(delays)} micro times for {len(times)} times; a tag has one of each")
    return delays


def _append(
    new: _tagq.NewStore | _tagq.Recorder, times: numpy.ndarray, channels: numpy.ndarray, delays: numpy.ndarray | None
) -> None:
    """Appends tags in pieces."""
    for start in range(0, len(times), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        new.append(
            times[rows].astype("<i8").tobytes(),
            channels[rows].astype("<u2").tobytes(),
            None if delays is None else delays[rows].tobytes(),
        )


def _micro(values: object) -> numpy.ndarray:
    """Returns micro times as they are appended: uint32, all bits set for none."""
    import numpy

    mask = None
    if isinstance(values, numpy.ma.MaskedArray):
        mask = numpy.ma.getmaskarray(values)
        values = numpy.where(mask, values.dtype.type(0), values.data)
    micro = _whole("micro", values, 0, 2**32 - 2).astype("<u4")
    if mask is not None:
        micro[mask] = 2**32 - 1
    return micro


def _check_tick(tick: object, name: str = "tick") -> None:
    if not isinstance(tick, str):
        raise WrongTypeError(f'{name}: a text is wanted, as "156.25ps", not {type(tick).__name__}')


def _whole(name: str, values: object, low: int, high: int) -> numpy.ndarray:
    """Returns an array of whole numbers with one dimension, all from ``low`` to ``high``."""
    import numpy

    # Arrays of Arrow, and columns of Polars and pandas.
    if not isinstance(values, numpy.ndarray) and hasattr(values, "__array__"):
        values = numpy.asarray(values)
    if not isinstance(values, numpy.ndarray):
        raise WrongTypeError(
            f"{name}: a NumPy array of whole numbers is wanted, not {type(values).__name__}; "
            f"numpy.asarray makes one, and tagq.from_table takes tables"
        )
    if isinstance(values, numpy.ma.MaskedArray):
        raise WrongTypeError(f"{name}: a masked array has values that are none; compress it first")
    if values.dtype.kind == "f":
        raise WrongTypeError(
            f"{name} is {values.dtype}, and floats cannot hold what is counted exactly: divide by the "
            f"tick, numpy.rint, and astype('int64'); NaN has no whole number"
        )
    if values.dtype.kind not in "iu":
        raise WrongTypeError(f"{name} is {values.dtype}; whole numbers are wanted, as int64")
    if values.ndim != 1:
        raise WrongTypeError(f"{name} has {values.ndim} dimensions; one is wanted")
    if len(values) > 0:
        smallest, largest = int(values.min()), int(values.max())
        if smallest < low or largest > high:
            wrong = smallest if smallest < low else largest
            row = int(numpy.argmax(values == values.dtype.type(wrong)))
            raise QuestionError(f"{name}: row {row} is {wrong}; it is from {low} to {high}")
    return values
