"""PyTimeTag: blocks of lists per channel, its own Numba loops, on one thread."""

import numpy as np
from pytimetag import DataBlock, FastCounterAnalyser, HistogramAnalyser
from questions import DELAY, NARROW, RATE_BIN, WIDE, WINDOW, WINDOW_WIDE

NAME = "PyTimeTag"


def _block(columns, labels, end=None):
    times = [np.zeros(0, np.int64)] * 9
    for label in labels:
        times[label] = columns.time[columns.channel == label]
    first = int(columns.time[0])
    return DataBlock.create(times, 0, first, int(columns.time[-1]) if end is None else end)


def _histogram(block, low, high, bins):
    analyser = HistogramAnalyser(9)
    view = {"Sync": 1, "Signals": [2], "ViewStart": low, "ViewStop": high, "BinCount": bins}
    analyser.turnOn(view | {"Divide": 1})
    return analyser.dataIncome(block)["Histograms"][0]


def pair(columns):
    return _histogram(_block(columns, (1, 2)), -WINDOW, WINDOW, 1)


def wide(columns):
    return _histogram(_block(columns, (1, 2)), -WINDOW_WIDE, WINDOW_WIDE, 1)


def delayed(columns):
    block = _block(columns, (1, 2)).synced([0, 0, DELAY] + [0] * 6)
    return _histogram(block, -WINDOW, WINDOW, 1)


def narrow(columns):
    return _histogram(_block(columns, (1, 2)), NARROW.low, NARROW.high, NARROW.count)


def bins(columns):
    """Counts in two views of one block, because PyTimeTag has at most 10,000 bins."""
    block, half = _block(columns, (1, 2)), WIDE.count // 2 + 1
    middle = WIDE.low + half * WIDE.width
    left = _histogram(block, WIDE.low, middle, half)
    return left + _histogram(block, middle, WIDE.high, WIDE.count - half)


def rates(columns):
    count = int((columns.time[-1] - columns.time[0]) // RATE_BIN) + 1
    block = _block(columns, range(1, 9), int(columns.time[0]) + count * RATE_BIN)
    analyser = FastCounterAnalyser()
    analyser.turnOn({"Channels": list(range(1, 9)), "Frequency": count})
    sections = analyser.dataIncome(block)["CountSections"]
    return np.array([sections[str(label)] for label in range(1, 9)]).T


_WHY = "the last bin of a view holds its upper end, too"


def _with_end(ask, answer):
    expected = ask("centred 640 1")
    expected[-1] += ask(f"linear {NARROW.high} {NARROW.high + 1} 1")[0]
    return np.array_equal(expected, answer)


def _with_both_ends(ask, answer):
    expected, half = ask("centred 64000 8"), WIDE.count // 2 + 1
    for bin, end in [(half - 1, WIDE.low + half * WIDE.width), (-1, WIDE.high)]:
        expected[bin] += ask(f"linear {end} {end + 1} 1")[0]
    return np.array_equal(expected, answer)


RULES = {"narrow": (_WHY, _with_end), "bins": (_WHY, _with_both_ends)}
