/** Values for cells of two axes. */

import {
  BELOW, MARGIN, SCALE, TICK, drawBelow, drawScale, drawTitleBeside, roomBeside, ticksAcross,
} from "../paint/axes";
import { clamp, logarithmic, place, valueAt } from "../scales/axis";
import { hexOf, onMap, rgbOfHue, rgbOnMap, type Palette } from "../paint/colour";
import type { Choice, Content, Fraction, Range, Reading, Spot } from "./content";
import { SOLID, type Box, type Pen } from "../paint/pen";
import type { Axis, CellMap, Guide } from "../types";
import { fixed, rangeText, valueText } from "../scales/words";

/** Largest number of cells drawn along an axis; more are averaged. */
const CELLS = 256;
/** Room below the axis for the bar that shows a length. */
const BAR = 26;
/** Space between a place on a curve and its name. */
const NAME = 9;

export class MapContent implements Content {
  readonly zooms = { x: true, y: true };
  readonly canBeLogarithmic: boolean;
  readonly hasPanels = false;
  private readonly axes: { x: [Axis, Axis]; y: [Axis, Axis] };
  private readonly values: Axis;
  private readonly rows: number;

  constructor(
    private readonly map: CellMap,
    choice: Choice,
  ) {
    const part = (axis: Axis, range: Range | null): [Axis, Axis] => [axis, range ? { ...axis, ...range } : axis];
    this.axes = { x: part(map.x, choice.x), y: part(map.y, choice.y) };
    this.canBeLogarithmic = !map.values.is_logarithmic;
    this.values = choice.isLogarithmic ? logarithmic(map.values, map.cells) : map.values;
    this.rows = Math.floor(map.cells.length / Math.max(map.columns, 1));
  }

  legend(): Reading[] {
    return [];
  }

  height(width: number): number {
    const wide = width - SCALE - 80;
    const high = this.hasSquares() ? (wide * this.rows) / Math.max(this.map.columns, 1) : this.isSquare() ? wide : 0.6 * width;
    return clamp(high, 240, 620) + this.below() + 24;
  }

  area(pen: Pen, width: number, height: number, room = 0): Box {
    const bottom = height - this.below();
    const high = bottom - 24;
    const left = Math.max(Math.ceil(roomBeside(pen, ticksAcross(pen, this.beside(), high)) / 8) * 8, room);
    const widest = Math.max(width - (this.hasScale(width) ? SCALE + 24 : MARGIN), left + 40);
    if (this.hasSquares()) {
      // Cells are squares, in view, too.
      const length = ([whole, view]: [Axis, Axis], count: number) => ((view.high - view.low) / (whole.high - whole.low)) * count;
      const [columns, rows] = [length(this.axes.x, this.map.columns), length(this.axes.y, this.rows)];
      const side = Math.min(high / rows, (widest - left) / columns);
      return { left, top: 24, right: left + side * columns, bottom: 24 + side * rows };
    }
    // Cells of two differences are squares; time goes on across the page.
    const right = this.isSquare() ? Math.min(left + high, widest) : widest;
    return { left, top: 24, right, bottom };
  }

