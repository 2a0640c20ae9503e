/** A figure in a page: `draw` puts it into an element. */

import { DARK, LIGHT, type Palette } from "./paint/colour";
import type { Choice, Content, Fraction, Spot } from "./kinds/content";
import { contentOf, frameLookOf, kindOf, wholeAxes } from "./kinds/list";
import { csvOf, fileName, pngOf, save, svgOf } from "./reader/download";
import { Frame } from "./reader/frame";
import { listenToKeys, listenToPointers, type GestureOwner } from "./reader/gestures";
import { CanvasPen, measuringPen } from "./paint/pen";
import { Readout, setSwatch, setText } from "./reader/readout";
import { sheetOf, type Sheet } from "./reader/sheet";
import type { Axis, Figure } from "./types";
import { kept, panned, part, zoomed } from "./scales/zoom";

export interface DrawOptions {
  /** Whether the background is dark; by default as the reader's system says. */
  dark?: boolean;
  /** Whether title, header and note stand above the values; by default they do. */
  heading?: boolean;
  /** Height of the values and their axes in points; by default it fits the width. */
  height?: number;
  /** Whether it fills the height of its element instead. */
  fills?: boolean;
  /** Receives the scale of values when the reader has chosen another one. */
  scaled?: (isLogarithmic: boolean) => void;
}

/** A figure that was drawn. */
export interface Drawn {
  /** Shows other values; what the reader chose stays. */
  update(figure: Figure): void;
  /** Sets whether values are on a logarithmic axis. */
  setLog(isLogarithmic: boolean): void;
  /** Removes the figure. */
  destroy(): void;
}

/** Draws a figure into an element, which is emptied. */
export function draw(host: HTMLElement, figure: Figure, options: DrawOptions = {}): Drawn {
  return new DrawnFigure(host, figure, options);
}

const ZOOM = 1.6;

class DrawnFigure implements Drawn, GestureOwner {
  private readonly root = element("div", "tagq-figure");
  private readonly title = element("h2", "tagq-title");
  private readonly header = element("p", "tagq-header");
  private readonly note = element("p", "tagq-header");
  private readonly tools = element("div", "tagq-tools");
  private readonly legend = element("div", "tagq-legend");
  private readonly area = element("div", "tagq-area");
  private readonly canvas = element("div", "tagq-canvas");
  private readonly readout = new Readout();
  private readonly choice: Choice = { x: null, y: null, isLogarithmic: false, hidden: new Set() };
  private readonly darkness = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly observer: ResizeObserver;
  private readonly buttons: Record<"in" | "out" | "whole" | "log", HTMLButtonElement>;
  private frame: Frame;
  private content: Content;
  private palette: Palette;
  private spot: Spot | null = null;
  private pointer: Fraction | null = null;
  private isScheduled = false;
  private isRemoved = false;
  private legendKey = "";

  constructor(
    private readonly host: HTMLElement,
    private figure: Figure,
    private readonly options: DrawOptions,
  ) {
    this.palette = this.paletteNow();
    this.buttons = {
      out: this.button("\u2212", "Zoom out", () => this.zoom(ZOOM, this.cursor())),
      in: this.button("+", "Zoom in", () => this.zoom(1 / ZOOM, this.cursor())),
      whole: this.button("Reset", "Show everything", () => this.reset()),
      log: this.button("log", "Logarithmic scale of values", () => {
        this.setLog(!this.choice.isLogarithmic);
        this.options.scaled?.(this.choice.isLogarithmic);
      }),
    };
    this.button("PNG", "Download as PNG", () => void this.savePng());
    this.button("SVG", "Download as SVG", () => this.saveSvg());
    this.button("CSV", "Download the shown values as CSV", () => this.saveCsv());
    this.legend.setAttribute("role", "group");
    this.legend.setAttribute("aria-label", "Series");
    this.tools.setAttribute("role", "group");
    this.tools.setAttribute("aria-label", "Figure");
    this.area.tabIndex = 0;
    this.area.setAttribute("role", "application");
    this.area.setAttribute("aria-roledescription", "figure");
    this.area.setAttribute("aria-describedby", this.readout.element.id);
    if (options.heading !== false) this.root.append(this.title, this.header, this.note);
    this.area.append(this.canvas, this.readout.element);
    this.root.append(this.tools, this.legend, this.area);
    host.replaceChildren(this.root);
    this.content = contentOf(figure.plot, this.choice);
    this.describe();
    this.frame = this.newFrame();
    listenToKeys(this.area, this);
    this.darkness.addEventListener("change", this.recolour);
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(host);
  }

