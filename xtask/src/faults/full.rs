//! F4: a full disk, and a limit on the size of files.

use std::{
    fmt, fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    Checked, Tried,
    ground::{Ground, STEPS, Stage, Step, copy_files},
    mount::{self, Mounted},
    program,
};

const PAGE: u64 = 4096;

struct Room {
    step: Step,
    free: Free,
}

enum Free {
    Pages(u64),
    /// Number of files that can still be created.
    Inodes(u64),
}

struct FileLimit {
    step: Step,
    bytes: u64,
    /// Whether the signal is ignored, so that the call fails.
    ignored: bool,
}

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    let mut tried = Tried::points(try_file_limits(ground)?);
    match mount::refusal(&ground.folder) {
        Some(why) => tried.skipped.push(format!("full file systems: {why}")),
        None => tried.points += try_rooms(ground)?,
    }
    Ok(tried)
}

fn try_rooms(ground: &Ground) -> Checked<usize> {
    let mut rooms = Vec::new();
    for step in STEPS {
        // Space for the new columns, both narrow and wide, and a manifest.
        let need = pages_of(&ground.pool.after(step))? + 8;
        let stride = need / 64 + 1;
        let pages = (0..24).chain((24..need).step_by(usize::try_from(stride)?)).chain([2 * need]);
        rooms.extend(pages.map(|pages| Room { step, free: Free::Pages(pages) }));
        rooms.extend((0..10).map(|inodes| Room { step, free: Free::Inodes(inodes) }));
    }
    let [foreseen, failed, completed] = [const { AtomicBool::new(false) }; 3];
    let tried = ground.each(&rooms, |folder, room| {
        let stage = ground.stage(&ground.pool, &folder.join("run"), room.step)?;
        let disk = room.mount(ground, &stage)?;
        let ended = program::run(&mut stage.write())?;
        stage.check_after(&ended)?;
        if ended.code == Some(0) {
            completed.store(true, Ordering::Relaxed);
        } else {
            ended.check_refusal(&[1])?;
            // A note says that there may be no room.
            let mut errors = ended.stderr.lines().filter(|line| line.starts_with("error"));
            if errors.any(|line| line.contains("no room for its new ")) {
                foreseen.store(true, Ordering::Relaxed);
                room.check_nothing_begun(&stage)?;
            } else if ended.stderr.contains("No space left") {
                failed.store(true, Ordering::Relaxed);
            } else {
                return Err(format!("the message does not say what is wrong: {ended}").into());
            }
        }
        // Free some space.
        disk.remount("size=64m,nr_inodes=1000")?;
        stage.recover()?;
        disk.unmount()
    })?;
    if foreseen.into_inner() && failed.into_inner() && completed.into_inner() {
        return Ok(tried);
    }
    Err("no room was too small, or seen to be, or none was large enough".into())
}

fn try_file_limits(ground: &Ground) -> Checked<usize> {
    let mut limits = Vec::new();
    for step in STEPS {
        let largest = sizes_in(&ground.pool.after(step))?.into_iter().max().unwrap_or(0);
        let stride = usize::try_from(largest / 40 + 1)?;
        let around_header = [1, 100, PAGE - 1, PAGE, PAGE + 1, PAGE + 8];
        for bytes in (0..largest).step_by(stride).chain(around_header).chain([largest + 1]) {
            limits.extend([true, false].map(|ignored| FileLimit { step, bytes, ignored }));
        }
    }
    ground.each(&limits, |folder, limit| {
        let stage = ground.stage(&ground.pool, &folder.join("run"), limit.step)?;
        let ended = program::run(&mut limit.around(&stage.write()))?;
        stage.check_after(&ended)?;
        if ended.signal.is_some() {
            return Err(format!("ended by a signal that it should outlive: {ended}").into());
        }
        if ended.code != Some(0) {
            ended.check_refusal(&[1])?;
        }
        stage.recover()
    })
}

impl Room {
    /// If the space is clearly too small, a new store must contain only the lock.
    fn check_nothing_begun(&self, stage: &Stage<'_>) -> Checked<()> {
        let files = sizes_in(&stage.store)?.len();
        if self.step.from == 0 && files > 1 {
            return Err(format!("{files} files of a store that has no room").into());
        }
        Ok(())
    }

    /// Mounts a file system with this much space for the store.
    fn mount(&self, ground: &Ground, stage: &Stage<'_>) -> Checked<Mounted> {
        let from = stage.step.from;
        let base = ground.pool.before(stage.step);
        let sizes = if from > 0 { sizes_in(&base)? } else { Vec::new() };
        let pages: u64 = sizes.iter().map(|size| size.div_ceil(PAGE)).sum();
        let options = match self.free {
            Free::Pages(free) => format!("size={}", (pages + free).max(1) * PAGE),
            // One for the folder itself.
            Free::Inodes(free) => format!("size=64m,nr_inodes={}", sizes.len() as u64 + 1 + free),
        };
        let disk = Mounted::tmpfs(&options, &stage.store)?;
        if from > 0 {
            copy_files(&base, &stage.store)?;
        } else if matches!(self.free, Free::Pages(0)) {
            // tmpfs needs at least one page.
            fs::write(stage.store.join("lock"), vec![0; usize::try_from(PAGE)?])?;
        }
        Ok(disk)
    }
}

impl FileLimit {
    fn around(&self, command: &Command) -> Command {
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--fsize={}", self.bytes));
        let trap = if self.ignored { "trap '' XFSZ;" } else { "" };
        limited.args(["sh", "-c", &format!("{trap} exec \"$@\""), "sh"]);
        limited.arg(command.get_program()).args(command.get_args());
        limited
    }
}

fn sizes_in(folder: &Path) -> Checked<Vec<u64>> {
    let mut sizes = Vec::new();
    for entry in fs::read_dir(folder)? {
        sizes.push(entry?.metadata()?.len());
    }
    Ok(sizes)
}

fn pages_of(folder: &Path) -> Checked<u64> {
    Ok(sizes_in(folder)?.into_iter().map(|size| size.div_ceil(PAGE)).sum())
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.free {
            Free::Pages(pages) => write!(f, "{}, on a tmpfs with {pages} free pages", self.step),
            Free::Inodes(n) => write!(f, "{}, on a tmpfs with room for {n} new files", self.step),
        }
    }
}

impl fmt::Display for FileLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signal = if self.ignored { "ignored" } else { "as it is" };
        write!(f, "{}, prlimit --fsize={}, SIGXFSZ {signal}", self.step, self.bytes)
    }
}
