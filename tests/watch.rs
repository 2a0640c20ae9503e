//! `tagq watch`, as a process in parallel with a recorder.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{ChildStdout, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant, SystemTime},
};

use serde_json::Value;

use crate::{
    support::{Killed, cat, command, fixture_copy, interrupt, interruptible, skipped, tagq},
    terminal::{self, Screen, Shows},
};

/// A running watch and the lines that it writes.
struct Watch {
    process: Killed,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    notes: PathBuf,
}

impl Watch {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let notes = folder.join("notes");
        let mut process = Killed(
            interruptible()
                .arg("watch")
                .args(args)
                .current_dir(folder)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(fs::File::create(&notes).unwrap())
                .spawn()
                .unwrap(),
        );
        let lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        Self { process, lines, notes }
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next();
        let line = line.unwrap_or_else(|| panic!("it ended: {}", self.notes())).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the first answer over exactly this number of tags.
    fn until(&mut self, tags: u64) -> Value {
        loop {
            let update = self.next();
            let seen = update["answers"][0]["run"]["tags"].as_u64().unwrap();
            assert!(seen <= tags, "{seen} of {tags} tags");
            if seen == tags {
                return update;
            }
        }
    }

    fn notes(&self) -> String {
        fs::read_to_string(&self.notes).unwrap()
    }

    /// Waits until the watch prints this note.
    fn until_noted(&self, what: &str) {
        let begun = Instant::now();
        while !self.notes().contains(what) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", self.notes());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(mut self) {
        interrupt(&mut self.process.0);
        let mut rest = String::new();
        for line in self.lines {
            rest.push_str(&line.unwrap());
        }
        assert!(rest.is_empty() || rest.ends_with('}'), "{rest}");
    }
}

/// Records four frames into a new file, from `start` on. Returns the number of tags.
fn record(out: &Path, start: &str) -> u64 {
    let mut recorder = command()
        .args(["simulate", "--live", "40kHz", "--rate", "20kHz", "--duration", "1s"])
        .args(["--start", start])
        .arg(out)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = String::new();
    recorder.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(recorder.wait().unwrap().success());
    let last: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    last["tags"].as_u64().unwrap()
}

#[test]
fn each_update_answers_all_queries_as_a_full_count_would() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let coincidences = ["coincidences", "--window", "2ns", "--delay", "2=1us", "run"];
    let rates = ["rates", "--last", "100ms"];
    let words = [&coincidences[..], &["--and"], &rates, &["--every", "1ms"]].concat();
    let mut watch = Watch::start(folder.path(), &words);
    let tags = record(&run.join("live.tags.zst"), "0s");
    let update = watch.until(tags);
    assert!(update["update"].as_u64().unwrap() > 1, "it answered while it was recorded");
    let ask = |words: &[&str]| {
        let words = words.iter().filter(|word| **word != "run").map(|word| (*word).into());
        let more = ["--no-cache".into(), "--no-ingest".into(), run.clone().into_os_string()];
        tagq(words.chain(more)).json()
    };
    let answers = update["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 2);
    let whole = ask(&coincidences);
    assert!(whole["rows"][0]["count"].as_u64().unwrap() > 0);
    assert_eq!(answers[0]["rows"], whole["rows"]);
    let (total, last) = (ask(&["rates"]), ask(&rates));
    for (key, len) in [("rows", 2), ("total", 1)] {
        let rows = answers[1][key].as_array().unwrap();
        assert_eq!(rows.len(), len, "two channels, and both together as the total");
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row["channel"], total[key][at]["channel"]);
            assert_eq!(row["count"], total[key][at]["count"]);
            assert_eq!(row["last_count"], last[key][at]["count"]);
            assert_eq!(row["last_rate_hz"], last[key][at]["rate_hz"]);
            assert_ne!(row["count"], row["last_count"]);
        }
    }
    watch.stop();
    // It leaves nothing locked: the next ingest gets the lock at once.
    assert_eq!(tagq(["ingest".as_ref(), run.as_os_str()]).code, 0);
}

