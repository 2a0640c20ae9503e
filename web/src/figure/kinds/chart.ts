/** Values over an axis. */

import {
  BELOW, HEADER, MARGIN, TICK, drawBelow, drawNothing, drawTitleBeside, roomBeside, widest,
} from "../paint/axes";
import { clamp, fitted, logarithmic, place, side, ticksOf, valueAt } from "../scales/axis";
import { COLOURS, type Palette } from "../paint/colour";
import type { Choice, Content, Fraction, Reading, Spot } from "./content";
import { firstWhere, marksOf, visible, type SeriesMarks, type Step } from "../paint/marks";
import { LONG, SHORT, SOLID, cutTo, type Box, type Dash, type Pen, type Place } from "../paint/pen";
import type { Axis, Chart, Point, Series } from "../types";
import { fixed, rangeText, valueText } from "../scales/words";

/** Space between panels, and the least height of one with it. */
const PANEL_SPACE = 14;
const PANEL_HEIGHT = 92;
/** Widest names beside panels; on a narrow page they are inside. */
const NAMES = 170;
/** The part of the height that a panel of residuals has, and its least height. */
const BELOW_PART = 0.25;
const BELOW_HEIGHT = 60;
const NARROW = 600;
/** Half of the width of the arrow of a value beyond the axis, and its height. */
const ARROW = [4, 8] as const;

export class ChartContent implements Content {
  readonly zooms = { x: true, y: false };
  readonly canBeLogarithmic: boolean;
  readonly hasPanels: boolean;
  private readonly axes: { x: [Axis, Axis]; y: [Axis, Axis] };
  private readonly shown: Series[];

  constructor(
    private readonly chart: Chart,
    private readonly choice: Choice,
  ) {
    this.canBeLogarithmic = !chart.y.is_logarithmic;
    this.shown = chart.series.filter((series) => !choice.hidden.has(series.name));
    this.hasPanels = chart.has_panels;
    const x = choice.x ? { ...chart.x, ...choice.x } : chart.x;
    this.axes = { x: [chart.x, x], y: [chart.y, this.vertical(x)] };
  }

  legend(palette: Palette): Reading[] {
    const { series } = this.chart;
    if (series.length < 2) return [];
    return series.map(({ name }, number) => ({ name, text: "", ...style(palette, number) }));
  }

  height(width: number): number {
    const panels = this.hasPanels ? Math.max(this.shown.length, 1) : 1;
    const all = clamp(0.45 * width, 260, panels > 1 ? 420 : 560);
    return Math.max(all, panels * PANEL_HEIGHT) + BELOW;
  }

  area(pen: Pen, width: number, height: number, room = 0): Box {
    const ticks = this.verticalTicks(height);
    const below = this.below();
    const roomBelow = below ? roomBeside(pen, ticksUp(below.y, 2 * this.heightBelow(height - BELOW - 18))) : 0;
    const isBeside = this.hasPanels && width >= NARROW;
    const names = isBeside ? Math.min(widest(pen, this.shown.map(({ name }) => name), TICK), NAMES) + 20 : MARGIN;
    // Whole steps keep the area in place while numbers change.
    const left = Math.max(Math.ceil(Math.max(roomBeside(pen, ticks), roomBelow) / 8) * 8, room);
    return { left, top: 18, right: Math.max(width - names, left + 40), bottom: height - BELOW };
  }

  paint(pen: Pen, palette: Palette, area: Box, width: number): void {
    const { chart } = this;
    const [, x] = this.axes.x;
    const [, y] = this.axes.y;
    if (!this.shown.some((series) => series.points.some((point) => point.value !== null))) {
      drawNothing(pen, palette, this.shown.length > 0 ? "no value is defined" : "no series is shown", area);
      return;
    }
    const ticks = this.verticalTicks(area.bottom + BELOW);
    const below = this.below();
    const [above, lower] = this.divided(area);
    drawTitleBeside(pen, palette, y, ticks, above);
    drawBelow(pen, palette, x, area, width);
    const marks = marksOf(chart, area.right - area.left, x, (series) => this.shown.includes(series));
    const panels = this.panels(above);
    panels.forEach((panel, number) => {
      const own = panels.length > 1 ? marks.slice(number, number + 1) : marks;
      // Intervals have no numbers.
      const isGate = panels.length > 1 && isOfIntervals(this.shown[number]!);
      const sheet = new Sheet(pen, x, isGate ? { ...y, low: 0, high: 1, is_logarithmic: false } : y, panel);
      drawPanel(sheet, palette, isGate ? { ...ticks, marks: [] } : ticks, chart.reference, own);
      if (this.hasPanels && own[0]) this.drawName(pen, palette, own[0].name, panel, width);
    });
    if (below && lower) {
      const ticks = ticksUp(below.y, 2 * (lower.bottom - lower.top));
      const own = marksOf(below, lower.right - lower.left, x, (series) => this.showsBelow(series));
      drawPanel(new Sheet(pen, x, below.y, lower), palette, ticks, below.reference, own);
      drawTitleBeside(pen, palette, below.y, ticks, lower);
    }
    if (marks.some((one) => one.runs.some((run) => run.some((step) => step.bins > 1)))) {
      const words = "bins together: lowest to highest, and their mean";
      pen.words(words, [area.right, area.top - 5], HEADER - 1, palette.faint, "end");
    }
  }

