"""The page of a figure, as `--plot FILE.html` writes it, in a browser."""

from __future__ import annotations

import csv
import json
import shutil
import struct
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Tab, tagq

Open = Callable[..., Tab]

#: A query of each kind of figure; `micro` has another file.
QUERIES = {
    "g2": "g2 1,2 --range 20ns",
    "g2-cut": "g2 1,2 --bin 1ns --range 20ns --ylim 0..1",
    "g2-log": "g2 1,2 --range 1ns..1ms --log 4",
    "histogram": "histogram --start 1 --stop 2 --range 50ns",
    "rates": "rates --bin 20ms",
    "rates-bars": "rates",
    "coincidences": "coincidences --window 2ns --group 1,2 --group 3,4",
    "matrix": "coincidences --window 2ns",
    "panels": "coincidences --window 2ns --bin 20ms --group 1,2 --group 3,4",
    "map": "histogram2d 1,2,3 --range 10ns",
    "micro": "micro",
    "micro-trace": "micro --trace 1ms",
}
SCREENS = [(360, 740, "dark"), (1920, 1080, "light"), (3840, 2160, "light")]


@pytest.fixture(scope="session")
def figure(tmp_path_factory: pytest.TempPathFactory, run: Path, micro: Path) -> Callable[[str], Path]:
    """Writes the page of a query, once."""
    folder = tmp_path_factory.mktemp("figures")

    def written(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            tagq(*QUERIES[name].split(), f"--plot={path}", micro if name.startswith("micro") else run)
        return path

    return written


def opened(tab: Open, path: Path, **options: object) -> Tab:
    one = tab(**options)
    one.page.goto(path.as_uri())
    one.settle()
    return one


def downloaded(one: Tab, kind: str, folder: Path) -> bytes:
    """Returns the file that a button gives."""
    with one.page.expect_download() as download:
        one.page.get_by_role("button", name=kind).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == f".{kind.lower()}"
    return path.read_bytes()


def rows(one: Tab, folder: Path) -> list[dict[str, str]]:
    """Returns the values that are shown."""
    return list(csv.DictReader(downloaded(one, "CSV", folder).decode().splitlines()))


def labels(one: Tab, folder: Path) -> list[str]:
    """Returns the texts that are drawn."""
    page = ElementTree.fromstring(downloaded(one, "SVG", folder))
    return [text.text or "" for text in page.iter("{http://www.w3.org/2000/svg}text")]


def pointed(one: Tab, x: float, y: float) -> str:
    """Moves the pointer to a place in the area of values, and returns what is said there."""
    box = one.page.locator(".tagq-over").bounding_box()
    assert box is not None
    one.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    one.settle()
    return one.page.locator(".tagq-readout").inner_text()


@pytest.mark.parametrize("name", QUERIES)
def test_a_figure_is_drawn_on_each_screen(tab: Open, figure: Callable[[str], Path], name: str) -> None:
    for width, height, scheme in SCREENS:
        one = opened(tab, figure(name), width=width, height=height, color_scheme=scheme)
        # The script took the place of the picture.
        assert one.page.locator("svg").count() == 0
        assert one.page.locator(".tagq-figure").get_attribute("data-theme") == scheme
        painted = one.page.evaluate(
            """() => {
              const canvas = document.querySelector(".tagq-canvas canvas");
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              let painted = 0;
              for (let at = 3; at < data.length; at += 4) painted += data[at] > 128;
              return painted;
            }"""
        )
        assert painted > 2_000, f"{width}: {painted} pixels are painted"
        wide = one.page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width, "the page has to be scrolled to the side"
        # The page asks for nothing but itself.
        assert one.requests == [figure(name).as_uri()]


def test_values_beyond_the_axis_are_arrows(tab: Open, figure: Callable[[str], Path], tmp_path: Path) -> None:
    one = opened(tab, figure("g2-cut"))
    page = ElementTree.fromstring(downloaded(one, "SVG", tmp_path))
    values = [float(row["value"]) for row in rows(one, tmp_path)]
    inside = sum(value <= 1 for value in values)
    assert 0 < inside < len(values)
    assert len(list(page.iter("{http://www.w3.org/2000/svg}circle"))) == inside
    paths = [path.get("d") or "" for path in page.iter("{http://www.w3.org/2000/svg}path")]
    # An arrow has three corners.
    assert sum(path.endswith("Z") and path.count("L") == 2 for path in paths) == len(values) - inside


def test_without_scripts_the_picture_is_shown(tab: Open, figure: Callable[[str], Path]) -> None:
    one = tab(java_script_enabled=False)
    one.page.goto(figure("g2").as_uri())
    assert one.page.locator("figure svg").is_visible()
    assert one.page.locator("canvas").count() == 0


def test_values_at_the_pointer_are_those_of_the_answer(
    tab: Open, figure: Callable[[str], Path], run: Path, tmp_path: Path
) -> None:
    answer = json.loads(tagq(*QUERIES["histogram"].split(), "--format", "json", run))
    highest = max(row["count"] for row in answer["rows"])
    one = opened(tab, figure("histogram"))
    drawn = rows(one, tmp_path)
    assert [int(row["value"]) for row in drawn] == [row["count"] for row in answer["rows"]]
    # Delay 0 is in the middle of the axis, and its bin is the highest: from 3.5 ticks of 156.25 ps before it to 2.5 after.
    said = pointed(one, 0.5, 0.5)
    assert f"{highest:,} \u00b1 {highest**0.5:.0f}" in said and "\u2212547 to 391 ps" in said, said
    # Nothing is said beside the area.
    one.page.mouse.move(2, 2)
    assert not one.page.locator(".tagq-readout").is_visible()


def test_each_series_has_its_name_and_its_value(tab: Open, figure: Callable[[str], Path], tmp_path: Path) -> None:
    one = opened(tab, figure("rates"))
    said = pointed(one, 0.1, 0.5).split("\n")
    assert said[1::2] == ["1", "2", "3", "4"] and all(text.endswith(") kHz") for text in said[2::2]), said
    # A name of the legend hides its series, in the figure and in the file.
    one.page.get_by_role("group", name="Series").get_by_role("button", name="2").click()
    one.settle()
    assert {row["series"] for row in rows(one, tmp_path)} == {"1", "3", "4"}
    assert pointed(one, 0.1, 0.5).split("\n")[1::2] == ["1", "3", "4"]


def test_wheel_drag_and_keys_choose_what_is_shown(tab: Open, figure: Callable[[str], Path], tmp_path: Path) -> None:
    one = opened(tab, figure("g2"))
    whole = rows(one, tmp_path)
    at = pointed(one, 0.25, 0.5)
    one.page.mouse.wheel(0, -600)
    one.settle()
    part = rows(one, tmp_path)
    assert 10 < len(part) < 0.6 * len(whole)
    assert pointed(one, 0.25, 0.5) == at, "the bin under the pointer stays there"
    # The unit follows the part: from nanoseconds to picoseconds.
    for _ in range(6):
        one.page.mouse.wheel(0, -600)
    one.settle()
    assert "delay \u03c4 (ps)" in labels(one, tmp_path) or len(rows(one, tmp_path)) < 3
    box = one.page.locator(".tagq-over").bounding_box()
    assert box is not None
    one.page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 20)
    one.settle()
    assert rows(one, tmp_path) == whole
    one.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 20)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 60, steps=4)
    one.page.mouse.up()
    one.settle()
    # From 0 to half of the end, which is 10 ns.
    part = rows(one, tmp_path)
    assert abs(float(part[0]["from_s"])) < 0.5e-9 and abs(float(part[-1]["to_s"]) - 10e-9) < 0.5e-9
    area = one.page.locator(".tagq-area")
    area.focus()
    one.page.keyboard.press("0")
    one.settle()
    assert rows(one, tmp_path) == whole
    area.focus()
    one.page.keyboard.press("ArrowRight")
    first = one.page.locator(".tagq-readout-heading").inner_text()
    one.page.keyboard.press("ArrowRight")
    second = one.page.locator(".tagq-readout-heading").inner_text()
    # The next bin begins where the last one ends.
    assert first.split(" to ")[1] != second.split(" to ")[1] and first != second
    ends = [float(row["to_s"]) for row in whole]
    assert round(ends[len(ends) // 2], 14) in [round(end, 14) for end in ends]
    one.page.keyboard.press("+")
    one.settle()
    assert len(rows(one, tmp_path)) < len(whole)
    area.focus()
    one.page.keyboard.press("Escape")
    one.settle()
    assert rows(one, tmp_path) == whole
    assert not one.page.locator(".tagq-readout").is_visible()


def test_cells_are_read_by_pointer_and_keys(tab: Open, figure: Callable[[str], Path], tmp_path: Path) -> None:
    one = opened(tab, figure("matrix"))
    # Rows 1, 2, 3 and columns 2, 3, 4: the pair 1,2 is the upper left cell.
    assert pointed(one, 0.1, 0.1).split("\n") == ["1, 2", "coincidences", "1,976"]
    one.page.locator(".tagq-area").focus()
    one.page.keyboard.press("ArrowDown")
    assert one.page.locator(".tagq-readout").inner_text().split("\n")[-1] == "not counted"
    one = opened(tab, figure("map"))
    whole = rows(one, tmp_path)
    pointed(one, 0.25, 0.5)
    one.page.mouse.wheel(0, -800)
    one.settle()
    assert len(rows(one, tmp_path)) < 0.3 * len(whole)
    assert pointed(one, 0.25, 0.5).startswith("counts: 0")


def test_values_can_have_a_logarithmic_axis(tab: Open, figure: Callable[[str], Path], tmp_path: Path) -> None:
    one = opened(tab, figure("histogram"))
    assert "1" not in labels(one, tmp_path)
    one.page.get_by_role("button", name="Logarithmic").click()
    one.settle()
    assert {"1", "10", "100", "1,000"} <= set(labels(one, tmp_path))


def test_files_have_what_is_shown(tab: Open, figure: Callable[[str], Path], tmp_path: Path) -> None:
    one = opened(tab, figure("g2"), width=700)
    drawn = labels(one, tmp_path)
    assert drawn[0] == "g\u00b2(\u03c4) of 1 and 2, run" and "delay \u03c4 (ns)" in drawn
    png = downloaded(one, "PNG", tmp_path)
    width, _ = struct.unpack(">II", png[16:24])
    assert png.startswith(b"\x89PNG") and width >= 2 * 600, width


def test_no_name_is_obeyed(tab: Open, run: Path, tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script>"
    path = tmp_path / "a.html"
    named = Path(shutil.copytree(run, tmp_path / "<img src=x onerror=alert(2)>"))
    (named / "tagq.toml").write_text(f"[channels]\n1 = {json.dumps(name)}\n", encoding="utf-8")
    tagq(*QUERIES["rates"].split(), f"--plot={path}", named)
    one = opened(tab, path)
    assert name in one.page.locator(".tagq-legend").inner_text()
    assert named.name in one.page.locator(".tagq-title").inner_text()
    assert one.page.locator("img").count() == 0
    # Neither would another script run.
    one.page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
        }"""
    )
    assert one.page.evaluate("() => window.ran") is None
    refused = [error for error in one.errors if "Content Security Policy" in error]
    assert refused == one.errors and len(refused) == 1
    one.errors.clear()


def test_a_choice_stays_when_values_change(
    tab: Open, figure: Callable[[str], Path], made: Path, tmp_path: Path
) -> None:
    content = figure("rates").read_text(encoding="utf-8")
    data = content.split('id="figure">')[1].split("</script>")[0]
    one = tab()
    one.page.set_content("<main id='host'></main>")
    module = (made / "checks.mjs").read_text(encoding="utf-8")
    style = (made / "crates/plot/src/figure.css").read_text(encoding="utf-8")
    one.page.add_style_tag(content=style)
    one.page.evaluate(
        """async ([module, data]) => {
          const { draw } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
          window.figure = JSON.parse(data);
          window.drawn = draw(document.getElementById("host"), window.figure);
        }""",
        [module, data],
    )
    one.settle()
    pointed(one, 0.1, 0.5)
    one.page.mouse.wheel(0, -800)
    one.page.get_by_role("group", name="Series").get_by_role("button", name="2").click()
    one.settle()
    before = rows(one, tmp_path)
    place = one.page.locator(".tagq-over").bounding_box()
    took = one.page.evaluate(
        """async () => {
          const { figure, drawn } = window;
          const start = performance.now();
          for (let number = 0; number < 20; number += 1) {
            const series = figure.plot.chart.series.map((one) => ({
              ...one, points: one.points.map((point) => ({ ...point, value: point.value && point.value + 1000 })),
            }));
            drawn.update({ ...figure, plot: { chart: { ...figure.plot.chart, series } } });
            await new Promise((done) => requestAnimationFrame(done));
          }
          return performance.now() - start;
        }"""
    )
    after = rows(one, tmp_path)
    assert [row["from_s"] for row in after] == [row["from_s"] for row in before]
    # Each update adds to the first values: it is one step.
    values = [(float(a["value"]), float(b["value"])) for a, b in zip(after, before, strict=True) if b["value"]]
    assert values and all(abs(a - b - 1000) < 1e-6 for a, b in values)
    assert {row["series"] for row in after} == {"1", "3", "4"}
    assert one.page.locator(".tagq-over").bounding_box() == place, "nothing jumps"
    assert took < 5_000
    one.page.evaluate("() => window.drawn.destroy()")
    assert one.page.locator("#host *").count() == 0


def test_two_fingers_zoom_and_one_moves(tab: Open, figure: Callable[[str], Path], tmp_path: Path) -> None:
    one = opened(tab, figure("g2"), width=400, has_touch=True)
    whole = rows(one, tmp_path)
    box = one.page.locator(".tagq-over").bounding_box()
    assert box is not None
    session = one.page.context.new_cdp_session(one.page)

    def touch(kind: str, *places: float) -> None:
        points = [
            {"x": box["x"] + place * box["width"], "y": box["y"] + 60, "id": number}
            for number, place in enumerate(places)
        ]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        one.settle()

    # From a fifth of the area to three fifths of it: a third is left.
    touch("touchStart", 0.4, 0.6)
    touch("touchMove", 0.3, 0.7)
    touch("touchMove", 0.2, 0.8)
    touch("touchEnd")
    part = rows(one, tmp_path)
    assert abs(len(part) / len(whole) - 1 / 3) < 0.05, len(part)
    # A finger that goes to the right shows what was at the left.
    touch("touchStart", 0.5)
    touch("touchMove", 0.6)
    touch("touchMove", 0.75)
    touch("touchEnd")
    moved = rows(one, tmp_path)
    shift = float(part[0]["from_s"]) - float(moved[0]["from_s"])
    length = float(part[-1]["to_s"]) - float(part[0]["from_s"])
    assert abs(len(moved) - len(part)) <= 1 and abs(shift / length - 0.25) < 0.1, shift / length


def test_a_reader_of_the_screen_finds_names(tab: Open, figure: Callable[[str], Path]) -> None:
    one = opened(tab, figure("rates"))
    area = one.page.get_by_role("application", name="Rates over time, run. rates; bins of")
    area.focus()
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("Home")
    # The text at the cursor describes the area.
    described = area.get_attribute("aria-describedby")
    assert one.page.locator(f"#{described}").inner_text().startswith("0 to 20 ms\n1\n")
    names = [button.get_attribute("aria-label") or button.inner_text() for button in one.page.get_by_role("button").all()]
    assert all(names) and {"Zoom in", "Reset: Show everything", "SVG: Download as SVG", "1", "4"} <= set(names), names
    # The keys go through all of it, in order.
    one.page.locator("body").evaluate("(body) => body.ownerDocument.activeElement.blur()")
    reached = []
    for _ in range(len(names) + 4):
        one.page.keyboard.press("Tab")
        reached.append(one.page.evaluate("() => document.activeElement.className.split(' ')[0]"))
    assert "tagq-area" in reached and reached.count("tagq-series") == 4, reached
