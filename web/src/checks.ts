/** The parts that tests compare with the program or with expected values, and the drawing. */

export { draw } from "./figure";
export { marksOf } from "./figure/paint/marks";
export { hexOf, onMap, rgbOfHue } from "./figure/paint/colour";
export { ticksOf } from "./figure/scales/axis";
export { valueText } from "./figure/scales/words";
export { fragment, LAYOUTS, parsed } from "./page/layout";
export { added, duration, durationText, line, stepped, UNITS } from "./page/numbers";
export { pitch } from "./page/tone";
