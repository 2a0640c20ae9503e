//! The Slurm script of docs/examples as an array: a task is cancelled while it counts, another one fails
//! once with exit code 75, and `tagq merge` names the missing part.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Checked, cluster::Cluster};

const QUERY: [&str; 6] = ["g2", "1,2", "--range", "4ms", "--bin", "1us"];
const PARTS: usize = 8;
/// The part whose first try fails with exit code 75.
const TRIED_TWICE: usize = 1;
/// Tasks that are completed before one is cancelled.
const COMPLETED_FIRST: usize = 2;
const LIMIT: Duration = Duration::from_mins(5);

/// A task of an array, as the controller knows it.
struct Task {
    part: usize,
    state: String,
    node: String,
    restarts: usize,
}

/// Returns what was measured.
pub(super) fn run(cluster: &Cluster, program: &Path, work: &Path) -> Checked<String> {
    let tagq = |args: &[&str]| Command::new(program).args(args).current_dir(work).output();
    let start = Instant::now();
    let one = tagq(&[&QUERY[..], &["--threads", "1", "--format", "json", "run"]].concat())?;
    let one_s = start.elapsed().as_secs_f64();
    let parts = PARTS.to_string();
    let plan = [&["plan"], &QUERY[..], &["run", "--parts", &parts, "-o", "plan.json"]].concat();
    for output in [&one, &tagq(&plan)?] {
        let said = String::from_utf8_lossy(&output.stderr);
        output.status.success().then_some(()).ok_or_else(|| said.into_owned())?;
    }
    let bin = wrapper(program, work)?;

    let start = Instant::now();
    let array = submit(cluster, work, &bin, &format!("0-{}", PARTS - 1))?;
    let cancelled = cancel_one(cluster, &array)?;
    let tasks = ended(cluster, &array)?;
    for task in &tasks {
        let wanted = if task.part == cancelled { "CANCELLED" } else { "COMPLETED" };
        if task.state != wanted || task.restarts != usize::from(task.part == TRIED_TWICE) {
            let (state, restarts) = (&task.state, task.restarts);
            return Err(format!("task {}: {state}, {restarts} restarts", task.part).into());
        }
    }
    let on_first = tasks.iter().filter(|task| task.node == "node1").count();
    if tasks.len() != PARTS || on_first == 0 || on_first == PARTS {
        return Err(format!("{} tasks, {on_first} of them on node1", tasks.len()).into());
    }

    let missing = missing(&merge(program, work)?)?;
    if missing != cancelled.to_string() {
        return Err(format!("part {cancelled} was cancelled, missing is {missing}").into());
    }
    let again = submit(cluster, work, &bin, &missing)?;
    if let Some(task) = ended(cluster, &again)?.iter().find(|task| task.state != "COMPLETED") {
        return Err(format!("task {} again: {}", task.part, task.state).into());
    }
    let array_s = start.elapsed().as_secs_f64();
    let merged = merge(program, work)?;
    if !merged.status.success() || merged.stdout != one.stdout {
        let said = String::from_utf8_lossy(&merged.stderr);
        return Err(format!("the merged answer is not that of one process: {said}").into());
    }
    Ok(format!(
        "one process {one_s:.1} s; {PARTS} parts {array_s:.1} s, {on_first} on node1 and {} on node2; task \
         {cancelled} cancelled while it counted, named by merge and submitted again; task {TRIED_TWICE} \
         requeued after exit code 75; equal",
        PARTS - on_first
    ))
}

/// Makes a folder with a program `tagq` that fails once for one part, and calls the real program otherwise.
fn wrapper(program: &Path, work: &Path) -> Checked<PathBuf> {
    let bin = work.join("bin");
    fs::create_dir(&bin)?;
    let program = program.canonicalize()?;
    let script = format!(
        "#!/bin/sh
if [ \"$SLURM_ARRAY_TASK_ID\" = {TRIED_TWICE} ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" = 0 ]; then
    exit 75
fi
exec '{}' \"$@\"
",
        program.display()
    );
    fs::write(bin.join("tagq"), script)?;
    fs::set_permissions(bin.join("tagq"), fs::Permissions::from_mode(0o755))?;
    Ok(bin)
}

/// Submits the script of docs/examples unchanged. Returns the number of the array.
fn submit(cluster: &Cluster, work: &Path, bin: &Path, parts: &str) -> Checked<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/tagq.sbatch");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([bin.to_owned()].into_iter().chain(env::split_paths(&path)))?;
    let mut sbatch = cluster.command("sbatch");
    sbatch.args(["--parsable", &format!("--array={parts}")]).arg(script);
    let output = sbatch.current_dir(work).env("PATH", path).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("sbatch --array={parts}: {said}").into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Cancels a running task after some others are completed. Returns its part.
fn cancel_one(cluster: &Cluster, array: &str) -> Checked<usize> {
    let start = Instant::now();
    loop {
        let tasks = tasks(cluster, array)?;
        let completed = tasks.iter().filter(|task| task.state == "COMPLETED").count();
        let running = |task: &&Task| task.state == "RUNNING" && task.part != TRIED_TWICE;
        // The task with the highest number has just begun.
        let last = tasks.iter().filter(running).map(|task| task.part).max();
        if let Some(part) = last.filter(|_| completed >= COMPLETED_FIRST) {
            cluster.output("scancel", &[&format!("{array}_{part}")])?;
            return Ok(part);
        }
        wait(start, "no task could be cancelled")?;
    }
}

/// Waits until all tasks have ended, and returns them.
fn ended(cluster: &Cluster, array: &str) -> Checked<Vec<Task>> {
    let start = Instant::now();
    // A requeued task is pending again; squeue lists everything that has not ended.
    while !cluster.output("squeue", &["-h", "-j", array])?.is_empty() {
        wait(start, "tasks have not ended")?;
    }
    tasks(cluster, array)
}

fn tasks(cluster: &Cluster, array: &str) -> Checked<Vec<Task>> {
    let shown = cluster.output("scontrol", &["show", "job", "-o", array])?;
    Ok(shown.lines().filter_map(task).collect())
}

/// Reads a line of `scontrol`. Returns `None` for tasks that are still pending together.
fn task(line: &str) -> Option<Task> {
    let field = |name: &str| {
        line.split_whitespace()
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
            .map(str::to_owned)
    };
    Some(Task {
        part: field("ArrayTaskId")?.parse().ok()?,
        state: field("JobState")?,
        node: field("NodeList").unwrap_or_default(),
        restarts: field("Restarts")?.parse().ok()?,
    })
}

fn wait(start: Instant, what: &str) -> Checked<()> {
    if start.elapsed() > LIMIT {
        return Err(format!("{what} after {} s", LIMIT.as_secs()).into());
    }
    sleep(Duration::from_millis(100));
    Ok(())
}

/// Merges the partial results that are there, as `tagq merge plan.json p.*` does.
fn merge(program: &Path, work: &Path) -> Checked<Output> {
    let script = "exec \"$0\" merge --format json plan.json p.*";
    Ok(Command::new("sh").args(["-c", script]).arg(program).current_dir(work).output()?)
}

/// Returns the parts that `tagq merge` named as missing.
fn missing(merged: &Output) -> Checked<String> {
    let said = String::from_utf8_lossy(&merged.stderr);
    let missing = said.trim().rsplit_once("parts of the plan are missing: ");
    match (merged.status.code(), missing) {
        (Some(5), Some((_, missing))) => Ok(missing.to_owned()),
        (code, _) => Err(format!("merge named no missing part: {code:?}: {said}").into()),
    }
}