  paint(pen: Pen, palette: Palette, area: Box, width: number): void {
    const [, x] = this.axes.x;
    const [, y] = this.axes.y;
    drawBelow(pen, palette, x, area, width);
    const columns = this.shownColumns();
    const rows = this.shownRows();
    if (this.hasSquares()) columns.step = rows.step = Math.max(columns.step, rows.step);
    const { first, end, step } = columns;
    const [wide, high] = [Math.ceil((end - first) / step), Math.ceil((rows.end - rows.first) / rows.step)];
    const across = (column: number) => area.left + place(x, this.edge(this.map.x, column, this.map.columns)) * (area.right - area.left);
    const up = (row: number) => area.bottom - place(y, this.edge(this.map.y, row, this.rows)) * (area.bottom - area.top);
    const box = {
      left: across(first), right: across(first + wide * step), top: up(rows.first + high * rows.step), bottom: up(rows.first),
    };
    // Pixels without a value are grey: white would be one of the brightest.
    if (this.map.image && this.map.cells.includes(null)) pen.cell(box, palette.grid);
    const ticks = ticksAcross(pen, this.beside(), area.bottom - area.top);
    const heightOf = (number: number) => area.bottom - clamp(place(y, this.turned(number)), 0, 1) * (area.bottom - area.top);
    if (this.map.guide) {
      // Empty cells are blank, and places are read on lines in both directions.
      const lines = ticks.marks.map(({ at }): [number, number][] => [[area.left, heightOf(at)], [area.right, heightOf(at)]]);
      pen.lines(lines, palette.grid, 1, SOLID);
    }
    pen.within(area, () =>
      pen.grid(box, wide, high, (column, row) => {
        const part = [first + column * step, step, rows.first + (high - 1 - row) * rows.step, rows.step] as const;
        const value = this.merged(this.map.cells, ...part);
        const at = value === null ? null : clamp(place(this.values, value), 0, 1);
        if (this.map.brightness) return rgbOfHue(at, this.merged(this.map.brightness, ...part) ?? 0);
        return at === null ? null : rgbOnMap(at);
      }),
    );
    const { guide } = this.map;
    // Names may be beside the area.
    const around = { ...area, left: area.left - 1, right: area.right + 16 };
    if (guide) pen.within(around, () => this.paintGuide(pen, palette, area, guide));
    for (const mark of ticks.marks) {
      const at = heightOf(mark.at);
      pen.lines([[[area.left - 6, at], [area.left, at]]], palette.faint, 1, SOLID);
      pen.words(mark.label, [area.left - 9, at + 0.36 * TICK], TICK, palette.ink, "end");
    }
    drawTitleBeside(pen, palette, y, ticks, area);
    const colour = this.map.brightness ? (at: number) => hexOf(rgbOfHue(at, 1)) : onMap;
    if (this.hasScale(width)) drawScale(pen, palette, this.values, area.right + 24, area.top, area.bottom, colour);
    const bar = this.map.image?.bar;
    if (bar) {
      const end = area.left + (place(x, x.low + this.edge(this.map.x, bar.cells, this.map.columns) - this.map.x.low)) * (area.right - area.left);
      const down = area.bottom + BELOW + BAR / 2;
      pen.lines([[[area.left, down], [end, down]]], palette.ink, 4, SOLID);
      pen.words(bar.label, [end + 10, down + 0.36 * TICK], TICK, palette.ink, "start");
    }
  }

  spotAt(at: Fraction): Spot | null {
    const { map } = this;
    const column = place(map.x, valueAt(this.axes.x[1], at.x)) * map.columns;
    const row = place(map.y, valueAt(this.axes.y[1], 1 - at.y)) * this.rows;
    return this.spot(Math.floor(column), Math.floor(row));
  }

  spotFrom(spot: Spot | null, columns: number, rows: number): Spot | null {
    // Rows are numbered from the bottom.
    return spot ? this.spot(spot.column + columns, spot.row - rows) : this.spotAt({ x: 0.5, y: 0.5 });
  }

  csv(): (string | number | null)[][] {
    const { map } = this;
    const [columns, rows] = [this.shownColumns(), this.shownRows()];
    const ends = map.guide ? ["g_from", "g_to", "s_from", "s_to"] : ["x_from_s", "x_to_s", "y_from_s", "y_to_s"];
    const head = map.image ? ["pixel", "line", "value"] : [...ends, "value"];
    const lines: (string | number | null)[][] = [head];
    for (let column = columns.first; column < columns.end; column += 1) {
      for (let row = rows.first; row < rows.end; row += 1) {
        const value = map.cells[column * this.rows + row] ?? null;
        if (map.image) {
          lines.push([column, this.rows - 1 - row, value]);
          continue;
        }
        const x = [column, column + 1].map((edge) => this.edge(map.x, edge, map.columns));
        const y = [row, row + 1].map((edge) => this.edge(map.y, edge, this.rows));
        lines.push([...x, ...y, value]);
      }
    }
    return lines;
  }

  private spot(wantedColumn: number, wantedRow: number): Spot {
    const { map } = this;
    const column = clamp(wantedColumn, 0, map.columns - 1);
    const row = clamp(wantedRow, 0, this.rows - 1);
    const value = map.cells[column * this.rows + row] ?? null;
    const range = (axis: Axis, at: number, count: number): [number, number] => [
      this.edge(axis, at, count),
      this.edge(axis, at + 1, count),
    ];
    const [x, y] = [range(map.x, column, map.columns), range(map.y, row, this.rows)];
    const middle = (axis: Axis, [from, to]: [number, number]) => place(axis, (from + to) / 2);
    return {
      column,
      row,
      at: { x: middle(this.axes.x[1], x), y: 1 - middle(this.axes.y[1], y) },
      heading: `${map.values.label}: ${valueText(map.values, value, 0)}`,
      readings: map.image
        ? [
            { name: map.x.label, text: fixed(column, 0) },
            { name: map.y.label, text: fixed(this.rows - 1 - row, 0) },
          ]
        : [
            { name: map.x.label, text: rangeText(map.x, ...x) },
            { name: map.y.label, text: rangeText(map.y, ...y) },
          ],
    };
  }

