/** Numbers and units for readers, as in crates/plot/src/words.rs and quantity.rs. */

import type { Axis, Unit } from "../types";

const MINUS = "\u2212";

/** The units of counts; the axis of a matrix has no other source for them. */
export const COUNT_UNITS: Unit[] = [["10\u2079", 1e9, 1e10], ["10\u2076", 1e6, 1e7], ["", 1, 0]];

/** Returns the power of ten of the first digit; a value just below a power of ten counts as that power. */
export function exponent(value: number): number {
  return Math.floor(Math.log10(Math.abs(value)) + 1e-9);
}

/** Returns the number of decimal places that shows `digits` significant digits of a value. */
export function places(value: number, digits: number): number {
  if (value === 0 || !Number.isFinite(value)) return 0;
  return Math.min(Math.max(digits - 1 - exponent(value), 0), 15);
}

/** Formats a value with this many decimal places, and with separators between groups of three digits. */
export function fixed(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals);
  const [whole = "", rest] = text.split(".");
  const isZero = !/[1-9]/.test(text);
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return (value < 0 && !isZero ? MINUS : "") + grouped + (rest ? `.${rest}` : "");
}

/** Formats a value and its error in one unit, the error with two significant digits. */
export function withErr(value: number, err: number): string {
  const decimals = places(err, 2);
  return `${fixed(value, decimals)} \u00b1 ${fixed(err, decimals)}`;
}

/** Returns the unit for values of this magnitude, and its size. */
export function unitOf(units: Unit[], magnitude: number): [name: string, size: number] {
  const found = units.find(([, , least]) => magnitude >= least * (1 - 1e-9));
  return found ? [found[0], found[1]] : ["", 1];
}

/** Returns a value with its error and the unit that fits it. */
export function valueText(axis: Axis, value: number | null, err: number): string {
  if (value === null) return "\u2013";
  if (axis.quantity === "count") {
    const decimals = Number.isInteger(value) ? 0 : places(err, 2);
    return err === 0 ? fixed(value, decimals) : `${fixed(value, decimals)} \u00b1 ${fixed(err, places(err, 2))}`;
  }
  const [unit, size] = unitOf(axis.units, Math.max(Math.abs(value), err));
  const text = err === 0 ? fixed(value / size, places(value / size, 4)) : withErr(value / size, err / size);
  if (unit === "") return text;
  return err === 0 ? `${text} ${unit}` : `(${text}) ${unit}`;
}

/** Returns the ends of a bin in one unit, with digits that tell it from its neighbours. */
export function rangeText(axis: Axis, from: number, to: number): string {
  const [unit, size] = unitOf(axis.units, Math.max(Math.abs(from), Math.abs(to)));
  const decimals = places((to - from) / size, 3);
  const end = (value: number) => {
    const text = fixed(value / size, decimals);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };
  return `${end(from)} to ${end(to)}${unit === "" ? "" : ` ${unit}`}`;
}
