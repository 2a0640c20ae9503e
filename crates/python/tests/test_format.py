"""docs/format.md suffices to read a store without tagq."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from conftest import ROOT

import tagq


# The reader does not close its file explicitly.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_reader_in_the_format_sees_the_tags_of_the_files(folder: Path, run: tagq.Run) -> None:
    page = (ROOT / "docs/format.md").read_text()
    reader: dict[str, object] = {}
    for block in page.split("```python\n")[1:]:
        exec(block.split("```")[0], reader)
    store = str(folder / ".tagq")
    assert "time" not in run.info(fast=True)["columns"]
    computed = reader["times"](store)
    tagq.set(folder, times=True)
    time, channel = reader["tags"](store)
    assert numpy.array_equal(time, computed)
    # 4,797 + 4,808 + 4,890 + 4,855 tags of channels 1 to 4, as README.md shows them.
    assert numpy.bincount(channel).tolist() == [0, 4797, 4808, 4890, 4855]
    assert (numpy.diff(time) >= 0).all()
    assert numpy.array_equal(time, run.time)
    assert numpy.array_equal(channel, run.channel)
