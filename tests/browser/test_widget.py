"""The widget of a notebook, with a model as anywidget gives it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import ROOT, Tab, tagq

PACKAGE = ROOT / "crates/python/python/tagq"
OPENED = """async ([module, figure]) => {
  const { default: widget } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  const values = { figure, state: "" };
  const acts = {};
  window.set = (name, value) => {
    values[name] = value;
    acts[`change:${name}`]?.();
  };
  window.acts = acts;
  const model = {
    get: (name) => values[name],
    on: (event, act) => { acts[event] = act; },
    off: (event) => { delete acts[event]; },
  };
  window.remove = widget.render({ model, el: document.body });
}"""


def test_the_widget_shows_the_newest_figure(tab: Callable[..., Tab], run: Path, tmp_path: Path) -> None:
    figures = []
    for window in ("2ns", "1us"):
        path = tmp_path / f"{window}.html"
        tagq("coincidences", "--window", window, "--group", "1,2", f"--plot={path}", run)
        figures.append(path.read_text(encoding="utf-8").split('id="figure">')[1].split("</script>")[0])
    one = tab()
    one.page.add_style_tag(content=(PACKAGE / "_live.css").read_text(encoding="utf-8"))
    one.page.evaluate("() => { document.body.dataset.jpThemeLight = 'false'; }")
    one.page.evaluate(OPENED, [(PACKAGE / "_live.js").read_text(encoding="utf-8"), figures[0]])
    one.settle()
    said = one.page.locator(".tagq-header")
    assert "2 ns" in said.first.inner_text()
    assert one.page.locator(".tagq-figure").get_attribute("data-theme") == "dark"
    one.page.evaluate("(figure) => window.set('figure', figure)", figures[1])
    one.settle()
    assert "1 \u00b5s" in said.first.inner_text()
    one.page.evaluate("() => window.set('state', 'stopped')")
    assert one.page.get_by_text("stopped").is_visible()
    one.page.evaluate("() => window.remove()")
    assert one.page.locator("canvas").count() == 0
    assert one.page.evaluate("() => Object.keys(window.acts)") == []
