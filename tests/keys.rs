//! The keys of `tagq watch`, in a terminal.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    process::{Pid, Signal, kill_process},
    termios::{LocalModes, tcgetattr},
};
use serde_json::Value;

use crate::{
    support::{Killed, command, output, skipped, tagq},
    terminal::{self, Screen, Shows, screen_after},
};

const COLUMNS: u16 = 100;
const SCREEN: Screen = Screen { rows: 30, columns: COLUMNS, shows: Shows::Stdout };

/// A watch on a terminal of its own, and the person before it.
struct Watch {
    process: Killed,
    person: File,
    /// The end of programs, which stays open to look at its settings.
    programs: File,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Watch {
    /// Starts a watch; `None` if no terminal can be opened.
    fn start(folder: &Path, words: &str) -> Option<Self> {
        Self::start_on("xterm", folder, words)
    }

    /// Starts a watch on a terminal of this type.
    fn start_on(kind: &str, folder: &Path, words: &str) -> Option<Self> {
        let (person, programs) = match terminal::open(SCREEN) {
            Ok(ends) => ends,
            Err(error) => {
                skipped(&format!("no terminal: {error}"));
                return None;
            }
        };
        let end = || Stdio::from(programs.try_clone().unwrap());
        // The terminal of the session sends Ctrl-C and Ctrl-Z as signals.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "env", "--default-signal=INT,TSTP", env!("CARGO_BIN_EXE_tagq")]);
        command.arg("watch").args(words.split_whitespace()).current_dir(folder);
        command.env("TERM", kind).env("NO_COLOR", "1");
        command.stdin(end()).stdout(end()).stderr(end());
        let process = Killed(command.spawn().unwrap());
        let (person, written) = (person, Arc::<Mutex<Vec<u8>>>::default());
        let (mut shown, all) = (person.try_clone().unwrap(), Arc::clone(&written));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = shown.read(&mut bytes) {
                all.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        Some(Self { process, person, programs, written })
    }

    fn press(&mut self, keys: &str) {
        self.person.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns the lines of the screen.
    fn lines(&self) -> Vec<String> {
        let written = self.written.lock().unwrap().clone();
        // The last bytes may be a part of a sequence.
        let whole = written.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        screen_after(&String::from_utf8_lossy(&written[..whole]), COLUMNS.into()).0
    }

    /// Waits until the screen shows this; returns its lines.
    fn until(&self, what: impl Fn(&str) -> bool) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let lines = self.lines();
            if what(&lines.join("\n")) {
                return lines;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", lines.join("\n"));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen shows the same counts as `tagq` with these words.
    fn until_counted(&self, folder: &Path, words: &str) -> Vec<(String, String)> {
        let mut asked = command();
        asked.args(words.split_whitespace()).args(["--no-cache", "--no-ingest", "--json"]);
        let asked = output(asked.current_dir(folder)).json();
        let rows = asked["rows"].as_array().unwrap().iter().map(group_and_count);
        let rows: Vec<(String, String)> = rows.collect();
        self.until(|text| counts(text) == rows);
        rows
    }

    /// Waits until the answers are over this many tags.
    fn until_tags(&self, tags: u64) {
        let tags = format!("\n{tags} tags");
        self.until(|text| text.replace(',', "").contains(&tags));
    }

    fn is_in_lines(&self) -> bool {
        tcgetattr(&self.programs)
            .unwrap()
            .local_modes
            .contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn until_in_lines(&self, is: bool) {
        let begun = Instant::now();
        while self.is_in_lines() != is {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", self.lines().join("\n"));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the system has stopped the process: a signal to continue that comes earlier has no effect.
    fn until_stopped(&self) {
        let stat = format!("/proc/{}/stat", self.process.0.id());
        let begun = Instant::now();
        // The state stands after the name of the program, which is in brackets.
        while !fs::read_to_string(&stat).unwrap().rsplit(')').next().unwrap().starts_with(" T") {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", self.lines().join("\n"));
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns the group and the count of a row of JSON, as a table shows them.
fn group_and_count(row: &Value) -> (String, String) {
    let channels = row["channels"].as_array().unwrap().iter();
    let channels: Vec<String> = channels.map(Value::to_string).collect();
    (channels.join(","), row["count"].to_string())
}

/// Returns the groups and counts of the table on a screen.
fn counts(text: &str) -> Vec<(String, String)> {
    let rows = text.lines().skip_while(|line| !line.starts_with("channels")).skip(1);
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let group = words.next()?.to_owned();
        let is_group = group.split(',').all(|part| part.parse::<u16>().is_ok());
        let count = words.next()?.split('(').next()?.replace(',', "");
        (is_group && count.parse::<u64>().is_ok()).then_some((group, count))
    };
    rows.map_while(row).collect()
}

/// Returns the command that a screen shows.
fn command_on(lines: &[String]) -> String {
    let shown = lines.iter().position(|line| line.starts_with("tagq ")).unwrap();
    // A long one is broken between words.
    let rest = lines[shown..].iter().take_while(|line| !line.contains(" tags"));
    rest.map(String::as_str).collect::<Vec<_>>().join(" ").strip_prefix("tagq ").unwrap().to_owned()
}

/// Records half a second of four channels into a new file, from `start` on. Returns the number of tags.
fn record(out: &Path, start: &str) -> u64 {
    let args = ["simulate", "--live", "40kHz", "--rate", "20kHz", "--channels", "1,2,3,4"];
    let more = ["--jitter", "2ns", "--duration", "500ms", "--start", start];
    let args = args.iter().chain(&more).map(PathBuf::from).chain([out.to_owned()]);
    let told = tagq(args);
    let last: Value = serde_json::from_str(told.text().lines().last().unwrap()).unwrap();
    last["tags"].as_u64().unwrap()
}

#[test]
fn keys_change_the_query_that_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let mut tags = record(&run.join("1.tags.zst"), "0s");
    let words = "coincidences --window 2ns --every 1ms run";
    let Some(mut watch) = Watch::start(folder.path(), words) else { return };
    let counted = |watch: &Watch, words: &str| watch.until_counted(folder.path(), words);
    watch.until_tags(tags);
    let two = counted(&watch, "coincidences --window 2ns run");
    assert_eq!(two.len(), 6);
    // A step of 1, 2, 5, and a value that is typed.
    watch.press("+");
    let five = counted(&watch, "coincidences --window 5ns run");
    assert_ne!(two, five);
    watch.press("w3ns\r");
    let three = counted(&watch, "coincidences --window 3ns run");
    assert_ne!(three, five);
    // A text that is no window is refused with the error of the command, and the query goes on.
    watch.press("w1fs\r");
    let lines = watch.until(|text| text.contains("`1fs` is shorter than one tick"));
    assert!(counts(&lines.join("\n")) == three && command_on(&lines).contains("--window 3ns"));
    // A delay, one step of it more, and groups.
    watch.press("d2=5ns\rd");
    watch.until(|text| text.contains("delay of channel 2: 5ns; + - change it by 1ns"));
    watch.press("+\x1b");
    counted(&watch, "coincidences --window 3ns --delay 2=6ns run");
    watch.press("g1,2 3,4\r");
    let two_groups = counted(&watch, "coincidences 1,2 3,4 --window 3ns --delay 2=6ns run");
    assert_eq!(two_groups.len(), 2);
    // While it is paused new tags are ingested, and not counted.
    watch.press("p");
    watch.until(|text| text.contains("PAUSED: the numbers are"));
    tags += record(&run.join("2.tags.zst"), "100s");
    let paused = counts(&watch.lines().join("\n"));
    assert_eq!(paused, two_groups);
    watch.press("p");
    watch.until_tags(tags);
    let all = counted(&watch, &command_on(&watch.lines()));
    assert_ne!(all, two_groups);
    // A reset counts from the end of the run on: nothing, and then what is recorded after it.
    watch.press("r");
    let lines = watch.until(|text| {
        let counts = counts(text);
        counts.len() == 2 && counts.iter().all(|(_, count)| count == "0")
    });
    let since = command_on(&lines);
    assert!(since.contains("--from @"), "{since}");
    tags += record(&run.join("3.tags.zst"), "200s");
    watch.until_tags(tags);
    let newest = counted(&watch, &since);
    watch.press("R");
    let whole = counted(&watch, "coincidences 1,2 3,4 --window 3ns --delay 2=6ns run");
    let sum = |rows: &[(String, String)]| -> u64 {
        rows.iter().map(|(_, count)| count.parse::<u64>().unwrap()).sum()
    };
    assert_eq!(sum(&whole), sum(&all) + sum(&newest));
    watch.press("q");
    assert_eq!(watch.process.0.wait().unwrap().code(), Some(130));
}

#[test]
fn the_terminal_is_restored_however_a_watch_ends() {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("run.tags.zst"), "0s");
    for (name, code) in [("q", 130), ("\x03", 130), ("TERM", 143), ("\x1a", 130)] {
        let Some(mut watch) = Watch::start(folder.path(), "rates run.tags.zst") else { return };
        watch.until(|text| text.contains("? shows the keys"));
        watch.until_in_lines(false);
        match name {
            "TERM" => kill_process(Pid::from_child(&watch.process.0), Signal::TERM).unwrap(),
            "\x1a" => {
                // Several times: the thread that reads keys wakes up at the signal, too.
                for _ in 0..8 {
                    watch.press(name);
                    watch.until_stopped();
                    assert!(watch.is_in_lines());
                    kill_process(Pid::from_child(&watch.process.0), Signal::CONT).unwrap();
                    watch.until_in_lines(false);
                }
                watch.press("q");
            }
            key => watch.press(key),
        }
        assert_eq!(watch.process.0.wait().unwrap().code(), Some(code), "{name:?}");
        assert!(watch.is_in_lines(), "{name:?}");
    }
}

#[test]
fn a_terminal_without_sequences_has_no_keys() {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("run.tags.zst"), "0s");
    let Some(mut watch) = Watch::start_on("dumb", folder.path(), "rates run.tags.zst") else {
        return;
    };
    watch.until(|text| text.contains("Ctrl-C ends"));
    assert!(watch.is_in_lines());
    watch.press("\x03");
    assert_eq!(watch.process.0.wait().unwrap().code(), Some(130));
}

#[test]
fn the_big_number_and_the_keys_replace_the_table() {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("run.tags.zst"), "0s");
    let words = "rates --last 100ms run.tags.zst";
    let Some(mut watch) = Watch::start(folder.path(), words) else { return };
    watch.until(|text| text.contains("? shows the keys") && text.contains("last rate"));
    watch.press("b");
    let lines = watch.until(|text| text.contains("\u{2588}\u{2588}"));
    assert!(lines[0].starts_with("rates 1, last 100ms"), "{lines:?}");
    watch.press("\x1b[B");
    watch.until(|text| text.starts_with("rates 2, last 100ms"));
    // Up over the first row is the last one, the total.
    watch.press("\x1b[A\x1b[A");
    watch.until(|text| text.starts_with("rates all, last 100ms"));
    watch.press("?");
    watch.until(|text| {
        text.starts_with("Keys, on a terminal:\n") && text.contains("end, as Ctrl-C does")
    });
    watch.press("?h");
    watch.until(|text| text.contains("highest") && text.contains("last rate"));
    watch.press("q");
    assert_eq!(watch.process.0.wait().unwrap().code(), Some(130));
}