  spotAt(at: Fraction, palette: Palette): Spot | null {
    const series = this.cursorSeries();
    if (!series) return null;
    const [, view] = this.axes.x;
    const value = valueAt(view, at.x);
    const number = firstWhere(series.points, (point) => point.to > value);
    const point = series.points[number];
    return point && point.from <= value ? this.spot(series, number, palette) : null;
  }

  spotFrom(spot: Spot | null, columns: number, _rows: number, palette: Palette): Spot | null {
    const series = this.cursorSeries();
    if (!series) return null;
    const [first, end] = visible(series.points, ...this.axes.x, false);
    // The first step goes to the middle; to an end, from wherever the cursor is.
    const isToEnd = Math.abs(columns) > series.points.length;
    const number = (spot?.column ?? Math.floor((first + end) / 2)) + (spot || isToEnd ? columns : 0);
    return this.spot(series, clamp(number, 0, series.points.length - 1), palette);
  }

  csv(): (string | number | null)[][] {
    const rows: (string | number | null)[][] = [["series", "from_s", "to_s", "value", "err"]];
    for (const series of this.shown) {
      const [first, end] = visible(series.points, ...this.axes.x, false);
      for (const { from, to, value, err } of series.points.slice(first, end)) {
        rows.push([series.name, from, to, value, value === null ? null : err]);
      }
    }
    return rows;
  }

  private spot(series: Series, number: number, palette: Palette): Spot {
    const { from, to } = series.points[number]!;
    const [whole, view] = this.axes.x;
    const middle = (place(view, Math.max(from, whole.low)) + place(view, to)) / 2;
    const readings: Reading[] = [];
    this.chart.series.forEach((one, at) => {
      if (!this.shown.includes(one)) return;
      const here = one === series ? number : firstWhere(one.points, (point) => point.to > (from + to) / 2);
      const point = one.points[here];
      const isHere = point !== undefined && point.from <= (from + to) / 2;
      const partial = isHere && point.is_partial ? " (partial)" : "";
      const value = (of: Point) => (isOfIntervals(one) ? openText(of.value) : valueText(this.chart.y, of.value, of.err));
      const text = isHere ? value(point) + partial : "\u2013";
      readings.push({ name: one.name, text, ...style(palette, at) });
    });
    return { column: number, row: 0, at: { x: middle, y: 0 }, heading: rangeText(view, from, to), readings };
  }

  /** Returns the series whose bins the cursor goes through: the shown one with the most. */
  private cursorSeries(): Series | undefined {
    let longest: Series | undefined;
    for (const series of this.shown) {
      if (series.points.length > (longest?.points.length ?? 0)) longest = series;
    }
    return longest;
  }

  /** Returns the vertical axis: of a part of the horizontal one, it fits the values there. */
  private vertical(x: Axis): Axis {
    const { chart, choice } = this;
    const isZoomed = choice.x !== null;
    let [low, high] = chart.reference === null ? [Infinity, -Infinity] : [chart.reference, chart.reference];
    const values: number[] = [];
    if (isZoomed || choice.isLogarithmic) {
      for (const { points } of this.shown.filter((series) => !isOfIntervals(series))) {
        const [first, end] = visible(points, chart.x, x, false);
        for (let number = first; number < end; number += 1) {
          const { value, err, is_partial } = points[number]!;
          if (value === null || is_partial) continue;
          values.push(value);
          low = Math.min(low, value - err);
          high = Math.max(high, value + err);
        }
      }
    }
    // An axis that starts elsewhere than the program chooses was asked for.
    const y = isZoomed && values.length > 0 && !chart.y.is_logarithmic ? fitted(chart.y, low, high) : chart.y;
    return choice.isLogarithmic ? logarithmic(y, values) : y;
  }

