//! Typical mistakes at the command line: the exit code, the first line of the message, and what it says to type instead.

use std::{fs, path::Path};

use tagq::requests::REQUEST_TYPES;

use crate::{
    support::{command, fixture_copy, output, root, skipped},
    terminal::{self, Screen, Shows},
};

/// Words typed, exit code, first line on standard error, and a part of the message that says what to type instead.
/// `{queries}` is all queries by name, `{tables}` their tables of a setup.
type Mistake = (&'static str, i32, &'static str, &'static str);

/// `run` is the fixture; [`scene`] makes the other files.
const MISTAKES: &[Mistake] = &[
    // Commands and options.
    (
        "coincidenses 1,2 --window 2ns run",
        2,
        "error: no command is called 'coincidenses'; did you mean 'coincidences'?",
        "coincidences",
    ),
    (
        "coincidences 1,2 --windw 2ns run",
        2,
        "error: tagq coincidences has no option '--windw'; did you mean '--window'?",
        "--window",
    ),
    (
        "rates --bins 1ms run",
        2,
        "error: tagq rates has no option '--bins'; did you mean '--bin'?",
        "'--bin'",
    ),
    (
        "g2 1,2 --window 2ns run",
        2,
        "error: tagq g2 has no option '--window'; --range is how far it reaches, and --bin the width of its bins",
        "tagq g2 --help",
    ),
    (
        "convert --from 1s run out.tsv",
        2,
        "error: tagq convert has no option '--from'; it converts all tags, and tagq export writes a selection of them",
        "tagq export",
    ),
    (
        "export run out.ptu",
        2,
        "error: 'out.ptu' is one argument too many; the file to write is named with --output",
        "--output",
    ),
    // Units and numbers.
    (
        "g2 1,2 --range 10 run",
        2,
        "error: invalid value '10' for '--range <R>': `10` has no unit; write 10ns, 10ps, 10us or 10t (whole ticks)",
        "10ns",
    ),
    (
        "coincidences 1,2 --window 2Hz run",
        2,
        "error: invalid value '2Hz' for '--window <W>': `2Hz`: no unit is called `Hz` (did you mean 500ms?); the units are as fs ps ns us µs ms s min h, and t for whole ticks",
        "as fs ps ns",
    ),
    (
        "simulate --efficiency 30% never.tags.zst",
        2,
        "error: invalid value '30%' for '--efficiency <[CH=]E>': `30%` is no probability; write it as 0.3",
        "0.3",
    ),
    (
        "rates --bin 10msms run",
        2,
        "error: invalid value '10msms' for '--bin <W>': `10msms`: no unit is called `msms`; the units are as fs ps ns us µs ms s min h, and t for whole ticks",
        "ms s min h",
    ),
    (
        "coincidences 1,2 --window 2,5ns run",
        2,
        "error: invalid value '2,5ns' for '--window <W>': `2,5ns` has a comma; write decimals with a point, as 2.5ns",
        "2.5ns",
    ),
    // Channels.
    (
        "g2 Alice,2 --range 10ns run",
        2,
        "error: no channel is called `Alice`; names are given by `tagq.toml` in the run's folder, or --setup FILE",
        "tagq.toml",
    ),
    (
        "coincidences 1 --window 2ns run",
        2,
        "error: `1` is no run, and one channel is too few; write them with commas, as 1,2",
        "1,2",
    ),
    (
        "coincidences 1 2 --window 2ns run",
        2,
        "error: `1` is no run; write the channels with commas, as 1,2",
        "as 1,2",
    ),
    (
        "coincidences 1-2 --window 2ns run",
        2,
        "error: `1-2` is no run; write the channels with commas, as 1,2",
        "as 1,2",
    ),
    (
        "coincidences run 1,2 --window 2ns",
        2,
        "error: `1,2` is no run; write the channels before the run, as 1,2 run",
        "1,2 run",
    ),
    (
        "coincidences 4,1,4 --window 2ns run",
        2,
        "error: group 4,4 names channel 4 twice; a coincidence takes one tag of each of two different channels",
        "different channels",
    ),
    // Runs.
    ("rates nowhere", 1, "error: nowhere: no such file or folder", ""),
    (
        "rates empty",
        1,
        "error: empty: no tags in this folder; a run is a folder of recordings, one recording, or a store made by `tagq ingest`; `tagq formats` lists the files that are read, of PicoQuant, quTAG, Becker & Hickl, Swabian, text and others",
        "tagq formats",
    ),
    (
        "rates notes.txt",
        3,
        "error: notes.txt: line 1: \"Dear diary, no tags today.\" is no tag: more than two fields; a line is a channel and a time in ticks, and nothing else",
        "a channel and a time",
    ),
    (
        "rates picture.png",
        1,
        "error: picture.png: no tag file: it is a picture (PNG); name the recording that it was made from",
        "the recording",
    ),
    // Windows, ranges, bins.
    (
        "coincidences 1,2 --window 2ns --veto 3 --guard=-1us run",
        2,
        "error: a guard of -6400 ticks is negative; it is the distance that a veto reaches, 0 or more",
        "0 or more",
    ),
    (
        "coincidences 1,2 --full-width 0ns run",
        2,
        "error: `0ns` is shorter than one tick of 156.25 ps; a full width is at least 156.25ps (1t), which counts equal times",
        "156.25ps",
    ),
    (
        "coincidences 1,2 --window 1h run",
        0,
        "note: the full width of the window, 7200 s, is longer than the longest file of the run, 199.952005 ms: accidentals, CAR and P mean nothing; leave --window out, and a window is suggested",
        "leave --window out",
    ),
    (
        "g2 1,2 --range 10ns..5ns run",
        2,
        "error: a range of differences from 64 to 32 ticks is empty; the first must be below the second",
        "below the second",
    ),
    (
        "histogram 1,2 --range 10ns --bin 0ns run",
        2,
        "error: `0ns` is 0 ticks of 156.25 ps; use 156.25ps (1t)",
        "156.25ps",
    ),
    (
        "histogram 1,2 --range 1s --bin 1t run",
        2,
        "error: 12800000001 bins would take 95.4 GiB of memory, and at most 1.0 GiB is used: --bin 15ns would work, or a range shorter by as much",
        "--bin 15ns",
    ),
    (
        "rates --from 300ms --to 100ms run",
        0,
        "note: nothing is selected: the end of the selection is not after its start",
        "",
    ),
    (
        "rates --last -1s run",
        2,
        "error: '-1s' begins with a minus sign: --last takes no negative value",
        "",
    ),
    // Delays.
    (
        "coincidences 1,2 --window 2ns --delay 2:5ns run",
        2,
        "error: invalid value '2:5ns' for '--delay <CH=D>': `2:5ns` is no CH=D; write it as 15=-4.0625ns, or auto",
        "15=-4.0625ns",
    ),
    (
        "rates --delay auto run",
        2,
        "error: delays are found from the peaks between channels that belong together: of coincidences, histograms and g2; write a delay as CH=D",
        "CH=D",
    ),
    // Plots and output.
    (
        "g2 1,2 --range 10ns --plot out.gif run",
        2,
        "error: invalid value 'out.gif' for '--plot[=<FILE>]': `out.gif` does not say what to draw; a figure is named .svg, .pdf, .png or .html",
        ".svg, .pdf, .png or .html",
    ),
    (
        "g2 1,2 --range 10ns --plot out.pdf run fresh",
        2,
        "error: out.pdf: a figure is of one answer, and 2 runs have one each; add them up with --sum, draw them one by one, or all in the terminal with --plot",
        "--sum",
    ),
    (
        "g2 1,2 --range 10ns --plot=out.svg --size 10 run",
        2,
        "error: invalid value '10' for '--size <WxH>': `10` is no size; write width and height as 1200x800",
        "1200x800",
    ),
    (
        "g2 1,2 --range 10ns --plot=out.svg --size 1200 run",
        2,
        "error: invalid value '1200' for '--size <WxH>': `1200` is no size; write width and height as 1200x800",
        "1200x800",
    ),
    (
        "g2 1,2 --range 10ns --plot=out.svg --quantity foo run",
        2,
        "error: there is no quantity `foo` in this answer; it has count, g2",
        "count, g2",
    ),
    (
        "g2 1,2 --range 10ns --plot=out.svg --ylim 3 run",
        2,
        "error: invalid value '3' for '--ylim <LO..HI>': `3` is no range of values; write it as 0..1.5 or 1e3..1e6",
        "0..1.5",
    ),
    (
        "rates --format xml run",
        2,
        "error: invalid value 'xml' for '--format <FORMAT>'; write one of table, json, csv, arrow, parquet, tiff",
        "json",
    ),
    (
        "rates -o taken.csv run",
        1,
        "error: taken.csv: is there already; --force replaces it if it is a file",
        "--force",
    ),
    // Rules, lists, sums.
    (
        "coincidences 1,2 --window 2ns --rule foo run",
        2,
        "error: invalid value 'foo' for '--rule <RULE>'; write one of all, herald, per-herald, once, cluster, grid",
        "herald",
    ),
    (
        "coincidences 1,2 --window 2ns --rule cluster run",
        2,
        "error: rule cluster counts every set of the channels in use; name them with --channels, and leave --group and --choose out",
        "--channels",
    ),
    (
        "coincidences 1,2 --window 2ns --list --sum run fresh",
        2,
        "error: a list is of one run after the other; leave --sum out",
        "leave --sum out",
    ),
    (
        "coincidences 1,2 --window 2ns --sum run other.tags.zst",
        2,
        "error: the counts of run and other.tags.zst cannot be added, because the runs differ in tick, delays, groups or vetoes; give one setup or one tick for all runs, or answer each run",
        "one tick for all runs",
    ),
    // Watching.
    ("watch info run", 2, "error: only these can be watched: {queries}, delays", "coincidences"),
    (
        "watch rates -",
        2,
        "error: standard input cannot be watched; name a file or folder",
        "a file or folder",
    ),
    // Stores.
    (
        "ingest --store both run other.tags.zst",
        2,
        "error: run/1.tags.zst: its tick is 156.25 ps, and that of the run is 4 ps; ingest it into a run of its own",
        "",
    ),
    (
        "ingest --store both run zero.tags.zst",
        1,
        "error: run/1.tags.zst: begins at 100435 ticks, before the end of zero.tags.zst (639969817 ticks), and a run is in order of time; if a counter began again, `tagq ingest --rebase --store both run/1.tags.zst run/2.tags.zst zero.tags.zst` puts such files 1 s after the end; if the files were recorded at the same time, `tagq merge run/1.tags.zst run/2.tags.zst zero.tags.zst -o merged.tagq` makes one run of them; if these are separate measurements, name the files in the query instead of the run",
        "--rebase",
    ),
    (
        "verify fresh",
        1,
        "error: fresh: nothing was ingested yet; run `tagq ingest fresh` first; queries do so if you leave --no-ingest out",
        "tagq ingest fresh",
    ),
    (
        "name run 1=7",
        2,
        "error: run/tagq.toml: no setup of tagq: `7` cannot be a name: a name begins with neither a digit nor -, and has no comma, no = and no character that cannot be shown; write one as Alice-H",
        "Alice-H",
    ),
    (
        "name Alice=3",
        2,
        "error: `Alice=3` is no run; write the run first and each channel before its name, as tagq name run/ 3=Alice-H",
        "tagq name run/ 3=Alice-H",
    ),
    (
        "name run Alice=3",
        2,
        "error: invalid value 'Alice=3' for '[CH=NAME]...': `Alice=3`: the channel comes before its name; write it as 3=Alice",
        "3=Alice",
    ),
    (
        "set run",
        2,
        "error: missing: --tick <TICK> or --times <ON|OFF> or --gaps <ON|OFF>",
        "--tick",
    ),
    (
        "set --times off --gaps off run",
        2,
        "error: a store without a column of times needs its gaps: drop one of them, times or gaps",
        "drop one",
    ),
    (
        "set --gaps off run",
        1,
        "error: run/.tagq: gaps cannot be dropped: this store has no column of times, and computes times from gaps; make the column first with `tagq set run/.tagq --times on`",
        "--times on",
    ),
    // Files.
    (
        "convert run out.xyz",
        2,
        "error: out.xyz: its name does not say what to write; it ends with .tags, .tsv, .csv, .ptu or .swabian, or with one of these and .zst or .gz, or with .h5, .npz, .arrow or .parquet, or is `-` for text to standard output",
        ".csv",
    ),
    (
        "simulate --rate -5kHz out.tags.zst",
        2,
        "error: '-5kHz' begins with a minus sign: --rate takes no negative value",
        "",
    ),
    (
        "simulate out.foo",
        2,
        "error: out.foo: its name does not say what to write; it ends with .tags, .tsv, .csv, .ptu or .swabian, or with one of these and .zst or .gz, or with .h5, .npz, .arrow or .parquet, or is `-` for text to standard output",
        ".csv",
    ),
    // Setups.
    (
        "init table",
        1,
        "error: table/tagq.toml: is there already; --force replaces it if it is a file",
        "--force",
    ),
    (
        "rates table",
        2,
        "error: table/tagq.toml: no setup of tagq: unknown field `coincidense`: [coincidense] is no query; expected one of `tick`, `channels`, `delays`, `groups` or a table of options: {tables}",
        "[coincidences]",
    ),
    (
        "rates option",
        2,
        "error: option/tagq.toml: no setup of tagq: [g2]: g2 has no option `window`; its options are start, stop, by, bin, range, log, covariance, pulsed, peak, sides, skip, exact_bins, errors, channels, derive, gates, delays, from, to, last, join",
        "bin, range",
    ),
    (
        "rates value",
        2,
        "error: value/tagq.toml: no setup of tagq: [coincidences]: window: `2` has no unit; write 2ns, 2ps, 2us or 2t (whole ticks)",
        "2ns",
    ),
    // Answers and plans.
    (
        "reproduce notes.json",
        2,
        "error: notes.json: cannot be reproduced: it is no answer of tagq; `--format json` and `-o FILE.json` write one",
        "--format json",
    ),
    ("partial --index 0 -o p.0", 2, "error: missing: <PLAN>", "<PLAN>"),
    ("merge", 2, "error: missing: <INPUT>...", "<INPUT>"),
    (
        "derive run -o d.tagq Pair",
        2,
        "error: invalid value 'Pair' for '[DEFINITION]...': `Pair` is no definition; write NAME = DEFINITION",
        "NAME = DEFINITION",
    ),
    (
        "derive run -o d.tagq Pair=1&2",
        2,
        "error: definition of `Pair`: `1&2` does not have the form `A & B … within D`; an example: 1 & 2 within 2ns",
        "within",
    ),
    // Made up after the freeze.
    (
        "coincidences 1, 2 --window 2ns run",
        2,
        "error: `1,` is no run; write the channels with commas, as 1,2",
        "as 1,2",
    ),
    (
        "coincidences 1,2 -window 2ns run",
        2,
        "error: tagq coincidences has no option '-window'; did you mean '--window'?",
        "--window",
    ),
    (
        "coincidences 1,2 window=2ns run",
        2,
        "error: `window=2ns` is no run; write an option with two dashes, as --window=2ns",
        "--window=2ns",
    ),
    (
        "coincidences -1,2 --window 2ns run",
        2,
        "error: '-1,2' begins with a minus sign: channels are numbers from 0 to 65535, and a file is named ./-NAME",
        "0 to 65535",
    ),
    (
        "coincidences 1,2 --window 2ns --veto 1 run",
        2,
        "error: channel 1 is a veto and stands in a group; leave it out of one of them",
        "leave it out",
    ),
    (
        "g2 1,2 --range ±10ns run",
        2,
        "error: invalid value '±10ns' for '--range <R>': `±10ns` is no duration; write it as 2ns, 156.25ps, -0.5us or 13t (whole ticks)",
        "2ns",
    ),
    (
        "g2 1,2 --range 10ns --plot out.tiff run",
        2,
        "error: invalid value 'out.tiff' for '--plot[=<FILE>]': `out.tiff` does not say what to draw; a figure is named .svg, .pdf, .png or .html",
        ".png",
    ),
    (
        "g2 1,2 --range 10ns --plot=out.svg --size 10x10 run",
        2,
        "error: a figure is 240 to 8000 pixels wide and high; write its size as 1200x800",
        "1200x800",
    ),
    (
        "g2 70000,1 --range 10ns run",
        2,
        "error: `70000` is no channel; channels are numbers from 0 to 65535",
        "0 to 65535",
    ),
    (
        "rates --threads two run",
        2,
        "error: invalid value 'two' for '--threads <N>'; write a whole number, as 4",
        "as 4",
    ),
    (
        "rates --from 12:30 run",
        2,
        "error: invalid value '12:30' for '--from <T>': `12:30`: no unit is called `:30`; the units are as fs ps ns us µs ms s min h, and t for whole ticks",
        "ms s min h",
    ),
    (
        "rates --setup empty run",
        2,
        "error: empty: no setup of tagq: a setup is a text file; `tagq init` writes one",
        "tagq init",
    ),
    (
        "other.tags.zst",
        2,
        "error: 'other.tags.zst' is no command; write one first, as tagq rates other.tags.zst",
        "tagq rates other.tags.zst",
    ),
    (
        "--window 2ns run",
        2,
        "error: '--window' is no command; write one first, as tagq rates run/",
        "tagq rates run/",
    ),
    (
        "export -o nowhere/tags.parquet run",
        1,
        "error: nowhere/tags.parquet: there is no folder nowhere; make it first: mkdir -p nowhere",
        "mkdir -p nowhere",
    ),
    (
        "simulate --efficiency 80% out.tags.zst",
        2,
        "error: invalid value '80%' for '--efficiency <[CH=]E>': `80%` is no probability; write it as 0.8",
        "0.8",
    ),
    (
        "simulate --channels 1,70000 out.tags.zst",
        2,
        "error: invalid value '70000' for '--channels <A,B,…>': `70000` is no channel; channels are numbers from 0 to 65535",
        "65535",
    ),
    ("plan rates --parts 0 -o p.json run", 2, "error: --parts is 0; write 1 or more", "1 or more"),
    (
        "plan run -o p.json",
        2,
        "error: 'run' is no query; write one before it, as tagq plan coincidences --window 2ns run --parts 8 -o plan.json",
        "tagq plan coincidences",
    ),
    (
        "plan delays 1,2 run -o p.json",
        2,
        "error: tagq plan takes no 'delays'; it takes {queries}",
        "it takes {queries}",
    ),
    (
        "scan coincidense 1,2 run",
        2,
        "error: no query is called 'coincidense'; did you mean 'coincidences'?; write one, as tagq scan coincidences 3,15 --window 0.5ns..10ns:20 run/",
        "'coincidences'",
    ),
    (
        "scan coincidences 1,2 --window 1ns..10ns run",
        2,
        "error: `1ns..10ns` has no number of values, which is 2 to 10000; write it as 1ns..10ns:20",
        "1ns..10ns:20",
    ),
    (
        "watch --last 1s run",
        2,
        "error: the query is missing; write one, as tagq watch rates --last 1s run/",
        "tagq watch --help",
    ),
    // Fits.
    (
        "fit g2 run",
        2,
        "error: 'run' is no query; write one before it, as tagq fit g2 g2 3,15 --bin 1ns --range 200ns run",
        "tagq fit g2 --help",
    ),
    (
        "fit micro run",
        2,
        "error: no model is called 'micro'; the models are decay, g2, fcs, dip, sin, peak",
        "tagq fit --help",
    ),
    (
        "fit g2 --format json run",
        2,
        "error: the query is missing; write one, as tagq fit g2 g2 3,15 --bin 1ns --range 200ns run/",
        "tagq fit g2 --help",
    ),
    (
        "fit g2 --exponentials 2 g2 1,2 run",
        2,
        "error: tagq fit g2 has no option '--exponentials', and its query has none; did you mean '--explain'?",
        "tagq fit g2 --help",
    ),
    (
        "partial notes.json --index x -o p.0",
        2,
        "error: invalid value 'x' for '--index <I>'; write a whole number, as 4",
        "as 4",
    ),
    (
        "runs notes.txt",
        2,
        "error: notes.txt: a file, and runs are listed in a folder; `tagq info notes.txt` shows one",
        "tagq info notes.txt",
    ),
    (
        "watch rates run --and",
        2,
        "error: a query is missing after --and; write one as --and g2 1,2",
        "--and g2 1,2",
    ),
];

/// Makes the files that the mistakes name.
fn scene(folder: &Path) {
    fixture_copy(folder);
    let tags = fs::read(root().join("data/fixtures/pairs/1.tags.zst")).unwrap();
    let setups = [
        ("fresh", ""),
        ("table", "[coincidense]\nwindow = '2ns'\n"),
        ("option", "[g2]\nwindow = '2ns'\n"),
        ("value", "[coincidences]\nwindow = '2'\n"),
    ];
    for (name, setup) in setups {
        let run = folder.join(name);
        fs::create_dir(&run).unwrap();
        fs::write(run.join("1.tags.zst"), &tags).unwrap();
        if !setup.is_empty() {
            fs::write(run.join("tagq.toml"), setup).unwrap();
        }
    }
    fs::create_dir(folder.join("empty")).unwrap();
    for (name, bytes) in [
        ("picture.png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..]),
        ("notes.txt", b"Dear diary, no tags today.\n"),
        ("notes.json", b"{\"rows\": 3}\n"),
        ("taken.csv", b"1,2\n"),
    ] {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let zero = folder.join("zero.tags.zst");
    let made = output(command().args(["simulate", "--duration=100ms"]).arg(&zero));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let other = folder.join("other.tags.zst");
    let made = output(command().args(["simulate", "--duration=100ms", "--tick=4ps"]).arg(&other));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let made = output(command().args(["ingest", "--tick=4ps"]).arg(&other));
    assert_eq!(made.code, 0, "{}", made.stderr);
}

/// Of all pairs within a window, no more can be accidentals.
#[test]
fn accidentals_are_never_more_than_all_pairs() {
    let folder = tempfile::tempdir().unwrap();
    // 3 tags of each channel in 30 ticks.
    fs::write(folder.path().join("few.tsv"), "1\t0\n2\t5\n1\t10\n2\t18\n1\t25\n2\t30\n").unwrap();
    // Of 30 · 30 pairs of ticks, 30 + 2·(29 + … + 20) are at most 10 apart.
    for (window, expected) in [("1000t", 9.0), ("10t", 9.0 * 520.0 / 900.0)] {
        let words =
            ["coincidences", "1,2", "--tick", "1ns", "--window", window, "--format", "json"];
        let asked = output(command().args(words).arg("few.tsv").current_dir(folder.path()));
        let found = asked.json()["rows"][0]["accidentals"].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-9, "{window}: {found}, not {expected}");
    }
}

#[test]
fn each_mistake_is_named_with_what_to_type_instead() {
    let folder = tempfile::tempdir().unwrap();
    // Messages name a source of the run by its whole path.
    let folder = dunce::canonicalize(folder.path()).unwrap();
    scene(&folder);
    let queries = REQUEST_TYPES.map(|of| of.name).join(", ");
    let tables = REQUEST_TYPES.map(|of| format!("[{}]", of.name)).join(", ");
    let mut wrong = Vec::new();
    for &(words, code, line, instead) in MISTAKES {
        let [line, instead] = [line, instead]
            .map(|text| text.replace("{queries}", &queries).replace("{tables}", &tables));
        let said = output(command().current_dir(&folder).args(words.split_whitespace()));
        // On Windows messages come with `/`.
        let text = said.stderr.replace(&folder.to_str().unwrap().replace('\\', "/"), "FOLDER");
        let first = text.lines().next().unwrap_or_default();
        if (said.code, first) != (code, &*line) || !text.contains(&*instead) {
            wrong.push(format!("tagq {words}\n  {} {text}  expected {code} {line}", said.code));
        }
        // A command that failed has written nothing: neither an answer nor a file.
        assert!(code == 0 || said.stdout.is_empty(), "{words}");
        let is_output = |name: &str| name.starts_with("out") || name.starts_with("p.");
        let written = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut written = written.filter(|name| is_output(name.to_str().unwrap()));
        assert_eq!(written.next(), None, "{words}");
    }
    assert!(wrong.is_empty(), "{} mistakes:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn tags_are_not_written_to_a_terminal_as_arrow() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let mut export = command();
    export.args(["export", "--quiet"]).arg(run);
    let screen = Screen { rows: 24, columns: 80, shows: Shows::Stdout };
    let ran = match terminal::run(export, folder.path(), screen) {
        Ok(ran) => ran,
        Err(error) => return skipped(&format!("no terminal: {error}")),
    };
    assert!(!ran.success);
    assert_eq!(ran.written, "");
    let said = "error: what would be written is not for a terminal; name a file with --output FILE, or write text \
                with --format csv\n";
    assert_eq!(ran.apart, said);
}
