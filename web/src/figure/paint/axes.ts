/** Axes and their numbers around an area of values, as in crates/plot/src/layout. */

import { axisTitle, clamp, place, ticksOf, type Ticks } from "../scales/axis";
import { onMap, type Palette } from "./colour";
import { SOLID, type Box, type Pen } from "./pen";
import type { Axis } from "../types";

export const MARGIN = 12;
/** Letter sizes. */
export const HEADER = 13;
export const LABEL = 15;
export const TICK = 13;
/** Height of the numbers and the title of the axis below the values. */
export const BELOW = 8 + TICK + 8 + LABEL + 6;

export function widest(pen: Pen, texts: string[], size: number): number {
  return Math.max(0, ...texts.map((text) => pen.width(text, size)));
}

/** Returns ticks whose numbers do not overlap along `room` points. */
export function ticksAcross(pen: Pen, axis: Axis, room: number): Ticks {
  for (let most = 12; ; most -= 1) {
    const ticks = ticksOf(axis, most);
    const wide = widest(pen, ticks.marks.map((mark) => mark.label), TICK);
    let least = Infinity;
    ticks.marks.forEach((mark, number) => {
      const before = ticks.marks[number - 1];
      if (before) least = Math.min(least, place(axis, mark.at) - place(axis, before.at));
    });
    if (most === 1 || least * room > wide + 14) return ticks;
  }
}

/** Draws the axis below an area, and grid lines from its ticks through the area. */
export function drawBelow(pen: Pen, palette: Palette, axis: Axis, area: Box, width: number): void {
  const ticks = ticksAcross(pen, axis, area.right - area.left);
  const at = (value: number) => area.left + clamp(place(axis, value), 0, 1) * (area.right - area.left);
  for (const value of ticks.between) {
    pen.lines([[[at(value), area.bottom], [at(value), area.bottom + 3]]], palette.faint, 1, SOLID);
  }
  for (const mark of ticks.marks) {
    const x = at(mark.at);
    pen.lines([[[x, area.top], [x, area.bottom]]], palette.grid, 1, SOLID);
    pen.lines([[[x, area.bottom], [x, area.bottom + 6]]], palette.faint, 1, SOLID);
    // A number at the edge stays on the page.
    const half = pen.width(mark.label, TICK) / 2;
    const inside = clamp(x, 2 + half, width - 2 - half);
    pen.words(mark.label, [inside, area.bottom + 8 + TICK], TICK, palette.ink, "middle");
  }
  const middle = (area.left + area.right) / 2;
  const title = axisTitle(axis, ticks);
  const half = Math.min(pen.width(title, LABEL) / 2, width / 2);
  pen.words(title, [clamp(middle, half, width - half), area.bottom + BELOW - 6], LABEL, palette.ink, "middle");
}

/** Returns the room to the left of an area for the numbers and the title of the axis there. */
export function roomBeside(pen: Pen, ticks: Ticks): number {
  const numbers = widest(pen, ticks.marks.map((mark) => mark.label), TICK);
  return 4 + LABEL + 10 + numbers + 9;
}

/** Writes the title of the axis to the left of an area. */
export function drawTitleBeside(pen: Pen, palette: Palette, axis: Axis, ticks: Ticks, area: Box): void {
  const at: [number, number] = [4 + LABEL - 3, (area.top + area.bottom) / 2];
  pen.words(axisTitle(axis, ticks), at, LABEL, palette.ink, "middle", true);
}

/** Draws the reason why there are no values. */
export function drawNothing(pen: Pen, palette: Palette, why: string, area: Box): void {
  const middle: [number, number] = [(area.left + area.right) / 2, (area.top + area.bottom) / 2];
  pen.words(why, middle, LABEL, palette.faint, "middle");
}

/** Width of a scale of colours with its numbers. */
export const SCALE = 96;

/** Draws the scale of colours beside cells. */
export function drawScale(
  pen: Pen, palette: Palette, axis: Axis, left: number, top: number, end: number, colour = onMap,
): void {
  const steps = 64;
  const bottom = clamp(end, top + 120, top + 300);
  const high = bottom - top;
  const y = (step: number) => bottom - (high * step) / steps;
  for (let step = 0; step < steps; step += 1) {
    pen.cell({ left, top: y(step + 1), right: left + 18, bottom: y(step) + 0.5 }, colour(step / (steps - 1)));
  }
  const ticks = ticksOf(axis, 5);
  for (const mark of ticks.marks) {
    const at = bottom - place(axis, mark.at) * high;
    pen.lines([[[left + 18, at], [left + 23, at]]], palette.faint, 1, SOLID);
    pen.words(mark.label, [left + 27, at + 0.36 * HEADER], HEADER, palette.ink, "start");
  }
  if (ticks.unit !== "") pen.words(ticks.unit, [left, top - 8], HEADER, palette.ink, "start");
}
