//! A Slurm cluster of two nodes on this host: its configuration, its daemons and their end.

use std::{
    env,
    fmt::Write as _,
    fs::{self, File, Permissions},
    io::Read as _,
    net::TcpListener,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::Checked;

const NODES: [&str; 2] = ["node1", "node2"];
const TOOLS: [&str; 9] = [
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "scancel",
    "scontrol",
    "sinfo",
    "squeue",
    "setpriv",
];
/// Time in which daemons start, and in which they end before they are killed.
const LIMIT: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(100);
/// Lines of a log that an error shows.
const TAIL: usize = 20;

/// Daemons are ended, and jobs are cancelled, on drop.
pub(super) struct Cluster {
    folder: PathBuf,
    daemons: Vec<(String, Child)>,
}

/// Names what is missing to start a cluster. Returns `None` if everything is there.
pub(super) fn missing() -> Option<String> {
    let mut missing: Vec<_> = TOOLS.into_iter().filter(|tool| tool_path(tool).is_none()).collect();
    if !rustix::process::geteuid().is_root() {
        missing.push("root");
    }
    (!missing.is_empty()).then(|| missing.join(", "))
}

impl Cluster {
    /// Returns a cluster without daemons, all of whose files are in this folder.
    pub(super) fn new(folder: &Path) -> Checked<Self> {
        // munged refuses a socket that not all users can reach.
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        let key = folder.join("munge.key");
        let mut random = [0; 128];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        fs::write(&key, random)?;
        fs::set_permissions(&key, Permissions::from_mode(0o600))?;
        fs::create_dir(folder.join("state"))?;
        fs::write(folder.join("slurm.conf"), configuration(folder)?)?;
        Ok(Self { folder: folder.to_owned(), daemons: Vec::new() })
    }

    /// Starts the daemons, and waits until all nodes are idle.
    pub(super) fn start(&mut self) -> Checked<()> {
        let socket = self.folder.join("munge.socket");
        let file = |option: &str, name: &str| {
            format!("--{option}={}", self.folder.join(format!("munge.{name}")).display())
        };
        let munge = [
            file("key-file", "key"),
            file("socket", "socket"),
            file("pid-file", "pid"),
            file("seed-file", "seed"),
            "--foreground".into(),
            "--force".into(),
        ];
        self.spawn("munged", "munged", &munge)?;
        self.wait("munged has no socket", || Ok(socket.exists()))?;
        self.spawn("slurmctld", "slurmctld", &["-D", "-c"].map(String::from))?;
        for node in NODES {
            self.spawn(&format!("slurmd-{node}"), "slurmd", &["-D", "-N", node].map(String::from))?;
        }
        let idle = NODES.map(|node| format!("{node} idle\n")).concat();
        // The controller answers a moment after its start.
        let nodes = |cluster: &Self| cluster.output("sinfo", &["-h", "-N", "-o", "%N %T"]);
        let cluster = &*self;
        let all_idle = || Ok(nodes(cluster).is_ok_and(|nodes| nodes == idle));
        let daemons = self.wait("the nodes are not idle", all_idle);
        daemons.map_err(|error| format!("{error}: {:?}", nodes(self)).into())
    }

    /// Returns a command of Slurm that talks to this cluster.
    pub(super) fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(tool_path(tool).unwrap_or_else(|| tool.into()));
        command.env("SLURM_CONF", self.conf()).stdin(Stdio::null());
        command
    }

    /// Returns the output of a command of Slurm.
    pub(super) fn output(&self, tool: &str, args: &[&str]) -> Checked<String> {
        let output = self.command(tool).args(args).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{tool} {}: {}", args.join(" "), said.trim()).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    pub(super) fn conf(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    /// Returns the last lines of all logs: those of the daemons, and those of jobs in `jobs`.
    pub(super) fn tails(&self, jobs: &Path) -> String {
        let mut text = String::new();
        for folder in [&self.folder, jobs] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let mut logs: Vec<_> = entries.map(|entry| entry.path()).collect();
            let ends = ["log", "out", "err"];
            logs.retain(|path| path.extension().is_some_and(|end| ends.iter().any(|e| end == *e)));
            logs.sort();
            for log in logs {
                let bytes = fs::read(&log).unwrap_or_default();
                let lines = String::from_utf8_lossy(&bytes);
                let lines: Vec<_> = lines.lines().collect();
                let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n");
                let _ = writeln!(text, "--- {}\n{tail}", log.display());
            }
        }
        text
    }

    fn spawn(&mut self, name: &str, tool: &str, args: &[String]) -> Checked<()> {
        let log = File::create(self.folder.join(format!("{name}.log")))?;
        let path = tool_path(tool).ok_or_else(|| format!("{tool} is missing"))?;
        // A daemon also ends if this process is killed.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]).arg(path).args(args);
        command.env("SLURM_CONF", self.conf()).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().map_err(|error| format!("{tool}: {error}"))?;
        self.daemons.push((name.to_owned(), child));
        Ok(())
    }

    /// Polls until `ready`, while all daemons run.
    fn wait(&self, what: &str, ready: impl Fn() -> Checked<bool>) -> Checked<()> {
        let start = Instant::now();
        while !ready()? {
            if start.elapsed() > LIMIT {
                return Err(format!("{what} after {} s", LIMIT.as_secs()).into());
            }
            if let Some((name, _)) = self.daemons.iter().find(|(_, daemon)| has_ended(daemon)) {
                return Err(format!("{name} has ended").into());
            }
            sleep(POLL);
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let controller = self.daemons.iter().find(|(name, _)| name == "slurmctld");
        if controller.is_some_and(|(_, daemon)| !has_ended(daemon)) {
            // An error leaves nothing more to do than to end the daemons.
            let _ = self.output("scancel", &["--user=root"]);
            let no_job = || Ok(self.output("squeue", &["-h"])?.is_empty());
            let _ = self.wait("there are jobs", no_job);
        }
        for (_, daemon) in self.daemons.iter_mut().rev() {
            let _ = kill_process(Pid::from_child(daemon), Signal::TERM);
            let start = Instant::now();
            while matches!(daemon.try_wait(), Ok(None)) && start.elapsed() < LIMIT {
                sleep(POLL);
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Tells whether a child has ended. It may not have been waited for.
fn has_ended(child: &Child) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    state.is_none_or(|state| state == 'Z')
}

fn configuration(folder: &Path) -> Checked<String> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
    let host = host.trim().split('.').next().unwrap_or_default();
    // All listeners are open at once, so that the ports differ.
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0"));
    let mut ports = Vec::new();
    for listener in listeners {
        ports.push(listener?.local_addr()?.port());
    }
    let folder = folder.display();
    let mut text = format!(
        "ClusterName=tagq
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={}
SlurmUser=root
SlurmdUser=root
# A job that is requeued waits until its credential has expired.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
# Daemons log to their standard error output.
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
# Nodes have the processors and the memory that are stated here, whatever the host has.
SlurmdParameters=config_overrides
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1
MinJobAge=3600
KillWait=5
",
        ports[0]
    );
    for (node, port) in NODES.iter().zip(&ports[1..]) {
        writeln!(
            text,
            "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=8192"
        )?;
    }
    let nodes = NODES.join(",");
    writeln!(text, "PartitionName=all Nodes={nodes} Default=YES MaxTime=INFINITE State=UP")?;
    Ok(text)
}

/// Returns the path of a program. Daemons are in folders that may not be in PATH.
fn tool_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let mut files = folders.map(|folder| folder.join(name));
    files.find(|file| file.metadata().is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0))
}
