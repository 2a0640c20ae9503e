//! `tagq doctor`: the facts about this computer that an issue needs, and its problems.
//!
//! A line is `name: value`; a problem follows its line and begins with `!`. Nothing is written, and neither the name of the
//! computer nor that of the user is shown.

use std::{
    env,
    io::{IsTerminal as _, Write as _, stdout},
    path::Path,
};

use console::Term;
use sysinfo::{
    CpuRefreshKind, Disk, DiskRefreshKind, Disks, MemoryRefreshKind, RefreshKind, System,
};
use tagq::{
    query::Simd,
    store::{format::VERSION, os::available_memory},
};

use crate::args::DoctorArgs;

/// File systems on which a mapped file can be cut short by another computer.
const NETWORK: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "lustre", "fuse.sshfs", "gpfs", "ceph"];
/// Memory with which all queries run.
const MEMORY_MIN: u64 = 1 << 30;
/// A disk with less is full soon.
const DISK_MIN: u64 = 1 << 30;
/// Variables that change what tagq does or how it looks.
const VARIABLES: [&str; 9] = [
    "COLORTERM",
    "COLUMNS",
    "LANG",
    "LC_ALL",
    "NO_COLOR",
    "RAYON_NUM_THREADS",
    "TAGQ_TOKEN",
    "TERM",
    "TMPDIR",
];

/// A fact, and its problems.
struct Fact {
    name: &'static str,
    value: String,
    problems: Vec<String>,
}

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<()> {
    if !args.path.exists() {
        return Err(tagq::RunError::NoSuchPath { path: args.path.clone() }.into());
    }
    let mut out = stdout().lock();
    for Fact { name, value, problems } in facts(&args.path) {
        writeln!(out, "{name}: {value}")?;
        for problem in problems {
            writeln!(out, "! {problem}")?;
        }
    }
    Ok(())
}

fn facts(path: &Path) -> Vec<Fact> {
    let fact = |name, value| Fact { name, value, problems: Vec::new() };
    let kinds = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(kinds);
    let mut facts = vec![
        fact("tagq", format!("{}, {}", env!("CARGO_PKG_VERSION"), env::consts::ARCH)),
        fact("stores", format!("version {VERSION} and earlier")),
        fact("system", System::long_os_version().unwrap_or_else(|| env::consts::OS.into())),
        processor(&system),
        memory(&system),
    ];
    // Only the one that is shown is asked for its space: a server that is gone would never answer.
    let mut disks = Disks::new_with_refreshed_list_specifics(DiskRefreshKind::nothing());
    for (name, path) in [("folder", path), ("temporary files", &env::temp_dir())] {
        facts.push(folder(name, path, disks.list_mut()));
    }
    facts.push(terminal());
    let set = VARIABLES.into_iter().filter(|name| env::var_os(name).is_some());
    // A token is a secret.
    let shown = set.map(|name| match env::var(name) {
        Ok(value) if name != "TAGQ_TOKEN" => format!("{name}={value}"),
        _ => format!("{name} is set"),
    });
    facts.push(fact("environment", shown.collect::<Vec<_>>().join(", ")));
    facts
}

fn processor(system: &System) -> Fact {
    let brand = system.cpus().first().map_or("unknown", |cpu| cpu.brand().trim());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let levels: Vec<&str> = Simd::available().into_iter().map(Simd::name).collect();
    let value = format!("{brand}, {threads} threads, kernels {}", levels.join(", "));
    let is_slow = env::consts::ARCH == "x86_64" && levels.len() == 1;
    let problem = "it has no AVX2, with which scans are several times faster";
    Fact {
        name: "processor",
        value,
        problems: is_slow.then(|| problem.into()).into_iter().collect(),
    }
}

fn memory(system: &System) -> Fact {
    let available = available_memory().min(system.total_memory());
    let value = format!("{} available of {}", gib(available), gib(system.total_memory()));
    let problem = "some queries are refused with less than 1 GiB; end other programs";
    Fact {
        name: "memory",
        value,
        problems: (available < MEMORY_MIN).then(|| problem.into()).into_iter().collect(),
    }
}

/// Returns the file system of a path: that of the longest mount point above it.
fn folder(name: &'static str, path: &Path, disks: &mut [Disk]) -> Fact {
    let whole = dunce::canonicalize(path).unwrap_or_else(|_| path.into());
    let above = disks.iter_mut().filter(|disk| whole.starts_with(disk.mount_point()));
    let disk = above.max_by_key(|disk| disk.mount_point().as_os_str().len());
    let Some(disk) = disk else {
        return Fact { name, value: "its file system is not known".into(), problems: Vec::new() };
    };
    disk.refresh_specifics(DiskRefreshKind::nothing().with_storage());
    let system = disk.file_system().to_string_lossy();
    let free = disk.available_space();
    let mut problems = Vec::new();
    if NETWORK.contains(&&*system) {
        problems.push(
            "a file that another computer cuts short while it is read ends a query; --io read prevents that"
                .to_owned(),
        );
    }
    if free < DISK_MIN {
        problems.push("less than 1 GiB is free; a store takes 3 to 7 bytes a tag".to_owned());
    }
    Fact {
        name,
        value: format!("{system}, {} free of {}", gib(free), gib(disk.total_space())),
        problems,
    }
}

fn terminal() -> Fact {
    let value = if stdout().is_terminal() {
        let term = Term::stdout();
        let (rows, columns) = term.size();
        let colours = if term.features().colors_supported() { "colours" } else { "no colours" };
        format!("{columns} columns, {rows} rows, {colours}")
    } else {
        "none, the output is a file or a pipe".into()
    };
    Fact { name: "terminal", value, problems: Vec::new() }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}
