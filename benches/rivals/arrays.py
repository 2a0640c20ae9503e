"""NumPy: parts that fit the cache, on one thread per core if only array functions run."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
from questions import (
    DELAY,
    NARROW,
    RATE_BIN,
    WIDE,
    WIDER,
    WIDEST,
    WINDOW,
    WINDOW_WIDE,
    WINDOWS,
    log_edges,
)

NAME = "NumPy"
# Pairs are stored one by one, and each edge needs a search for every tag: too slow for all rows.
ROWS = {
    "three": 5_000_000,
    "bins": 10_000_000,
    "wider": 2_000_000,
    "widest": 500_000,
    "log": 1_000_000,
}
PART = 1 << 17
POOL = ThreadPoolExecutor(os.cpu_count())


def _split(columns, *labels):
    return POOL.map(lambda label: columns.time[columns.channel == label], labels)


def _close(columns, window=WINDOW):
    """Returns the pairs of rows within the window. Few rows are close to the next one."""

    def of_part(begin):
        time = columns.time[begin : begin + PART + 64]
        owners = min(PART, len(time))
        firsts = np.flatnonzero(np.diff(time) <= window)
        firsts = firsts[firsts < owners]
        found, k = [], 1
        while len(firsts):
            found.append((firsts, firsts + k))
            k += 1
            firsts = firsts[firsts + k < len(time)]
            firsts = firsts[time[firsts + k] - time[firsts] <= window]
        if not found:
            return np.zeros((2, 0), np.int64)
        return begin + np.hstack(found)

    return np.hstack(list(POOL.map(of_part, range(0, len(columns), PART))))


def _counts_of_pairs(columns):
    first, second = columns.channel[_close(columns)].astype(np.int64)
    counts = np.bincount(first * 16 + second, minlength=256).reshape(16, 16)
    return counts + counts.T


def _between(starts, stops, low, high):
    """Counts the stops from low to high after each start: the difference of two searches."""

    def of_part(begin):
        part = starts[begin : begin + PART]
        return (np.searchsorted(stops, part + high, "right") - np.searchsorted(stops, part + low)).sum()

    return sum(POOL.map(of_part, range(0, len(starts), PART)))


def _histogram(columns, bins, part_rows=PART // 8):
    starts, stops = _split(columns, 1, 2)

    def of_part(begin):
        part = starts[begin : begin + part_rows]
        first = np.searchsorted(stops, part + bins.low)
        many = np.searchsorted(stops, part + bins.high) - first
        before = np.cumsum(many) - many
        stop = np.arange(many.sum()) + np.repeat(first - before, many)
        bin = (stops[stop] - np.repeat(part + bins.low, many)) // bins.width
        return np.bincount(bin, minlength=bins.count)

    return sum(POOL.map(of_part, range(0, len(starts), part_rows)))


def pair(columns):
    return _counts_of_pairs(columns)[1, 2]


def wide(columns):
    return _between(*_split(columns, 1, 2), -WINDOW_WIDE, WINDOW_WIDE)


def every(columns):
    counts = _counts_of_pairs(columns)
    return [counts[a, b] for a, b in combinations(range(1, 9), 2)]


def three(columns):
    """Counts only close rows: each tag of 1 with the tags of 2 and 3 near it, then 2 with 3."""
    first, second = _close(columns)
    label = columns.channel
    rows = np.unique(np.concatenate([first, second]))
    one, two, three = (rows[label[rows] == wanted] for wanted in (1, 2, 3))
    one, two, three = columns.time[one], columns.time[two], columns.time[three]
    lowest = np.searchsorted(two, one - WINDOW)
    many = np.searchsorted(two, one + WINDOW, "right") - lowest
    before = np.cumsum(many) - many
    two = two[np.arange(many.sum()) + np.repeat(lowest - before, many)]
    one = np.repeat(one, many)
    earliest, latest = np.maximum(one, two) - WINDOW, np.minimum(one, two) + WINDOW
    return (np.searchsorted(three, latest, "right") - np.searchsorted(three, earliest)).sum()


def triples(columns):
    """Counts the tags of each channel in the window before each row; for each last channel, a matrix product sums the products."""

    def of_part(begin):
        first = np.searchsorted(columns.time, columns.time[begin] - WINDOW_WIDE)
        time, channel = (part[first : begin + PART] for part in (columns.time, columns.channel))
        before = np.zeros((len(time) + 1, 8))
        before[np.arange(len(time)) + 1, channel - 1] = 1
        np.cumsum(before, axis=0, out=before)
        own = time[begin - first :]
        near = before[begin - first : -1] - before[np.searchsorted(time, own - WINDOW_WIDE)]
        products = np.zeros((8, 8, 8))
        for last in range(8):
            rows = near[channel[begin - first :] == last + 1]
            products[last] = rows.T @ rows
        return products

    sums = sum(POOL.map(of_part, range(0, len(columns), PART)))
    return [
        int(sums[a, b, c] + sums[b, a, c] + sums[c, a, b]) for a, b, c in combinations(range(8), 3)
    ]


def delayed(columns):
    return _between(*_split(columns, 1, 2), -WINDOW - DELAY, WINDOW - DELAY)


def narrow(columns):
    return _histogram(columns, NARROW)


def bins(columns):
    return _histogram(columns, WIDE)


def wider(columns):
    return _histogram(columns, WIDER, PART // 64)


def widest(columns):
    return _histogram(columns, WIDEST, PART // 512)


def windows(columns):
    """Counts the pairs of channels by the first window that holds them."""
    first, second = _close(columns, WINDOWS[-1])
    window = np.searchsorted(WINDOWS, columns.time[second] - columns.time[first])
    labels = columns.channel[first].astype(np.int64) * 16 + columns.channel[second]
    counts = np.bincount(labels * 20 + window, minlength=5120).reshape(16, 16, 20).cumsum(2)
    counts = counts + counts.swapaxes(0, 1)
    return np.array([counts[a, b] for a, b in combinations(range(1, 9), 2)]).T


def log(columns):
    starts, stops = _split(columns, 1, 2)

    def reaching(edge):
        return np.searchsorted(starts, stops - edge, "right").sum()

    counts = np.array(list(POOL.map(reaching, log_edges())))
    return counts[:-1] - counts[1:]


def rates(columns):
    """Counts in slices of the sorted times. Eight byte comparisons are faster than a count by label."""
    time, channel = columns.time, columns.channel
    edges = time[0] + RATE_BIN * np.arange((time[-1] - time[0]) // RATE_BIN + 2)
    rows = np.searchsorted(time, edges)

    def of_bin(k):
        part = channel[rows[k] : rows[k + 1]]
        return [np.count_nonzero(part == label) for label in range(1, 9)]

    return list(POOL.map(of_bin, range(len(rows) - 1)))
