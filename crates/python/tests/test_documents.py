"""The examples in the documents work as shown."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import tagq
from conftest import ROOT


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_page_runs_from_top_to_bottom(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    text = (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    assert (folder.parent / "made.tagq" / "manifest.json").exists()
    # All functions and classes that the page names exist.
    for name in re.findall(r"`tagq\.(\w+)", text):
        assert hasattr(tagq, name) or name in ("toml", "tick", "micro_tick"), name
    for name in re.findall(r"`run\.(\w+)", text):
        assert hasattr(tagq.Run, name), name


def test_the_example_makes_a_picture(folder: Path, tmp_path: Path) -> None:
    script, picture = ROOT / "docs/examples/g2.py", Path(os.environ.get("TAGQ_PICTURE", tmp_path / "g2.png"))
    code = [line for line in script.read_text().splitlines()[1:] if line.strip()]
    assert len(code) == 10
    args = [sys.executable, script, folder / "1.tags.zst", picture]
    done = subprocess.run(list(map(str, args)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "g2, mode all" in done.stdout
    import matplotlib.image

    image = matplotlib.image.imread(picture)
    colours = numpy.unique(image.reshape(-1, image.shape[2]), axis=0)
    assert image.shape[0] > 400 and len(colours) > 20


def test_the_tour_holds(folder: Path, tmp_path: Path) -> None:
    script, made = ROOT / "docs/examples/tour.py", tmp_path / "made"
    made.mkdir()
    steps = re.findall(r"^    # (\d+)\. ", script.read_text(), re.MULTILINE)
    assert [int(step) for step in steps] == list(range(1, 31))
    done = subprocess.run([sys.executable, script, folder, made], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "30 steps\n"), done.stderr


def test_notebooks_have_no_outputs_and_are_listed() -> None:
    notebooks = sorted((ROOT / "examples").glob("*.ipynb"))
    assert len(notebooks) == 4
    page = (ROOT / "docs/python.md").read_text()
    for path in notebooks:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert notebook["nbformat"] == 4
        assert list(notebook["metadata"]) == ["kernelspec"] and notebook["metadata"]["kernelspec"]["name"] == "python3"
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code), path
        assert not any(cell["metadata"] for cell in notebook["cells"]), path
        assert "".join(code[-1]["source"]).startswith("assert "), path
        assert f"`{path.name}`" in page


def test_the_merger_of_the_book_sorts_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/book/src/cookbook/live.md").read_text()
    (block,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "class Merger" in block]
    names: dict[str, object] = {}
    exec(block, names)
    rng = numpy.random.default_rng(1)
    times = {channel: numpy.cumsum(rng.integers(0, 9, 2_000)) for channel in (1, 2, 3, 4)}
    cut = [(channel, of[at : at + 200]) for at in range(0, 2_000, 200) for channel, of in times.items()]
    names["record"](cut)  # type: ignore[operator]
    run = tagq.open("live.tagq")
    for channel, expected in times.items():
        assert run.time[run.channel == channel].tolist() == expected.tolist()
    assert len(run) == 8_000


def test_everything_public_is_described() -> None:
    for name in tagq.__all__:
        of = getattr(tagq, name)
        assert name == "__version__" or of.__doc__, name
        if isinstance(of, type) and not issubclass(of, Exception):
            public = [(key, value) for key, value in vars(of).items() if not key.startswith("_")]
            assert all(value.__doc__ for _, value in public), (name, [k for k, v in public if not v.__doc__])
    stubs = (Path(tagq.__file__).parent / "_tagq.pyi").read_text()
    for name in vars(tagq._run._tagq):
        assert name.startswith("_") or re.search(rf"^(class|def) {name}\b", stubs, re.MULTILINE), name
    assert (Path(tagq.__file__).parent / "py.typed").exists()


def test_sources_say_what_they_need(tmp_path: Path) -> None:
    (tmp_path / "maturin.py").write_text("def get_requires_for_build_wheel(settings): return ['maturin']\n")
    code = "import tagq_build; print(tagq_build.get_requires_for_build_wheel())"

    def asked(path: Path) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'crates/python/backend'}{os.pathsep}{tmp_path}", "PATH": str(path)}
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)

    wanted = re.search(r'^rust-version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert wanted is not None
    absent = asked(tmp_path)
    assert absent.returncode == 1 and f"That needs Rust {wanted[1]} or later" in absent.stderr
    cargo = shutil.which("cargo")
    if cargo is not None:
        assert asked(Path(cargo).parent).stdout == "['maturin']\n"
