//! F2: power loss during a write, on real file systems.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use super::{
    Checked, Tried,
    cache::{self, Around},
    ground::{Ground, Pool, STEPS, Stage},
    kill::{self, Kill},
    mount::{self, Mounted},
    program,
};

const IMAGE_BYTES: u64 = 320 << 20;

/// The ioctl of ext4 and xfs that drops all unsynced data, including the journal.
const SHUTDOWN: &str = r#"open(my $file, "<", $ARGV[0]) or die $!;
    my $flags = pack("I", 2);
    ioctl($file, 0x8004587d, $flags) or die $!;"#;

/// A file system on a loop device, with its image in memory.
struct Disk {
    image: PathBuf,
    at: PathBuf,
    mounted: Option<Mounted>,
}

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    if let Some(why) = mount::refusal(&ground.folder) {
        return Ok(Tried::skipped(&why));
    }
    for (needed, arg) in [("strace", "-V"), ("perl", "-v")] {
        if Command::new(needed).arg(arg).output().is_err() {
            return Ok(Tried::skipped(&format!("no {needed}")));
        }
    }
    let kills = kill::kills(ground)?;
    let kinds = [("ext4", "-F"), ("xfs", "-f")];
    thread::scope(|scope| {
        let tried = kinds.map(|(kind, force)| {
            let kills = &kills;
            scope.spawn(move || match Disk::make(ground, kind, force) {
                Ok(disk) => try_on(ground, disk, kills)
                    .map(Tried::points)
                    .map_err(|error| format!("{kind}: {error}").into()),
                Err(error) => Ok(Tried::skipped(&format!("{kind}: {error}"))),
            })
        });
        let (mut sum, mut failures) = (Tried::default(), Vec::new());
        for tried in tried {
            let tried: Checked<Tried> = tried.join().map_err(|_| "a thread is gone")?;
            match tried {
                Ok(tried) => {
                    sum.points += tried.points;
                    sum.skipped.extend(tried.skipped);
                }
                Err(error) => failures.push(error.to_string()),
            }
        }
        if failures.is_empty() { Ok(sum) } else { Err(failures.join("\n").into()) }
    })
}

fn try_on(ground: &Ground, mut disk: Disk, kills: &[Kill]) -> Checked<usize> {
    let pool = ground.pool.copy_to(&disk.at.join("pool"), ground)?;
    let mut failures = Vec::new();
    for kill in kills {
        if let Err(error) = try_at(ground, &pool, &mut disk, kill) {
            failures.push(format!("{kill}: {error}"));
            if !ground.keep_going {
                break;
            }
        }
    }
    if !failures.is_empty() {
        return Err(failures.join("\n").into());
    }
    for step in STEPS {
        let stage = ground.stage(&pool, &disk.at.join("run"), step)?;
        sync(&disk.at)?;
        program::run_well(&mut stage.write())?;
        disk.lose_power()?;
        check_durable(&stage).map_err(|error| format!("{step}, after its success: {error}"))?;
    }
    // Cached results of queries may be gone, but they give no other answer.
    let at = disk.at.clone();
    let kept = cache::try_all(ground, &at, &mut |around| match around {
        Around::Before => sync(&at),
        Around::After => disk.lose_power(),
    })?;
    disk.unmount()?;
    Ok(kills.len() * 3 + STEPS.len() + kept)
}

fn try_at(ground: &Ground, pool: &Pool, disk: &mut Disk, kill: &Kill) -> Checked<()> {
    let killed = |disk: &Disk| -> Checked<Stage<'_>> {
        let stage = ground.stage(pool, &disk.at.join("run"), kill.step)?;
        sync(&disk.at)?;
        let log = tempfile::tempdir_in(&ground.folder)?;
        kill.at(&stage, log.path())?;
        Ok(stage)
    };
    let stage = killed(disk)?;
    disk.lose_power()?;
    stage.recover().map_err(|error| format!("power lost there: {error}"))?;
    disk.lose_power()?;
    check_durable(&stage).map_err(|error| format!("power lost there and again: {error}"))?;
    // Only the process was killed; the next one reads from the page cache data that may not be on the disk.
    let stage = killed(disk)?;
    stage.recover()?;
    disk.lose_power()?;
    check_durable(&stage).map_err(|error| format!("power lost after the recovery: {error}"))?;
    Ok(())
}

/// Checks that everything reported as done is there.
fn check_durable(stage: &Stage<'_>) -> Checked<()> {
    let sources = stage.check()?;
    if sources == stage.step.to {
        return Ok(());
    }
    Err(format!("success was reported, and {sources} sources are in the store").into())
}

/// Writes the initial state of a trial to the disk.
fn sync(at: &Path) -> Checked<()> {
    Ok(rustix::fs::syncfs(File::open(at)?)?)
}

impl Disk {
    fn make(ground: &Ground, kind: &str, force: &str) -> Checked<Self> {
        let image = ground.folder.join(format!("{kind}.image"));
        File::create(&image)?.set_len(IMAGE_BYTES)?;
        program::run_well(Command::new(format!("mkfs.{kind}")).args(["-q", force]).arg(&image))?;
        let mut disk = Self { image, at: ground.folder.join(kind), mounted: None };
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&mut self) -> Checked<()> {
        let args = ["-o".as_ref(), "loop".as_ref(), self.image.as_os_str()];
        self.mounted = Some(Mounted::new(args, &self.at)?);
        Ok(())
    }

    fn unmount(&mut self) -> Checked<()> {
        self.mounted.take().map_or(Ok(()), Mounted::unmount)
    }

    /// Drops everything that was not synced, and mounts the file system again.
    fn lose_power(&mut self) -> Checked<()> {
        let file = self.at.join("pool/1.tags.zst");
        program::run_well(Command::new("perl").args(["-e", SHUTDOWN]).arg(file))?;
        self.unmount()?;
        self.mount()
    }
}
