"""tttrlib: lists per channel, correlated or counted in C++."""

import numpy as np
import tttrlib
from questions import RATE_BIN

NAME = "tttrlib"
ROWS = {"log": 2_000_000}


def log(columns):
    """Uses its fastest correlator that gives counts. The one for custom bins gives zeros."""
    correlator = tttrlib.Correlator(method="felekyan", n_bins=20, n_casc=26)
    starts, stops = ((columns.time[columns.channel == label]).view("u8") for label in (1, 2))
    correlator.set_events(starts, np.ones(len(starts)), stops, np.ones(len(stops)))
    correlator.run()
    return np.array(correlator.get_corr())


def rates(columns):
    first = columns.time[0]
    lists = (columns.time[columns.channel == label] - first for label in range(1, 9))
    return np.array(
        [tttrlib.compute_intensity_trace(times.view("u8"), RATE_BIN, 1.0) for times in lists]
    ).T


def _first_lags(ask, answer):
    return np.array_equal(ask("linear 1 17 1"), answer[1:17])


RULES = {
    "log": ("its times get coarser by two from block to block; the first block is equal", _first_lags)
}
