"""Asks an installed package for the pairs of a folder of recordings: python smoke.py data/fixtures/pairs"""

import importlib.metadata
import re
import shutil
import sys
import tempfile
from pathlib import Path

import tagq

PAIRS = 1_976
"""Coincidences of channels 1 and 2 within 2 ns in data/fixtures/pairs."""

with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    run = Path(folder) / "run"
    shutil.copytree(sys.argv[1], run)
    count = tagq.open(run).coincidences([(1, 2)], window="2ns").rows[0]["count"]
    assert count == PAIRS, count
    print(f"tagq {tagq.__version__} on {sys.platform}: {count} coincidences")

# Free-threaded builds of Python do not load it, and pip refuses it there (docs/decisions.md, "Python keeps its lock").
tags = importlib.metadata.distribution("tagq").read_text("WHEEL") or ""
assert set(re.findall(r"^Tag: (.*?)-\w+$", tags, re.MULTILINE)) == {"cp310-abi3"}, tags
