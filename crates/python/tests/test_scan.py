"""Lazy frames of Polars: equal to a filter of all tags, without reading other blocks."""

from __future__ import annotations

import polars
import pytest
from polars import col

import tagq
from tagq._scan import TIME_MAX, TIME_MIN, Bounds, bounds_of

ALL = Bounds(TIME_MIN, TIME_MAX, None)


def times(low: int, high: int) -> Bounds:
    return Bounds(low, high, None)


def channels(*of: int) -> Bounds:
    return Bounds(TIME_MIN, TIME_MAX, frozenset(of))


PREDICATES = [
    (col("time") >= 5, times(5, TIME_MAX)),
    (5 < col("time"), times(6, TIME_MAX)),
    ((col("time") > 5) & (col("time") <= 9), times(6, 9)),
    (col("time") == 300_000, times(300_000, 300_000)),
    (col("time").is_between(1000, 5000), times(1000, 5000)),
    (col("time").is_between(1000, 5000, closed="none"), times(1001, 4999)),
    (col("time").is_in([700, 500_000]), times(700, 500_000)),
    (col("channel") == 9, channels(9)),
    (col("channel").is_in([9, 7]), channels(7, 9)),
    (col("channel").is_in([]), channels()),
    ((col("channel") == 9) | (col("channel") == 7), channels(7, 9)),
    ((col("channel") == 9) & (col("channel") == 7), channels()),
    (col("channel") < 3, channels(0, 1, 2)),
    ((col("time") < 1000) | (col("time") > 2_000_000), ALL),
    ((col("time") < 1000) | (col("channel") == 9), ALL),
    (~(col("time") > 1000), ALL),
    (col("time") % 2 == 0, ALL),
    (col("time") > 1000.5, ALL),
    (col("time") > col("channel"), ALL),
    (col("time").cast(polars.Float64) > 1000, ALL),
    ((col("time") > 2_500_000) & (col("time") % 3 == 1) & (col("channel") != 7), None),
    (col("time") > 10**18, times(10**18 + 1, TIME_MAX)),
]


@pytest.mark.parametrize(("predicate", "expected"), PREDICATES)
def test_predicates_become_bounds_and_keep_their_meaning(blocks, predicate, expected) -> None:
    if expected is not None:
        assert bounds_of(predicate) == expected
    whole = polars.DataFrame(blocks.tags())
    lazy = tagq.scan(blocks)
    for engine in ("in-memory", "streaming"):
        assert lazy.filter(predicate).collect(engine=engine).equals(whole.filter(predicate))
        assert lazy.filter(predicate).select("channel").collect(engine=engine).equals(
            whole.filter(predicate).select("channel")
        )
        head = lazy.filter(predicate).head(5).collect(engine=engine)
        assert head.equals(whole.filter(predicate).head(5))
        after = lazy.head(70_000).filter(predicate).collect(engine=engine)
        assert after.equals(whole.head(70_000).filter(predicate))


def read(blocks: tagq.Run, *predicates: polars.Expr) -> tuple[int, int]:
    counters = tagq.ScanCounters()
    tagq.scan(blocks, counters=counters).filter(*predicates).collect()
    return counters.blocks_read, counters.blocks


def test_only_blocks_with_a_match_are_read(blocks: tagq.Run) -> None:
    first = int(blocks.time[5 * 65_536])
    assert read(blocks) == (11, 11)
    assert read(blocks, col("time") >= first) == (6, 11)
    assert read(blocks, col("time").is_between(first, first + 1000)) == (1, 11)
    assert read(blocks, col("channel") == 9) == (1, 11)
    assert read(blocks, col("channel") == 7) == (1, 11)
    assert read(blocks, col("channel").is_in([7, 9])) == (2, 11)
    assert read(blocks, col("channel") == 200) == (0, 11)
    assert read(blocks, col("time") < 0) == (0, 11)
    assert read(blocks, col("time") >= first, col("channel") == 9) == (0, 11)
    counters = tagq.ScanCounters()
    tagq.scan(blocks, counters=counters).head(10).collect()
    assert repr(counters).startswith("ScanCounters(") and counters.blocks_read <= 11


def test_a_scan_is_asked_as_any_frame(blocks: tagq.Run) -> None:
    lazy = blocks.scan()
    counted = lazy.group_by("channel").len().sort("channel").collect()
    assert counted["len"].sum() == len(blocks)
    assert lazy.select(polars.len()).collect().item() == len(blocks)
    joined = lazy.filter(col("channel") == 9).join(lazy, on="time").collect()
    assert joined.height == 1
    assert lazy.collect_schema() == {"time": polars.Int64, "channel": polars.UInt8}
    with pytest.raises(tagq.WrongTypeError, match="wants a run"):
        tagq.scan("run/")  # type: ignore[arg-type]
