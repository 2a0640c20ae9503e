//! The scripts of pages: the committed ones are what their sources make, and they draw what the program draws.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tagq_plot::{
    Axis, Bar, Bars, Chart, Figure, Map, Page, Picture, Plot, Point, Quantity, Series, Shape,
};

use crate::support::{root, skipped};

/// The files that `web/build.mjs` makes, below the root.
const OUTPUTS: [&str; 7] = [
    "crates/plot/src/figure.js",
    "crates/plot/src/figure.js.sha256",
    "crates/plot/src/figure.css",
    "crates/serve/src/page/page.js",
    "crates/serve/src/page/page.css",
    "crates/python/python/tagq/_live.js",
    "crates/python/python/tagq/_live.css",
];

/// Returns the folder in which cargo builds.
pub(crate) fn target() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tagq")).ancestors().nth(2).unwrap()
}

pub(crate) fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{command:?}: {}{}", text(&output.stdout), text(&output.stderr)))
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Returns a checksum of the files in a folder.
fn sum(folder: &Path) -> String {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                files.push(path);
            } else if !path.ends_with("node_modules") {
                folders.push(path);
            }
        }
    }
    files.sort();
    let mut sum = Sha256::new();
    for path in files {
        sum.update(path.to_string_lossy().as_bytes());
        sum.update(fs::read(path).unwrap());
    }
    format!("{:x}", sum.finalize())
}

/// Copies `web/` to `folder` and installs its tools. Returns the lock of the folder, or why the tools are missing.
fn installed(folder: &Path) -> Result<fs::File, String> {
    run(Command::new("node").arg("--version"))?;
    fs::create_dir_all(folder).unwrap();
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let (tools, stamp) = (folder.join("node_modules"), folder.join("stamp"));
    let versions = fs::read_to_string(root().join("web/package-lock.json")).unwrap();
    // The copy is replaced only if the sources have changed: another process may be reading it.
    let (sources, copied) = (sum(&root().join("web")), folder.join("copied"));
    if !fs::read_to_string(&copied).is_ok_and(|copied| copied == sources) {
        for name in ["src", "vendor"] {
            let _ = fs::remove_dir_all(folder.join(name));
        }
        for entry in fs::read_dir(root().join("web")).unwrap() {
            let name = entry.unwrap().file_name();
            if name != "node_modules" {
                copy(&root().join("web").join(&name), &folder.join(&name));
            }
        }
        fs::write(copied, sources).unwrap();
    }
    if !tools.exists() || !fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == versions) {
        let install = ["ci", "--ignore-scripts", "--silent", "--fetch-retries=0"];
        run(Command::new("npm").args(install).current_dir(folder))?;
        fs::write(stamp, versions).unwrap();
    }
    Ok(lock)
}

/// Returns the folder of a copy of `web/`, built below `made`; `None` without the tools.
pub(crate) fn built() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = target().join("web");
    let built = BUILT.get_or_init(|| match installed(&folder) {
        // Another process may build them, too.
        Ok(lock) => {
            run(Command::new("node").args(["build.mjs", "made"]).current_dir(&folder)).unwrap();
            drop(lock);
            Some(folder)
        }
        Err(why) => {
            skipped(&format!("the tools that build the scripts are missing: {why}"));
            None
        }
    });
    built.as_deref()
}

#[test]
fn the_scripts_are_what_their_sources_make() {
    let Some(folder) = built() else { return };
    let tsc = ["node_modules/typescript/bin/tsc", "--noEmit"];
    run(Command::new("node").args(tsc).current_dir(folder)).unwrap();
    for name in OUTPUTS {
        let made = fs::read(folder.join("made").join(name)).unwrap();
        let committed = fs::read(root().join(name)).unwrap();
        assert!(made == committed, "{name} is not what its source makes: node web/build.mjs");
    }
}

