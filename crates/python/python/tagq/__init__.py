"""tagq: exact queries over photon time tags.

A run is a store of tags, a folder of tag files, or one such file. Its methods are queries with the same
options as the command line. Polars, NumPy, pandas, pyarrow and DuckDB can read the results as tables::

    import tagq

    run = tagq.open("run/", tick="156.25ps")
    pairs = run.coincidences(window="2ns", groups=[(3, 15)], delays={15: "-4.0625ns"})
    print(pairs)
    polars.DataFrame(pairs)

Durations are strings with a unit ("2ns", "156.25ps", "1/3ps") or in whole ticks ("13t"). Times in arrays
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
    QuestionError,
    TagqError,
    TagqWarning,
    WrongTypeError,
)
from ._making import from_arrays, from_table
from ._sum import Sum, sum
from ._result import Result, Tuples
from ._run import Run, Tags, ingest, open
from ._scan import ScanCounters, scan
from ._tagq import __version__

__all__ = [
    "BusyError",
    "ClosedError",
    "DamageError",
    "ForkedError",
    "MissingLibraryError",
    "NotFoundError",
    "QuestionError",
    "Result",
    "Run",
    "Runs",
    "ScanCounters",
    "Sum",
    "TagqError",
    "TagqWarning",
    "Tags",
    "Tuples",
    "WrongTypeError",
    "__version__",
    "distributed",
    "from_arrays",
    "from_table",
    "ingest",
    "objects",
    "open",
    "runs",
    "scan",
    "sum",
]
