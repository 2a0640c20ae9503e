"""The files of the package stand on floors: each imports files of floors below, also for types and within functions."""

from __future__ import annotations

import ast
from pathlib import Path

import tagq

#: The files of each floor, from the lowest.
FLOORS = (
    {"_tagq"},
    {"_errors", "_show", "_types"},
    {"_arrays", "_durations", "_paths"},
    {"_catalogue", "_fit_options", "_opening", "_plot", "_scan", "_simulating", "_table", "_xarray"},
    {"_result", "_tools", "objects", "ttbin"},
    {"_live", "_reproduce", "_requests"},
    {"_fit"},
    {"_run"},
    {"_making", "_sum"},
    {"_open", "_recorder"},
    {"distributed"},
    {"__init__"},
)


def imports(path: Path) -> set[str]:
    """The files of the package that a file imports."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found |= {node.module} if node.module else {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tagq":
            found.add((node.module or "").partition(".")[2] or "__init__")
        elif isinstance(node, ast.Import):
            found |= {name.name.partition(".")[2] or "__init__" for name in node.names if name.name.split(".")[0] == "tagq"}
    return found


def test_no_import_runs_upward() -> None:
    files = {path.stem: path for path in Path(tagq.__file__).parent.glob("*.py")}
    floor = {name: at for at, names in enumerate(FLOORS) for name in names}
    assert set(floor) == {"_tagq", *files}
    upward = {
        (name, of) for name, path in files.items() for of in imports(path) if of not in floor or floor[of] >= floor[name]
    }
    assert not upward
