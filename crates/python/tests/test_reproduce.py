"""Results say what they were counted from, and are counted again."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest

import tagq
from conftest import ROOT, cli, cli_json

ROWS = 19_350


def test_a_result_says_what_was_asked_of_which_tags(folder: Path) -> None:
    (folder / "tagq.toml").write_text('[channels]\n1 = "Alice"\n[delays]\n2 = "312.5ps"\n')
    run = tagq.open(folder)
    pairs = run.coincidences(window="2ns", groups=[("Alice", 2)])
    found = cli_json("coincidences", "--window", "2ns", "--group", "Alice,2", "--format", "json", folder)
    assert pairs.provenance == found["provenance"]
    assert pairs.provenance["options"] == {"window": "2ns", "groups": [["Alice", 2]]}
    (counted,) = pairs.provenance["runs"]
    assert (counted["rows"], counted["path"]) == (ROWS, str(folder))
    assert counted["setup"] == {"names": [[1, "Alice"]], "delays": [[2, "312.5ps"]], "groups": []}
    assert pickle.loads(pickle.dumps(pairs)).provenance == pairs.provenance
    assert pairs.to_arrow().schema.metadata[b"tagq.provenance"] == json.dumps(pairs.provenance, separators=(",", ":")).encode()


def test_a_result_is_reproduced(folder: Path, tmp_path: Path) -> None:
    second = tmp_path / "2.tags.zst"
    shutil.move(folder / "2.tags.zst", second)
    run = tagq.open(folder)
    pairs, answer = run.coincidences(window="2ns"), tmp_path / "answer.json"
    pairs.save(answer)
    # The run grows.
    shutil.move(second, folder)
    assert len(tagq.open(folder)) == ROWS
    again = tagq.reproduce(answer)
    assert isinstance(again, tagq.Result) and again.rows == pairs.rows and again.run["tags"] == len(run)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(ROOT / "data/fixtures/pairs/1.tags.zst", elsewhere)
    moved = tagq.reproduce(answer, elsewhere, threads=1)
    assert isinstance(moved, tagq.Result) and moved.rows == pairs.rows
    both = tmp_path / "both.json"
    both.write_bytes(cli("rates", "--format", "json", folder, elsewhere))
    several = tagq.reproduce(both)
    assert isinstance(several, list) and [len(one) for one in several] == [4, 4]


def test_differences_and_other_tags_are_named(folder: Path, tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    rates = tagq.open(folder).rates()
    saved = rates.to_dict()
    saved["rows"][1]["count"] += 1
    answer.write_text(json.dumps(saved))
    with pytest.raises(tagq.NotReproducedError, match="row 2: count was 4809 and is 4808") as error:
        tagq.reproduce(answer)
    assert error.value.differences == [("row 2", "count", 4_809, 4_808)]
    assert pickle.loads(pickle.dumps(error.value)).differences == error.value.differences
    rates.save(answer, replace=True)
    with pytest.raises(tagq.TagqError, match="the answer is of 19350 tags, and 9807 are there"):
        tagq.reproduce(answer, folder / "2.tags.zst")
    with pytest.raises(tagq.QuestionError, match="it is of 1 runs, and 2 are named"):
        tagq.reproduce(answer, [folder, folder])
    answer.write_text("[]")
    with pytest.raises(tagq.QuestionError, match="no answer of tagq"):
        tagq.reproduce(answer)
    with pytest.raises(tagq.NotFoundError):
        tagq.reproduce(tmp_path / "none.json")