  /** Returns the panel below as a chart of its own, around zero. */
  private below(): Chart | null {
    const { below, x } = this.chart;
    if (!below) return null;
    return { x, y: below.y, shape: "points", reference: 0, has_panels: false, series: below.series };
  }

  /** Whether the values above, which have the same number, are shown. */
  private showsBelow(series: Series): boolean {
    const number = this.chart.below?.series.indexOf(series) ?? -1;
    const above = this.chart.series[number];
    return above === undefined || this.shown.includes(above);
  }

  /** Returns the height of the panel below. */
  private heightBelow(height: number): number {
    return this.chart.below ? Math.max(BELOW_PART * height, BELOW_HEIGHT) : 0;
  }

  /** Returns the parts of the area for the values and for the panel below. */
  private divided(area: Box): [Box, Box | null] {
    const below = this.heightBelow(area.bottom - area.top);
    if (below === 0) return [area, null];
    return [{ ...area, bottom: area.bottom - below - PANEL_SPACE }, { ...area, top: area.bottom - below }];
  }

  private panels(area: Box): Box[] {
    const count = this.hasPanels ? Math.max(this.shown.length, 1) : 1;
    const height = (area.bottom - area.top - PANEL_SPACE * (count - 1)) / count;
    return Array.from({ length: count }, (_, number) => {
      const top = area.top + (height + PANEL_SPACE) * number;
      return { ...area, top, bottom: top + height };
    });
  }

  private verticalTicks(height: number) {
    const [above] = this.divided({ left: 0, right: 0, top: 18, bottom: height - BELOW });
    const [panel] = this.panels(above);
    return ticksUp(this.axes.y[1], panel!.bottom - panel!.top);
  }

  private drawName(pen: Pen, palette: Palette, name: string, panel: Box, width: number): void {
    if (width >= NARROW) {
      pen.words(cutTo(pen, name, TICK, NAMES), [panel.right + 10, panel.top + 14], TICK, palette.ink, "start");
      return;
    }
    const text = cutTo(pen, name, TICK, 0.6 * (panel.right - panel.left));
    const left = panel.right - pen.width(text, TICK) - 8;
    pen.area(rectangle({ left, top: panel.top, right: panel.right, bottom: panel.top + 18 }), palette.paper, 0.8);
    pen.words(text, [panel.right - 4, panel.top + 14], TICK, palette.ink, "end");
  }
}

/** Returns the ticks of a vertical axis of this height; a low panel has those of twice its height. */
function ticksUp(axis: Axis, height: number) {
  return ticksOf(axis, clamp(Math.floor(height / 50), 2, 7));
}

/** Draws the values of a panel, with the grid and the numbers of its vertical axis. */
function drawPanel(
  sheet: Sheet,
  palette: Palette,
  ticks: ReturnType<typeof ticksUp>,
  reference: number | null,
  marks: SeriesMarks[],
): void {
  const { pen, panel } = sheet;
  for (const mark of ticks.marks) {
    const at = sheet.up(mark.at);
    pen.lines([[[panel.left, at], [panel.right, at]]], palette.grid, 1, SOLID);
    pen.words(mark.label, [panel.left - 9, at + 0.36 * TICK], TICK, palette.ink, "end");
  }
  pen.within({ ...panel, top: panel.top - 2, bottom: panel.bottom + 2 }, () => {
    if (reference !== null) {
      const at = sheet.up(reference);
      pen.lines([[[panel.left, at], [panel.right, at]]], palette.ink, 1.2, LONG);
    }
    for (const one of marks) drawSeries(sheet, one, style(palette, one.number));
  });
  pen.lines(
    [[[panel.left, panel.top], [panel.left, panel.bottom], [panel.right, panel.bottom]]], palette.faint, 1.2, SOLID,
  );
}

function isOfIntervals(series: Series): boolean {
  return series.shape === "intervals";
}

/** Returns the share of a bin in which a gate is open. */
function openText(share: number | null): string {
  if (share === null) return "\u2013";
  return share <= 0 ? "closed" : share >= 1 ? "open" : `open for ${fixed(100 * share, 0)} %`;
}

/** Returns solid lines in all colours first, then the same colours with dashes. */
function style(palette: Palette, number: number): { colour: string; dash: Dash } {
  return { colour: palette.series[number % COLOURS]!, dash: number >= COLOURS ? SHORT : SOLID };
}