  update(figure: Figure): void {
    const isOther = kindOf(figure.plot) !== kindOf(this.figure.plot);
    this.figure = figure;
    if (isOther) {
      Object.assign(this.choice, { x: null, y: null });
      this.spot = null;
      this.frame.destroy();
      this.content = contentOf(figure.plot, this.choice);
      this.frame = this.newFrame();
    }
    this.schedule();
  }

  setLog(isLogarithmic: boolean): void {
    this.choice.isLogarithmic = isLogarithmic;
    this.schedule();
  }

  destroy(): void {
    this.isRemoved = true;
    this.observer.disconnect();
    this.darkness.removeEventListener("change", this.recolour);
    this.frame.destroy();
    this.root.remove();
  }

  zoom(factor: number, around: Fraction): boolean {
    // Fractions go down, the axis goes up.
    const at = { x: around.x, y: 1 - around.y };
    return this.see((whole, view, at) => zoomed(whole, view, factor, at), at);
  }

  pan(by: Fraction): boolean {
    return this.see(panned, { x: by.x, y: -by.y });
  }

  reset(): void {
    Object.assign(this.choice, { x: null, y: null });
    this.schedule();
  }

  step(columns: number, rows: number): void {
    this.spot = this.content.spotFrom(this.spot, columns, rows, this.palette);
    if (this.spot) this.follow(this.spot);
    // Without the pointer the cursor stays with its bin.
    this.pointer = null;
    this.frame.setCursor(this.spot?.at ?? null);
    this.readout.show(this.spot, this.frame.area);
  }

  cursor(): Fraction {
    const at = this.spot?.at;
    return at && at.x >= 0 && at.x <= 1 && at.y >= 0 && at.y <= 1 ? at : { x: 0.5, y: 0.5 };
  }

  leave(): void {
    this.spot = null;
    this.pointer = null;
    this.frame.setCursor(null);
    this.readout.show(null, this.frame.area);
  }

  private newFrame(): Frame {
    const frame = new Frame(
      this.canvas,
      {
        area: (width, height, left) => this.content.area(measuringPen(), width, height, left),
        paint: (context, area, width) => this.content.paint(new CanvasPen(context), this.palette, area, width),
        moved: (at) => this.moved(at),
        selected: (from, to) => this.select(from, to),
        reset: () => this.reset(),
      },
      frameLookOf(this.figure.plot),
      this.size(),
    );
    listenToPointers(frame, this);
    return frame;
  }

  /** Shows the values under the pointer. */
  private moved(at: Fraction | null): void {
    if (!at && !this.pointer) return;
    this.pointer = at;
    this.spot = at ? this.content.spotAt(at, this.palette) : null;
    const beside = this.spot && at ? { ...this.spot, at } : this.spot;
    this.readout.show(beside, this.frame.area);
  }

  private select(from: Fraction, to: Fraction): void {
    const { zooms } = this.content;
    const axes = this.axes();
    if (!axes) return;
    if (zooms.x) this.choice.x = part(...axes.x, from.x, to.x);
    // Fractions go down, the axis goes up.
    if (zooms.y) this.choice.y = part(...axes.y, 1 - to.y, 1 - from.y);
    this.schedule();
  }

  /** Changes the view by a function of each axis. Returns whether it is another one now. */
  private see(change: (whole: Axis, view: Axis, at: number) => Choice["x"], at: Fraction): boolean {
    const { zooms } = this.content;
    const axes = this.axes();
    if (!axes) return false;
    const before = [this.choice.x, this.choice.y];
    if (zooms.x) this.choice.x = change(...axes.x, at.x);
    if (zooms.y) this.choice.y = change(...axes.y, at.y);
    const isSame = [this.choice.x, this.choice.y].every(
      (range, number) => range?.low === before[number]?.low && range?.high === before[number]?.high,
    );
    if (!isSame) this.schedule();
    return !isSame;
  }

  /** Returns the whole axes and the chosen parts of them, also of a choice that is not drawn yet. */
  private axes(): { x: [Axis, Axis]; y: [Axis, Axis] } | null {
    const whole = wholeAxes(this.figure.plot);
    const part = (axis: Axis, range: Choice["x"]): [Axis, Axis] => [axis, range ? { ...axis, ...range } : axis];
    return whole && { x: part(whole.x, this.choice.x), y: part(whole.y, this.choice.y) };
  }

  /** Moves the view so that a bin is inside. */
  private follow(spot: Spot): void {
    const beyond = (at: number) => (at < 0 ? at - 0.1 : at > 1 ? at - 0.9 : 0);
    const by = { x: beyond(spot.at.x), y: beyond(spot.at.y) };
    if ((by.x !== 0 || by.y !== 0) && this.pan(by)) this.render();
    this.spot = this.content.spotFrom(spot, 0, 0, this.palette);
  }

