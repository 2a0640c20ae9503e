//! Lists of coincidences, from the command line.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::Stdio,
};

use serde_json::Value;

use crate::support::{cat, coincidences, command, fixture_copy, output, tagq};

fn csv(args: &str, run: &Path) -> Vec<Vec<String>> {
    let args = format!("coincidences --list --format csv {args}");
    let args = args.split_whitespace().map(Into::into).chain([run.as_os_str().to_owned()]);
    let listed = tagq(args);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let lines = listed.text().lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Every rule lists as many coincidences as it counts, in order, and their tags exist.
#[test]
fn a_list_is_as_long_as_the_count() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let tags = [cat(&run.join("1.tags.zst")), cat(&run.join("2.tags.zst"))].concat();
    for args in [
        "--window 2ns --group 1,2",
        "--window 20us --group 1,2,3 --delay 2=-3us --from 50ms --to 350ms",
        "--window 20us --group 1,2,3 --rule herald --veto 4 --guard 5us",
        "--window 20us --group 2,1,4 --rule per-herald",
        "--window 50us --group 1,2 --rule once --last 120ms",
        "--window 100t --group 3,4 --rule grid",
    ] {
        let count = coincidences(args, &run)["rows"][0]["count"].as_u64().unwrap();
        let list = coincidences(&format!("{args} --list"), &run);
        let rows = list["rows"].as_array().unwrap();
        assert!(count > 0 && rows.len() as u64 == count, "{args}: {count}, {}", rows.len());
        let value = |row: &Value, key: &str| row[key].as_i64().unwrap();
        assert!(rows.is_sorted_by_key(|row| value(row, "time")), "{args}");
        let channels = args.split_once("--group ").unwrap().1.split(' ').next().unwrap();
        for row in rows {
            for channel in channels.split(',') {
                let at = value(row, &format!("row_{channel}"));
                let tag = tags[usize::try_from(at).unwrap()];
                assert_eq!(tag.1.to_string(), channel, "{args}: {row}");
                assert_eq!(tag.0, value(row, &format!("time_{channel}")), "{args}: {row}");
            }
        }
        let lines = csv(args, &run);
        assert_eq!(lines.len() as u64, count + 1, "{args}");
        for threads in ["1", "3"] {
            assert_eq!(csv(&format!("{args} --threads {threads}"), &run), lines);
        }
    }
}

