// A field for a duration that is typed, stepped by keys and buttons, turned by the wheel, or dragged.

import { button, h } from "./dom";
import { type Duration, duration, durationText } from "./numbers";

export interface Knob {
  element: HTMLElement;
  /** Shows another value, unless the person is typing one. */
  set(text: string): void;
  /** Marks a value that the server refuses. */
  refuse(reason: string | undefined): void;
}

/** Pixels that the pointer moves for one step. */
const DRAG_STEP = 12;

/**
 * Returns a knob. `step` gives the next value upwards or downwards; `change` receives a new text, which is empty if the
 * option is to have its default.
 */
export function knob(
  name: string,
  help: string,
  value: string,
  placeholder: string,
  step: (of: Duration, steps: number) => Duration,
  change: (text: string) => void,
  first: Duration,
): Knob {
  const input = h("input", {
    type: "text", value, placeholder, "aria-label": name, title: help, spellcheck: "false", autocomplete: "off", size: 7,
  });
  const apply = (text: string) => {
    input.value = text;
    change(text.trim());
  };
  const turn = (steps: number) => {
    const of = duration(input.value);
    if (of) apply(durationText(step(of, steps)));
    else if (input.value.trim() === "") apply(durationText(first));
  };
  input.addEventListener("change", () => change(input.value.trim()));
  input.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    turn(steps);
  });
  const title = h("span", { class: "knob-name", title: `${help} (drag or use the wheel)` }, name);
  const element = h(
    "span",
    { class: "knob", role: "group", "aria-label": name },
    title,
    button("−", `${name}: less`, () => turn(-1)),
    input,
    button("+", `${name}: more`, () => turn(1)),
  );
  element.addEventListener(
    "wheel",
    (event) => {
      if (event.deltaY === 0) return;
      event.preventDefault();
      turn(event.deltaY < 0 ? 1 : -1);
    },
    { passive: false },
  );
  let from: number | undefined;
  title.addEventListener("pointerdown", (event) => {
    from = event.clientX;
    title.setPointerCapture(event.pointerId);
  });
  title.addEventListener("pointermove", (event) => {
    if (from === undefined) return;
    const steps = Math.trunc((event.clientX - from) / DRAG_STEP);
    if (steps === 0) return;
    from += steps * DRAG_STEP;
    turn(steps);
  });
  title.addEventListener("pointerup", () => (from = undefined));
  title.addEventListener("pointercancel", () => (from = undefined));
  return {
    element,
    set(text) {
      if (document.activeElement !== input && input.value !== text) input.value = text;
    },
    refuse(reason) {
      input.setAttribute("aria-invalid", String(reason !== undefined));
      input.title = reason ?? help;
    },
  };
}
