// Numbers as text: units by the name of a column, digits by the error, durations.

import { fixed, places, unitOf } from "../figure/scales/words";
import type { Quantity, Unit } from "../figure/types";

/** A text of a number, and its unit. */
export interface Shown {
  value: string;
  /** The error in the same unit; empty if there is none. */
  err: string;
  unit: string;
}

/** The units of columns that have one, as in crates/plot/src/quantity.rs. */
export const UNITS: Record<Extract<Quantity, "time" | "rate">, Unit[]> = {
  time: [
    ["h", 3600, 10800], ["min", 60, 600], ["s", 1, 1], ["ms", 1e-3, 1e-3], ["\u00b5s", 1e-6, 1e-6], ["ns", 1e-9, 1e-9], ["ps", 1e-12, 0],
  ],
  rate: [["GHz", 1e9, 1e9], ["MHz", 1e6, 1e6], ["kHz", 1e3, 1e3], ["Hz", 1, 0]],
};

/** Returns the unit at the end of the name of a column; the s of a phasor is none. */
function unitEnd(column: string): string {
  return column.startsWith("phasor_") ? "" : (/_(hz|s)$/.exec(column)?.[0] ?? "");
}

function unitsOf(column: string): Unit[] {
  const end = unitEnd(column);
  if (end === "_hz") return UNITS.rate;
  return end === "_s" ? UNITS.time : [];
}

/** Returns the name of a column without its unit. */
export function withoutUnit(column: string): string {
  return column.slice(0, column.length - unitEnd(column).length);
}

/** Returns the names that the column with the standard error of this one may have, as `rate_err_hz` and `lifetime_s_err`. */
export function errorColumns(column: string): string[] {
  return [`${withoutUnit(column)}_err${unitEnd(column)}`, `${column}_err`];
}

/** Returns a value and its standard error with two digits of the error; values without one have four digits. */
export function shown(column: string, value: number | null | undefined, err?: number | null): Shown {
  if (value === null || value === undefined || !Number.isFinite(value)) return { value: "\u2013", err: "", unit: "" };
  const [unit, size] = unitOf(unitsOf(column), Math.abs(value));
  const isCount = Number.isInteger(value) && unit === "";
  const hasErr = typeof err === "number" && Number.isFinite(err) && err > 0;
  const decimals = hasErr ? places(err / size, 2) : places(value / size, 4);
  return {
    value: fixed(value / size, isCount ? 0 : decimals),
    err: hasErr ? fixed(err / size, decimals) : "",
    unit,
  };
}

/** Returns a number with its error and unit on one line. */
export function line(column: string, value: number | null | undefined, err?: number | null): string {
  const of = shown(column, value, err);
  return `${of.value}${of.err && ` \u00b1 ${of.err}`}${of.unit && ` ${of.unit}`}`;
}

/** Returns a count with separators. */
export function count(of: number): string {
  return fixed(of, 0);
}

/** Returns a time span such as `4 s` or `3 min`. */
export function span(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

const SIZES: Record<string, number> = {
  ps: 1e-12, ns: 1e-9, us: 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, t: 1,
};

/** A duration as it is written: a number and a unit. */
export interface Duration {
  number: number;
  unit: string;
}

/** Reads one duration; `undefined` if it is not one. */
export function duration(text: string): Duration | undefined {
  const parts = /^\s*([+\-−]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-zµμ]+)\s*$/i.exec(text);
  const unit = parts?.[2] ?? "";
  if (!parts || SIZES[unit] === undefined) return undefined;
  return { number: Number((parts[1] ?? "").replace("−", "-")), unit };
}

/** Returns a duration as text in its unit, or in a better one. */
export function durationText({ number, unit }: Duration): string {
  if (unit === "t") return `${Math.round(number)}t`;
  const seconds = number * (SIZES[unit] ?? 1);
  const [name, size] = unitOf(UNITS.time.slice(2), Math.abs(seconds) * 1.0005);
  const value = Number((seconds / size).toPrecision(6));
  return `${value}${name === "\u00b5s" ? "us" : name}`;
}

/** Returns the next duration of the series 1, 2, 5, 10, … upwards or downwards. */
export function stepped(of: Duration, up: boolean): Duration {
  if (of.number <= 0) return of;
  const ladder = [1, 2, 5, 10];
  const power = 10 ** Math.floor(Math.log10(of.number) + 1e-9);
  const digits = of.number / power;
  const near = 1e-6;
  let next: number;
  if (up) next = (ladder.find((step) => step > digits * (1 + near)) ?? 20) * power;
  else next = ([5, 2, 1].find((step) => step < digits * (1 - near)) ?? 0.5) * power;
  if (of.unit === "t") next = Math.max(1, Math.round(next));
  return { number: Number(next.toPrecision(6)), unit: of.unit };
}

/** Returns a duration that is later by a number of steps. */
export function added(of: Duration, step: Duration, steps: number): Duration {
  if (of.unit === step.unit) return { number: Number((of.number + steps * step.number).toPrecision(12)), unit: of.unit };
  if (of.number === 0) return { number: steps * step.number, unit: step.unit };
  if (of.unit === "t" || step.unit === "t") return { number: of.number + Math.sign(steps), unit: of.unit };
  const seconds = of.number * (SIZES[of.unit] ?? 1) + steps * step.number * (SIZES[step.unit] ?? 1);
  return { number: Number((seconds / (SIZES[step.unit] ?? 1)).toPrecision(12)), unit: step.unit };
}
