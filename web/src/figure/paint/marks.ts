/** The marks of a chart, as in crates/plot/src/marks.rs: a test compares both. */

import { clamp, place } from "../scales/axis";
import { COLOURS, LIGHT } from "./colour";
import type { Axis, Chart, Point, Series } from "../types";

/** Bins narrower than this together, in points, are drawn as one: as wide as a line. */
const NARROWEST = 1.5;
/** Width of a bin in points from which errors are lines, and values of each shape are points. */
const ERROR_WIDTH = 4;
const POINT_WIDTH = 4;
const POINT_OF_LINE_WIDTH = 9;
/** Most series whose errors can be told apart. */
const ERRORS_MAX = 4;

/** A bin, or several bins if they are too narrow to see. */
export interface Step {
  left: number;
  right: number;
  low: number;
  high: number;
  mean: number;
  bins: number;
  err: number;
}

export interface SeriesMarks {
  name: string;
  /** Its number, which selects its colour. */
  number: number;
  colour: string;
  is_dashed: boolean;
  line: "hidden" | "steps" | "straight";
  is_filled: boolean;
  has_envelope: boolean;
  has_errors: boolean;
  has_band: boolean;
  has_points: boolean;
  point_size: number;
  /** Bins in order, divided where values are undefined. */
  runs: Step[][];
}

/** Returns what is drawn of the shown series if the part `view` of the horizontal axis is `wide` points long. */
export function marksOf(
  chart: Chart,
  wide: number,
  view: Axis = chart.x,
  isShown: (series: Series) => boolean = () => true,
): SeriesMarks[] {
  const shown = chart.series.map((series, number) => [series, number] as const).filter(([series]) => isShown(series));
  // Bins may reach beyond the ends of the whole axis: of a logarithmic one, to zero.
  const at = (value: number) => place(view, clamp(value, chart.x.low, chart.x.high)) * wide;
  return shown.map(([series, number]) => {
    const shape = series.shape ?? chart.shape;
    const hasRoom = chart.has_panels || shape !== "line" || shown.length <= ERRORS_MAX;
    // The errors of a line over columns would hide these.
    const isOver = shape !== "points" && shape !== chart.shape;
    const runs = runsOf(series.points, visible(series.points, chart.x, view, shape === "line"), at);
    let [all, count, isCrowded] = [0, 0, false];
    for (const run of runs) {
      for (const step of run) {
        all += at(step.right) - at(step.left);
        count += 1;
        isCrowded ||= step.low < step.high;
      }
    }
    const width = all / Math.max(count, 1);
    const isWide = width >= (shape === "points" ? POINT_WIDTH : POINT_OF_LINE_WIDTH);
    const hasErrors = width >= ERROR_WIDTH && hasRoom && !isOver;
    return {
      name: series.name,
      number,
      colour: LIGHT.series[number % COLOURS]!,
      is_dashed: number >= COLOURS,
      line: shape === "line" ? "straight" : shape === "points" && isWide ? "hidden" : "steps",
      is_filled: shape === "columns" || shape === "intervals",
      has_envelope: isCrowded,
      has_errors: hasErrors,
      has_band: !hasErrors && !isCrowded && shown.length === 1,
      has_points: isWide && (shape === "points" || shape === "line") && !isOver,
      point_size: Math.min(0.8 * width, 6),
      runs,
    };
  });
}

/** Returns the first point in view and the one after the last; with `more`, a point beyond each end, to which lines go. */
export function visible(points: Point[], whole: Axis, view: Axis, more: boolean): [first: number, end: number] {
  if (view.low <= whole.low && view.high >= whole.high) return [0, points.length];
  const first = firstWhere(points, (point) => point.to > view.low);
  const end = firstWhere(points, (point) => point.from >= view.high);
  return more ? [Math.max(first - 1, 0), Math.min(end + 1, points.length)] : [first, Math.max(first, end)];
}

/** Returns the number of the first point for which a condition holds, which then holds for all after it. */
export function firstWhere(points: Point[], holds: (point: Point) => boolean): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(points[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns the bins in order, without undefined ones; narrow bins are merged until they are visible. */
function runsOf(points: Point[], [first, end]: [number, number], at: (value: number) => number): Step[][] {
  const runs: Step[][] = [];
  let run: Step[] = [];
  let last: Step | undefined;
  let lastLeft = 0;
  for (let number = first; number < end; number += 1) {
    const point = points[number]!;
    const { value, err } = point;
    if (value === null) {
      if (run.length > 0) runs.push(run);
      run = [];
      last = undefined;
    } else if (last !== undefined && at(point.to) - lastLeft < NARROWEST) {
      last.right = point.to;
      last.low = Math.min(last.low, value);
      last.high = Math.max(last.high, value);
      last.bins += 1;
      last.mean += (value - last.mean) / last.bins;
      last.err = Math.max(last.err, err);
    } else {
      last = { left: point.from, right: point.to, low: value, high: value, mean: value, bins: 1, err };
      lastLeft = at(point.from);
      run.push(last);
    }
  }
  if (run.length > 0) runs.push(run);
  return runs;
}
