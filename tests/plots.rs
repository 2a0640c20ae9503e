//! Figures, from the command line.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::Stdio,
};

use crate::support::{Killed, command, fixture_copy, output, root, tagq};

/// Creates a working folder with the fixture run in `run`.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    folder
}

fn ask(folder: &Path, words: &str) -> crate::support::Output {
    output(command().current_dir(folder).args(words.split_whitespace()))
}

#[test]
fn a_plot_stands_in_place_of_the_table() {
    let folder = place();
    // The word `run` after `--plot` is the run.
    let drawn = ask(folder.path(), "g2 1,2 --range 20ns --plot run");
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    let text = drawn.text();
    assert!(text.starts_with("g2, mode all: 1 to 2"), "{text}");
    for part in
        ["g\u{b2}(\u{3c4}) of 1 and 2, run", "delay \u{3c4} (ns)", "\u{2500}\u{252c}\u{2500}"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains('\u{1b}') && !text.contains("first_tick"), "{text}");
    let shown = text.lines().skip(1).map(|line| line.chars().count()).max().unwrap();
    assert!((60..=80).contains(&shown), "{shown}:\n{text}");
    let matrix = ask(folder.path(), "coincidences --window 2ns --plot run");
    let counts: Vec<&str> =
        matrix.text().lines().filter(|line| line.contains('\u{2588}')).collect();
    assert_eq!(counts.len(), 1, "{}", matrix.text());
    let pulsed = "g2 1,2 --pulsed 40us --sides 3 --plot";
    let peaks = ask(folder.path(), &format!("{pulsed} run"));
    for part in ["mean of a peak", "differences", "delay \u{3c4} (\u{b5}s)"] {
        assert!(peaks.text().contains(part), "{part}:\n{}", peaks.text());
    }
    let values = ask(folder.path(), &format!("{pulsed} --quantity g2 run"));
    assert_eq!(values.code, 0, "{}", values.stderr);
    assert!(
        values.text().contains("g2") && !values.text().contains("mean of a peak"),
        "{}",
        values.text()
    );
    let rates = ask(folder.path(), "rates --plot run");
    assert_eq!(rates.text().matches('\u{2502}').count(), 4, "{}", rates.text());
    assert!(rates.text().contains(" kHz"), "{}", rates.text());
}

#[test]
fn an_answer_that_is_asked_for_goes_where_it_goes() {
    let folder = place();
    let plain = ask(folder.path(), "histogram --start 1 --stop 2 run --format json --no-cache");
    let both =
        ask(folder.path(), "histogram --start 1 --stop 2 run --format json --no-cache --plot");
    assert!(plain.stdout == both.stdout);
    let drawn = "Differences of times, 1 to 2, run";
    assert!(both.stderr.contains(drawn) && !plain.stderr.contains(drawn), "{}", both.stderr);
    let drawn = ask(folder.path(), "histogram --start 1 --stop 2 run -o a.csv --plot");
    assert!(drawn.stdout.is_empty() && drawn.stderr.contains("counts"), "{}", drawn.stderr);
    assert!(fs::read_to_string(folder.path().join("a.csv")).unwrap().contains("first_tick"));
}

#[test]
fn a_figure_is_a_file_and_the_answer_as_usual() {
    let folder = place();
    let begins: [(&str, &[u8]); 3] =
        [("a.svg", b"<?xml"), ("a.png", b"\x89PNG\r\n\x1a\n"), ("a.html", b"<!DOCTYPE html>")];
    let plain = ask(folder.path(), "rates --bin 50ms run");
    for (name, begin) in begins {
        let words = format!("rates --bin 50ms --plot {name} run");
        let drawn = ask(folder.path(), &words);
        assert_eq!(drawn.code, 0, "{}", drawn.stderr);
        assert!(drawn.stdout == plain.stdout, "{}", drawn.text());
        assert!(drawn.stderr.contains(&format!("{name}: a figure of run")), "{}", drawn.stderr);
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert!(bytes.starts_with(begin), "{name}");
        let again = ask(folder.path(), &words);
        assert_eq!(again.code, 1, "{}", again.stderr);
        assert!(
            again.stderr.contains(name) && again.stderr.contains("--force"),
            "{}",
            again.stderr
        );
        let forced = ask(folder.path(), &format!("{words} --force --quiet"));
        assert_eq!((forced.code, &*forced.stderr), (0, ""));
        assert!(fs::read(folder.path().join(name)).unwrap() == bytes, "the same once more");
    }
    let svg = fs::read_to_string(folder.path().join("a.svg")).unwrap();
    let header = "rates; bins of 320000000 ticks = 50 ms";
    assert!(svg.contains(header) && svg.contains("rate (kHz)"), "{svg}");
}

