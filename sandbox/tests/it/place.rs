//! A directory with a workspace, and things beside it that no command may reach.

use std::{
    fs::{self, Permissions},
    io::{Read, Write},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use callboard_sandbox::{Ended, Isolation, Limits, Refusal, Task};
use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde::Deserialize;
use tempfile::TempDir;

/// Returns the id of a user that nothing else has: limits on processes hold for a user.
fn new_user() -> u32 {
    static PLACES: AtomicU32 = AtomicU32::new(0);
    1_000_000 + std::process::id() * 64 + PLACES.fetch_add(1, Ordering::Relaxed)
}

/// The user and the rights of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worker {
    /// Root, which gives the command a user of its own.
    Root,
    /// Root in a container of Docker: fewer capabilities, and no call that makes namespaces.
    Container,
    /// A user without rights.
    Plain,
    /// The user of the test, if it is not root.
    Myself,
}

impl Worker {
    fn is_root(self) -> bool {
        matches!(self, Self::Root | Self::Container)
    }

    /// Those that can isolate a command so.
    pub(crate) fn that_have(isolation: Isolation) -> Vec<Self> {
        let has = |worker: &Self| isolation == Isolation::Kernel || *worker != Self::Container;
        Self::all().into_iter().filter(has).collect()
    }

    /// All that this test can be: root can be anybody.
    pub(crate) fn all() -> Vec<Self> {
        match rustix::process::geteuid().is_root() {
            true => vec![Self::Root, Self::Container, Self::Plain],
            false => vec![Self::Myself],
        }
    }
}

/// The capabilities that Docker leaves a container, by `oci/caps/defaults.go` of moby.
const CONTAINER_CAPABILITIES: [&str; 14] = [
    "chown",
    "dac_override",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "net_bind_service",
    "net_raw",
    "sys_chroot",
    "mknod",
    "audit_write",
    "setfcap",
];

/// Calls that Docker refuses a container without CAP_SYS_ADMIN and that make or join namespaces, by
/// `profiles/seccomp/default.json` of moby; it refuses `clone` with their flags too.
const CONTAINER_CALLS: [i64; 12] = [
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_bpf,
    libc::SYS_keyctl,
];

/// Takes calls away from this thread and what it starts, as a kernel or a container without them
/// does.
pub(crate) fn take_away(calls: &[i64], errno: u32) {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let calls = calls.iter().map(|call| (*call, vec![])).collect();
    let refuse = SeccompAction::Errno(errno);
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refuse, arch).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

/// The answer of the warden.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Ended(Ended),
    Refused(Refusal),
}

impl Answer {
    /// The layer that is missing.
    pub(crate) fn missing_layer(self) -> String {
        let Self::Refused(Refusal::Layer { layer, .. }) = self else { panic!("{self:?}") };
        layer
    }
}

pub(crate) struct Place {
    dir: TempDir,
    worker: Worker,
    user: u32,
}

impl Place {
    pub(crate) fn of(worker: Worker) -> Self {
        Self::at_path(worker, &std::env::temp_dir())
    }

    pub(crate) fn at_path(worker: Worker, parent: &Path) -> Self {
        let dir = tempfile::tempdir_in(parent).unwrap();
        let place = Self { dir, worker, user: new_user() };
        let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        open(place.dir.path());
        fs::copy(env!("CARGO_BIN_EXE_callboard-sandbox"), place.at("program")).unwrap();
        for name in ["workspace", "sibling"] {
            fs::create_dir(place.at(name)).unwrap();
        }
        fs::write(place.at("secret"), "a secret").unwrap();
        fs::set_permissions(place.at("secret"), Permissions::from_mode(0o600)).unwrap();
        let (command, worker) = match worker {
            Worker::Root | Worker::Container => (Some(place.user), None),
            Worker::Plain => (Some(place.user), Some(place.user)),
            Worker::Myself => (None, None),
        };
        chown(place.at("workspace"), command, command).unwrap();
        // The worker's own files, and another job's.
        for name in ["secret", "sibling"] {
            chown(place.at(name), worker, worker).unwrap();
        }
        place
    }

