/** The parts that a test compares with the program's own. */

export { marksOf } from "./figure/paint/marks";
export { onMap } from "./figure/paint/colour";
export { ticksOf } from "./figure/scales/axis";
export { valueText } from "./figure/scales/words";
