//! The examples in the documents work as shown.

use std::{fs, path::Path, process::Command};

use crate::{
    support::{coincidences, command, counts, fixture_copy, output, root, skipped},
    tidy::sources_below,
};

/// Returns the fenced blocks of a document in one language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_first_command_of_the_readme_prints_what_it_shows() {
    let first = &blocks("README.md", "sh")[0];
    let args = first.trim().strip_prefix("cargo run --release --bin tagq -- ").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let args = args.split_whitespace().map(|arg| match arg {
        "data/fixtures/pairs/" => run.as_os_str().to_owned(),
        arg => arg.into(),
    });
    let printed = output(command().args(args).args(["--format", "table"]));
    let shown = &blocks("README.md", "text")[0];
    let shown: Vec<&str> = shown.lines().take_while(|line| *line != "…").collect();
    let printed: Vec<&str> = printed.text().lines().map(str::trim_end).collect();
    assert!(shown.len() > 8);
    assert_eq!(printed[..shown.len()], shown);
}

/// Files, folders and functions that the page about the architecture names in backticks are there.
#[test]
fn the_architecture_names_what_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let folders = [
        "",
        "crates",
        "crates/ask/src/requests",
        "crates/ingest/src",
        "crates/query/src",
        "crates/run/src",
    ];
    let mut sources = Vec::new();
    sources_below(&root().join("crates"), &mut sources);
    let code: String = sources.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let (mut paths, mut functions) = (0, 0);
    for line in text.lines() {
        let parts: Vec<&str> = line.split('`').collect();
        // A file, and a function of it.
        for of in parts.windows(3).filter(|of| of[0].contains(".rs") && of[1] == ", ") {
            let read = |folder: &&str| fs::read_to_string(root().join(folder).join(of[0])).ok();
            let content = folders.iter().find_map(read);
            if !of[2].contains(['/', '.']) {
                let function = of[2].rsplit("::").next().unwrap();
                assert!(content.unwrap().contains(&format!("fn {function}")), "{line}");
                functions += 1;
            }
        }
    }
    for named in text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)) {
        let is_source = Path::new(named).extension().is_some_and(|end| end == "rs");
        if is_source || named.contains('/') && !named.contains([' ', '.']) {
            let is_there = folders.iter().any(|folder| root().join(folder).join(named).exists());
            assert!(is_there, "{named}");
            paths += 1;
        } else if let Some((_, function)) = named.rsplit_once("::") {
            assert!(code.contains(&format!("fn {function}")), "{named}");
            functions += 1;
        }
    }
    assert!(paths > 40 && functions > 14, "{paths} {functions}");
}

/// The chart of speeds in the README has the numbers of the table that was measured, and bars of their lengths.
#[test]
fn the_chart_of_the_readme_is_that_of_the_benchmarks() {
    let measured = fs::read_to_string(root().join("docs/benchmarks.md")).unwrap();
    let chart = blocks("README.md", "text").remove(1);
    let mut per_block = Vec::new();
    for line in chart.lines() {
        let (what, rest) = line.split_once("  ").unwrap();
        let row = measured.lines().find(|row| row.starts_with(&format!("| {what} |")));
        let row: Vec<&str> =
            row.unwrap_or_else(|| panic!("{what}")).split('|').map(str::trim).collect();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [bar, speed, ratio, times, rival] = words[..] else { panic!("{line}") };
        assert_eq!(speed, row[2], "{line}");
        assert_eq!(format!("{ratio} ({rival})"), row[row.len() - 2], "{line}");
        assert_eq!(times, "\u{d7}", "{line}");
        let half_blocks = bar.chars().map(|c| if c == '\u{2588}' { 2.0 } else { 1.0 }).sum::<f64>();
        per_block.push((half_blocks, speed.replace(',', "").parse::<f64>().unwrap()));
    }
    assert!(per_block.len() >= 5);
    let longest = per_block
        .iter()
        .copied()
        .fold((0.0, 0.0), |a: (f64, f64), b| if b.1 > a.1 { b } else { a });
    for (half_blocks, speed) in per_block {
        assert!((half_blocks - speed / longest.1 * longest.0).abs() <= 0.5, "{speed}");
    }
}

#[test]
fn the_help_names_every_command_of_the_readme() {
    let commands = blocks("README.md", "sh")[2].clone();
    let mut tried = 0;
    for line in commands.lines() {
        let name = line.split_whitespace().nth(1).unwrap();
        let help = output(command().args([name, "--help"]));
        assert_eq!(help.code, 0, "{name}");
        for flag in line.split('#').next().unwrap().split_whitespace() {
            assert!(!flag.starts_with("--") || help.text().contains(flag), "{name} {flag}");
        }
        tried += 1;
    }
    assert!(tried >= 7);
}