#[test]
fn derived_channels_and_gates_are_watched_in_views_that_grow() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let derived = [
        "coincidences",
        "Alone,2",
        "--window",
        "1us",
        "--derive",
        "Alone = 1 unless 2 in 1us..9us",
    ];
    let gated = ["rates", "--gate", "2 for 20us"];
    let words =
        [&["rates", "run", "--every", "1ms", "--and"][..], &derived, &["--and"], &gated].concat();
    let mut watch = Watch::start(folder.path(), &words);
    let tags = record(&run.join("live.tags.zst"), "0s");
    let update = watch.until(tags);
    for (at, words) in [(1, &derived[..]), (2, &gated)] {
        let more = ["--no-cache".into(), "--no-ingest".into(), run.clone().into_os_string()];
        let whole = tagq(words.iter().map(|word| (*word).into()).chain(more)).json();
        let count = whole["rows"][0]["count"].as_u64();
        assert!(count > Some(100), "{words:?}: {count:?}");
        assert_eq!(update["answers"][at]["rows"], whole["rows"], "{words:?}");
    }
    watch.stop();
    let views = fs::read_dir(run.join(".tagq/views")).unwrap().map(|view| {
        let manifest = fs::read(view.unwrap().path().join("manifest.json")).unwrap();
        serde_json::from_slice::<Value>(&manifest).unwrap()["commit"].as_u64().unwrap()
    });
    let commits: Vec<u64> = views.collect();
    assert!(commits.len() == 2 && commits.iter().all(|&commits| commits > 2), "{commits:?}");
}

#[test]
fn while_another_process_writes_its_commits_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let aside = tempfile::tempdir().unwrap();
    let before = cat(&fixture_copy(aside.path())).len() as u64;
    let follower = command()
        .args(["ingest", "--follow", "--quiet"])
        .arg(&run)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let follower = Killed(follower.unwrap());
    // The follower holds the lock after its first commit, and while a file changes; before that, another process could take it.
    let first = run.join("1.tags.zst");
    let (stop, stopped) = mpsc::channel::<()>();
    let changes = std::thread::spawn(move || {
        let file = fs::File::options().append(true).open(first).unwrap();
        while stopped
            .recv_timeout(Duration::from_millis(200))
            .is_err_and(|e| e == RecvTimeoutError::Timeout)
        {
            file.set_modified(SystemTime::now()).unwrap();
        }
    });
    let begun = Instant::now();
    while !run.join(".tagq/manifest.json").exists() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(tagq(["ingest".as_ref(), run.as_os_str()]).code, 4);
    let mut watch = Watch::start(folder.path(), &["rates", "run"]);
    watch.until_noted("another process");
    watch.until(before);
    let by_other = record(&run.join("8.tags.zst"), "100s");
    watch.until(before + by_other);
    assert_eq!(watch.notes().matches("another process").count(), 1, "{}", watch.notes());
    // It ends without a note, and this watch takes over.
    drop((follower, stop));
    changes.join().unwrap();
    let by_itself = record(&run.join("9.tags.zst"), "200s");
    watch.until(before + by_other + by_itself);
    assert!(watch.notes().contains("it goes on"), "{}", watch.notes());
    watch.stop();
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said_and_it_goes_on_when_there_is_room() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let tags = record(&run.join("1.tags.zst"), "0s");
    let mut watch = Watch::start(folder.path(), &["rates", "run"]);
    watch.until(tags);
    let pid = Pid::from_child(&watch.process.0);
    // Limit the file size below that of the columns, which simulates a full disk.
    let full = Rlimit { current: Some(4096), maximum: None };
    let before = prlimit(Some(pid), Resource::Fsize, full).unwrap();
    let more = record(&run.join("2.tags.zst"), "100s");
    watch.until_noted("trying again");
    prlimit(Some(pid), Resource::Fsize, before).unwrap();
    watch.until_noted("it goes on");
    let whole = watch.until(tags + more);
    let rows = tagq(["rates".as_ref(), "--no-cache".as_ref(), run.as_os_str()]).json();
    assert_eq!(whole["answers"][0]["rows"], rows["rows"]);
    // A source that disappears keeps its rows.
    fs::remove_file(run.join("1.tags.zst")).unwrap();
    watch.until_noted("1.tags.zst: was removed; its tags stay in ");
    // A store that disappears is made again, of the sources that are left.
    fs::rename(run.join(".tagq"), folder.path().join("elsewhere")).unwrap();
    watch.until_noted(".tagq: the store was removed");
    while watch.next()["answers"][0]["run"]["tags"] != more {}
    watch.stop();
}

