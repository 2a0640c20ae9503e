/** The parts that tests compare with the program's own, and the drawing. */

export { draw } from "./figure";
export { marksOf } from "./figure/paint/marks";
export { onMap } from "./figure/paint/colour";
export { ticksOf } from "./figure/scales/axis";
export { valueText } from "./figure/scales/words";
