"""A lazy frame of Polars over a run; filters skip blocks before they are read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from ._errors import MissingLibraryError

if TYPE_CHECKING:
    import polars

    from . import _tagq

TIME_MIN, TIME_MAX = -(2**63), 2**63 - 1


class ScanCounters:
    """Counts the blocks that scans have read so far.

    blocks
        Number of blocks of 65,536 tags in the run, summed over the scans.
    blocks_read
        Number of blocks from which a tag was returned or read.
    """

    def __init__(self) -> None:
        self.blocks = 0
        self.blocks_read = 0

    def __repr__(self) -> str:
        return f"ScanCounters({self.blocks_read:,} of {self.blocks:,} blocks)"


def frame_of(run: _tagq.Run, counters: ScanCounters | None) -> polars.LazyFrame:
    """Returns the tags of a run as a lazy frame; filters use the index."""
    try:
        import polars
        from polars.io.plugins import register_io_source
    except ImportError:
        raise MissingLibraryError("a lazy frame wants Polars: pip install polars") from None
    wide = polars.UInt16 if run.channel_bits() == 16 else polars.UInt8
    schema = polars.Schema({"time": polars.Int64(), "channel": wide()})
    micro_bits = run.micro_bits()
    if micro_bits is not None:
        schema["micro"] = polars.UInt32() if micro_bits == 32 else polars.UInt16()

    def source(
        with_columns: list[str] | None,
        predicate: polars.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG001 - batches are views, as long as they come
    ) -> Iterator[polars.DataFrame]:
        wanted = list(schema) if with_columns is None else with_columns
        read = set(wanted)
        bounds = Bounds.everything()
        if predicate is not None:
            read |= set(predicate.meta.root_names())
            bounds = bounds_of(predicate)
        if bounds.is_empty():
            return
        low = None if bounds.low <= TIME_MIN else bounds.low
        high = None if bounds.high >= TIME_MAX else bounds.high + 1
        channels = None if bounds.channels is None else sorted(bounds.channels)
        # A frame without columns has no rows in Polars.
        time, micro = "time" in read, "micro" in read
        channel = "channel" in read or not (time or micro)
        # Polars numbers rows before it filters them.
        batches = run.scan(low, high, channels, n_rows, time, channel, micro)
        counted = 0
        if counters is not None:
            counters.blocks += batches.blocks
        for batch in batches:
            if counters is not None:
                counters.blocks_read += batches.blocks_read - counted
                counted = batches.blocks_read
            frame = polars.DataFrame(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(wanted)

    return register_io_source(source, schema=schema, is_pure=True)


@dataclass(frozen=True)
class Bounds:
    """Bounds of the rows that can satisfy a predicate. They may be too wide, but never too narrow."""

    low: int
    high: int
    #: None for all channels.
    channels: frozenset[int] | None

    @classmethod
    def everything(cls) -> Bounds:
        return cls(TIME_MIN, TIME_MAX, None)

    @classmethod
    def nothing(cls) -> Bounds:
        return cls(TIME_MAX, TIME_MIN, frozenset())

    def is_empty(self) -> bool:
        return self.low > self.high or (self.channels is not None and not self.channels)

    def both(self, other: Bounds) -> Bounds:
        """Returns the bounds of rows that satisfy both."""
        if self.channels is None or other.channels is None:
            channels = other.channels if self.channels is None else self.channels
        else:
            channels = self.channels & other.channels
        return Bounds(max(self.low, other.low), min(self.high, other.high), channels)

    def either(self, other: Bounds) -> Bounds:
        """Returns the bounds of rows that satisfy at least one of them."""
        if self.is_empty():
            return other
        if other.is_empty():
            return self
        if self.channels is None or other.channels is None:
            channels = None
        else:
            channels = self.channels | other.channels
        return Bounds(min(self.low, other.low), max(self.high, other.high), channels)


#: Comparisons with their sides exchanged.
FLIPPED = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq", "Eq": "Eq", "NotEq": "NotEq"}
CHANNELS = range(65536)


def bounds_of(predicate: polars.Expr) -> Bounds:
    """Returns the bounds of a predicate, as far as it can be parsed."""
    with warnings.catch_warnings():
        # The text format is internal to Polars. If it cannot be parsed, no row is excluded.
        warnings.simplefilter("ignore")
        try:
            return _bounds(json.loads(predicate.meta.serialize(format="json")))
        except Exception:  # noqa: BLE001 - then Polars filters alone
            return Bounds.everything()


def _bounds(tree: dict[str, Any]) -> Bounds:
    if "BinaryExpr" in tree:
        node = tree["BinaryExpr"]
        left, op, right = node["left"], node["op"], node["right"]
        if op in ("And", "LogicalAnd"):
            return _bounds(left).both(_bounds(right))
        if op in ("Or", "LogicalOr"):
            return _bounds(left).either(_bounds(right))
        if op in FLIPPED:
            if "Column" in right:
                left, op, right = right, FLIPPED[op], left
            return _compared(left, op, _whole_numbers(right))
    if "Function" in tree:
        function, inputs = tree["Function"]["function"], tree["Function"]["input"]
        boolean = function.get("Boolean") if isinstance(function, dict) else None
        if isinstance(boolean, dict) and "IsBetween" in boolean:
            closed = boolean["IsBetween"]["closed"]
            low = "GtEq" if closed in ("Both", "Left") else "Gt"
            high = "LtEq" if closed in ("Both", "Right") else "Lt"
            column, at_least, at_most = inputs
            below = _compared(column, high, _whole_numbers(at_most))
            return _compared(column, low, _whole_numbers(at_least)).both(below)
        if isinstance(boolean, dict) and "IsIn" in boolean:
            values = _whole_numbers(inputs[1])
            if values is not None and inputs[0] == {"Column": "channel"}:
                return Bounds(TIME_MIN, TIME_MAX, frozenset(values))
            if values is not None and inputs[0] == {"Column": "time"}:
                return Bounds(min(values), max(values), None) if values else Bounds.nothing()
    return Bounds.everything()


def _compared(column: dict[str, Any], op: str, values: list[int] | None) -> Bounds:
    """Returns the bounds of a column compared with one number."""
    if values is None or len(values) != 1 or column not in ({"Column": "time"}, {"Column": "channel"}):
        return Bounds.everything()
    value = values[0]
    low = {"Gt": value + 1, "GtEq": value, "Eq": value}.get(op, TIME_MIN)
    high = {"Lt": value - 1, "LtEq": value, "Eq": value}.get(op, TIME_MAX)
    if column["Column"] == "time":
        return Bounds(max(low, TIME_MIN), min(high, TIME_MAX), None)
    channels = frozenset(c for c in CHANNELS if low <= c <= high and not (op == "NotEq" and c == value))
    return Bounds(TIME_MIN, TIME_MAX, channels)


def _whole_numbers(tree: dict[str, Any]) -> list[int] | None:
    """Returns the values of a literal, parsed by Polars, or None unless all are whole numbers."""
    import polars

    if "Literal" not in tree:
        return None
    literal = polars.Expr.deserialize(StringIO(json.dumps(tree)), format="json")
    series = polars.select(literal).to_series()
    if isinstance(series.dtype, polars.List):
        series = series.explode(empty_as_null=False) if len(series) == 1 else polars.Series([None])
    values = series.to_list()
    is_whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    return values if is_whole else None
