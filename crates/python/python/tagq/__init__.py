"""tagq: exact questions to photon time tags.

A run is a store of tags, a folder of tag files, or one such file. It is opened, asked in the words of
the command line, and its answers are tables that Polars, NumPy, pandas, pyarrow and DuckDB take over::

    import tagq

    run = tagq.open("run/", tick="156.25ps")
    pairs = run.coincidences(window="2ns", groups=[(3, 15)], delays={15: "-4.0625ns"})
    print(pairs)
    polars.DataFrame(pairs)

Durations are texts with a unit ("2ns", "156.25ps", "1/3ps") or whole ticks ("13t"); times in arrays and
tables are whole ticks (64 bits), channels whole numbers (8 or 16 bits). What each question counts is
defined in docs/queries.md of the project.
"""

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
from ._requests import Sum, sum
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
    "ScanCounters",
    "Sum",
    "TagqError",
    "TagqWarning",
    "Tags",
    "Tuples",
    "WrongTypeError",
    "__version__",
    "from_arrays",
    "from_table",
    "ingest",
    "open",
    "scan",
    "sum",
]
