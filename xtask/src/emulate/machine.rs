//! The emulated machine: Bochs and its serial output.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{Asked, Checked};

/// Prefix of the lines that the script prints.
const MARK: &str = "emulated: ";
/// Last line, followed by the number of failed programs.
const ENDED: &str = "emulated: all ended, failed: ";
/// Test that prints the levels, and fails if the best one is not the expected one.
const LEVELS: &str = "queries --exact oracle::levels::levels_ascend_to_the_best";
/// Time within which Bochs opens its terminal, if it opens one.
const TERMINAL: Duration = Duration::from_secs(5);
const MISSING: &str = "Bochs emulates the processor: apt install bochs bochs-term";

/// Returns the script that the kernel starts: it runs all programs in order, which must find the level.
pub(super) fn script(programs: &[&str], asked: &Asked) -> String {
    let (programs, filters) = (programs.join(" "), asked.filters.join(" "));
    let Asked { level, percent, .. } = asked;
    format!(
        "#!/bin/sh
export TAGQ_LEVEL={level} TAGQ_CASES_PERCENT={percent}
failed=0
/tests/{LEVELS} --nocapture || failed=1
for program in {programs}; do
    echo '{MARK}'$program
    /tests/$program --test-threads=1 {filters} || failed=$((failed + 1))
done
echo '{ENDED}'$failed
# The kernel does not do without its first process.
while :; do read line; done
"
    )
}

/// A processor that Bochs emulates.
pub(super) struct Machine {
    processor: String,
}

/// A running Bochs, ended on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Machine {
    /// Returns the machine with this processor.
    ///
    /// # Errors
    /// Fails if Bochs is not installed, or was built without this processor.
    pub(super) fn new(processor: &str) -> Checked<Self> {
        let output = Command::new("bochs").args(["--help", "cpu"]).output().map_err(|_| MISSING)?;
        let known = [output.stdout, output.stderr].concat();
        let known = String::from_utf8_lossy(&known);
        if known.lines().all(|line| line.trim() != processor) {
            return Err(format!("Bochs has no processor `{processor}`:\n{known}").into());
        }
        Ok(Self { processor: processor.to_owned() })
    }

    /// Boots from `disc` and prints the output of the tests. Returns the number of failed programs.
    ///
    /// # Errors
    /// Fails if the machine stops before all programs have ended.
    pub(super) fn run(&self, disc: &Path, folder: &Path) -> Checked<usize> {
        let path = |name: &str| folder.join(name);
        let (serial, log) = (path("serial"), path("log"));
        let settings = format!(
            "cpu: model={}, count=1, reset_on_triple_fault=0\n\
             memory: guest=1024, host=1024\n\
             clock: sync=none\n\
             ata0-master: type=cdrom, path=\"{}\", status=inserted\n\
             boot: cdrom\n\
             com1: enabled=1, mode=file, dev=\"{}\"\n\
             display_library: term\n\
             panic: action=fatal\nerror: action=ignore\ninfo: action=report\n\
             log: \"{}\"\n",
            self.processor,
            disc.display(),
            serial.display(),
            log.display(),
        );
        fs::write(path("settings"), settings)?;
        File::create(&serial)?;
        // Bochs ends when this program ends, in any way.
        let mut bochs = Command::new("setpriv");
        bochs
            .args(["--pdeathsig", "KILL", "bochs-bin", "-q", "-f"])
            .arg(path("settings"))
            .env("TERM", "linux")
            .env_remove("DISPLAY");
        bochs.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut bochs = Running(bochs.spawn()?);
        // Debian builds Bochs with its debugger, which waits for a command.
        let mut words = bochs.0.stdin.take().ok_or("Bochs has no input")?;
        words.write_all(b"continue\n")?;
        drain_terminals(&bochs.0)?;
        let mut line = File::open(&serial)?;
        let mut said = String::new();
        loop {
            let has_ended = bochs.0.try_wait()?.is_some();
            let mut bytes = Vec::new();
            line.read_to_end(&mut bytes)?;
            let new = String::from_utf8_lossy(&bytes).replace('\r', "");
            print!("{new}");
            io::stdout().flush()?;
            said.push_str(&new);
            if let Some(failed) = failed_programs(&said) {
                return Ok(failed);
            }
            if has_ended {
                let log = fs::read_to_string(&log).unwrap_or_default();
                let log: Vec<&str> = log.lines().rev().take(20).collect();
                let log: Vec<&str> = log.into_iter().rev().collect();
                return Err(format!("the emulated machine stopped:\n{}", log.join("\n")).into());
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Reads the output of Bochs on its own terminal. With its debugger Bochs opens one, and blocks if nobody
/// reads several pages of output.
fn drain_terminals(bochs: &Child) -> Checked<()> {
    let process = PathBuf::from(format!("/proc/{}", bochs.id()));
    let opened = Instant::now();
    while opened.elapsed() < TERMINAL {
        for entry in fs::read_dir(process.join("fd"))? {
            let entry = entry?;
            // The terminal may be closed by now.
            let is_master =
                fs::read_link(entry.path()).is_ok_and(|to| to == Path::new("/dev/ptmx"));
            if !is_master {
                continue;
            }
            let info = fs::read_to_string(process.join("fdinfo").join(entry.file_name()))?;
            let mut numbers = info.lines().filter_map(|line| line.strip_prefix("tty-index:"));
            let number = numbers.next().ok_or("a terminal without a number")?.trim();
            let mut terminal = File::open(Path::new("/dev/pts").join(number))?;
            thread::spawn(move || io::copy(&mut terminal, &mut io::sink()));
            return Ok(());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Returns the number in the last line, as soon as it is there.
fn failed_programs(said: &str) -> Option<usize> {
    let lines = said.rsplit_once('\n')?.0.lines();
    lines.rev().find_map(|line| line.strip_prefix(ENDED)?.parse().ok())
}