  private edge(axis: Axis, at: number, count: number): number {
    return axis.low + ((axis.high - axis.low) * at) / count;
  }

  private shownColumns() {
    return shownCells(...this.axes.x, this.map.columns);
  }

  private shownRows() {
    return shownCells(...this.axes.y, this.rows);
  }

  /** Draws the curve over the cells. Names are on the side that the middle is not on. */
  private paintGuide(pen: Pen, palette: Palette, area: Box, guide: Guide): void {
    const at = ([x, y]: [number, number]): [number, number] => [
      area.left + place(this.axes.x[1], x) * (area.right - area.left),
      area.bottom - place(this.axes.y[1], y) * (area.bottom - area.top),
    ];
    pen.lines([guide.line.map(at)], palette.ink, 1.5, SOLID);
    pen.dots(guide.marks.map((mark) => at(mark.at)), 3.5, palette.ink);
    for (const { at: [x, y], label } of guide.marks) {
      const length = Math.hypot(x - guide.middle[0], y - guide.middle[1]);
      const [right, up] = [(x - guide.middle[0]) / length, (y - guide.middle[1]) / length];
      const [left, top] = at([x, y]);
      const side = right > 0.35 ? "start" : right > -0.35 ? "middle" : "end";
      const x0 = left + NAME * right;
      const wide = pen.width(label, TICK);
      const begins = side === "start" ? x0 : side === "middle" ? x0 - wide / 2 : x0 - wide;
      // A small figure has no room for names beside the numbers of its axis.
      if (begins < area.left || begins + wide > area.right + 16) continue;
      pen.words(label, [x0, top - NAME * up + (0.36 - 0.3 * up) * TICK], TICK, palette.ink, side);
    }
  }

  private hasSquares(): boolean {
    return this.map.image !== undefined || this.map.guide !== undefined;
  }

  /** Returns the mean of the defined values of some cells, or below a curve their sum. */
  private merged(cells: (number | null)[], column: number, columns: number, row: number, rows: number): number | null {
    let [sum, count] = [0, 0];
    for (let x = column; x < Math.min(column + columns, this.map.columns); x += 1) {
      for (let y = row; y < Math.min(row + rows, this.rows); y += 1) {
        const value = cells[x * this.rows + y] ?? null;
        if (value === null) continue;
        sum += value;
        count += 1;
      }
    }
    return count > 0 ? sum / (this.map.guide ? 1 : count) : null;
  }

  /** Returns the room below the cells. */
  private below(): number {
    return BELOW + (this.map.image?.bar ? BAR : 0);
  }

  /** Returns the axis of the numbers beside the cells, from the lowest to the highest. */
  private beside(): Axis {
    const view = this.axes.y[1];
    return this.map.image ? { ...view, low: this.turned(view.high), high: this.turned(view.low) } : view;
  }

  /** Returns the place on the vertical axis of a number that stands beside it. */
  private turned(number: number): number {
    const { low, high } = this.map.y;
    return this.map.image ? low + high - number : number;
  }

  private isSquare(): boolean {
    const length = (axis: Axis) => axis.high - axis.low;
    return Math.abs(length(this.map.x) - length(this.map.y)) <= 1e-9 * length(this.map.x);
  }

  private hasScale(width: number): boolean {
    return width >= 420;
  }
}

/** Returns the cells of an axis that are in view, and how many of them are drawn as one. */
function shownCells(whole: Axis, view: Axis, count: number): { first: number; end: number; step: number } {
  const first = clamp(Math.floor(place(whole, view.low) * count + 1e-9), 0, Math.max(count - 1, 0));
  const end = clamp(Math.ceil(place(whole, view.high) * count - 1e-9), first + 1, Math.max(count, 1));
  return { first, end, step: Math.max(Math.ceil((end - first) / CELLS), 1) };
}
