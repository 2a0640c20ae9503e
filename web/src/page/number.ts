// One number as large as its panel, with its error, its highest value, and a tone whose pitch follows it.

import { button, h, select, setText } from "./dom";
import { outside } from "./alarm";
import { shown } from "./numbers";
import { columnName, numberColumns, rowsOf, valueOf } from "./rows";
import { Tone } from "./tone";
import type { Host, Result, View } from "./view";

export function numberView(host: Host): View {
  const { panel } = host;
  const digits = h("span", { class: "digits" });
  const unit = h("span", { class: "unit" });
  const err = h("p", { class: "number-err" });
  const peak = h("p", { class: "number-peak" });
  const big = h("p", { class: "big" }, digits, unit);
  const element = h("div", { class: "number" }, big, err, peak);
  const rows = h("span");
  const columns = h("span");
  const tone = new Tone();
  let most: { value: number; err: number | undefined } | undefined;
  let listed = "";

  const toggle = (name: string, key: "peak" | "tone", press: (isOn: boolean) => void) => {
    const element = button(name, key === "peak" ? "hold the highest value from now on" : "a tone whose pitch follows the value", () => {
      panel[key] = panel[key] ? undefined : true;
      element.setAttribute("aria-pressed", String(panel[key] === true));
      press(panel[key] === true);
      host.changed(false);
    });
    element.setAttribute("aria-pressed", String(panel[key] === true));
    return element;
  };
  const restart = () => (most = undefined);
  const controls = h("span", { class: "controls" }, rows, columns,
    toggle("peak", "peak", restart),
    toggle("tone", "tone", (isOn) => tone.set(isOn)));

  const offer = (result: Result) => {
    const all = result.answer ? rowsOf(result.answer) : [];
    const names = [...new Set(all.map(({ name }) => name))];
    const of = numberColumns(all.map(({ row }) => row));
    const key = JSON.stringify([names, of]);
    if (key === listed) return;
    listed = key;
    const chosen = panel.row ?? names[0] ?? "";
    const selectRow = select("row", names.map((name) => [name, name]), chosen, (name) => {
      panel.row = name;
      restart();
      host.changed(false);
    });
    const column = panel.column ?? of[0] ?? "";
    const selectColumn = select("quantity", of.map((name) => [name, columnName(name)]), column, (name) => {
      panel.column = name;
      restart();
      host.changed(false);
    });
    rows.replaceChildren(selectRow);
    columns.replaceChildren(selectColumn);
  };

  return {
    element,
    controls,
    show(result) {
      offer(result);
      const all = result.answer ? rowsOf(result.answer) : [];
      const found = all.find(({ name }) => name === panel.row) ?? (panel.row === undefined ? all[0] : undefined);
      const column = panel.column ?? "count";
      const of = valueOf(found?.row, column);
      const text = shown(column, of.value, of.err);
      setText(digits, text.value);
      setText(unit, text.unit);
      setText(err, `± ${text.err || "–"} ${text.unit}, ${columnName(column)} of ${found?.name ?? panel.row ?? "–"}`);
      // The digits fill the width, and keep their size while their number stays.
      big.style.setProperty("--chars", String(Math.max(5, text.value.length + text.unit.length * 0.55)));
      if (of.value !== undefined && (most === undefined || of.value > most.value)) most = { value: of.value, err: of.err };
      const best = panel.peak && most ? shown(column, most.value, most.err) : undefined;
      setText(peak, best ? `highest ${best.value} ± ${best.err || "–"} ${best.unit}` : "");
      if (panel.tone) tone.follow(of.value);
      host.alarm(of.value === undefined ? undefined : outside(panel, column, of.value));
    },
    reset: restart,
    destroy: () => tone.set(false),
  };
}