/// A page is one element of text for a script: nothing in it may end the element.
#[test]
fn a_script_can_stand_in_a_page() {
    for name in ["crates/plot/src/figure.js", "crates/plot/src/figure.css"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        assert!(
            text.is_ascii() && !text.contains("https://") && !text.contains("@import"),
            "{name}"
        );
        let text = text.to_ascii_lowercase();
        for bad in ["</script", "<script", "</style", "<!--"] {
            assert!(!text.contains(bad), "{name}: {bad}");
        }
    }
}

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    /// Returns a number from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// Returns a chart with some undefined values.
fn chart(
    numbers: &mut Numbers,
    shape: Shape,
    is_logarithmic: bool,
    bins: u32,
    series: usize,
) -> Chart {
    let edge = |at: u32| {
        let share = f64::from(at) / f64::from(bins);
        if is_logarithmic { 1e-9 * 1e6f64.powf(share) } else { 2e-7 * share - 78.125e-12 }
    };
    let mut point = |at: u32| Point {
        from: if is_logarithmic && at == 0 { 0.0 } else { edge(at) },
        to: edge(at + 1),
        value: (numbers.next() > 0.02).then(|| (numbers.next() * 100.0).floor()),
        err: 1.0 + numbers.next(),
        is_partial: false,
    };
    let series = (0..series)
        .map(|number| Series {
            shape: (number % 3 == 1).then_some(Shape::Line),
            name: number.to_string(),
            points: (0..bins).map(&mut point).collect(),
        })
        .collect();
    let x = if is_logarithmic {
        Axis::logarithmic("delay", Quantity::Time, 1e-9, 1e-3)
    } else {
        Axis::linear("delay", Quantity::Time, -78.125e-12, 2e-7 - 78.125e-12)
    };
    let y = Axis::for_values("counts", Quantity::Count, 0.0, 100.0, false);
    Chart { x, y, shape, reference: None, has_panels: false, series, below: None }
}

/// Returns axes of all quantities, with ends of many magnitudes.
fn axes(numbers: &mut Numbers) -> Vec<Axis> {
    let mut axes = Vec::new();
    for quantity in [Quantity::Time, Quantity::Rate, Quantity::Count, Quantity::Ratio] {
        for power in -12..9 {
            let size = 10f64.powi(power) * (1.0 + 9.0 * numbers.next());
            axes.push(Axis::linear("", quantity, -size * numbers.next(), size));
            axes.push(Axis::linear("", quantity, 0.99 * size, size));
            axes.push(Axis::logarithmic(
                "",
                quantity,
                size,
                size * 1e4 * numbers.next() + 2.0 * size,
            ));
        }
    }
    axes
}

/// Returns bars of all quantities with errors.
fn bars(numbers: &mut Numbers) -> Vec<Bars> {
    let mut all = Vec::new();
    for quantity in [Quantity::Time, Quantity::Rate, Quantity::Count, Quantity::Ratio] {
        let mut bar = |power: i32| {
            let value = 10f64.powi(power) * (1.0 + 9.0 * numbers.next());
            let value = if quantity == Quantity::Count { value.ceil() } else { value };
            let err = value * (0.001 + numbers.next());
            Bar { name: String::new(), value: Some(value), err, accidentals: None }
        };
        let bars = (-9..9).map(&mut bar).collect();
        all.push(Bars { axis: Axis::linear("", quantity, 0.0, 1.0), bars });
    }
    all
}

/// Returns the colours of the scale beside a map, from the lowest to the highest; of one with a brightness after the colour of its
/// cell.
fn scale(brightness: Option<f64>) -> Vec<String> {
    let axis = || Axis::linear("", Quantity::Time, 0.0, 1.0);
    let map = Map {
        x: axis(),
        y: axis(),
        values: axis(),
        columns: 1,
        cells: vec![None],
        image: None,
        brightness: brightness.map(|of| vec![of]),
        guide: None,
    };
    let (title, header) = (String::new(), String::new());
    let figure = Figure { title, header, note: None, plot: Plot::Map(map), page: Page::default() };
    let svg = Picture::element(&figure);
    let cells = svg.lines().filter(|line| line.contains("crispEdges"));
    cells.map(|line| line.split("fill=\"").nth(1).unwrap()[..7].to_owned()).collect()
}