    /// Gives a file to the user of the commands.
    pub(crate) fn give(&self, path: &Path) {
        if self.worker != Worker::Myself {
            chown(path, Some(self.user), Some(self.user)).unwrap();
        }
    }

    /// Lets nobody but the worker pass to the workspace.
    pub(crate) fn close(&self) {
        fs::set_permissions(self.dir.path(), Permissions::from_mode(0o700)).unwrap();
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn task(&self, isolation: Isolation, argv: &[&str]) -> Task {
        Task {
            argv: argv.iter().map(|argument| (*argument).to_owned()).collect(),
            directory: self.at("workspace"),
            variables: [].into(),
            readable: Vec::new(),
            writable: vec![self.at("workspace")],
            temporary: None,
            user: self.worker.is_root().then_some(self.user),
            isolation,
            limits: Limits {
                time_ms: 60_000,
                output_bytes: 64 * 1024,
                memory_bytes: 1 << 30,
                file_bytes: 1 << 20,
                processes: 64,
                open_files: 256,
            },
        }
    }

    /// Runs a shell command.
    pub(crate) fn sh(&self, isolation: Isolation, command: &str) -> Ended {
        self.ended(&self.task(isolation, &["sh", "-c", command]))
    }

    pub(crate) fn ended(&self, task: &Task) -> Ended {
        match self.run(task) {
            Answer::Ended(ended) => ended,
            Answer::Refused(refusal) => panic!("{:?}: {refusal}", self.worker),
        }
    }

    /// Runs a task under a warden with an open file that it does not know.
    pub(crate) fn run(&self, task: &Task) -> Answer {
        if self.worker == Worker::Container {
            let contained = || {
                take_away(&CONTAINER_CALLS, Errno::PERM.raw_os_error().unsigned_abs());
                self.run_here(task)
            };
            return thread::scope(|scope| scope.spawn(contained).join().unwrap());
        }
        self.run_here(task)
    }

    fn run_here(&self, task: &Task) -> Answer {
        Self::run_by(self.warden(), task)
    }

    /// Runs a task under a warden.
    pub(crate) fn run_by(mut warden: Command, task: &Task) -> Answer {
        let mut warden = warden.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut interest = warden.stdin.take().unwrap();
        serde_json::to_writer(&mut interest, task).unwrap();
        interest.write_all(b"\n").unwrap();
        let mut answer = String::new();
        warden.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
        warden.wait().unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    /// Prepares a warden of the worker, with an open file that it did not open.
    pub(crate) fn warden(&self) -> Command {
        let user = match self.worker {
            Worker::Plain => format!("setpriv --reuid {0} --regid {0} --clear-groups", self.user),
            Worker::Container => {
                let kept = CONTAINER_CAPABILITIES.map(|name| format!(",+{name}")).concat();
                format!("setpriv --bounding-set -all{kept} --inh-caps -all")
            }
            Worker::Root | Worker::Myself => String::new(),
        };
        self.start(&format!("exec 9<\"$1\"; exec {user} \"$2\" sandbox-stage warden"))
    }

    /// Prepares a warden of the worker on a machine that hides processes from each other.
    pub(crate) fn blind_warden(&self) -> Command {
        let id = self.user;
        self.start(&format!(
            "exec unshare --mount sh -c 'mount -t proc -o hidepid=2 proc /proc && \
             exec setpriv --reuid {id} --regid {id} --clear-groups \"$0\" sandbox-stage warden' \"$2\""
        ))
    }

    /// Prepares a shell with the secret and the program as arguments.
    fn start(&self, script: &str) -> Command {
        let mut shell = Command::new("bash");
        shell.args(["-c", script, "bash"]).arg(self.at("secret")).arg(self.at("program"));
        shell
    }
}
