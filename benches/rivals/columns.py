"""The columns of a store, read into memory as docs/format.md describes."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Columns:
    """Times in ticks, in order, and the channel of each, not split by channel."""

    time: np.ndarray
    channel: np.ndarray

    def first(self, rows):
        return Columns(self.time[:rows], self.channel[:rows])

    def __len__(self):
        return len(self.time)


def read(store: Path) -> Columns:
    manifest = json.loads((store / "manifest.json").read_text())
    files, rows = manifest["files"], manifest["rows"]
    assert files["time"]["kind"] == "i64" and files["channel"]["kind"] == "u8"
    return Columns(
        np.fromfile(store / files["time"]["name"], "<i8", rows, offset=4096),
        np.fromfile(store / files["channel"]["name"], "<u1", rows, offset=4096),
    )
