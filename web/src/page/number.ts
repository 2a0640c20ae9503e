// One number as large as its panel, with its error, its highest value, and a tone whose pitch follows it.

import { button, h, select, setText } from "./dom";
import { limitsText, outside } from "./alarm";
import { shown } from "./numbers";
import { columnName, isBinned, numberColumns, rowsOf, valueOf } from "./rows";
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
  let isOn = false;
  // Browsers allow a tone after a press only.
  delete panel.tone;

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
    const of = numberColumns(all.map(({ row }) => row));
    const key = JSON.stringify([all.map(({ key, name }) => [key, name]), of]);
    if (key === listed) return;
    listed = key;
    const chosen = panel.row ?? all[0]?.key ?? "";
    const selectRow = select("row", all.map(({ key, name }) => [key, name]), chosen, (key) => {
      panel.row = key;
      restart();
      host.changed(false);
    });
    const column = panel.column ?? "count";
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
      // The bins of a histogram or of a trace are a figure, and not one number.
      const isOne = result.answer !== null && !isBinned(result.answer);
      const one = isOne ? result : { ...result, answer: null };
      offer(one);
      const all = one.answer ? rowsOf(one.answer) : [];
      const found = all.find(({ key }) => key === panel.row) ?? (panel.row === undefined ? all[0] : undefined);
      const column = panel.column ?? "count";
      const of = valueOf(found?.row, column);
      const text = shown(column, of.value, of.err);
      setText(digits, text.value);
      setText(unit, text.unit);
      const what = result.answer && !isOne ? "a query with bins is no number; choose a figure" : `${columnName(column)} of ${found?.name ?? panel.row ?? "nothing"}`;
      setText(err, text.err ? `± ${[text.err, text.unit].filter(Boolean).join(" ")}, ${what}` : what);
      // The digits fill the width, and keep their size while their number stays.
      big.style.setProperty("--chars", String(Math.max(5, text.value.length + text.unit.length * 0.55)));
      if (of.value !== undefined && (most === undefined || of.value > most.value)) most = { value: of.value, err: of.err };
      const best = panel.peak && most ? shown(column, most.value, most.err) : undefined;
      setText(peak, best ? `highest ${best.value}${best.err && ` ± ${best.err}`} ${best.unit}` : "");
      if (panel.tone) tone.follow(of.value);
      const isLimited = panel.below !== undefined || panel.above !== undefined;
      isOn = of.value === undefined ? isLimited : outside(panel, of.value, isOn);
      host.alarm(isOn ? (of.value === undefined ? "no value" : limitsText(panel, column)) : undefined);
    },
    reset: restart,
    destroy: () => tone.set(false),
  };
}
