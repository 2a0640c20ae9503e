/** Colours that colour-blind readers can distinguish, as in crates/plot/src/colour.rs. */

/** Red, green and blue. */
export type Rgb = [number, number, number];

/** The colours of a figure on one background. */
export interface Palette {
  paper: string;
  ink: string;
  faint: string;
  grid: string;
  series: string[];
}

/** Okabe and Ito, Color Universal Design (2008), without black and yellow. */
const SERIES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#808080"];

export const LIGHT: Palette = { paper: "#ffffff", ink: "#1a1a1a", faint: "#595959", grid: "#dddddd", series: SERIES };

export const DARK: Palette = {
  paper: "#15181c",
  ink: "#ececec",
  faint: "#a6adb5",
  grid: "#333a42",
  series: ["#4aa8e0", "#f07c2e", "#1fc498", ...SERIES.slice(3)],
};

/** Number of series with distinct colours. */
export const COLOURS = SERIES.length;

/** The colour map "viridis" of matplotlib, in steps of a tenth. */
const MAP: Rgb[] = [
  [0x44, 0x01, 0x54],
  [0x48, 0x24, 0x75],
  [0x41, 0x44, 0x87],
  [0x35, 0x5f, 0x8d],
  [0x2a, 0x78, 0x8e],
  [0x21, 0x91, 0x8c],
  [0x22, 0xa8, 0x84],
  [0x44, 0xbf, 0x70],
  [0x7a, 0xd1, 0x51],
  [0xbd, 0xdf, 0x26],
  [0xfd, 0xe7, 0x25],
];

/** Returns red, green and blue at a position of the colour map, 0 to 1. */
export function rgbOnMap(place: number): Rgb {
  const tenths = Math.min(Math.max(place, 0), 1) * 10;
  const low = Math.min(Math.floor(tenths), 9);
  const share = tenths - low;
  const [from, to] = [MAP[low]!, MAP[low + 1]!];
  const mixed = (part: 0 | 1 | 2) => Math.round(from[part] + share * (to[part] - from[part]));
  return [mixed(0), mixed(1), mixed(2)];
}

export function hexOf(rgb: Rgb): string {
  return `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Returns the colour at a position of the colour map. */
export function onMap(place: number): string {
  return hexOf(rgbOnMap(place));
}

/** Returns a text colour that is readable on that position. */
export function textOnMap(place: number): string {
  const [red, green, blue] = rgbOnMap(place);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "#1a1a1a" : "#ffffff";
}