/// Compares each expected value with the one that the script makes; numbers may differ in the last digits.
const COMPARE: &str = r#"
import { readFileSync } from "node:fs";
import { hexOf, marksOf, onMap, rgbOfHue, ticksOf, valueText } from "./checks.mjs";
const near = (a, b) => a === b || Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
function compare(made, expected, place) {
  if (typeof expected === "number" && typeof made === "number") {
    if (!near(made, expected)) throw new Error(`${place}: ${made} is not ${expected}`);
  } else if (expected !== null && typeof expected === "object") {
    if (Array.isArray(expected) && made.length !== expected.length)
      throw new Error(`${place}: ${made.length} is not ${expected.length}`);
    for (const key of Object.keys(expected)) compare(made[key], expected[key], `${place}.${key}`);
  } else if (made !== expected) throw new Error(`${place}: ${made} is not ${expected}`);
}
const cases = JSON.parse(readFileSync("cases.json"));
cases.marks.forEach(({ chart, wide, marks }, at) => compare(marksOf(chart, wide), marks, `marks ${at}`));
cases.ticks.forEach(({ axis, most, ticks }, at) => compare(ticksOf(axis, most), ticks, `ticks ${at}`));
cases.texts.forEach(({ bars, texts }, at) =>
  compare(bars.bars.map((bar) => valueText(bars.axis, bar.value, bar.err)), texts, `texts ${at}`));
compare(cases.scale.map((_, at) => onMap(at / (cases.scale.length - 1))), cases.scale, "scale");
const [grey, ...hues] = cases.hues;
compare([grey, ...hues.map((_, at) => hexOf(rgbOfHue(at / (hues.length - 1), 1)))], cases.hues, "hues");
compare(hexOf(rgbOfHue(null, 0.5)), grey, "grey");
console.log(cases.marks.length + cases.ticks.length + cases.texts.length + cases.scale.length);
"#;

#[test]
fn the_script_draws_what_the_program_draws() {
    let Some(folder) = built() else { return };
    let mut numbers = Numbers(1);
    let mut marks = Vec::new();
    for shape in [Shape::Columns, Shape::Points, Shape::Line] {
        for is_logarithmic in [false, true] {
            for (bins, series) in [(1, 1), (7, 1), (60, 9), (400, 2), (3_000, 1)] {
                let mut chart = chart(&mut numbers, shape, is_logarithmic, bins, series);
                for (wide, has_panels) in [(240.0, false), (840.0, true), (3_700.0, false)] {
                    chart.has_panels = has_panels;
                    marks.push(json!({"chart": chart, "wide": wide, "marks": chart.marks(wide)}));
                }
            }
        }
    }
    let mut ticks = Vec::new();
    for axis in axes(&mut numbers) {
        for most in [1, 4, 7, 12] {
            let made = axis.ticks(most);
            let marks = made.marks.iter().map(|mark| json!({"at": mark.at, "label": mark.label}));
            let marks: Vec<Value> = marks.collect();
            let expected = json!({"marks": marks, "between": made.between, "unit": made.unit});
            ticks.push(json!({"axis": axis, "most": most, "ticks": expected}));
        }
    }
    let bars = bars(&mut numbers);
    let texts = bars.iter().map(|bars| json!({"bars": bars, "texts": bars.texts()}));
    let texts: Vec<Value> = texts.collect();
    let hues = scale(Some(0.5));
    let scale = scale(None);
    assert_eq!(scale.len(), 64);
    let expected = marks.len() + ticks.len() + texts.len() + scale.len();
    let cases =
        json!({"marks": marks, "ticks": ticks, "texts": texts, "scale": scale, "hues": hues});
    let made = folder.join("made");
    fs::write(made.join("cases.json"), cases.to_string()).unwrap();
    fs::write(made.join("compare.mjs"), COMPARE).unwrap();
    let compared = run(Command::new("node").arg("compare.mjs").current_dir(made)).unwrap();
    assert_eq!(String::from_utf8(compared.stdout).unwrap().trim(), expected.to_string());
}