#[test]
fn several_groups_and_several_runs_share_a_header() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let args = "--window 10ns --group 1,2 --group 4,3";
    let list = coincidences(&format!("{args} --list"), &run);
    let counted = coincidences(args, &run);
    for group in counted["rows"].as_array().unwrap() {
        let rows = list["rows"].as_array().unwrap().iter();
        let own: Vec<&Value> = rows.filter(|row| row["channels"] == group["channels"]).collect();
        assert_eq!(Some(own.len() as u64), group["count"].as_u64());
        assert_eq!(own[0]["row_1"].is_null(), group["channels"][0] == 4);
        assert_eq!(own[0][format!("dt_{}", group["channels"][0])], 0);
    }
    let lines = csv(args, &run);
    assert_eq!(lines[0][..4], ["channel_a", "channel_b", "time", "row_1"]);
    assert!(lines.iter().all(|line| line.len() == 3 + 3 * 4));
    // The run's two files as separate runs: the same coincidences, except for the rows.
    let [one, two] = ["1.tags.zst", "2.tags.zst"].map(|name| run.join(name));
    let both = format!("coincidences --list --window 10ns --group 1,2 {}", one.display());
    let both = output(command().args(both.split(' ')).arg(&two)).json();
    let times = |rows: &Value| -> Vec<i64> {
        rows.as_array().unwrap().iter().map(|row| row["time"].as_i64().unwrap()).collect()
    };
    let whole = coincidences("--list --window 10ns --group 1,2", &run);
    assert_eq!(times(&both["rows"]), times(&whole["rows"]));
    assert_eq!(both["rows"][0]["run"], one.to_str().unwrap());
    assert_eq!(both["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn clusters_are_listed_tag_by_tag() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let args = "--window 1us --rule cluster --channels 1,2,4 --to 20ms";
    let counted = coincidences(args, &run);
    let events: u64 =
        counted["rows"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum();
    let lines = csv(args, &run);
    assert_eq!(lines[0], ["cluster", "time", "channel", "row", "time_recorded", "dt"]);
    let clusters = lines[1..].chunk_by(|a, b| a[0] == b[0]);
    for (number, cluster) in clusters.clone().enumerate() {
        assert_eq!((&cluster[0][0], &*cluster[0][5]), (&number.to_string(), "0"));
        assert!(cluster.iter().all(|tag| tag[5].parse::<i64>().unwrap() <= 6_400));
    }
    assert!(events > 100 && clusters.count() as u64 == events);
}

/// A window over all tags gives more than 10^8 pairs. A reader of only a few lines gets them at once.
#[test]
fn a_reader_that_stops_ends_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    for format in ["csv", "json", "table"] {
        let args = format!("coincidences --list --window 1h --join --format {format}");
        let mut child = command()
            .args(args.split(' '))
            .arg(&run)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(200);
        assert_eq!(lines.count(), 200);
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn a_table_has_the_names_of_the_setup_and_the_singles_of_the_selection() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    fs::write(run.join("tagq.toml"), "tick = '1ns'\n[channels]\n1 = 'Alice'\n2 = 'Bob'\n").unwrap();
    let table = |args: &str| {
        let asked = output(command().args(args.split(' ')).arg(&run).args(["--format", "table"]));
        assert_eq!(asked.code, 0, "{}", asked.stderr);
        asked.text().to_owned()
    };
    let asked = "coincidences --window 12t --group 1,2 --to 100000000t";
    let text = table(asked);
    assert!(text.contains("Alice,Bob"), "{text}");
    let rates = output(command().args("rates --to 100000000t".split(' ')).arg(&run)).json();
    let of_alice = rates["rows"][0]["count"].as_u64().unwrap();
    let line = text.lines().find(|line| line.trim().starts_with("Alice ")).unwrap();
    let shown: String = line.split_whitespace().nth(1).unwrap().replace(',', "");
    assert_eq!(shown, of_alice.to_string(), "{text}");
    let binned = table(&format!("{asked} --bin 10000000t"));
    assert!(binned.lines().any(|other| other == line), "{line} in {binned}");
    assert!(table("coincidences --list --window 12t").contains("Alice,Bob"));
    // The tick and the names come from the setup.
    let info = table("info");
    assert!(info.contains("tick       1 ns\n") && info.contains("Alice"), "{info}");
    let plain = table("info --no-setup");
    assert!(!plain.contains("Alice"), "{plain}");
    assert!(table("rates").contains("Bob"));
}

#[test]
fn an_ingest_takes_the_tick_of_the_setup() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    fs::write(run.join("tagq.toml"), "tick = '4ps'\n").unwrap();
    for (args, home) in [(vec![], &run), (vec!["--store", "elsewhere"], &run.join("1.tags.zst"))] {
        let taken = output(command().current_dir(&folder).arg("ingest").args(&args).arg(home));
        assert_eq!(taken.code, 0, "{}", taken.stderr);
    }
    for store in [run, folder.path().join("elsewhere")] {
        let info = output(command().args(["info", "--no-setup", "--no-ingest"]).arg(&store)).json();
        assert_eq!(info["tick"], "4000000/1");
        assert_eq!(info["tick_assumed"], false);
    }
}

/// A symmetric range of cells has the same bins as a range with both ends given.
#[test]
fn a_range_on_both_sides_is_whole_cells() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let rows = |range: &str| {
        let args = format!("histogram --start 1 --stop 2 --mode grid --bin 4t {range}");
        let asked = output(command().args(args.split_whitespace()).arg(&run)).json();
        asked["rows"].clone()
    };
    let expected = rows("--range -12t..12t");
    assert_eq!(expected.as_array().unwrap().len(), 7);
    assert_eq!(rows("--range 12t"), expected);
    assert_eq!(rows("--range 9t"), expected);
    assert_eq!(rows("").as_array().unwrap().len(), 129);
}

#[test]
#[cfg_attr(windows, ignore = "a shell limits files")]
fn a_limit_of_the_shell_on_files_is_an_error_of_writing() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let script = "ulimit -f 1; exec \"$0\" ingest \"$1\"";
    let refused = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tagq")])
        .arg(&run)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{:?} {stderr}", refused.status);
    assert!(stderr.contains("too large"), "{stderr}");
}
