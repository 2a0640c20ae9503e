/** Places and ticks of an axis, as in crates/plot/src/axis.rs. */

import type { Axis } from "../types";
import { exponent, fixed, unitOf } from "./words";

/** How far beyond its ends, as a fraction of its length, an axis has ticks. */
const BEYOND = 2e-3;

/** How far beyond its ends, as a fraction of its length, a value is on the axis: by rounding. */
const ON_AXIS = 1e-9;

export interface Mark {
  at: number;
  label: string;
}

export interface Ticks {
  marks: Mark[];
  /** Ticks without a number, on a logarithmic axis. */
  between: number[];
  /** The unit of the numbers; empty if they have none, or each has its own. */
  unit: string;
}

/** Returns the position of a value: 0 at the start of the axis, 1 at the end. */
export function place(axis: Axis, value: number): number {
  if (!axis.is_logarithmic) return (value - axis.low) / (axis.high - axis.low);
  return Math.log(Math.max(value, 0) / axis.low) / Math.log(axis.high / axis.low);
}

/** Returns the value at a position: the inverse of `place`. */
export function valueAt(axis: Axis, at: number): number {
  if (!axis.is_logarithmic) return axis.low + at * (axis.high - axis.low);
  return axis.low * (axis.high / axis.low) ** at;
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

/** Returns the label of an axis with the unit of its numbers. */
export function axisTitle(axis: Axis, ticks: Ticks): string {
  return ticks.unit === "" ? axis.label : `${axis.label} (${ticks.unit})`;
}

/** Returns at most about `most` ticks with numbers. */
export function ticksOf(axis: Axis, most: number): Ticks {
  const steps = stepTicks(axis, Math.max(most, 1));
  if (!axis.is_logarithmic) return steps;
  const decades = decadeTicks(axis, Math.max(most, 1));
  // A single power of ten says more than no number.
  return decades.marks.length > 1 || steps.marks.length === 0 ? decades : steps;
}

/** Returns ticks with a spacing of 1, 2 or 5 times a power of ten. */
function stepTicks(axis: Axis, most: number): Ticks {
  const [unit, size] = unitOf(axis.units, Math.max(Math.abs(axis.low), Math.abs(axis.high)));
  const low = axis.low / size;
  const high = axis.high / size;
  const least = (high - low) / most;
  let power = exponent(least);
  let factor = [1, 2, 5].find((one) => one * 10 ** power >= least * (1 - 1e-9));
  if (factor === undefined) {
    power += 1;
    factor = 1;
  }
  if (axis.quantity === "count" && unit === "" && power < 0) {
    factor = 1;
    power = 0;
  }
  const step = factor * 10 ** power;
  const decimals = Math.max(-power, 0);
  const beyond = BEYOND * (high - low);
  const marks: Mark[] = [];
  for (let number = Math.ceil((low - beyond) / step); number * step <= high + beyond; number += 1) {
    marks.push({ at: number * step * size, label: fixed(number * step, decimals) });
    // A range that floats cannot divide would never end.
    if (marks.length > 2 * most + 2) break;
  }
  return { marks, between: [], unit };
}

/** Returns ticks at powers of ten, and at 2 and 5 times them if there are few. */
function decadeTicks(axis: Axis, most: number): Ticks {
  const beyond = (axis.high / axis.low) ** BEYOND;
  const low = axis.low / beyond;
  const high = axis.high * beyond;
  const values = (factors: number[]) => {
    const all: number[] = [];
    for (let power = exponent(low); power <= exponent(high); power += 1) {
      // Division keeps 1e-9 exact.
      for (const factor of factors) all.push(power < 0 ? factor / 10 ** -power : factor * 10 ** power);
    }
    return all.filter((value) => low <= value && value <= high);
  };
  const tens = values([1]);
  const more = values([1, 2, 5]);
  const stride = Math.max(Math.ceil(tens.length / most), 1);
  const ofFew = tens.length < 3 && more.length <= most;
  const shown = ofFew ? more : tens.filter((_, number) => number % stride === 0);
  const marks = shown.map((at) => ({ at, label: alone(axis, at) }));
  return { marks, between: stride === 1 ? values([2, 3, 4, 5, 6, 7, 8, 9]) : [], unit: "" };
}

/** Formats a value with its own unit. */
function alone(axis: Axis, value: number): string {
  // Minutes and hours are not powers of ten.
  const [unit, size] =
    axis.quantity === "time" && value >= 1 ? (["s", 1] as const) : unitOf(axis.units, value);
  const scaled = value / size;
  const number = fixed(scaled, Math.max(-exponent(scaled), 0));
  return unit === "" ? number : `${number} ${unit}`;
}

/** Returns on which side of the axis a value is: -1 before its start, 1 after its end, 0 on it. */
export function side(axis: Axis, value: number): -1 | 0 | 1 {
  const at = place(axis, value);
  return at < -ON_AXIS ? -1 : at > 1 + ON_AXIS ? 1 : 0;
}

/** Returns an axis of values with logarithmic scale, as `--log-y` gives it; `values` are those that are drawn. */
export function logarithmic(axis: Axis, values: Iterable<number | null>): Axis {
  if (axis.is_logarithmic) return axis;
  let least = Infinity;
  for (const value of values) if (value !== null && value > 0 && value < least) least = value;
  // The least value is drawn above the end.
  const low = Number.isFinite(least) ? least / 2 : axis.high / 10;
  return { ...axis, low, high: axis.high > low ? axis.high : 10 * low, is_logarithmic: true };
}

/** Returns an axis for values between `low` and `high`, as `Axis::for_values` does with `zoom`. */
export function fitted(axis: Axis, low: number, high: number): Axis {
  const room = 0.05;
  if (axis.quantity !== "count" && low > 0.5 * high && high > low) {
    const more = room * (high - low);
    return { ...axis, low: low - more, high: high + more };
  }
  const top = Math.max(high, 0) * (1 + room);
  return { ...axis, low: 0, high: top > 0 ? top : 1 };
}
