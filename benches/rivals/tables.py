"""DuckDB: streaming windows over the rows in order, joins on times, group by, over its own table."""

from itertools import combinations

import duckdb
from questions import DELAY, NARROW, RATE_BIN, WIDE, WINDOW, WINDOW_WIDE

NAME = "DuckDB"
# Windows run on one thread, and joins keep tables in memory: seconds to minutes for all rows.
ROWS = dict.fromkeys(["pair", "every", "three", "wide", "delayed", "narrow"], 10_000_000)
ROWS |= {"three": 5_000_000, "bins": 1_000_000}


def prepared(columns):
    base = duckdb.connect()
    numbers = {"time": columns.time, "channel": columns.channel}
    base.register("numbers", numbers)
    base.execute("create table tags as select time, channel from numbers")
    base.unregister("numbers")
    return base


def _behind(base):
    """Returns SQL for the rows with a close previous row, with labels and times of the previous rows; and the
    numbers of previous rows up to the maximum in a window."""
    k = 1
    while base.execute(
        f"select count(*) from (select time - lag(time, {k}) over () d from tags) where d <= {WINDOW}"
    ).fetchone()[0]:
        k += 1
    lags = ", ".join(
        f"time - lag(time, {i}) over () d{i}, lag(channel, {i}) over () c{i}" for i in range(1, k)
    )
    query = f"behind as materialized (select * from (select channel, {lags} from tags) where d1 <= {WINDOW})"
    return query, range(1, k)


_KNOWN = {}


def _known(base):
    """Returns `_behind`, computed once, so that only the first round includes its time."""
    if id(base) not in _KNOWN:
        _KNOWN[id(base)] = _behind(base)
    return _KNOWN[id(base)]


def _one(base, query):
    return base.execute(query).fetchone()[0]


def _joined(low, high):
    """Returns SQL for the pairs with low ≤ Δ ≤ high, joined by equal or adjacent cells of that width."""
    width = high - low + 1
    return f"""
        with starts as (select time + {low} as time, (time + {low}) // {width} as cell
                        from tags where channel = 1),
             stops as (select time, time // {width} - next as cell
                       from tags, (values (0), (1)) of_next(next) where channel = 2),
             pairs as (select stops.time - starts.time as delta from starts join stops using (cell)
                       where stops.time - starts.time between 0 and {high - low})
    """


def _histogram(base, bins):
    # Bins start at the low end, which is 0 in the join.
    query = _joined(bins.low, bins.high - 1)
    found = base.execute(
        f"{query} select delta // {bins.width}, count(*) from pairs group by all"
    ).fetchall()
    counts = [0] * bins.count
    for bin, count in found:
        counts[bin] = count
    return counts


def pair(base):
    behind, shifts = _known(base)
    found = " + ".join(
        f"count(*) filter (d{k} <= {WINDOW} and least(channel, c{k}) = 1 and greatest(channel, c{k}) = 2)"
        for k in shifts
    )
    return _one(base, f"with {behind} select {found} from behind")


def wide(base):
    return _one(
        base,
        f"""select count(*) from (select time from tags where channel = 1) a
            join (select time from tags where channel = 2) b
            on b.time between a.time - {WINDOW_WIDE} and a.time + {WINDOW_WIDE}""",
    )


def every(base):
    behind, shifts = _known(base)
    found = " union all ".join(
        f"select least(channel, c{k}) a, greatest(channel, c{k}) b from behind where d{k} <= {WINDOW}"
        for k in shifts
    )
    rows = base.execute(f"with {behind} select a, b, count(*) from ({found}) group by all").fetchall()
    counts = {(a, b): count for a, b, count in rows}
    return [counts.get(pair, 0) for pair in combinations(range(1, 9), 2)]


def three(base):
    behind, shifts = _known(base)
    found = " + ".join(
        f"count(*) filter (d{k} <= {WINDOW} and least(channel, c{j}, c{k}) = 1"
        f" and greatest(channel, c{j}, c{k}) = 3 and channel + c{j} + c{k} = 6"
        f" and channel <> c{j} and channel <> c{k})"
        for j, k in combinations(shifts, 2)
    )
    return _one(base, f"with {behind} select {found} from behind")


def delayed(base):
    return _one(base, f"{_joined(-WINDOW - DELAY, WINDOW - DELAY)} select count(*) from pairs")


def narrow(base):
    return _histogram(base, NARROW)


def bins(base):
    return _histogram(base, WIDE)


def rates(base):
    counted = base.execute(
        f"select (time - (select min(time) from tags)) // {RATE_BIN} bin, channel, count(*)"
        " from tags group by all"
    ).fetchall()
    table = [[0] * 8 for _ in range(max(counted)[0] + 1)]
    for bin, channel, count in counted:
        table[bin][channel - 1] = count
    return table