  /** Draws before the next picture of the screen, once for all changes until then. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      if (!this.isRemoved) this.render();
    });
  }

  private render(): void {
    const axes = wholeAxes(this.figure.plot);
    this.choice.x = axes ? kept(axes.x, this.choice.x) : null;
    this.choice.y = axes ? kept(axes.y, this.choice.y) : null;
    this.content = contentOf(this.figure.plot, this.choice);
    this.describe();
    this.frame.redraw(...this.size());
    if (this.pointer) {
      this.moved(this.pointer);
    } else if (this.spot) {
      this.spot = this.content.spotFrom(this.spot, 0, 0, this.palette);
      this.frame.setCursor(this.spot?.at ?? null);
      this.readout.show(this.spot, this.frame.area);
    }
  }

  /** Writes what stands around the values. */
  private describe(): void {
    const { title, header, note } = this.figure;
    setText(this.title, title);
    setText(this.header, header);
    setText(this.note, note ?? "");
    this.note.hidden = note === null;
    const label = `${title}. ${header}${note === null ? "" : `. ${note}`}`;
    if (this.area.getAttribute("aria-label") !== label) this.area.setAttribute("aria-label", label);
    this.root.dataset["theme"] = this.palette === DARK ? "dark" : "light";
    const { zooms, canBeLogarithmic } = this.content;
    for (const button of [this.buttons.in, this.buttons.out, this.buttons.whole]) button.hidden = !zooms.x;
    this.buttons.whole.disabled = this.choice.x === null && this.choice.y === null;
    this.buttons.log.hidden = !canBeLogarithmic;
    this.buttons.log.setAttribute("aria-pressed", String(this.choice.isLogarithmic));
    this.writeLegend();
  }

  private writeLegend(): void {
    const entries = this.content.legend(this.palette);
    const key = JSON.stringify([entries, [...this.choice.hidden]]);
    if (key === this.legendKey) return;
    this.legendKey = key;
    this.legend.hidden = entries.length === 0;
    // A button that has the focus stays: it is filled again.
    while (this.legend.children.length > entries.length) this.legend.lastElementChild?.remove();
    entries.forEach((entry, number) => {
      let button = this.legend.children[number] as HTMLButtonElement | undefined;
      if (!button) {
        button = element("button", "tagq-series");
        button.type = "button";
        button.append(element("span", "tagq-swatch"), element("span", "tagq-name"));
        button.addEventListener("click", () => this.toggle(number));
        this.legend.append(button);
      }
      const [swatch, name] = [...button.children] as [HTMLElement, HTMLElement];
      setSwatch(swatch, entry);
      setText(name, entry.name);
      button.setAttribute("aria-pressed", String(!this.choice.hidden.has(entry.name)));
    });
  }

  private toggle(number: number): void {
    const name = this.content.legend(this.palette)[number]?.name;
    if (name === undefined) return;
    const { hidden } = this.choice;
    if (!hidden.delete(name)) hidden.add(name);
    this.schedule();
  }

  private button(text: string, name: string, act: () => void): HTMLButtonElement {
    const button = element("button", "tagq-button");
    button.type = "button";
    button.textContent = text;
    button.title = name;
    // A name has the words of the button, which a person may say to press it.
    button.setAttribute("aria-label", /\p{L}/u.test(text) ? `${text}: ${name}` : name);
    button.addEventListener("click", act);
    this.tools.append(button);
    return button;
  }

  private size(): [number, number] {
    const width = Math.max(Math.floor(this.canvas.clientWidth), 200);
    if (this.options.fills) {
      const above = this.canvas.getBoundingClientRect().top - this.host.getBoundingClientRect().top;
      return [width, Math.max(Math.floor(this.host.clientHeight - above), 80)];
    }
    return [width, Math.round(this.options.height ?? this.content.height(width))];
  }

  private paletteNow(): Palette {
    const isDark = this.options.dark ?? (this.figure.page.is_dark || this.darkness.matches);
    return isDark ? DARK : LIGHT;
  }

  private readonly recolour = (): void => {
    this.palette = this.paletteNow();
    this.schedule();
  };

  private sheet(): Sheet {
    const width = Math.max(this.canvas.clientWidth, 480);
    return sheetOf(this.figure, this.content, this.palette, width, measuringPen());
  }

  private async savePng(): Promise<void> {
    save(await pngOf(this.sheet(), this.palette), `${fileName(this.figure.title)}.png`);
  }

  private saveSvg(): void {
    const text = svgOf(this.sheet(), this.palette);
    save(new Blob([text], { type: "image/svg+xml" }), `${fileName(this.figure.title)}.svg`);
  }

  private saveCsv(): void {
    save(new Blob([csvOf(this.content.csv())], { type: "text/csv" }), `${fileName(this.figure.title)}.csv`);
  }
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, name: string): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = name;
  return made;
}
