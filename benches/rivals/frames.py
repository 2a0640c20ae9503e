"""Polars: shifts of the columns, as lazy expressions over all threads; searches in sorted series."""

from itertools import combinations

import numpy as np
import polars as pl
from questions import DELAY, NARROW, RATE_BIN, WIDE, WIDER, WINDOW, WINDOW_WIDE, WINDOWS

NAME = "Polars"
# All rows would give too many shifts, or too many pairs to store.
ROWS = {"bins": 2_000_000, "wider": 500_000}


def prepared(columns):
    return pl.DataFrame({"time": columns.time, "channel": columns.channel})


def _shifts(time, reach):
    """Yields the shifts at which at least two tags are within reach."""
    k = 1
    while (time.slice(k) - time.slice(0, len(time) - k)).min() <= reach:
        yield k
        k += 1


def _closest(frame, window=WINDOW):
    """Returns the few rows with a close neighbour. All rows between two close rows are among them."""
    time = pl.col("time")
    near_next, near_last = time.shift(-1) - time <= window, time - time.shift(1) <= window
    return frame.lazy().filter(near_next | near_last).collect()


def _counts_of_pairs(frame, window=WINDOW, by=()):
    close = _closest(frame, window)
    time, channel = pl.col("time"), pl.col("channel")
    found = []
    for k in _shifts(close["time"], window):
        pairs = close.lazy().select(
            pl.min_horizontal(channel, channel.shift(-k)).alias("a"),
            pl.max_horizontal(channel, channel.shift(-k)).alias("b"),
            (time.shift(-k) - time).alias("distance"),
        ).filter(pl.col("distance") <= window)
        found.append(pairs.group_by("a", "b", *by).len())
    return pl.concat(found).group_by("a", "b", *by).agg(pl.col("len").sum()).collect()


def _times(frame, *labels):
    return pl.collect_all(
        [frame.lazy().filter(pl.col("channel") == label).select("time") for label in labels]
    )


def _between(frame, low, high):
    starts, stops = (times["time"] for times in _times(frame, 1, 2))
    last = stops.search_sorted(starts + high, side="right").cast(pl.Int64).sum()
    return last - stops.search_sorted(starts + low, side="left").cast(pl.Int64).sum()


def _histogram(frame, bins):
    kept = frame.lazy().filter(pl.col("channel") <= 2).collect()
    time, channel = pl.col("time"), pl.col("channel")
    reach = max(-bins.low, bins.high)
    found = []
    for k in _shifts(kept["time"], reach):
        distance = time.shift(-k) - time
        delta = pl.when(channel < channel.shift(-k)).then(distance).otherwise(-distance)
        binned = kept.lazy().select(
            bin=(delta - bins.low) // bins.width, pair=channel != channel.shift(-k)
        )
        inside = pl.col("pair") & pl.col("bin").is_between(0, bins.count - 1)
        found.append(binned.filter(inside).group_by("bin").len())
    counts = [0] * bins.count
    for bin, count in pl.concat(pl.collect_all(found)).iter_rows():
        counts[bin] += count
    return counts


def pair(frame):
    counts = _counts_of_pairs(frame)
    return counts.filter(pl.col("a") == 1, pl.col("b") == 2)["len"].sum()


def wide(frame):
    return _between(frame, -WINDOW_WIDE, WINDOW_WIDE)


def every(frame):
    counts = {(a, b): count for a, b, count in _counts_of_pairs(frame).iter_rows()}
    return [counts.get(pair, 0) for pair in combinations(range(1, 9), 2)]


def three(frame):
    close = _closest(frame).lazy().filter(pl.col("channel") <= 3).collect()
    time, bits = pl.col("time"), 2 ** pl.col("channel").cast(pl.Int64)
    shifts = list(_shifts(close["time"], WINDOW))
    counts = close.lazy().select(
        (
            (time.shift(-k) - time <= WINDOW)
            & ((bits | bits.shift(-j) | bits.shift(-k)) == 0b1110)
        )
        .sum()
        .alias(f"{j},{k}")
        for j, k in combinations(shifts, 2)
    )
    return counts.collect().sum_horizontal()[0]


def delayed(frame):
    return _between(frame, -WINDOW - DELAY, WINDOW - DELAY)


def narrow(frame):
    return _histogram(frame, NARROW)


def bins(frame):
    return _histogram(frame, WIDE)


def wider(frame):
    return _histogram(frame, WIDER)


def windows(frame):
    counts = np.zeros((9, 9, WINDOWS[-1] + 1), np.int64)
    for a, b, distance, count in _counts_of_pairs(frame, WINDOWS[-1], ["distance"]).iter_rows():
        counts[a, b, distance] = count
    counts = counts.cumsum(2)[..., WINDOWS]
    return np.array([counts[a, b] for a, b in combinations(range(1, 9), 2)]).T


def rates(frame):
    first = frame["time"][0]
    counted = (
        frame.lazy()
        .group_by((pl.col("time") - first) // RATE_BIN, "channel")
        .len()
        .collect()
        .sort("time", "channel")
    )
    table = [[0] * 8 for _ in range(counted["time"].max() + 1)]
    for bin, channel, count in counted.iter_rows():
        table[bin][channel - 1] = count
    return table
