"""Numba: the code that a good programmer writes in an afternoon. Parallel, without Python objects."""

from itertools import combinations

import numba
import numpy as np
from numba import njit, prange
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

NAME = "Numba"
# A merge of all rows for each of 159 edges takes almost a minute, and so do thousands of pairs a start.
ROWS = {"log": 5_000_000, "widest": 5_000_000}
PARTS = 16 * numba.get_num_threads()
LABELS = 16


@njit(parallel=True)
def _pair(time, channel, a, b, window, parts):
    """Compares each row with the next few rows, times first, because few are close."""
    rows = len(time)
    total = 0
    for part in prange(parts):
        count = 0
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            j = i + 1
            while j < rows and time[j] - time[i] <= window:
                x, y = channel[i], channel[j]
                if (x == a and y == b) or (x == b and y == a):
                    count += 1
                j += 1
        total += count
    return total


@njit(parallel=True)
def _every(time, channel, window, parts):
    rows = len(time)
    counts = np.zeros((parts, LABELS, LABELS), np.int64)
    for part in prange(parts):
        own = np.zeros((LABELS, LABELS), np.int64)
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            j = i + 1
            while j < rows and time[j] - time[i] <= window:
                own[channel[i], channel[j]] += 1
                j += 1
        counts[part] = own
    return counts.sum(0)


@njit(parallel=True)
def _distances(time, channel, longest, parts):
    """Counts the pairs of channels by their distance."""
    rows = len(time)
    counts = np.zeros((parts, LABELS, LABELS, longest + 1), np.int64)
    for part in prange(parts):
        own = np.zeros((LABELS, LABELS, longest + 1), np.int64)
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            j = i + 1
            while j < rows and time[j] - time[i] <= longest:
                own[channel[i], channel[j], time[j] - time[i]] += 1
                j += 1
        counts[part] = own
    return counts.sum(0)


@njit(parallel=True)
def _three(time, channel, window, parts):
    """Represents channels 1, 2 and 3 as bits: three different ones give 7."""
    rows = len(time)
    total = 0
    for part in prange(parts):
        count = 0
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            if i + 2 >= rows or time[i + 2] - time[i] > window or channel[i] > 3:
                continue
            j = i + 1
            while j + 1 < rows and time[j + 1] - time[i] <= window:
                if channel[j] <= 3:
                    k = j + 1
                    while k < rows and time[k] - time[i] <= window:
                        if channel[k] <= 3:
                            bits = (1 << channel[i] | 1 << channel[j] | 1 << channel[k]) >> 1
                            count += bits == 7
                        k += 1
                j += 1
        total += count
    return total


@njit(parallel=True)
def _sliding(time, channel, a, b, window, parts):
    """Tracks the number of tags of each channel in the window before a row: two steps per row for any W."""
    rows = len(time)
    total = 0
    for part in prange(parts):
        start, end = rows * part // parts, rows * (part + 1) // parts
        first = np.searchsorted(time[:start], time[start] - window) if start < end else start
        of_a = of_b = count = 0
        for i in range(first, start):
            of_a += channel[i] == a
            of_b += channel[i] == b
        for i in range(start, end):
            while time[i] - time[first] > window:
                of_a -= channel[first] == a
                of_b -= channel[first] == b
                first += 1
            if channel[i] == a:
                count += of_b
                of_a += 1
            elif channel[i] == b:
                count += of_a
                of_b += 1
        total += count
    return total


@njit(parallel=True)
def _triples(time, channel, window, parts):
    """Tracks the number of tags of each channel in the window, and multiplies these numbers at the last tag of a group."""
    rows = len(time)
    counts = np.zeros((parts, 9, 9, 9), np.int64)
    for part in prange(parts):
        own = np.zeros((9, 9, 9), np.int64)
        near = np.zeros(9, np.int64)
        start, end = rows * part // parts, rows * (part + 1) // parts
        first = np.searchsorted(time[:start], time[start] - window) if start < end else start
        for i in range(first, start):
            near[channel[i]] += 1
        for i in range(start, end):
            while time[i] - time[first] > window:
                near[channel[first]] -= 1
                first += 1
            products = own[channel[i]]
            for b in range(1, 8):
                for c in range(b + 1, 9):
                    products[b, c] += near[b] * near[c]
            near[channel[i]] += 1
        counts[part] = own
    return counts.sum(0)