#[test]
fn the_age_of_the_data_stands_below_the_answers() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.tags.zst");
    let made = tagq(["simulate".as_ref(), "--duration".as_ref(), "2s".as_ref(), run.as_os_str()]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let recorded = SystemTime::now() - Duration::from_mins(181);
    fs::File::options().write(true).open(&run).unwrap().set_modified(recorded).unwrap();
    let screen = Screen { rows: 24, columns: 100, shows: Shows::Stdout };
    let (mut person, programs) = match terminal::open(screen) {
        Ok(ends) => ends,
        Err(error) => return skipped(&format!("no terminal: {error}")),
    };
    let mut watch = interruptible();
    watch.args(["watch", "rates", "--last", "1s"]).arg(&run).env("TERM", "xterm");
    watch.stdin(Stdio::null()).stdout(programs).stderr(Stdio::null());
    let watch_process = Killed(watch.spawn().unwrap());
    drop(watch);
    let mut shown = String::new();
    let mut bytes = [0; 4096];
    while !shown.contains("Ctrl-C ends") {
        let read = person.read(&mut bytes).unwrap();
        shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    assert!(shown.contains("beside it the last recorded 1 s"), "{shown}");
    assert!(shown.contains(" tags; nothing new for 3 h; update 1 in "), "{shown}");
    drop(watch_process);
}

#[test]
fn what_cannot_be_watched_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let said = |words: &[&str], code: i32, part: &str| {
        let words = ["watch"].iter().chain(words);
        let output = crate::support::output(command().current_dir(folder.path()).args(words));
        assert_eq!(output.code, code, "{}", output.stderr);
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    };
    said(&[], 2, "QUERY");
    said(&["info", "run"], 2, "only these can be watched");
    said(&["rates"], 2, "RUN");
    said(&["rates", "-"], 2, "standard input");
    said(&["rates", "nowhere"], 1, "nowhere");
    said(&["rates", "--and", "rates", "nowhere"], 1, "nowhere");
    said(&["rates", "--and", "rates"], 2, "RUN");
    said(&["rates", "run", "-o", "x.json"], 2, "--output");
    said(&["rates", "run", "--format", "csv"], 2, "lines of json");
    said(&["rates", "run", "--explain"], 2, "--explain");
    said(&["rates", "run", "--every", "5"], 2, "--every");
    said(&["--every=-1s", "rates", "run"], 2, "no time to wait");
    said(&["rates", "run", "--and", "coincidences"], 2, "--window");
    said(&["coincidences", "--window", "2ns", "--group", "Alice,3", "run"], 2, "Alice");
    said(&["coincidences", "--window", "1fs", "run"], 2, "tick");
}

#[test]
fn a_watch_ends_after_the_updates_that_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let watch = ["watch", "-q", "rates", "--updates", "1"];
    let said = crate::support::output(command().args(watch).arg(run));
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(String::from_utf8(said.stdout).unwrap().lines().count(), 1);
}

#[test]
fn a_run_without_tags_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("1.tags"), "").unwrap();
    let watch = ["watch", "coincidences", "1,2", "--window", "2ns", "--updates", "1"];
    let said = crate::support::output(command().args(watch).arg(&run));
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("run: no tags yet"), "{}", said.stderr);
    assert!(!said.stderr.contains("channel 1"), "{}", said.stderr);
}
