"""The queries for every system. Times are whole ticks of 156.25 ps."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext

WINDOW = 12
"""2 ns, rounded down: |Δ| ≤ 12 ticks."""
WINDOW_WIDE = 6_400
"""1 µs."""
DELAY = 640
"""100 ns, added to the times of channel 2."""
RATE_BIN = 640_000_000
"""100 ms."""


@dataclass(frozen=True)
class Question:
    """A query: in words, for tagq's library (a line of benches/timed.rs), and for its program."""

    key: str
    words: str
    line: str
    program: str


@dataclass(frozen=True)
class Bins:
    """Bins of one width; the first begins at `low`."""

    low: int
    width: int
    count: int

    @property
    def high(self):
        return self.low + self.width * self.count


NARROW = Bins(-640, 1, 1_281)
"""±100 ns. A symmetric range has an odd number of bins, the middle one centred on 0."""
WIDE = Bins(-64_004, 8, 16_001)
"""±10 µs."""
WIDER = Bins(-640_320, 640, 2_001)
"""±100 µs."""
WIDEST = Bins(-6_406_400, 12_800, 1_001)
"""±1 ms."""
WINDOWS = [16 * k // 5 for k in range(1, 21)]
"""0.5, 1, … 10 ns, rounded down."""


def log_edges(low=8, high=640_000_000, per_decade=20):
    """Returns the values low·10^(k/n), rounded half up, without duplicates, and `high` as the last."""
    edges = []
    with localcontext() as context:
        context.prec = 50
        for k in range(1_000):
            exact = low * Decimal(10) ** (Decimal(k) / per_decade)
            edge = int(exact.to_integral_value(ROUND_HALF_UP))
            if edge >= high:
                break
            if not edges or edge > edges[-1]:
                edges.append(edge)
    return [*edges, high]


QUESTIONS = [
    Question("pair", "one pair, 2 ns", "pairs 12 1,2", "coincidences --window 2ns --group 1,2"),
    Question("wide", "one pair, 1 µs", "pairs 6400 1,2", "coincidences --window 1us --group 1,2"),
    Question("every", "all 28 pairs, 2 ns", "every 12", "coincidences --window 2ns"),
    Question(
        "three", "one group of 3, 2 ns", "pairs 12 1,2,3", "coincidences --window 2ns --group 1,2,3"
    ),
    Question(
        "triples",
        "all 56 groups of 3, 1 µs",
        "folds 6400 3",
        "coincidences --window 1us --choose 3",
    ),
    Question(
        "delayed",
        "one pair with a delay, 2 ns",
        "pairs 12 1,2 2=640",
        "coincidences --window 2ns --group 1,2 --delay 2=640t",
    ),
    Question(
        "narrow", "g2 ±100 ns, bins of 1 tick", "centred 640 1", "g2 1,2 --range 100ns --bin 1t"
    ),
    Question("bins", "g2 ±10 µs, bins of 8 ticks", "centred 64000 8", "g2 1,2 --range 10us --bin 8t"),
    Question(
        "wider", "g2 ±100 µs, bins of 100 ns", "centred 640000 640", "g2 1,2 --range 100us --bin 640t"
    ),
    Question(
        "widest", "g2 ±1 ms, bins of 2 µs", "centred 6400000 12800", "g2 1,2 --range 1ms --bin 12800t"
    ),
    Question(
        "log",
        "g2 in log bins, 8 ticks to 100 ms",
        "log 8 640000000 20",
        "g2 1,2 --range 8t..100ms --log 20",
    ),
    Question(
        "windows",
        "all 28 pairs in 20 windows to 10 ns",
        f"windows {','.join(map(str, WINDOWS))}",
        "scan coincidences --window 0.5ns..10ns:20",
    ),
    Question("rates", "rates in 100 ms", "rates 640000000", "rates --bin 100ms"),
]