/// The readers in docs/format.md find the tags of a store that the program counts, with a column of times and without it.
#[test]
fn numpy_reads_a_store_as_the_format_says() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let made = output(command().args(["ingest", "-q", "--times"]).arg(&run));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let expected = counts(&coincidences("--window 2ns --group 1,2", &run))[0].2;
    let readers = blocks("docs/format.md", "python").concat();
    // Tell sources apart by their rows, which the manifest lists.
    let script = format!(
        "{readers}
import sys
if 'time' in json.load(open(sys.argv[1] + '/manifest.json'))['files']:
    time, channel = tags(sys.argv[1])
else:
    time, channel = times(sys.argv[1]), labels(sys.argv[1])
count, start = 0, 0
for source in json.load(open(sys.argv[1] + '/manifest.json'))['sources']:
    rows = slice(start, start + source['rows'])
    start = rows.stop
    a, b = (time[rows][channel[rows] == c] for c in (1, 2))
    count += (np.searchsorted(a, b + 12, 'right') - np.searchsorted(a, b - 12, 'left')).sum()
print(int(count))
"
    );
    let python = Command::new("python3").arg("-c").arg("import numpy").output();
    if !python.is_ok_and(|output| output.status.success()) {
        skipped("no python3 with NumPy");
        return;
    }
    for times in ["on", "off"] {
        let set = output(command().args(["set", "--times", times]).arg(&run));
        assert_eq!(set.code, 0, "{}", set.stderr);
        let printed = output(Command::new("python3").args(["-c", &script]).arg(run.join(".tagq")));
        assert_eq!(printed.code, 0, "{}", printed.stderr);
        assert_eq!(printed.text().trim(), expected.to_string(), "--times {times}");
    }
}

/// Wheels take the licences from the folder of the Python package.
#[test]
fn the_python_package_has_all_licences() {
    let licences = [
        ("LICENSE-MIT", "LICENSE-MIT"),
        ("LICENSE-APACHE", "LICENSE-APACHE"),
        ("crates/plot/fonts/LICENSE", "LICENSE-FONT"),
    ];
    for (licence, copy) in licences {
        let [licence, copy] = [root().join(licence), root().join("crates/python").join(copy)]
            .map(|path| fs::read_to_string(path).unwrap());
        assert!(licence.len() > 500);
        assert_eq!(licence, copy);
    }
}

/// PLATFORMS.md has each target of `cargo xtask`, with a status, and the tests that systems leave out.
#[test]
fn every_target_has_a_status_and_tests_that_are_left_out_are_listed() {
    let platforms = fs::read_to_string(root().join("PLATFORMS.md")).unwrap();
    let targets = fs::read_to_string(root().join("xtask/src/targets.rs")).unwrap();
    let triples = targets.split("triple: \"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let triples: Vec<&str> = triples.collect();
    assert!(triples.len() >= 7, "{triples:?}");
    for triple in triples {
        let row = platforms.lines().find(|line| line.starts_with(&format!("| `{triple}` |")));
        let status = row.and_then(|row| row.split('|').nth(2)).unwrap_or_default().trim();
        assert!(["run", "emulated", "linked", "absent"].contains(&status), "{triple}: {status}");
        let may_be_absent = !triple.contains("windows") && triple != "aarch64-unknown-linux-gnu";
        assert!(may_be_absent || status != "absent", "{triple}");
    }
    let (mut of_unix, mut of_linux) = (Vec::new(), Vec::new());
    let mut sources = Vec::new();
    sources_below(&root().join("crates"), &mut sources);
    sources_below(&root().join("tests"), &mut sources);
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == "#[test]") {
            let is_attribute = |line: &&&str| line.starts_with("#[");
            let attributes: Vec<_> = lines[at..].iter().take_while(is_attribute).collect();
            let has = |condition: &str| attributes.iter().any(|line| line.contains(condition));
            let left_out = if has("target_os = \"linux\"") {
                &mut of_linux
            } else if has("cfg(unix)") || has("cfg_attr(windows") {
                &mut of_unix
            } else {
                continue;
            };
            let function = lines[at..].iter().find_map(|line| line.strip_prefix("fn ")).unwrap();
            left_out.push(function.split('(').next().unwrap().to_owned());
        }
    }
    for (system, mut left_out) in [("Unix", of_unix), ("Linux", of_linux)] {
        let heading = format!("\n## Tests for {system} alone\n");
        let (_, list) = platforms.split_once(&heading).unwrap();
        let list = list.split("\n## ").next().unwrap();
        let listed = list.split('`').skip(1).step_by(2).filter(|name| !name.contains('/'));
        let mut listed: Vec<&str> = listed.collect();
        listed.sort_unstable();
        left_out.sort_unstable();
        assert!(left_out.len() > 10, "{left_out:?}");
        assert_eq!(listed, left_out, "{system}");
    }
}

/// `cargo xtask examples` builds and tests them.
#[test]
fn the_worked_examples_can_be_applied() {
    if !root().join(".git").exists() {
        return skipped("this is no checkout of git, or one that has them already");
    }
    for name in ["add-format", "add-kind"] {
        let patch = format!("docs/examples/{name}.patch");
        let mut git = Command::new("git");
        let checked = git.args(["apply", "--check", &patch]).current_dir(root()).output().unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{said}: change {patch}, which CONTRIBUTING.md explains");
    }
}
