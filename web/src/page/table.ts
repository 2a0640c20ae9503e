// The rows of an answer as a table.

import { h, setText } from "./dom";
import { line } from "./numbers";
import { columnName, numberColumns, rowsOf, valueOf } from "./rows";
import type { View } from "./view";

/** Rows that are shown. */
const ROWS_MAX = 200;

export function tableView(): View {
  const table = h("table", { class: "rows" });
  const more = h("p", { class: "caption" });
  const element = h("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "table of the answer" }, table, more);
  let built = "";
  let cells: HTMLTableCellElement[][] = [];
  return {
    element,
    show({ answer }) {
      if (!answer) return;
      const all = rowsOf(answer);
      const rows = all.slice(0, ROWS_MAX);
      const columns = numberColumns(rows.map(({ row }) => row));
      const key = JSON.stringify([columns, rows.map(({ name }) => name)]);
      if (key !== built) {
        built = key;
        cells = rows.map(() => columns.map(() => h("td")));
        const names = ["channels", ...columns.map(columnName)].map((name) => h("th", { scope: "col" }, name));
        const body = rows.map(({ name }, at) => h("tr", {}, h("th", { scope: "row" }, name), ...(cells[at] ?? [])));
        table.replaceChildren(h("thead", {}, h("tr", {}, ...names)), h("tbody", {}, ...body));
      }
      rows.forEach(({ row }, at) =>
        columns.forEach((column, number) => {
          const { value, err } = valueOf(row, column);
          const cell = cells[at]?.[number];
          if (cell) setText(cell, line(column, value, err));
        }),
      );
      setText(more, all.length > rows.length ? `and ${all.length - rows.length} more row${all.length - rows.length === 1 ? "" : "s"}` : "");
    },
  };
}
