/** What each kind of figure offers to the frame around it. */

import type { Palette } from "../paint/colour";
import type { Box, Dash, Pen } from "../paint/pen";

/** A position in the area of values: 0 to 1 from the left, and from the top. */
export interface Fraction {
  x: number;
  y: number;
}

/** A row of the readout. */
export interface Reading {
  name: string;
  text: string;
  colour?: string;
  dash?: Dash;
}

/** A bin or a cell that the cursor is on. */
export interface Spot {
  /** Its number, or its column and row. */
  column: number;
  row: number;
  /** Its middle. */
  at: Fraction;
  heading: string;
  readings: Reading[];
}

/** A part of an axis that is shown, in its units. */
export interface Range {
  low: number;
  high: number;
}

/** What a reader has chosen; it stays when the figure is updated. */
export interface Choice {
  x: Range | null;
  y: Range | null;
  isLogarithmic: boolean;
  /** Names of series that are not shown. */
  hidden: Set<string>;
}

/** A kind of figure. Positions are in points of the drawn area. */
export interface Content {
  /** Whether a part of each axis can be shown. */
  readonly zooms: { x: boolean; y: boolean };
  readonly canBeLogarithmic: boolean;
  /** Names of series with colour and dashes; empty if there is nothing to choose. */
  legend(palette: Palette): Reading[];
  /** Whether each series has a panel, which has its name. */
  readonly hasPanels: boolean;
  /** Returns the height in points that fits a width. */
  height(width: number): number;
  /** Returns the area of values, inside of which the cursor moves; numbers beside it have at least `room`. */
  area(pen: Pen, width: number, height: number, room?: number): Box;
  paint(pen: Pen, palette: Palette, area: Box, width: number): void;
  /** Returns the bin at a position, or `null` if there is none. */
  spotAt(at: Fraction, palette: Palette): Spot | null;
  /** Returns the bin some bins further; from `null`, the one in the middle. */
  spotFrom(spot: Spot | null, columns: number, rows: number, palette: Palette): Spot | null;
  /** Returns the lines of a CSV file of what is shown. */
  csv(): (string | number | null)[][];
}
