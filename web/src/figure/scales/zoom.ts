/** Which part of an axis is shown. */

import { clamp, valueAt } from "./axis";
import type { Range } from "../kinds/content";
import type { Axis } from "../types";

/** The smallest part of an axis that can be shown. */
const LEAST = 1e-6;

/** Returns the part between two fractions of a view; `null` if it is the whole axis. */
export function part(whole: Axis, view: Axis, from: number, to: number): Range | null {
  const low = Math.max(valueAt(view, from), whole.low);
  const high = Math.min(valueAt(view, to), whole.high);
  const length = whole.high - whole.low;
  if (low <= whole.low + 1e-9 * length && high >= whole.high - 1e-9 * length) return null;
  const isTooSmall = whole.is_logarithmic ? Math.log(high / low) < LEAST : high - low < LEAST * length;
  return isTooSmall ? { low: view.low, high: view.high } : { low, high };
}

/** Returns the part after zooming by a factor around a fraction of the view. */
export function zoomed(whole: Axis, view: Axis, factor: number, around: number): Range | null {
  const at = clamp(around, 0, 1);
  return part(whole, view, at - at * factor, at + (1 - at) * factor);
}

/** Returns the part after moving the view by a fraction of it, as far as the axis goes. */
export function panned(whole: Axis, view: Axis, by: number): Range | null {
  const from = (range: Axis, value: number) =>
    range.is_logarithmic ? Math.log(value / range.low) / Math.log(range.high / range.low) : (value - range.low) / (range.high - range.low);
  const moved = clamp(by, from(view, whole.low), from(view, whole.high) - 1);
  return part(whole, view, moved, 1 + moved);
}

/** Returns a chosen part as far as the axis has it; `null` if it has nothing of it. */
export function kept(whole: Axis, range: Range | null): Range | null {
  if (!range || range.low >= whole.high || range.high <= whole.low) return null;
  return { low: Math.max(range.low, whole.low), high: Math.min(range.high, whole.high) };
}
