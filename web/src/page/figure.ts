// The figure of an answer.

import { h, select } from "./dom";
import { columnName } from "./rows";
import { draw, type Drawn } from "../figure";
import type { Host, View } from "./view";

export function figureView(host: Host): View {
  const element = h("div", { class: "figure" });
  const controls = h("span", { class: "controls" });
  const { panel } = host;
  let drawn: Drawn | undefined;
  let listed = "";
  return {
    element,
    controls,
    show({ columns, figure }) {
      if (listed !== columns.join() && columns.length > 0) {
        listed = columns.join();
        const names = columns.map((name): [string, string] => [name, columnName(name)]);
        controls.replaceChildren(
          select("quantity", [["", "auto"], ...names], panel.quantity ?? "", (name) => {
            panel.quantity = name === "" ? undefined : name;
            host.changed(true);
          }),
        );
      }
      if (!figure) return;
      if (drawn) return drawn.update(figure);
      const scaled = (isLogarithmic: boolean) => {
        panel.is_logarithmic = isLogarithmic || undefined;
        host.changed(false);
      };
      drawn = draw(element, figure, { heading: false, fills: true, scaled });
      if (panel.is_logarithmic) drawn.setLog(true);
    },
    destroy: () => drawn?.destroy(),
  };
}
