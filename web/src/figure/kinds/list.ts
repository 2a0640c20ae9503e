/** The one list of kinds of figures. */

import { BarsContent } from "./bars";
import { ChartContent } from "./chart";
import type { Choice, Content } from "./content";
import type { FrameLook } from "../reader/frame";
import { MapContent } from "./map";
import { MatrixContent } from "./matrix";
import type { Axis, Plot } from "../types";

/** Returns the content of a figure, as a reader chose to see it. */
export function contentOf(plot: Plot, choice: Choice): Content {
  if ("chart" in plot) return new ChartContent(plot.chart, choice);
  if ("bars" in plot) return new BarsContent(plot.bars);
  if ("matrix" in plot) return new MatrixContent(plot.matrix, choice);
  return new MapContent(plot.map, choice);
}

/** Returns the name of the kind, which is the key of the values. */
export function kindOf(plot: Plot): string {
  return Object.keys(plot)[0] ?? "";
}

/** Returns which lines go through the cursor, and what can be selected. */
export function frameLookOf(plot: Plot): FrameLook {
  if ("chart" in plot) return { lines: { x: true, y: false }, selects: { x: true, y: false } };
  if ("bars" in plot) return { lines: { x: false, y: true }, selects: { x: false, y: false } };
  if ("matrix" in plot) return { lines: { x: true, y: true }, selects: { x: false, y: false } };
  return { lines: { x: true, y: true }, selects: { x: true, y: true } };
}

/** Returns the axes of which parts can be shown. */
export function wholeAxes(plot: Plot): { x: Axis; y: Axis } | null {
  if ("chart" in plot) return plot.chart;
  return "map" in plot ? plot.map : null;
}
