//! F14: sources that are not regular files, unusual names, and folders without write access.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::Path,
    process::Command,
};

use super::{
    Checked, Tried,
    ground::{Ground, STEPS, Stage},
    mount::{self, Mounted},
    program,
    reference::Content,
};

const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    let mut tried = Tried::points(try_no_files(ground)? + try_names(ground)?);
    if !rustix::process::geteuid().is_root() {
        tried.skipped.push("folders without permission: not root".to_owned());
    } else if Command::new("setpriv").arg("--version").output().is_err() {
        tried.skipped.push("folders without permission: no setpriv".to_owned());
    } else {
        tried.points += try_permissions(ground)?;
    }
    if let Some(why) = mount::refusal(&ground.folder) {
        tried.skipped.push(format!("read-only mount: {why}"));
    } else {
        try_read_only_mount(ground).map_err(|e| format!("read-only mount: {e}"))?;
        tried.points += 1;
    }
    Ok(tried)
}

/// Tries pipes, devices, folders and links. As a named source they are refused or ingested; in a folder they
/// must not prevent the ingest of the other sources.
fn try_no_files(ground: &Ground) -> Checked<usize> {
    let folder = tempfile::tempdir_in(&ground.folder)?;
    let named = |name: &str| folder.path().join(name);
    program::run_well(Command::new("mkfifo").arg(named("pipe.tags.zst")))?;
    fs::create_dir(named("folder.tags.zst"))?;
    symlink("nowhere", named("dangling.tags.zst"))?;
    symlink("loop.tags.zst", named("loop.tags.zst"))?;
    symlink("/dev/zero", named("device.tags.zst"))?;
    let names = ["pipe", "folder", "dangling", "loop", "device"].map(|n| format!("{n}.tags.zst"));
    let paths =
        names.iter().map(|name| named(name)).chain(["/dev/null", "/dev/zero"].map(Into::into));
    let mut points = 0;
    for path in paths {
        let mut ingest = ground.tagq("ingest");
        let ended = program::run(ingest.arg(&path).arg("--store").arg(named("store")))?;
        let names_it = ended.stderr.contains(&*path.to_string_lossy());
        ended
            .check_refusal(&[1, 3])
            .and_then(|()| if names_it { Ok(()) } else { Err("it is not named".into()) })
            .map_err(|e| format!("ingest {}: {e}: {ended}", path.display()))?;
        points += 1;
    }
    let stage = ground.stage(&ground.pool, &named("run"), STEPS[0])?;
    for name in &names {
        fs::rename(named(name), stage.run.join(name))?;
        let ended = program::run(&mut stage.write())?;
        stage.check_after(&ended).map_err(|e| format!("{name} in a folder: {e}"))?;
        if ended.code != Some(0) {
            ended.check_refusal(&[1, 3])?;
            fs::rename(stage.run.join(name), named(name))?;
        }
        points += 1;
    }
    let source = stage.run.join("1.tags.zst");
    let linked = ground.stage(&ground.pool, &named("linked"), STEPS[0])?;
    let link = linked.run.join("1.tags.zst");
    fs::remove_file(&link)?;
    symlink(source, link)?;
    linked.recover().map_err(|e| format!("a link to a source: {e}"))?;
    Ok(points + 1)
}

/// Tries every kind of name that a file system accepts.
fn try_names(ground: &Ground) -> Checked<usize> {
    let long = format!("{}.tags.zst", "n".repeat(246));
    let names: [&[u8]; 8] = [
        b"with blanks and 'quotes\".tags.zst",
        b"new\nline.tags.zst",
        b"not-utf8-\xff\xfe.tags.zst",
        b"-dash.tags.zst",
        b"\\x41 \\ %s {}.tags.zst",
        "µ·λ.tags.zst".as_bytes(),
        b"\x1b[31m.tags.zst",
        long.as_bytes(),
    ];
    let expected = tags(ground, &ground.pool.base(1))?;
    for name in names {
        let at = |error: &dyn std::fmt::Display| {
            format!("name {:?}: {error}", String::from_utf8_lossy(name))
        };
        let folder = tempfile::tempdir_in(&ground.folder)?;
        let run = folder.path().join(OsStr::from_bytes(&name[..name.len() - 9]));
        fs::create_dir(&run)?;
        let source = run.join(OsStr::from_bytes(name));
        fs::hard_link(ground.pool.source(0), &source)?;
        for _ in 0..2 {
            let mut ingest = ground.tagq("ingest");
            program::run_well(ingest.arg(&run)).map_err(|e| at(&e))?;
            if tags(ground, &run.join(".tagq"))? != expected {
                return Err(at(&"other tags").into());
            }
        }
        let ended = program::run(ground.tagq("ingest").arg(&source))?;
        if name.len() > 250 {
            // The name of its store would be too long.
            ended.check_refusal(&[1]).map_err(|e| at(&e))?;
        } else if ended.code != Some(0) {
            return Err(at(&ended).into());
        }
    }
    Ok(names.len() * 3)
}

