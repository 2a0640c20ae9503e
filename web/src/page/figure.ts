// The figure of an answer.

import { h, select } from "./dom";
import { columnName } from "./rows";
import { draw, type Drawn } from "../figure";
import type { Host, View } from "./view";

/** Returns the controls of an image: its figure, and whether pixels are as bright as they have photons. */
function figureControls(host: Host, hasPhasors: boolean): HTMLElement[] {
  const { panel } = host;
  const figures: [string, string][] = [["", "map"], ["bright", "map, by brightness"], ["histogram", "histogram"]];
  if (hasPhasors) figures.push(["phasor", "phasors"]);
  const chosen = panel.figure ?? (panel.brightness ? "bright" : "");
  return [
    select("figure", figures, chosen, (name) => {
      panel.brightness = name === "bright" || undefined;
      panel.figure = name === "bright" || name === "" ? undefined : name;
      // Phasors have no other values.
      if (name === "phasor") panel.quantity = undefined;
      host.changed(true);
    }),
  ];
}

export function figureView(host: Host): View {
  const element = h("div", { class: host.panel.query === "image" ? "figure pixels" : "figure" });
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
          ...(panel.query === "image" ? figureControls(host, columns.includes("phasor_g")) : []),
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