#[test]
fn several_runs_are_drawn_one_below_the_other_or_added_up() {
    let folder = place();
    let other = root().join("data/fixtures/pairs/1.tags.zst");
    fs::copy(other, folder.path().join("other.tags.zst")).unwrap();
    let both = ask(folder.path(), "rates --plot run other.tags.zst");
    assert_eq!(both.code, 0, "{}", both.stderr);
    assert_eq!(both.text().matches("Rates, ").count(), 2, "{}", both.text());
    let refused = ask(folder.path(), "rates --plot x.svg run other.tags.zst");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--sum"), "{}", refused.stderr);
    let sum = ask(folder.path(), "rates --plot=x.svg --sum run other.tags.zst");
    assert_eq!(sum.code, 0, "{}", sum.stderr);
    let svg = fs::read_to_string(folder.path().join("x.svg")).unwrap();
    assert!(svg.contains(">Rates, 2 runs added up<"), "{svg}");
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let folder = place();
    let said = |words: &str, part: &str| {
        let output = ask(folder.path(), words);
        assert_eq!(output.code, 2, "{words}: {}", output.stderr);
        assert!(output.stderr.contains(part), "{words}: {part}: {}", output.stderr);
    };
    said("coincidences --window 2ns --list --plot run", "--plot");
    said("coincidences --window 2ns --explain --plot run", "--plot");
    said("rates --explain --plot a.svg run", "--plot");
    said("rates --plot a.gif run", ".svg, .pdf, .png or .html");
    said("rates --plot=a run", ".svg, .pdf, .png or .html");
    said("rates --plot a.svg -o a.svg --format csv run", "two files");
    said("rates --force run", "--output");
    said("watch rates --plot a.svg nowhere", "without a file");
    said("watch rates --plot nowhere --format json", "--plot");
    assert!(!folder.path().join("a.svg").exists() && !folder.path().join("run/.tagq").exists());
}

#[test]
fn what_is_watched_is_drawn_with_each_answer() {
    let folder = place();
    let mut watch = command();
    watch.current_dir(folder.path()).args(["watch", "rates", "--plot", "run", "--and"]);
    watch.args(["coincidences", "--window", "2ns"]);
    let mut watch = Killed(watch.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let out = BufReader::new(watch.0.stdout.take().unwrap());
    let until = |line: &String| !line.contains("update");
    let lines: Vec<String> = out.lines().map(Result::unwrap).take_while(until).collect();
    let text = lines.join("\n");
    let bars = lines.iter().filter(|line| line.contains("\u{2502}\u{2588}")).count();
    assert_eq!(bars, 4, "{text}");
    assert_eq!(text.matches("Rates, run").count(), 1, "{text}");
    // The other query stays a table.
    assert!(text.contains("P(a|b)"), "{text}");
}

/// Colours appear only on a terminal; `script` provides one.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "a terminal by the program script of Linux")]
fn colours_are_on_a_terminal_and_never_with_no_color() {
    let folder = place();
    assert_eq!(tagq(["ingest".as_ref(), folder.path().join("run").as_os_str()]).code, 0);
    let program = env!("CARGO_BIN_EXE_tagq");
    let asked = format!("'{program}' coincidences --window 2ns --plot --quiet run");
    let on_terminal = |no_colour: bool| {
        let mut script = std::process::Command::new("script");
        script
            .args(["-qec", &asked, "/dev/null"])
            .current_dir(folder.path())
            .env("TERM", "xterm-256color");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            script.env_remove(name);
        }
        if no_colour {
            script.env("NO_COLOR", "1");
        }
        script.stdin(Stdio::null()).output()
    };
    let Ok(coloured) = on_terminal(false) else {
        crate::support::skipped("no script to make a terminal");
        return;
    };
    let text = String::from_utf8(coloured.stdout).unwrap();
    assert!(text.contains("\u{1b}[48;5;") && !text.contains('\u{2588}'), "{text:?}");
    let text = String::from_utf8(on_terminal(true).unwrap().stdout).unwrap();
    assert!(!text.contains("\u{1b}[48") && text.contains('\u{2588}'), "{text:?}");
}

