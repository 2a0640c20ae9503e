// Pairs of channels as a matrix: count, rate, CAR or probability, with its colour.

import type { Row, Value } from "./api";
import { h, select, setText } from "./dom";
import { line, shown } from "./numbers";
import { channelName, columnName, numberColumns, valueOf } from "./rows";
import type { Host, Result, View } from "./view";
import { onMap, textOnMap } from "../figure/paint/colour";

/** The probability of the row's channel, given the column's. */
const PROBABILITY = "probability";

export function matrixView(host: Host): View {
  const { panel } = host;
  const table = h("table", { class: "matrix" });
  const caption = h("p", { class: "caption" });
  const element = h("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "matrix of pairs" }, table, caption);
  const columns = h("span", { class: "controls" });
  let listed = "";
  let built = "";
  const cells = new Map<string, HTMLTableCellElement>();

  const offer = (rows: Row[]) => {
    const of = numberColumns(rows).filter((name) => !name.startsWith("p_") && name !== "singles");
    if (rows.some((row) => "p_a_given_b" in row)) of.push(PROBABILITY);
    if (JSON.stringify(of) === listed) return;
    listed = JSON.stringify(of);
    const names = of.map((name): [string, string] => [name, name === PROBABILITY ? "P(row|column)" : columnName(name)]);
    columns.replaceChildren(
      select("quantity", names, panel.column ?? "count", (name) => {
        panel.column = name;
        host.changed(false);
      }),
    );
  };
  const build = (channels: Value[], name: (channel: Value) => string) => {
    const key = JSON.stringify(channels.map((of) => [of, name(of)]));
    if (key === built) return;
    built = key;
    cells.clear();
    const head = h("tr", {}, h("td"), ...channels.map((of) => h("th", { scope: "col" }, name(of))));
    const body = channels.map((a) => {
      const own = channels.map((b) => {
        const cell = h("td", { tabindex: -1 });
        cells.set(`${a},${b}`, cell);
        return cell;
      });
      return h("tr", {}, h("th", { scope: "row" }, name(a)), ...own);
    });
    table.replaceChildren(h("thead", {}, head), h("tbody", {}, ...body));
  };

  return {
    element,
    controls: columns,
    show({ answer }: Result) {
      if (!answer) return;
      const pairs = answer.rows.filter((row) => Array.isArray(row.channels) && row.channels.length === 2);
      offer(pairs);
      const channels = [...new Set(pairs.flatMap((row) => row.channels as number[]))].sort((a, b) => a - b);
      build(channels, (channel) => channelName(answer, channel));
      const column = panel.column ?? "count";
      const values = new Map<string, { value: number | undefined; err: number | undefined; row: Row }>();
      for (const row of pairs) {
        const [a, b] = row.channels as number[];
        const of = (name: string) => ({ ...valueOf(row, name), row });
        values.set(`${a},${b}`, of(column === PROBABILITY ? "p_a_given_b" : column));
        values.set(`${b},${a}`, of(column === PROBABILITY ? "p_b_given_a" : column));
      }
      const most = Math.max(0, ...[...values.values()].map(({ value }) => value ?? 0));
      for (const [key, cell] of cells) {
        const of = values.get(key);
        setText(cell, of ? text(column, of.value) : "");
        const place = of?.value === undefined || most <= 0 ? undefined : of.value / most;
        cell.style.backgroundColor = place === undefined ? "" : onMap(place);
        cell.style.color = place === undefined ? "" : textOnMap(place);
        const all = of ? numberColumns([of.row]).map((name) => `${columnName(name)} ${full(of.row, name)}`) : [];
        if (of) cell.title = all.join("\n");
      }
      setText(caption, pairs.length === 0 ? "there are no pairs of channels" : "");
    },
  };
}

const full = (row: Row, column: string) => {
  const { value, err } = valueOf(row, column);
  return line(column, value, err);
};

function text(column: string, value: number | undefined): string {
  const of = shown(column, value);
  return of.unit ? `${of.value} ${of.unit}` : of.value;
}
