// The form of a query: one field for each of its options, from the server's list.

import type { Kind, Options, OptionType, Value } from "./api";
import { field, h, select } from "./dom";

const SECTIONS = { counts: "Counts", accidentals: "Accidentals", selection: "Selection" };

/** Returns the value of an option as a person writes it. */
export function written(value: Value | undefined, type?: OptionType["type"]): string {
  if (value === undefined || value === null) return "";
  if (!Array.isArray(value)) return String(value);
  if (type === "texts") return value.join("; ");
  const nested = value.some(Array.isArray);
  if (!nested) return value.join(",");
  return value.map((item) => (Array.isArray(item) ? item.join(",") : String(item))).join(" ");
}

const channel = (text: string): Value => (/^\d+$/.test(text) ? Number(text) : text);

/** Returns the value that a person wrote for an option; `undefined` if there is none. */
export function read(option: OptionType, text: string): Value | undefined {
  const words = text.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return undefined;
  switch (option.type) {
    case "number":
      return Number.isFinite(Number(text)) ? Number(text) : text.trim();
    case "channel":
      return channel(text.trim());
    case "channels":
      return text.split(/[\s,]+/).filter(Boolean).map(channel);
    case "texts":
      return text.split(";").map((one) => one.trim()).filter(Boolean);
    case "groups":
      return words.map((word) => word.split(",").filter(Boolean).map(channel));
    case "delays":
      return words.map((word) => {
        if (word === "auto") return word;
        const [of = "", delay = ""] = word.split(/[=,]/);
        return [channel(of), delay];
      });
    default:
      return text.trim();
  }
}

/** Returns the fields of all options; `change` receives an option that was changed. */
export function form(kind: Kind, options: Options, change: (name: string, value: Value | undefined) => void): HTMLElement {
  const sections = Object.entries(SECTIONS).map(([section, title]) => {
    const own = kind.options.filter((option) => option.section === section);
    if (own.length === 0) return undefined;
    const fields = own.map((option) => field(option.name.replaceAll("_", " "), control(option, options[option.name], change), option.help));
    return h("fieldset", {}, h("legend", {}, title), ...fields);
  });
  return h("div", { class: "form" }, ...sections);
}

function control(option: OptionType, value: Value | undefined, set: (name: string, value: Value | undefined) => void): HTMLElement {
  if (option.type === "flag") {
    const input = h("input", { type: "checkbox", checked: value === true });
    input.addEventListener("change", () => set(option.name, input.checked || undefined));
    return input;
  }
  if (option.choices) {
    const choices = option.choices.map(({ name, help }): [string, string] => [name, `${name}: ${help}`]);
    return select(option.name, choices, written(value) || (option.default ?? ""), (chosen) =>
      set(option.name, chosen === option.default ? undefined : chosen),
    );
  }
  const placeholder = option.default ?? option.value_name ?? "";
  const input = h("input", { type: "text", value: written(value, option.type), placeholder, spellcheck: "false", autocomplete: "off" });
  input.addEventListener("change", () => set(option.name, read(option, input.value)));
  return input;
}