#[test]
fn ends_of_an_axis_have_its_unit() {
    let folder = place();
    let words = "scan coincidences 1,2 --window 1ns..3ns:3 run --format csv --force";
    let drawn = |words: &str| {
        let asked = ask(folder.path(), &format!("{words} --plot=a.svg"));
        assert_eq!(asked.code, 0, "{words}: {}", asked.stderr);
        fs::read_to_string(folder.path().join("a.svg")).unwrap()
    };
    let ends =
        |limits: &str| drawn(&format!("rates --bin 50ms --channels 1 run --force --ylim {limits}"));
    assert_eq!(ends("20kHz..0.05MHz"), ends("20000..50000"));
    assert!(ends("20kHz..0.05MHz").contains(">50</text>"));
    for (asked, said) in [
        (
            "rates --bin 50ms run --plot --ylim 3ns..5ns",
            "`3ns` has the unit ns, and the axis is in GHz, MHz, kHz or Hz",
        ),
        (&format!("{words} --plot --ylim 3Hz..5Hz"), "has no unit"),
        ("g2 1,2 run --plot --ylim 3..", "write it as 0..1.5"),
        ("g2 1,2 run --plot --ylim 3xy..5", "has the unit xy, and the axis has no unit"),
        ("rates --bin 50ms run --plot --ylim 3kHz..2kHz", "LO below HI"),
    ] {
        let refused = ask(folder.path(), asked);
        assert!(refused.code != 0 && refused.stderr.contains(said), "{asked}: {}", refused.stderr);
    }
}

#[test]
fn a_figure_for_a_paper_has_no_caption() {
    let folder = place();
    for end in ["svg", "html"] {
        let drawn = |more: &str| {
            let words = format!("rates --bin 50ms run --plot=a.{end} --force {more}");
            assert_eq!(ask(folder.path(), &words).code, 0, "{words}");
            fs::read_to_string(folder.path().join(format!("a.{end}"))).unwrap()
        };
        let svg =
            |text: &str| text[text.find("<svg").unwrap()..text.find("</svg>").unwrap()].to_owned();
        assert!(svg(&drawn("")).contains("bins of"));
        let plain = svg(&drawn("--no-caption"));
        assert!(
            !plain.contains("bins of") && !plain.contains("Rates") && plain.contains("rate (kHz)")
        );
        let titled = svg(&drawn("--no-caption --title Mine"));
        assert!(titled.contains(">Mine</text>") && !titled.contains("bins of"));
    }
}

/// The ends and the scale of the axis of values, and the title, as they are in the picture.
#[test]
fn a_figure_looks_as_it_is_asked_to() {
    let folder = place();
    let drawn = |words: &str| {
        let asked = ask(folder.path(), &format!("{words} --plot=a.svg --force -q"));
        assert_eq!(asked.code, 0, "{words}: {}", asked.stderr);
        fs::read_to_string(folder.path().join("a.svg")).unwrap()
    };
    let histogram = "histogram --start 1 --stop 2 --range 10ns run";
    let plain = drawn(histogram);
    assert!(!plain.contains(">1</text>") && !plain.contains(">100</text>"));
    let log = drawn(&format!("{histogram} --log-y --title Pairs"));
    for label in [">10</text>", ">100</text>", ">Pairs</text>"] {
        assert!(log.contains(label), "{label}");
    }
    let cut = drawn(&format!("{histogram} --ylim 0..40"));
    assert!(cut.contains(">40</text>") && !cut.contains(">200</text>"));
    let matrix = drawn("coincidences --window 2ns run --log-y");
    assert!(matrix.contains(">1,000</text>") && matrix.contains("crispEdges"));
    for (words, said) in [
        ("rates run --plot --log-y", "bars, which start at zero"),
        ("rates run --log-y", "--plot"),
        ("g2 1,2 run --plot --ylim 2..1", "`2..1` is no range of values; write it as 0..1.5"),
        ("g2 1,2 run --plot --log-y --ylim 0..1", "above zero with --log-y"),
    ] {
        let refused = ask(folder.path(), words);
        assert!(refused.code != 0 && refused.stderr.contains(said), "{words}: {}", refused.stderr);
    }
    // Two panels: the names of both lines, and the axis of values twice.
    let panels = drawn("coincidences --window 2ns --bin 20ms --group 1,2 --group 3,4 run");
    assert_eq!(panels.matches(">5</text>").count(), 2);
}