/// Numbers, durations and addresses of the page.
const PAGE: &str = r#"
import { added, duration, durationText, fragment, LAYOUTS, line, parsed, pitch, stepped, UNITS } from "./checks.mjs";
const step = (text, up) => durationText(stepped(duration(text), up));
const add = (text, by, steps) => durationText(added(duration(text), duration(by), steps));
const round = (text) => fragment(parsed(text));
const changed = structuredClone(LAYOUTS.count.layout);
changed.names = { "Alice, \u00e9": 3 };
changed.panels[0].options.window = "7ns";
const again = parsed(fragment(changed));
console.log(JSON.stringify({
  units: UNITS,
  lines: [
    line("rate_hz", 19_826.4, 140.8), line("rate_hz", 0.4, 0.03), line("count", 1_234_567, 1_111.1), line("count", 12),
    line("car", -0.001, 0.19), line("car", undefined), line("live_s", 33.561), line("tick_s", 1.5625e-10),
    line("rate_hz", -2_500, 30), line("p_a_given_b", 0.41392, 0.00088),
    line("phasor_s", 0.48132, 0.0191), line("lifetime_s", 3.0123e-9, 1.9e-10),
  ],
  durations: ["2ns", " 1.5 us", "13t", "-4.0625ns", "3e-9s", "2", "ns", "2 bananas", "", "1..2ns"].map((text) => duration(text) ?? null),
  texts: ["2000ps", "0.5us", "1000ns", "90s", "13t", "-2000ps"].map((text) => durationText(duration(text))),
  up: ["1ns", "2ns", "5ns", "9.99ns", "3ns", "900ps", "1t", "13t"].map((text) => step(text, true)),
  down: ["1ns", "2ns", "5ns", "3ns", "1us", "1t", "2t", "13t"].map((text) => step(text, false)),
  sums: [add("0ns", "100ps", 3), add("-5ns", "100ps", 1), add("1ns", "1ns", -3), add("10t", "1t", 2), add("2ns", "1t", -1)],
  layouts: [...Object.keys(LAYOUTS).map(round), again.panels[0].options.window, Object.keys(again.names)[0]],
  wrong: ["", "nowhere", "layout=", "layout=AAAA", "layout=W10", "__proto__", "constructor"].map((text) => parsed(text) ?? null),
  pitches: [pitch(undefined, 1), pitch(5, undefined), pitch(5, 5), pitch(10, 5), pitch(1e9, 1), pitch(0, 1)],
}));
"#;

#[test]
fn the_page_reads_and_writes_numbers_and_addresses() {
    let Some(folder) = built() else { return };
    let made = folder.join("made");
    fs::write(made.join("page.mjs"), PAGE).unwrap();
    let output = run(Command::new("node").arg("page.mjs").current_dir(made)).unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (name, quantity) in [("time", Quantity::Time), ("rate", Quantity::Rate)] {
        let axis = serde_json::to_value(Axis::linear("", quantity, 0.0, 1.0)).unwrap();
        let own = axis["units"].as_array().unwrap();
        let units = found["units"][name].as_array().unwrap();
        assert_eq!(units.len(), own.len(), "{name}");
        for (unit, own) in units.iter().zip(own) {
            assert_eq!(unit[0], own[0]);
            for at in [1, 2] {
                assert_eq!(unit[at].as_f64(), own[at].as_f64(), "{unit}");
            }
        }
    }
    assert_eq!(
        found["lines"],
        json!([
            "19.83 ± 0.14 kHz",
            "0.400 ± 0.030 Hz",
            "1,234,567 ± 1,111",
            "12",
            "0.00 ± 0.19",
            "–",
            "33.56 s",
            "156.3 ps",
            "−2.500 ± 0.030 kHz",
            "0.41392 ± 0.00088",
            "0.481 ± 0.019",
            "3.01 ± 0.19 ns",
        ])
    );
    let of = |number: f64, unit: &str| json!({"number": number, "unit": unit});
    for (at, expected) in
        [of(2.0, "ns"), of(1.5, "us"), of(13.0, "t"), of(-4.0625, "ns"), of(3e-9, "s")]
            .iter()
            .enumerate()
    {
        let given = &found["durations"][at];
        assert_eq!(given["number"].as_f64(), expected["number"].as_f64(), "{at}");
        assert_eq!(given["unit"], expected["unit"], "{at}");
    }
    assert!(found["durations"].as_array().unwrap()[5..].iter().all(Value::is_null));
    assert_eq!(found["texts"], json!(["2ns", "500ns", "1us", "90s", "13t", "-2ns"]));
    assert_eq!(found["up"], json!(["2ns", "5ns", "10ns", "10ns", "5ns", "1ns", "2t", "20t"]));
    assert_eq!(found["down"], json!(["500ps", "1ns", "2ns", "2ns", "500ns", "1t", "1t", "10t"]));
    assert_eq!(found["sums"], json!(["300ps", "-4.9ns", "-2ns", "12t", "1ns"]));
    assert_eq!(found["layouts"], json!(["align", "count", "g2", "7ns", "Alice, é"]));
    assert!(found["wrong"].as_array().unwrap().iter().all(Value::is_null), "{}", found["wrong"]);
    assert_eq!(found["pitches"], json!([55, 55, 440, 880, 3520, 55]));
}
