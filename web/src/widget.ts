/** The widget of a live figure in a notebook: draws the newest figure that Python sends. */

import { draw, type Figure } from "./figure";

/** The part of anywidget's model that is used. */
interface Model {
  get(name: string): unknown;
  on(event: string, act: () => void): void;
  off(event: string, act: () => void): void;
}

/** Whether the notebook has a dark theme; `undefined` if it does not say, and the system decides. */
function isDark(): boolean | undefined {
  const { dataset, classList } = document.body;
  if (dataset["jpThemeLight"] !== undefined) return dataset["jpThemeLight"] === "false";
  if (classList.contains("vscode-dark")) return true;
  return classList.contains("vscode-light") ? false : undefined;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const figure = () => JSON.parse(String(model.get("figure"))) as Figure;
  const host = document.createElement("div");
  const state = document.createElement("p");
  el.append(host, state);
  const dark = isDark();
  const drawn = draw(host, figure(), dark === undefined ? {} : { dark });
  const update = () => drawn.update(figure());
  const say = () => {
    state.textContent = String(model.get("state"));
    state.hidden = state.textContent === "";
  };
  say();
  model.on("change:figure", update);
  model.on("change:state", say);
  return () => {
    model.off("change:figure", update);
    model.off("change:state", say);
    drawn.destroy();
  };
}

export default { render };
