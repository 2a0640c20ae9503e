/** A figure as the program writes it: `Figure` of crates/plot. */

/** The content of a figure. */
export interface Figure {
  title: string;
  header: string;
  note: string | null;
  plot: Plot;
  page: Page;
}

export interface Page {
  width: number;
  height: number | null;
  is_dark: boolean;
}

/** The values: one key, which is their kind. */
export type Plot = { chart: Chart } | { bars: Bars } | { matrix: Matrix } | { map: CellMap };

export type Quantity = "time" | "rate" | "count" | "ratio";

/** A unit: its name, its size, and the magnitude from which it is used. */
export type Unit = [name: string, size: number, least: number];

export interface Axis {
  label: string;
  quantity: Quantity;
  low: number;
  high: number;
  is_logarithmic: boolean;
  /** The largest unit first. */
  units: Unit[];
}

/** Of intervals, values are shares: 1 where something holds in all of a bin. They have a panel of their own. */
export type Shape = "columns" | "points" | "line" | "intervals";

/** Values over an axis. */
export interface Chart {
  x: Axis;
  y: Axis;
  shape: Shape;
  reference: number | null;
  has_panels: boolean;
  series: Series[];
  /** A panel below with values of its own around zero, as the residuals of a fit. */
  below?: Panel;
}

/** Its series have the colours of those above with the same numbers. */
export interface Panel {
  y: Axis;
  series: Series[];
}

export interface Series {
  name: string;
  /** How its values are drawn, if not as those of the chart. */
  shape?: Shape;
  /** In the order of the axis. */
  points: Point[];
}

export interface Point {
  from: number;
  to: number;
  value: number | null;
  err: number;
  is_partial: boolean;
}

/** Values one below the other. */
export interface Bars {
  axis: Axis;
  bars: Bar[];
}

export interface Bar {
  name: string;
  value: number | null;
  err: number;
  accidentals: number | null;
}

/** Counts of pairs. */
export interface Matrix {
  rows: string[];
  columns: string[];
  /** Row by row. */
  cells: (number | null)[];
  is_logarithmic: boolean;
}

/** Values for cells of two axes. */
export interface CellMap {
  x: Axis;
  y: Axis;
  values: Axis;
  columns: number;
  /** Column by column from the left, each from bottom to top. */
  cells: (number | null)[];
  /** The cells are the pixels of an image: as wide as high, and numbers of the vertical axis go down from the top. */
  image?: { bar: ScaleBar | null };
  /** The brightness of each cell, 0 to 1. */
  brightness?: number[];
  /** A curve over the cells, which are squares and hold numbers of things. */
  guide?: Guide;
}

/** A curve with names of places, on the side that the middle is not on. */
export interface Guide {
  line: [number, number][];
  marks: { at: [number, number]; label: string }[];
  middle: [number, number];
}

/** A bar that shows a length: how many cells it is long. */
export interface ScaleBar {
  cells: number;
  label: string;
}
