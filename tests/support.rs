//! Support of all tests: runs the program, and makes folders with the fixture.
//!
//! A test works in a [`Place`]: `place.done("ingest run")` runs `tagq ingest run` there, and fails if the program does.

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

/// A child process that is killed on drop, even if a test fails.
pub(crate) struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Result of running the program.
#[derive(Debug)]
pub(crate) struct Output {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Output {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Returns the JSON on stdout of a successful run.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.stderr);
        serde_json::from_slice(&self.stdout).unwrap()
    }
}

pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tagq"))
}

/// Ends a program with Ctrl-C, and checks its exit code. On Windows, where no program can press it for another, it is
/// ended by force.
pub(crate) fn interrupt(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        kill_process(Pid::from_child(child), Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
    #[cfg(windows)]
    {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Returns `tagq` as a user who is bound by the modes of files: another one if the tests run as root.
#[cfg(unix)]
pub(crate) fn command_as_nobody() -> Command {
    if !rustix::process::geteuid().is_root() {
        return command();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(env!("CARGO_BIN_EXE_tagq"));
    command
}

/// Returns `tagq` with SIGINT enabled, even if the parent ignores it and children inherit that. On other systems than Linux
/// it is started like any program.
pub(crate) fn interruptible() -> Command {
    if cfg!(not(target_os = "linux")) {
        return command();
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_tagq")]);
    command
}

/// Runs `tagq` with these arguments, without a terminal.
pub(crate) fn tagq<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    output(command().args(args))
}

pub(crate) fn output(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let stderr = slashed(&String::from_utf8(output.stderr).unwrap());
    Output { code: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
}

/// Returns a message with `/` in place of `\` on Windows, where paths have that.
pub(crate) fn slashed(message: &str) -> String {
    if cfg!(windows) { message.replace('\\', "/") } else { message.to_owned() }
}

/// A temporary folder in which commands run; it is removed when it is dropped. Paths are relative to it.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    /// Makes an empty folder.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Makes a folder with the fixture in `run` and its second source alone in `later`, both not ingested yet.
    pub(crate) fn with_runs() -> Self {
        let place = Self::new();
        let run = fixture_copy(place.0.path());
        fs::create_dir(place.path("later")).unwrap();
        fs::copy(run.join("2.tags.zst"), place.path("later/2.tags.zst")).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `tagq` with the words of a line, which are divided at blanks. It may fail.
    pub(crate) fn tagq(&self, line: &str) -> Output {
        self.tagq_of(&line.split_whitespace().collect::<Vec<&str>>())
    }

    /// Runs `tagq` with words that may contain blanks. It may fail.
    pub(crate) fn tagq_of(&self, words: &[&str]) -> Output {
        output(command().args(words).current_dir(self.0.path()))
    }

    /// Runs `tagq` with the words of a line, which must succeed, and returns its output.
    pub(crate) fn done(&self, line: &str) -> Output {
        let done = self.tagq(line);
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        done
    }
}

/// Returns the parsed output of `tagq coincidences ARGS… RUN`.
pub(crate) fn coincidences(args: &str, run: &Path) -> Value {
    let args = args.split_whitespace().map(Into::into).chain([run.as_os_str().to_owned()]);
    tagq(["coincidences".into()].into_iter().chain(args)).json()
}

/// Returns rows without the names of their channels, which those of a run without names do not have.
pub(crate) fn without_names(rows: &Value) -> Value {
    let mut rows = rows.clone();
    for row in rows.as_array_mut().unwrap() {
        row.as_object_mut().unwrap().retain(|key, _| key != "names");
    }
    rows
}

/// Returns the counts of all rows of pairs, each with its two channels.
pub(crate) fn counts(answer: &Value) -> Vec<(u64, u64, u64)> {
    let rows = answer["rows"].as_array().unwrap();
    let n = |value: &Value| value.as_u64().unwrap();
    rows.iter()
        .map(|row| (n(&row["channels"][0]), n(&row["channels"][1]), n(&row["count"])))
        .collect()
}

/// Copies the fixture run into its own folder, without a store.
pub(crate) fn fixture_copy(into: &Path) -> PathBuf {
    let run = into.join("run");
    fs::create_dir(&run).unwrap();
    for name in ["1.tags.zst", "2.tags.zst"] {
        fs::copy(root().join("data/fixtures/pairs").join(name), run.join(name)).unwrap();
    }
    run
}

/// Returns the file of a store that its manifest names for a key.
pub(crate) fn store_file(store: &Path, key: &str) -> PathBuf {
    let manifest: Value =
        serde_json::from_slice(&fs::read(store.join("manifest.json")).unwrap()).unwrap();
    store.join(manifest["files"][key]["name"].as_str().unwrap())
}

/// Opens `/dev/full`, which refuses every byte like a full disk. Returns `None` on systems without it.
pub(crate) fn full_disk() -> Option<fs::File> {
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    if full.is_err() {
        skipped("there is no /dev/full");
    }
    full.ok()
}

/// Reports that a test was skipped, and why, bypassing the capture of test output.
pub(crate) fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Returns the root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the tags of a file or run, by `tagq cat`.
pub(crate) fn cat(path: &Path) -> Vec<(i64, u64)> {
    let output = tagq([OsStr::new("cat"), path.as_os_str()]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let tag = |line: &str| {
        let (channel, time) = line.split_once('\t').unwrap();
        (time.parse().unwrap(), channel.parse().unwrap())
    };
    output.text().lines().map(tag).collect()
}
