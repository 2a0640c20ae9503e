/** Counts of pairs. */

import { LABEL, MARGIN, SCALE, TICK, drawScale, widest } from "../paint/axes";
import { clamp, logarithmic, place } from "../scales/axis";
import { onMap, textOnMap, type Palette } from "../paint/colour";
import type { Choice, Content, Fraction, Reading, Spot } from "./content";
import { cutTo, type Box, type Pen } from "../paint/pen";
import type { Axis, Matrix } from "../types";
import { COUNT_UNITS, fixed } from "../scales/words";

/** Maximum size of a cell, and widest names. */
const CELL: [number, number] = [128, 52];
const NAMES = 150;
/** Below this size, counts are not written into cells. */
const READABLE = 7;

export class MatrixContent implements Content {
  readonly zooms = { x: false, y: false };
  readonly canBeLogarithmic: boolean;
  readonly hasPanels = false;
  private readonly axis: Axis;

  constructor(
    private readonly matrix: Matrix,
    choice: Choice,
  ) {
    this.canBeLogarithmic = !matrix.is_logarithmic;
    const isLogarithmic = matrix.is_logarithmic || choice.isLogarithmic;
    const high = Math.max(1, ...matrix.cells.map((cell) => cell ?? 0));
    const axis: Axis = {
      label: "coincidences", quantity: "count", low: 0, high, is_logarithmic: false, units: COUNT_UNITS,
    };
    this.axis = isLogarithmic ? logarithmic(axis, matrix.cells) : axis;
  }

  legend(): Reading[] {
    return [];
  }

  height(): number {
    const rows = this.matrix.rows.length;
    return clamp(rows * 44, 120, Math.max(460, rows * 20)) + 100;
  }

  area(pen: Pen, width: number, height: number): Box {
    const names = (of: string[]) => Math.min(widest(pen, of, TICK), NAMES);
    const { rows, columns } = this.matrix;
    const left = Math.ceil(4 + LABEL + 8 + names(rows) + 8);
    const room = width - left - (this.hasScale(width) ? SCALE + 20 : MARGIN);
    const wide = Math.min(room / columns.length, CELL[0]);
    const top = LABEL + 12 + (this.isTurned(pen, wide) ? names(columns) : TICK) + 8;
    const high = Math.min((height - top - MARGIN) / rows.length, CELL[1]);
    return { left, top, right: left + wide * columns.length, bottom: top + high * rows.length };
  }

  paint(pen: Pen, palette: Palette, area: Box, width: number): void {
    const { rows, columns, cells } = this.matrix;
    const [wide, high] = [(area.right - area.left) / columns.length, (area.bottom - area.top) / rows.length];
    const [x, y] = [(area.left + area.right) / 2, (area.top + area.bottom) / 2];
    pen.words("second channel", [x, LABEL], LABEL, palette.ink, "middle");
    pen.words("first channel", [4 + LABEL - 3, y], LABEL, palette.ink, "middle", true);
    const isTurned = this.isTurned(pen, wide);
    columns.forEach((name, column) => {
      const middle = area.left + wide * (column + 0.5);
      const text = cutTo(pen, name, TICK, NAMES);
      if (isTurned) pen.words(text, [middle + 0.36 * TICK, area.top - 6], TICK, palette.ink, "start", true);
      else pen.words(text, [middle, area.top - 6], TICK, palette.ink, "middle");
    });
    rows.forEach((name, row) => {
      const at: [number, number] = [area.left - 8, area.top + high * (row + 0.5) + 0.36 * TICK];
      pen.words(cutTo(pen, name, TICK, NAMES), at, TICK, palette.ink, "end");
    });
    const longest = Math.max(1, ...cells.map((count) => (count === null ? 0 : pen.width(fixed(count, 0), 100) / 100)));
    const size = Math.min((wide - 6) / longest, 0.6 * high, LABEL);
    cells.forEach((count, number) => {
      const left = area.left + wide * (number % columns.length);
      const top = area.top + high * Math.floor(number / columns.length);
      const middle: [number, number] = [left + (wide - 1.5) / 2, top + (high - 1.5) / 2];
      if (count === null) {
        // A pair that was not counted is not a count of zero.
        pen.dots([middle], 1.5, palette.grid);
        return;
      }
      const at = clamp(place(this.axis, count), 0, 1);
      pen.cell({ left, top, right: left + wide - 1.5, bottom: top + high - 1.5 }, onMap(at));
      if (size < READABLE) return;
      pen.words(fixed(count, 0), [middle[0], middle[1] + 0.36 * size], size, textOnMap(at), "middle");
    });
    if (this.hasScale(width)) drawScale(pen, palette, this.axis, area.right + 24, area.top, area.bottom);
  }

  spotAt(at: Fraction): Spot | null {
    const { rows, columns } = this.matrix;
    return this.spot(Math.floor(at.x * columns.length), Math.floor(at.y * rows.length));
  }

  spotFrom(spot: Spot | null, columns: number, rows: number): Spot | null {
    return spot ? this.spot(spot.column + columns, spot.row + rows) : this.spot(0, 0);
  }

  csv(): (string | number | null)[][] {
    const { rows, columns, cells } = this.matrix;
    const lines: (string | number | null)[][] = [["first", "second", "count"]];
    rows.forEach((first, row) =>
      columns.forEach((second, column) => {
        const count = cells[row * columns.length + column] ?? null;
        if (count !== null) lines.push([first, second, count]);
      }),
    );
    return lines;
  }

  private spot(wantedColumn: number, wantedRow: number): Spot {
    const { rows, columns, cells } = this.matrix;
    const column = clamp(wantedColumn, 0, columns.length - 1);
    const row = clamp(wantedRow, 0, rows.length - 1);
    const count = cells[row * columns.length + column] ?? null;
    const text = count === null ? "not counted" : fixed(count, 0);
    const at = { x: (column + 0.5) / columns.length, y: (row + 0.5) / rows.length };
    const heading = `${rows[row]}, ${columns[column]}`;
    return { column, row, at, heading, readings: [{ name: "coincidences", text }] };
  }

  /** Names that are wider than their cells run upward. */
  private isTurned(pen: Pen, wide: number): boolean {
    return Math.min(widest(pen, this.matrix.columns, TICK), NAMES) > wide - 8;
  }

  /** On a narrow page the cells need the room; they have their counts. */
  private hasScale(width: number): boolean {
    return width >= 480;
  }
}
