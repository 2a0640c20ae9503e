// Elements, made in one call.

type Props = Record<string, string | number | boolean | EventListener | undefined>;
type Child = Node | string | undefined | false;

/** Returns a new element. `on…` properties are listeners, `true` is an empty attribute, `false` and `undefined` are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

/** Sets the text of an element if it is another one. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Returns a button with a tooltip, which is also the name of a button without words. */
export function button(text: string, help: string, press: () => void, props: Props = {}): HTMLButtonElement {
  const label = /\p{L}/u.test(text) ? undefined : help;
  return h("button", { type: "button", "aria-label": label, title: help, onclick: press, ...props }, text);
}

/** Returns a field with its label. */
export function field(label: string, input: HTMLElement, help?: string): HTMLElement {
  const title = help ? { title: help } : {};
  return h("label", { class: "field", ...title }, h("span", {}, label), input);
}

/** Returns a select element; `choose` receives the chosen value. */
export function select(
  name: string,
  values: [value: string, text: string][],
  chosen: string,
  choose: (value: string) => void,
): HTMLSelectElement {
  const element = h("select", { "aria-label": name });
  for (const [value, text] of values) element.append(h("option", { value, selected: value === chosen }, text));
  element.addEventListener("change", () => choose(element.value));
  return element;
}
