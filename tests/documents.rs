//! The examples in the documents work as shown.

use std::{fs, process::Command};

use crate::support::{coincidences, command, counts, fixture_copy, output, root, skipped};

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

#[test]
fn the_help_names_every_command_of_the_readme() {
    let commands = blocks("README.md", "sh")[1].clone();
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

/// The reader in docs/format.md finds the tags of a store that the program counts.
#[test]
fn numpy_reads_a_store_as_the_format_says() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let expected = counts(&coincidences("--window 2ns --group 1,2", &run))[0].2;
    let reader = blocks("docs/format.md", "python")[0].clone();
    // Tell sources apart by their rows, which the manifest lists.
    let script = format!(
        "{reader}
import sys
time, channel = tags(sys.argv[1])
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
    let printed = output(Command::new("python3").args(["-c", &script]).arg(run.join(".tagq")));
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert_eq!(printed.text().trim(), expected.to_string());
}
