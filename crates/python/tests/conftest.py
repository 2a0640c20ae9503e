"""Tests compare the package with the program and with the libraries that read its tables, without mocks but that of a Time
Tagger's reader."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import tagq

ROOT = Path(__file__).parents[3]
PROGRAM = os.environ.get("TAGQ_PROGRAM", "tagq")


def cli(*args: object) -> bytes:
    """Returns the output of the program."""
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def cli_json(*args: object) -> dict:
    return json.loads(cli(*args))


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


def interruptible() -> list[str]:
    """Return words before a command that enable SIGINT, which children inherit as ignored if the caller does."""
    return ["env", "--default-signal=INT"] if sys.platform == "linux" else []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copies the project's small run, without a store."""
    run = tmp_path / "run"
    run.mkdir()
    for name in ("1.tags.zst", "2.tags.zst"):
        shutil.copy(ROOT / "data/fixtures/pairs" / name, run)
    return run


@pytest.fixture
def run(folder: Path) -> tagq.Run:
    return tagq.open(folder)


@pytest.fixture(scope="session")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> tagq.Run:
    """Creates just over ten blocks. Only the fourth has channel 9, and the last has only channel 7."""
    rows = 10 * 65_536 + 123
    time = numpy.cumsum(numpy.arange(rows) % 7 + 1)
    channel = (numpy.arange(rows) % 5 + 1).astype("u1")
    channel[3 * 65_536 + 5] = 9
    channel[10 * 65_536 :] = 7
    return tagq.from_arrays(time, channel, tick="1ps", store=tmp_path_factory.mktemp("blocks") / "b.tagq")
