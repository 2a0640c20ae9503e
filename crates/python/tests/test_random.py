"""Random calls with random values: each returns an answer or raises an exception of tagq, without a crash."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy
import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tagq

#: Set it for longer tests: TAGQ_RANDOM_CALLS=10000 cargo xtask python -k random
CALLS = int(os.environ.get("TAGQ_RANDOM_CALLS", "1500"))

# Fixed, so that each call is the same in every process.
TIME = numpy.sort(numpy.random.default_rng(5).integers(-1000, 100_000, 4000))
CHANNEL = numpy.random.default_rng(6).integers(1, 5, 4000).astype("u1")

durations = st.one_of(
    st.sampled_from(["0t", "1t", "5t", "100t", "2ns", "1us", "-3t", "1", "", "9223372036854775807t", "1e9s", "½ns"]),
    st.integers(-(2**63), 2**63).map(lambda n: f"{n}t"),
    st.integers(-200, 200).map(lambda n: f"{n}t"),
)
moments = st.one_of(durations, st.integers(-2000, 200_000).map(lambda n: f"@{n}t"))
labels = st.one_of(st.integers(1, 5), st.integers(-1, 70_000), st.sampled_from(["Alice", "", "1"]))
odd = st.sampled_from([None, 3, 2.5, float("nan"), "x", b"x", [], {}, (1, 2), object(), True, numpy.int64(3)])


def maybe(strategy: st.SearchStrategy, often: int = 6) -> st.SearchStrategy:
    """Returns None, a valid value, or sometimes an invalid one."""
    return st.one_of(st.none(), *[strategy] * often, odd)


selection = {
    "channels": maybe(st.lists(labels, max_size=4)),
    "from_": maybe(moments),
    "to": maybe(moments),
    "last": maybe(durations, 1),
}
counted = {**selection, "delays": maybe(st.dictionaries(labels, durations, max_size=3)), "join": maybe(st.booleans(), 1)}
of_kind = {
    "coincidences": {
        **counted,
        "window": maybe(durations),
        "full_width": maybe(durations, 1),
        "groups": maybe(st.lists(st.lists(labels, max_size=4), max_size=3), 2),
        "choose": maybe(st.integers(-1, 5), 1),
        "rule": maybe(st.sampled_from(["all", "herald", "per-herald", "once", "cluster", "grid", "some"])),
        "veto": maybe(st.lists(labels, max_size=2), 1),
        "guard": maybe(durations, 1),
        "accidentals": maybe(st.sampled_from(["formula", "shifted", "shifted:2", "shifted:x"]), 1),
        "shift": maybe(durations, 1),
        "bin": maybe(st.integers(-1, 10**6).map(lambda n: f"{1000 * n}t"), 1),
    },
    "histogram": {
        **counted,
        "start": maybe(labels),
        "stop": maybe(labels),
        "bin": maybe(st.integers(-1, 300).map(lambda n: f"{n}t")),
        "range": maybe(st.one_of(durations, st.tuples(st.integers(-500, 500), st.integers(-500, 9000)).map(lambda r: f"{r[0]}t..{r[1]}t"))),
        "log": maybe(st.integers(-1, 20), 1),
        "mode": maybe(st.sampled_from(["all", "next", "last", "grid"])),
        "g2": maybe(st.booleans(), 1),
        "period": maybe(durations, 1),
        "sync_divider": maybe(st.integers(-1, 9), 1),
    },
    "rates": {**counted, "bin": maybe(st.integers(-1, 10**6).map(lambda n: f"{1000 * n}t"))},
    "tags": {**selection, "time_unit": maybe(st.sampled_from(["ps", "ns", "us", "ms", "s", "min"]))},
}
calls = st.one_of(
    *[st.tuples(st.just(kind), st.fixed_dictionaries({}, optional=words)) for kind, words in of_kind.items()],
    st.tuples(st.sampled_from(["time", "channel", "repr", "html", "facts", "close"]), st.just({})),
    st.tuples(st.just("scan"), st.fixed_dictionaries({"low": st.integers(-2000, 200_000), "channel": st.integers(-1, 300)})),
    st.tuples(
        st.just("from_arrays"),
        st.fixed_dictionaries(
            {
                "time": st.one_of(st.just(TIME), odd, st.lists(st.integers(-(2**70), 2**70), max_size=5).map(numpy.array), st.lists(st.floats(), max_size=5).map(numpy.array)),
                "channel": st.one_of(st.just(CHANNEL), odd, st.lists(st.integers(-5, 70_000), max_size=5).map(numpy.array)),
                "tick": st.one_of(durations, odd, st.just("1ps")),
            }
        ),
    ),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tagq.from_arrays(TIME, CHANNEL, tick="1ns", store=tmp_path_factory.mktemp("random") / "r").store


def too_large(words: dict) -> bool:
    """Returns whether the answer would have millions of bins, which are not tested here."""
    span = words.get("range")
    width = words.get("bin")
    try:
        return isinstance(span, str) and ".." not in span and abs(int(span.rstrip("t"))) > 10**6 and not isinstance(width, bytes)
    except ValueError:
        return False


@settings(max_examples=CALLS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(call=calls)
def test_random_calls(store: str, call: tuple[str, dict]) -> None:
    kind, words = call
    if too_large(words):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = RUNS.get(store)
        if run is None or run.closed:
            run = RUNS[store] = tagq.open(store)
        time = run.time
        try:
            tried(run, kind, dict(words))
        except tagq.TagqError as error:
            assert str(error)
        except TypeError as error:
            # Raised by Python itself: an unknown keyword.
            assert "missing" in str(error) and "argument" in str(error), error
    # Arrays returned earlier must be unchanged in any case.
    assert time[0] == TIME[0] and time[-1] == TIME[-1] and len(time) == len(TIME)


RUNS: dict[str, tagq.Run] = {}


def tried(run: tagq.Run, kind: str, words: dict) -> None:
    if kind in ("coincidences", "histogram", "rates"):
        result = getattr(run, kind)(**words)
        assert polars.DataFrame(result).height == len(result) == len(result.rows)
        repr(result)
    elif kind == "tags":
        frame = polars.DataFrame(run.tags(**words))
        assert frame["time"].is_sorted() and frame.height <= len(TIME)
    elif kind == "from_arrays":
        made = tagq.from_arrays(words["time"], words["channel"], tick=words["tick"])
        assert numpy.array_equal(made.time, words["time"])
    elif kind == "scan":
        frame = run.scan().filter(polars.col("time") >= words["low"], polars.col("channel") == words["channel"])
        kept = (words["low"] <= TIME) & (words["channel"] == CHANNEL)
        assert numpy.array_equal(frame.collect()["time"], TIME[kept])
    elif kind == "close":
        run.close()
        with pytest.raises(tagq.ClosedError):
            run.rates()
    else:
        looks = {"time": lambda: run.time, "channel": lambda: run.channel, "repr": lambda: repr(run), "html": run._repr_html_, "facts": lambda: run.facts}
        looks[kind]()