function rectangle({ left, top, right, bottom }: Box): Place[] {
  return [[left, top], [right, top], [right, bottom], [left, bottom]];
}

/** A panel with its axes. */
class Sheet {
  constructor(
    readonly pen: Pen,
    private readonly x: Axis,
    private readonly y: Axis,
    readonly panel: Box,
  ) {}

  /** Returns the horizontal position of a value; a little outside of the panel if the value is. */
  across(value: number): number {
    const { left, right } = this.panel;
    return left + clamp(place(this.x, value), -1, 2) * (right - left);
  }

  up(value: number): number {
    const { top, bottom } = this.panel;
    return bottom - clamp(place(this.y, value), -1, 2) * (bottom - top);
  }

  /** Returns on which side of the vertical axis a value is. */
  side(value: number): -1 | 0 | 1 {
    return side(this.y, value);
  }

  middle(step: Step): Place {
    return [(this.across(step.left) + this.across(step.right)) / 2, this.up(step.mean)];
  }

  /** Follows the tops of the bins. */
  stairs(run: Step[]): Place[] {
    return run.flatMap((step): Place[] => {
      const y = this.up(step.mean);
      return [[this.across(step.left), y], [this.across(step.right), y]];
    });
  }

  /** Returns the area between two values of each bin. */
  between(run: Step[], low: (step: Step) => number, high: (step: Step) => number): Place[] {
    const corners: Place[] = [];
    for (const step of run) {
      const y = this.up(high(step));
      corners.push([this.across(step.left), y], [this.across(step.right), y]);
    }
    for (const step of [...run].reverse()) {
      const y = this.up(low(step));
      corners.push([this.across(step.right), y], [this.across(step.left), y]);
    }
    return corners;
  }
}

function drawSeries(sheet: Sheet, marks: SeriesMarks, { colour, dash }: { colour: string; dash: Dash }): void {
  const { pen } = sheet;
  const { runs } = marks;
  const inside = (run: Step[]) => run.filter((step) => sheet.side(step.mean) === 0);
  if (marks.has_envelope) {
    for (const run of runs) pen.area(sheet.between(run, (step) => step.low, (step) => step.high), colour, 0.45);
  }
  if (marks.is_filled) {
    for (const run of runs) pen.area(sheet.between(run, () => 0, (step) => step.mean), colour, 0.25);
  }
  if (marks.line === "straight") {
    pen.lines(runs.map((run) => run.map((step) => sheet.middle(step))), colour, 1.8, dash);
  } else if (marks.line === "steps") {
    pen.lines(runs.map((run) => sheet.stairs(run)), colour, 1.5, dash);
  }
  if (marks.has_errors) {
    const error = (step: Step): Place[] => {
      const [x] = sheet.middle(step);
      return [[x, sheet.up(step.mean + step.err)], [x, sheet.up(step.mean - step.err)]];
    };
    pen.lines(runs.flatMap((run) => inside(run).map(error)), colour, 1.1, SOLID);
  } else if (marks.has_band) {
    for (const run of runs) {
      pen.area(sheet.between(run, (step) => step.mean - step.err, (step) => step.mean + step.err), colour, 0.25);
    }
  }
  drawArrows(sheet, marks, colour);
  if (marks.has_points) {
    pen.dots(runs.flatMap((run) => inside(run).map((step) => sheet.middle(step))), marks.point_size / 2, colour);
  } else if (marks.line === "straight") {
    // A value between two undefined ones has no line.
    const alone = runs.filter((run) => run.length === 1 && inside(run).length === 1);
    pen.dots(alone.map((run) => sheet.middle(run[0]!)), 2, colour);
  }
}

/**
 * Draws an arrow at the edge for each value beyond the axis, as many as have room beside each other. A bin without counts, as on a
 * logarithmic axis, has none.
 */
function drawArrows(sheet: Sheet, marks: SeriesMarks, colour: string): void {
  const [half, high] = ARROW;
  const { top, bottom } = sheet.panel;
  for (const [side, edge, down] of [[1, top, high], [-1, bottom, -high]] as const) {
    if (marks.is_filled && side < 0) continue;
    let before = -Infinity;
    for (const step of marks.runs.flat()) {
      const [x] = sheet.middle(step);
      if (sheet.side(step.mean) !== side || x < before + 2 * half) continue;
      sheet.pen.area([[x, edge], [x - half, edge + down], [x + half, edge + down]], colour, 1);
      before = x;
    }
  }
}
