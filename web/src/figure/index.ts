/** Figures for pages: the drawing of one, and the types of what is drawn. */

export { draw, type DrawOptions, type Drawn } from "./draw";
export type * from "./types";
