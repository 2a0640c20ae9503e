"""tagq: exact queries over photon time tags.

A run is a store of tags, a folder of tag files, or one such file. Its methods are queries with the same
options as the command line. Polars, NumPy, pandas, pyarrow and DuckDB can read the results as tables::

    import tagq

    run = tagq.open("run/", tick="156.25ps")
    pairs = run.coincidences(window="2ns", groups=[(3, 15)], delays={15: "-4.0625ns"})
    print(pairs)
    polars.DataFrame(pairs)

Durations are texts with a unit ("2ns", "156.25ps") or in whole ticks ("13t"), a ``timedelta``, or seconds by their own
keywords (``window_s=2e-9``). Times in arrays
and tables are whole ticks (64 bits), channels are whole numbers (8 or 16 bits). docs/queries.md of the
project defines what each query counts.
"""

from . import distributed, objects
from ._catalogue import Runs, runs
from ._errors import (
    BusyError,
    ClosedError,
    DamageError,
    ForkedError,
    MissingLibraryError,
    NotFoundError,
    NotReproducedError,
    QuestionError,
    TagqError,
    TagqWarning,
    TextError,
    WrongTypeError,
)
from ._making import from_arrays, from_table
from ._recorder import Recorder
from ._sum import Sum, sum
from ._result import Result, Tuples
from ._open import ingest, open
from ._run import Run, Tags, scan
from ._scan import ScanCounters
from ._simulating import simulate
from ._tagq import __version__
from ._reproduce import reproduce
from ._tools import convert, name, set

__all__ = [
    "BusyError",
    "ClosedError",
    "DamageError",
    "ForkedError",
    "MissingLibraryError",
    "NotFoundError",
    "NotReproducedError",
    "QuestionError",
    "Recorder",
    "Result",
    "Run",
    "Runs",
    "ScanCounters",
    "Sum",
    "TagqError",
    "TagqWarning",
    "Tags",
    "TextError",
    "Tuples",
    "WrongTypeError",
    "__version__",
    "convert",
    "distributed",
    "from_arrays",
    "from_table",
    "ingest",
    "name",
    "objects",
    "open",
    "reproduce",
    "runs",
    "scan",
    "set",
    "simulate",
    "sum",
]
