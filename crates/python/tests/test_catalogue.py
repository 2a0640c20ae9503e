"""The list of runs is that of the command line."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import polars
import pytest

import tagq
from conftest import cli_json


@pytest.fixture
def lab(folder: Path) -> Path:
    lab = folder.parent / "lab"
    for at, day in enumerate(["monday", "tuesday"]):
        shutil.copytree(folder, lab / day)
        for source in (lab / day).iterdir():
            os.utime(source, (0, 86_400 * (20_772 + at)))
    tagq.ingest(lab / "monday")
    return lab


def test_the_list_is_that_of_the_command_line(lab: Path) -> None:
    runs = tagq.runs(lab)
    assert list(runs) == cli_json("runs", lab, "--format", "json")["runs"]
    assert runs.paths == [str(lab / "monday"), str(lab / "tuesday")]
    table = polars.DataFrame(runs)
    assert table["state"].to_list() == ["ingested", "not ingested"]
    assert table["tags"].to_list() == [len(tagq.open(lab / "monday")), None]
    assert table["channels"].to_list() == [[1, 2, 3, 4], None]
    assert [moment.isoformat() for moment in table["ended"]] == [
        "2026-11-15T00:00:00+00:00",
        "2026-11-16T00:00:00+00:00",
    ]
    assert "monday" in repr(runs) and "<table" in runs._repr_html_()


def test_runs_are_chosen(lab: Path) -> None:
    assert tagq.runs(lab, since="2026-11-16").paths == [str(lab / "tuesday")]
    assert tagq.runs(lab, until="2026-11-16", name="m*").paths == [str(lab / "monday")]
    assert len(tagq.runs(lab, name="x")) == 0
    with pytest.raises(tagq.QuestionError, match="since: `soon` is no moment"):
        tagq.runs(lab, since="soon")
    with pytest.raises(tagq.NotFoundError):
        tagq.runs(lab / "absent")


@pytest.mark.skipif(sys.platform != "linux", reason="names are UTF-8 here")
def test_a_folder_with_any_name_is_listed(lab: Path, folder: Path) -> None:
    strange = os.fsencode(lab) + b"/odd \xff"
    shutil.copytree(os.fsencode(folder), strange)
    runs = tagq.runs(lab)
    assert [run["name"] for run in runs] == ["monday", "odd \\xff", "tuesday"]
    assert runs.paths[1] == os.fsdecode(strange)
    assert len(tagq.open(runs.paths[1])) == len(tagq.open(lab / "monday"))
