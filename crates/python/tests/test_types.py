"""Types: mypy and pyright, both strict, accept right scripts and find mistakes, each in its line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tagq
from conftest import ROOT

#: A script with mistakes in the lines that end with "# wrong".
PLANTED = """
import datetime
import numpy
import tagq

run = tagq.open("run")
run.g2(1, 2, range="2ns", bin_s=1e-9)
run.coincidences(window=datetime.timedelta(microseconds=1), groups=[(1, 2)], channels=3)
delays = {2: "5ns"}
run.g2(1, 2, delays=delays, delays_s={"Bob": 1e-9})
total = run.rates().total
if total is not None:
    print(total["count"].sum() + 1, total[0].count, total[:2], total.to_polars().height)
numpy.asarray(total)
run.plot  # wrong
both = tagq.open(["a.ptu", "b.ptu"], tick="1ps")
both.g2(1, 2, bin="1ns")
both.runs[0].time
for answer in run.watch("g2", start=1, stop=2, bin="1ns", every="1s"):
    answer.plot(log_y=True, limits=(0.5, 2), size=(6, 4))
for number in run.watch(lambda run: len(run), timeout_s=1.0):
    print(number + 1)
with run.live("g2", 1, 2, range="20ns", last="1s") as live:
    print(live.result["g2"].sum(), live.is_running)
tagq.simulate("a.ptu", channels=[1, 2], delays={2: "5ns"}, frames=2, live="1MHz")
run.g2(1, 2, rnage="2ns")  # wrong
run.coincidences(window=2e-9)  # wrong
run.micro(1, chanels=2)  # wrong
run.rates(last_s="1s")  # wrong
tagq.open("run", tik="1ps")  # wrong
run.tuples(window="2ns").colunms  # wrong
run.watch("g3")  # wrong
run.watch("g2", start=1, stop=2, bin=1e-9)  # wrong
run.watch(len, window="2ns")  # wrong
run.watch("rates", every=1)  # wrong
run.live("g3", 1, 2)  # wrong
run.live("g2", 1, 2, range=2e-9)  # wrong
run.live(len)  # wrong
both.time  # wrong
tagq.open([1, 2])  # wrong
run.g2(1, 2).plot(limits="1..2")  # wrong
tagq.simulate("a.ptu", rate=1e5)  # wrong
""" + "".join(
    f"""run.watch("{kind}", channels=1, last_s=1.0, hold_back="1ms")
run.watch("{kind}", chanels=1)  # wrong
"""
    for kind in tagq._tagq.query_types()
)


def mypy(*paths: Path, cache: Path) -> set[int]:
    """Returns the lines with errors."""
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache)]
    config = ["--config-file", str(ROOT / "crates/python/pyproject.toml")]
    done = subprocess.run([*command, *config, *map(str, paths)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    print(done.stdout)
    return {int(line) for line in re.findall(r"\.pyi?:(\d+): error", done.stdout)}


def pyright(*paths: Path, cache: Path) -> set[int]:
    """Returns the lines with errors."""
    command = [sys.executable, "-m", "pyright"]
    try:
        # The package fetches the program with its first call.
        found = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        pytest.skip("pyright could not be fetched in time")
    if found.returncode != 0:
        pytest.skip(f"pyright cannot be fetched: {(found.stderr or found.stdout).strip().splitlines()[-1:]}")
    config = cache.with_suffix(".json")
    include = [os.path.relpath(path, config.parent) for path in paths]
    config.write_text(json.dumps({"typeCheckingMode": "strict", "include": include, **LOOSER}))
    done = subprocess.run(
        [*command, "--project", str(config), "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    told = json.loads(done.stdout)
    errors = [of for of in told["generalDiagnostics"] if of["severity"] == "error"]
    for of in errors:
        print(of["file"], of["range"]["start"]["line"] + 1, of["message"])
    assert told["summary"]["filesAnalyzed"] > 0
    return {of["range"]["start"]["line"] + 1 for of in errors}


#: Rules about other libraries that come without types, about values that are not used, and within the package.
LOOSER = {
    "reportMissingTypeStubs": False,
    "reportUnknownMemberType": False,
    "reportUnknownVariableType": False,
    "reportUnknownArgumentType": False,
    "reportUnknownParameterType": False,
    "reportUnknownLambdaType": False,
    "reportUnusedExpression": False,
    "reportPrivateUsage": False,
    # Arguments are checked for callers without types.
    "reportUnnecessaryIsInstance": False,
}
CHECKERS = [pytest.param(checker, id=checker.__name__) for checker in (mypy, pyright)]


@pytest.mark.parametrize("check", CHECKERS)
def test_types_are_strict_and_find_mistakes(check: Callable[..., set[int]], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PLANTED)
    wrong = {at for at, line in enumerate(PLANTED.splitlines(), 1) if line.endswith("# wrong")}
    assert check(script, cache=tmp_path / "cache") == wrong


@pytest.mark.parametrize("check", CHECKERS)
def test_the_package_has_strict_types(check: Callable[..., set[int]], tmp_path: Path) -> None:
    assert check(ROOT / "crates/python/python/tagq", cache=tmp_path / "cache") == set()


@pytest.mark.parametrize("check", CHECKERS)
def test_the_scripts_of_the_documents_have_strict_types(check: Callable[..., set[int]], tmp_path: Path) -> None:
    scripts = sorted((ROOT / "docs/examples").glob("*.py"))
    assert len(scripts) >= 2
    assert check(*scripts, cache=tmp_path / "cache") == set()
