"""tomtag: lists per channel, matched one to one in C, on one thread."""

import numpy as np
import tomtag
from questions import DELAY, NARROW, WINDOW, WINDOW_WIDE

NAME = "tomtag"
# It matches the lists again for each bin of a histogram.
ROWS = {"narrow": 200_000}


def _split(columns, *labels):
    return [columns.time[columns.channel == label] for label in labels]


def _matched(starts, stops, window):
    return tomtag.count_twofolds(starts, stops, len(starts), len(stops), window)


def pair(columns):
    return _matched(*_split(columns, 1, 2), WINDOW)


def wide(columns):
    return _matched(*_split(columns, 1, 2), WINDOW_WIDE)


def three(columns):
    lists = _split(columns, 1, 2, 3)
    return len(tomtag.get_threefold_tags(*lists, *map(len, lists), WINDOW)[0])


def delayed(columns):
    starts, stops = _split(columns, 1, 2)
    return _matched(starts, stops + DELAY, WINDOW)


def narrow(columns):
    starts, stops = _split(columns, 1, 2)
    delays = -np.arange(NARROW.low, NARROW.high)
    return tomtag.histogram(starts, stops, len(starts), len(stops), 0, len(delays), delays)


_WHY = "it matches tags one to one: tagq's `--rule once`"


def _once(words):
    return _WHY, lambda ask, answer: np.array_equal(ask(f"once {words}"), answer)


def _some_bins(ask, answer):
    bins = range(0, NARROW.count, 40)
    expected = [ask(f"once 0 1,2 2={-NARROW.low - bin}")[0] for bin in bins]
    return np.array_equal(expected, answer[::40])


RULES = {
    "pair": _once("12 1,2"),
    "wide": _once("6400 1,2"),
    "three": _once("12 1,2,3"),
    "delayed": _once("12 1,2 2=640"),
    "narrow": (_WHY, _some_bins),
}
