/** Wheel, fingers and keys: how a reader moves through a figure. */

import type { Frame } from "./frame";
import type { Fraction } from "../kinds/content";

export interface GestureOwner {
  /** Zooms around a position; a factor below 1 shows less. Returns whether the view is another one now. */
  zoom(factor: number, around: Fraction): boolean;
  /** Moves the view by fractions of it. Returns whether it is another one now. */
  pan(by: Fraction): boolean;
  reset(): void;
  /** Moves the cursor by bins, or by columns and rows. */
  step(columns: number, rows: number): void;
  /** The position of the cursor, or the middle. */
  cursor(): Fraction;
  leave(): void;
}

const ZOOM = 1.25;
/** Bins of a long step. */
const LONG_STEP = 10;
const ALL = 1e9;

/** Listens to wheel and fingers on the area of values. */
export function listenToPointers(frame: Frame, owner: GestureOwner): void {
  const { over } = frame;
  over.style.touchAction = "pan-y";
  over.addEventListener(
    "wheel",
    (event) => {
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const factor = 1.0015 ** (event.deltaY * lines);
      // A view that is whole already leaves the wheel to the page.
      if (owner.zoom(factor, frame.fractionOf(event))) event.preventDefault();
    },
    { passive: false },
  );
  const fingers = new Map<number, PointerEvent>();
  over.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") fingers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"] as const) {
    over.addEventListener(end, (event) => fingers.delete(event.pointerId));
  }
  over.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    fingers.set(event.pointerId, event);
    const [at, was] = [frame.fractionOf(event), frame.fractionOf(before)];
    if (!other) {
      owner.pan({ x: was.x - at.x, y: was.y - at.y });
      return;
    }
    const still = frame.fractionOf(other);
    const distance = (a: Fraction) => Math.max(Math.hypot(a.x - still.x, a.y - still.y), 0.01);
    owner.zoom(distance(was) / distance(at), { x: (at.x + still.x) / 2, y: (at.y + still.y) / 2 });
  });
}

/** Listens to keys on the element that has the focus. */
export function listenToKeys(element: HTMLElement, owner: GestureOwner): void {
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const long = event.shiftKey ? LONG_STEP : 1;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => owner.step(-long, 0),
      ArrowRight: () => owner.step(long, 0),
      ArrowUp: () => owner.step(0, -long),
      ArrowDown: () => owner.step(0, long),
      Home: () => owner.step(-ALL, 0),
      End: () => owner.step(ALL, 0),
      "+": () => owner.zoom(1 / ZOOM, owner.cursor()),
      "=": () => owner.zoom(1 / ZOOM, owner.cursor()),
      "-": () => owner.zoom(ZOOM, owner.cursor()),
      "0": () => owner.reset(),
      Escape: () => {
        owner.reset();
        owner.leave();
      },
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
  });
}
