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

/** Colours of one lightness, from blue to orange, and their grey. */
const HUES: Rgb[] = [
  [0x85, 0xac, 0xfe],
  [0x4d, 0xb8, 0xfe],
  [0x09, 0xc1, 0xe6],
  [0x09, 0xc6, 0xc7],
  [0x1f, 0xca, 0xa4],
  [0x66, 0xc6, 0x7c],
  [0x97, 0xbe, 0x55],
  [0xbd, 0xb1, 0x35],
  [0xdb, 0xa3, 0x30],
  [0xef, 0x95, 0x4b],
  [0xf9, 0x8b, 0x6f],
];
const GREY: Rgb = [0xae, 0xae, 0xae];

/** Returns red, green and blue at a position of the colour map, 0 to 1. */
export function rgbOnMap(place: number): Rgb {
  return mixedOf(MAP, place);
}

/** Returns the colour of one lightness at a position, grey without one, with a brightness from 0 to 1. */
export function rgbOfHue(place: number | null, brightness: number): Rgb {
  const [red, green, blue] = place === null ? GREY : mixedOf(HUES, place);
  const part = (full: number) => Math.round(full * Math.min(Math.max(brightness, 0), 1));
  return [part(red), part(green), part(blue)];
}

function mixedOf(map: Rgb[], place: number): Rgb {
  const tenths = Math.min(Math.max(place, 0), 1) * 10;
  const low = Math.min(Math.floor(tenths), 9);
  const share = tenths - low;
  const [from, to] = [map[low]!, map[low + 1]!];
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