/// Checks that queries need no write access, and that they report what they cannot do.
fn try_permissions(ground: &Ground) -> Checked<usize> {
    let folder = tempfile::tempdir_in(&ground.folder)?;
    mode(folder.path(), 0o755)?;
    let at = |name: &str| folder.path().join(name);
    // A store of the last commit, and a source that is not in it.
    let stage = ground.stage(&ground.pool, &at("old"), STEPS[1])?;
    for entry in [&stage.run, &stage.store] {
        mode(entry, 0o555)?;
    }
    check_answers_without_writing(&stage, as_nobody)?;
    let refused = program::run(&mut as_nobody(&stage.write()))?;
    refused.check_refusal(&[1]).map_err(|e| format!("ingest, read-only store: {e}"))?;
    stage.recover()?;
    // No store yet.
    let stage = ground.stage(&ground.pool, &at("none"), STEPS[0])?;
    mode(&stage.run, 0o555)?;
    let refused = program::run(&mut as_nobody(&stage.query()))?;
    refused.check_refusal(&[1])?;
    if !refused.stderr.contains("--store") {
        return Err(format!("read-only folder without a store: no --store in {refused}").into());
    }
    let elsewhere = at("elsewhere");
    fs::create_dir(&elsewhere)?;
    mode(&elsewhere, 0o777)?;
    program::run_well(as_nobody(&stage.query()).arg("--store").arg(elsewhere.join("store")))?;
    // Sources and stores without read permission.
    for (name, hidden) in [("source", "2.tags.zst"), ("store", ".tagq"), ("run", "")] {
        let stage = ground.stage(&ground.pool, &at(name), STEPS[1])?;
        mode(&stage.run, 0o777)?;
        let hidden = stage.run.join(hidden);
        if hidden.is_file() {
            // Do not change the file in the pool.
            fs::remove_file(&hidden)?;
            fs::write(&hidden, b"")?;
        }
        mode(&hidden, 0)?;
        let refused = program::run(&mut as_nobody(&stage.write()))?;
        refused.check_refusal(&[1]).map_err(|e| format!("unreadable {name}: {e}"))?;
        mode(&hidden, 0o755)?;
        stage.check().map_err(|e| format!("unreadable {name}: {e}"))?;
    }
    Ok(8)
}

fn try_read_only_mount(ground: &Ground) -> Checked<()> {
    let folder = tempfile::tempdir_in(&ground.folder)?;
    let disk = Mounted::tmpfs("size=64m", &folder.path().join("disk"))?;
    let pool = ground.pool.copy_to(&folder.path().join("disk/pool"), ground)?;
    let stage = ground.stage(&pool, &folder.path().join("disk/run"), STEPS[1])?;
    disk.remount("ro")?;
    check_answers_without_writing(&stage, clone)?;
    program::run(&mut stage.write())?.check_refusal(&[1])?;
    disk.remount("rw")?;
    stage.recover()?;
    disk.unmount()
}

/// Checks that the answer is that of the last commit, with a note that names the missing sources.
fn check_answers_without_writing(
    stage: &Stage<'_>,
    run_as: impl Fn(&Command) -> Command,
) -> Checked<()> {
    let expected = program::run_well(stage.query().arg("--no-ingest"))?;
    let answer = program::run_well(&mut run_as(&stage.query()))?;
    if answer.stdout != expected.stdout {
        return Err("another answer than that of the last commit".into());
    }
    let left_out = format!("{}.tags.zst", stage.step.to);
    if answer.stderr.contains(&left_out) {
        return Ok(());
    }
    Err(format!("does not say that {left_out} is left out: {answer}").into())
}

fn clone(command: &Command) -> Command {
    let mut clone = Command::new(command.get_program());
    clone.args(command.get_args());
    clone
}

/// Runs as a user without root's access rights.
fn as_nobody(command: &Command) -> Command {
    let mut nobody = Command::new("setpriv");
    nobody.args(NOBODY).arg(command.get_program()).args(command.get_args());
    nobody
}

fn mode(path: &Path, mode: u32) -> Checked<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

fn tags(ground: &Ground, store: &Path) -> Checked<Vec<(u16, i64)>> {
    Ok(Content::read(&ground.program, store)?.ok_or("no commit")?.tags())
}