@njit(parallel=True)
def _split(time, channel, label, parts):
    """Returns the times of one channel."""
    rows = len(time)
    sizes = np.zeros(parts + 1, np.int64)
    for part in prange(parts):
        size = 0
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            size += channel[i] == label
        sizes[part + 1] = size
    starts = np.cumsum(sizes)
    times = np.empty(starts[parts] + 1, np.int64)
    for part in prange(parts):
        at = starts[part]
        # Every time is written, but the position advances only for the right channel, without a branch.
        # The first element of the next part must not be overwritten.
        end = starts[part + 1]
        for i in range(rows * part // parts, rows * (part + 1) // parts):
            if at < end:
                times[at] = time[i]
            at += channel[i] == label
    return times[: starts[parts]]


@njit(parallel=True)
def _between(starts, stops, low, high, parts):
    """Counts pairs with low ≤ stop − start ≤ high, with two pointers."""
    total = 0
    rows = len(starts)
    for part in prange(parts):
        begin, end = rows * part // parts, rows * (part + 1) // parts
        if begin == end:
            continue
        first = np.searchsorted(stops, starts[begin] + low)
        after = np.searchsorted(stops, starts[begin] + high, "right")
        count = 0
        for i in range(begin, end):
            while first < len(stops) and stops[first] < starts[i] + low:
                first += 1
            while after < len(stops) and stops[after] <= starts[i] + high:
                after += 1
            count += after - first
        total += count
    return total


def _histogram_of(bins):
    """Counts every pair within reach, from a pointer into the stops on. Compiled for these bins, so that the
    division by their width is fast."""
    low, width, count, reach = bins.low, np.uint64(bins.width), bins.count, bins.high - bins.low

    @njit(parallel=True)
    def histogram(starts, stops, parts):
        counts = np.zeros((parts, count), np.int64)
        rows = len(starts)
        for part in prange(parts):
            begin, end = rows * part // parts, rows * (part + 1) // parts
            if begin == end:
                continue
            own = np.zeros(count, np.int64)
            first = np.searchsorted(stops, starts[begin] + low)
            for i in range(begin, end):
                edge = starts[i] + low
                while first < len(stops) and stops[first] < edge:
                    first += 1
                j = first
                while j < len(stops) and stops[j] - edge < reach:
                    own[np.uint64(stops[j] - edge) // width] += 1
                    j += 1
            counts[part] = own
        return counts.sum(0)

    return histogram


@njit(parallel=True)
def _log(starts, stops, edges):
    """Counts pairs at least an edge apart, with two pointers for each edge, edges in parallel."""
    reaching = np.zeros(len(edges), np.int64)
    for k in prange(len(edges)):
        first = count = 0
        for i in range(len(stops)):
            limit = stops[i] - edges[k]
            while first < len(starts) and starts[first] <= limit:
                first += 1
            count += first
        reaching[k] = count
    return reaching[:-1] - reaching[1:]


@njit(parallel=True)
def _rates(time, channel, width):
    """Searches the bins in the sorted times, so that only labels are read."""
    bins = (time[-1] - time[0]) // width + 1
    counts = np.zeros((bins, LABELS), np.int64)
    for k in prange(bins):
        begin = np.searchsorted(time, time[0] + k * width)
        end = np.searchsorted(time, time[0] + (k + 1) * width)
        # Four tables, because repeated updates of one counter would wait for each other.
        own = np.zeros((4, 256), np.int64)
        for i in range(begin, end):
            own[i & 3, channel[i]] += 1
        counts[k] = own.sum(0)[:LABELS]
    return counts


_narrow, _bins = _histogram_of(NARROW), _histogram_of(WIDE)
_wider, _widest = _histogram_of(WIDER), _histogram_of(WIDEST)


def _lists(columns, labels=(1, 2)):
    return [_split(columns.time, columns.channel, np.uint8(label), PARTS) for label in labels]


def pair(columns):
    return _pair(columns.time, columns.channel, 1, 2, WINDOW, PARTS)


def wide(columns):
    return _sliding(columns.time, columns.channel, 1, 2, WINDOW_WIDE, PARTS)


def every(columns):
    counts = _every(columns.time, columns.channel, WINDOW, PARTS)
    return [counts[a, b] + counts[b, a] for a in range(1, 9) for b in range(a + 1, 9)]


def three(columns):
    return _three(columns.time, columns.channel, WINDOW, PARTS)


def triples(columns):
    counts = _triples(columns.time, columns.channel, WINDOW_WIDE, PARTS)
    return [
        counts[a, b, c] + counts[b, a, c] + counts[c, a, b]
        for a, b, c in combinations(range(1, 9), 3)
    ]


def delayed(columns):
    starts, stops = _lists(columns)
    return _between(starts, stops, -WINDOW - DELAY, WINDOW - DELAY, PARTS)


def narrow(columns):
    starts, stops = _lists(columns)
    return _narrow(starts, stops, PARTS)


def bins(columns):
    starts, stops = _lists(columns)
    return _bins(starts, stops, PARTS)


def wider(columns):
    starts, stops = _lists(columns)
    return _wider(starts, stops, PARTS)


def widest(columns):
    starts, stops = _lists(columns)
    return _widest(starts, stops, PARTS)


def windows(columns):
    counts = _distances(columns.time, columns.channel, WINDOWS[-1], PARTS).cumsum(2)[..., WINDOWS]
    counts = counts + counts.swapaxes(0, 1)
    return np.array([counts[a, b] for a, b in combinations(range(1, 9), 2)]).T


def log(columns):
    starts, stops = _lists(columns)
    return _log(starts, stops, np.array(log_edges()))


def rates(columns):
    return _rates(columns.time, columns.channel, RATE_BIN)[:, 1:9]
