"""Draws the tables of `cargo xtask formats`: python3 plots.py TABLES PICTURES

TABLES is the folder with the CSV files, PICTURES the one that gets `sizes.svg`, `files.svg` and `lookups.svg`.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "formats"
import matplotlib.pyplot as plt  # noqa: E402

#: Compressions in the picture of sizes, with their colours.
COLOURS = {"none": "#9aa5b1", "lz4": "#e0a030", "zstd3": "#3b7dd8", "zstd19": "#1b3a6b"}
#: Those in the picture of files.
OF_FILES = ("none", "zstd3")
#: A format whose rows have this many bytes in a file gives the number of tags.
ROW_BYTES = ("rows9", 9)

#: Medians over rounds by format, compression, step and quantity.
Medians = dict[tuple[str, str, str, str], float]


def main() -> None:
    tables, pictures = map(Path, sys.argv[1:])
    pictures.mkdir(parents=True, exist_ok=True)
    of = {name: medians(tables / f"{name}.csv") for name in ("sizes", "files", "lookups")}
    figures = {
        "sizes": sizes(of["sizes"]),
        "files": files(of["files"], of["sizes"]),
        "lookups": lookups(of["lookups"]),
    }
    for name, figure in figures.items():
        figure.savefig(pictures / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)


def medians(table: Path) -> Medians:
    rounds: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    with table.open(newline="") as rows:
        for row in csv.DictReader(rows):
            key = (row["format"], row["compression"], row["step"], row["quantity"])
            rounds[key].append(float(row["value"]))
    return {key: median(values) for key, values in rounds.items()}


def sizes(of: Medians) -> plt.Figure:
    """Bars of bytes a tag, a bar for each compression."""
    tags = of[ROW_BYTES[0], "none", "", "bytes"] / ROW_BYTES[1]
    formats = list(dict.fromkeys(name for name, *_ in of))
    figure, ax = plt.subplots(figsize=(7, 0.42 * len(formats) + 1), layout="constrained")
    height = 0.8 / len(COLOURS)
    for at, (compression, colour) in enumerate(COLOURS.items()):
        shown = [(row, of.get((name, compression, "", "bytes"))) for row, name in enumerate(formats)]
        places = [row + (at - 1.5) * height for row, size in shown if size is not None]
        ax.barh(places, [size / tags for _, size in shown if size is not None], height, color=colour, label=compression)
    ax.set_yticks(range(len(formats)), formats)
    ax.invert_yaxis()
    ax.set_xlabel("bytes a tag")
    ax.legend(loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def files(of: Medians, size: Medians) -> plt.Figure:
    """Time to read a file over its size."""
    tags = size[ROW_BYTES[0], "none", "", "bytes"] / ROW_BYTES[1]
    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    for (name, compression, step, quantity), seconds in of.items():
        if (step, quantity) != ("read", "seconds") or compression not in OF_FILES:
            continue
        place = (size[name, compression, "", "bytes"] / tags, seconds)
        ax.plot(*place, "o", color=COLOURS[compression], markersize=5)
        ax.annotate(name, place, xytext=(4, 2), textcoords="offset points", fontsize=6)
    for compression in OF_FILES:
        ax.plot([], [], "o", color=COLOURS[compression], label=compression)
    ax.set(xlabel="bytes a tag", ylabel="seconds to read all tags", yscale="log")
    ax.legend()
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def lookups(of: Medians) -> plt.Figure:
    """Bars of look-ups a second, warm and cold."""
    found = [(name, step, value) for (name, _, step, quantity), value in of.items() if quantity == "per_s"]
    formats = list(dict.fromkeys(name for name, *_ in found))
    figure, ax = plt.subplots(figsize=(7, 0.4 * len(formats) + 1), layout="constrained")
    for shift, (step, colour) in ((-0.2, ("lookups, warm", "#3b7dd8")), (0.2, ("lookups, cold", "#9aa5b1"))):
        places = [(formats.index(name) + shift, value) for name, of_step, value in found if of_step == step]
        ax.barh(*zip(*places), 0.38, color=colour, label=step.removeprefix("lookups, "))
    ax.set_yticks(range(len(formats)), formats)
    ax.invert_yaxis()
    ax.set(xlabel="look-ups a second, 4 threads", xscale="log")
    ax.legend()
    ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    main()
