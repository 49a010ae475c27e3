//! The process of Chromium: its start with an environment of its own, and its end without a rest.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStderr, Command},
    sync::watch,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tool_actors::browser::Confinement;

use crate::{
    flags::FLAGS,
    link::{Ends, Failed, Link},
    state::State,
};

/// Time for Chromium to answer its first command.
const START: Duration = Duration::from_secs(60);
/// Time for Chromium to end by itself.
const END: Duration = Duration::from_secs(5);
/// Looks for the end of all processes, attempts to remove a profile, and the pause between them.
const LOOKS: usize = 40;
const PAUSE: Duration = Duration::from_millis(50);
/// Kept begin of Chromium's standard error, in bytes.
const STDERR_BYTES_MAX: usize = 4 * 1024;

/// The reason why Chromium does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    /// The process cannot be made.
    #[error("Chromium cannot be started: {0}")]
    Process(#[from] io::Error),
    /// The process does not answer.
    #[error("Chromium does not answer: {why}; it wrote: {stderr}")]
    Silent {
        /// The state of the connection.
        why: String,
        /// Its standard error.
        stderr: String,
    },
}

/// A running Chromium. It ends when the value is dropped; [`Chromium::stop`] waits for that.
#[derive(Debug)]
pub(crate) struct Chromium {
    link: Arc<Link>,
    tabs: Arc<Tabs>,
    tasks: TaskTracker,
}

/// The tabs of all sessions, and their changes.
#[derive(Debug)]
pub(crate) struct Tabs {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

impl Tabs {
    /// Returns the state for a look or a change.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a receiver that is notified after every event.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

impl Chromium {
    /// Starts a Chromium with an empty profile.
    pub(crate) async fn start(
        program: &Path,
        confinement: Confinement,
    ) -> Result<Self, LaunchError> {
        let directory = tempfile::Builder::new().prefix("callboard-browser-").tempdir()?;
        let mut child = command(program, directory.path(), confinement).spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (link, ends) = Link::new(input, output);
        let tabs = Tabs { state: Mutex::default(), changed: watch::Sender::new(0) };
        let (link, tabs, tasks) = (Arc::new(link), Arc::new(tabs), TaskTracker::new());
        let said = Arc::new(Mutex::new(Vec::new()));
        let process = Process { child, directory, stderr, said: Arc::clone(&said) };
        tasks.spawn(process.run(Arc::clone(&link), ends, Arc::clone(&tabs)));
        tasks.close();
        let chromium = Self { link, tabs, tasks };
        if let Err(why) = chromium.prepare().await {
            chromium.stop().await;
            let stderr = said.lock().unwrap_or_else(PoisonError::into_inner);
            let stderr = String::from_utf8_lossy(&stderr).trim().escape_debug().to_string();
            return Err(LaunchError::Silent { why: format!("{why:?}"), stderr });
        }
        Ok(chromium)
    }

    async fn prepare(&self) -> Result<(), Failed> {
        let version = self.link.call(None, "Browser.getVersion", json!({}));
        let version = tokio::time::timeout(START, version).await.map_err(|_| Failed::Late)??;
        tracing::info!(version = version["product"].as_str(), "a browser started");
        // New tabs wait until they are prepared, so that no script runs before.
        let attach = json!({
            "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true,
            "filter": [{"type": "page"}],
        });
        self.link.call(None, "Target.setAutoAttach", attach).await.map(drop)
    }

    /// Returns the connection.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Returns the tabs of all sessions.
    pub(crate) fn tabs(&self) -> &Tabs {
        &self.tabs
    }

    /// Returns the token that is cancelled when the process has ended or broken.
    pub(crate) fn gone(&self) -> &CancellationToken {
        self.link.gone()
    }

    /// Ends the process and waits until nothing of it is left.
    pub(crate) async fn stop(&self) {
        let close = self.link.call(None, "Browser.close", json!({}));
        // A process that does not close is killed.
        if let Ok(Ok(_)) = tokio::time::timeout(END, close).await {
            let _ = tokio::time::timeout(END, self.gone().cancelled()).await;
        }
        self.gone().cancel();
        self.tasks.wait().await;
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        self.gone().cancel();
    }
}

/// The process with everything that ends with it.
struct Process {
    child: Child,
    directory: TempDir,
    stderr: ChildStderr,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Process {
    /// Carries the messages of the process, and removes it afterwards.
    async fn run(self, link: Arc<Link>, ends: Ends, tabs: Arc<Tabs>) {
        let Self { mut child, directory, stderr, said } = self;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let fold = |event| {
            let posts = tabs.lock().apply(&event);
            tabs.changed.send_modify(|changes| *changes += 1);
            posts
        };
        tokio::select! {
            () = link.run(ends, fold) => {}
            // A child of Chromium may hold the pipe open after its end.
            _ = child.wait() => {}
            () = drain(stderr, &said) => {}
        }
        link.end();
        // An error means that the group has ended.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let status = child.wait().await;
        if let Some(group) = group {
            ended(group).await;
        }
        tracing::info!(status = ?status.ok().and_then(|status| status.code()), "a browser ended");
        remove(directory).await;
    }
}

/// Waits for the end of a killed group. Where nothing takes up orphans, their entries stay; so the
/// wait has a bound.
async fn ended(group: Pid) {
    for _ in 0..LOOKS {
        if test_kill_process_group(group).is_err() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes a profile.
async fn remove(directory: TempDir) {
    for _ in 0..LOOKS {
        let path = directory.path().to_owned();
        // An error may be that of a file which a dying process has removed at the same time.
        let removed = tokio::task::spawn_blocking(move || {
            let removed = std::fs::remove_dir_all(&path);
            removed.is_ok() || !path.exists()
        });
        if removed.await.unwrap_or(true) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
    tracing::warn!(path = %directory.path().display(), "a browser's profile was not removed");
}

/// Reads standard error, so that Chromium never waits for its reader, and keeps the begin. Never
/// returns: the end of the pipe is no end of the process.
async fn drain(mut stderr: impl AsyncRead + Unpin, said: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        let room = STDERR_BYTES_MAX.saturating_sub(said.len());
        said.extend_from_slice(buffer.get(..read.min(room)).unwrap_or_default());
    }
    std::future::pending().await
}

/// Returns the command that starts Chromium. It reads commands from descriptor 3 and writes to 4, so
/// a shell moves the pipes there, and Chromium takes its place.
fn command(program: &Path, directory: &Path, confinement: Confinement) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"]).arg(program);
    command.args(FLAGS);
    command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    match confinement {
        Confinement::Namespaces => {}
        Confinement::Container => {
            command.arg("--no-sandbox");
        }
    }
    command
        .arg("about:blank")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("HOME", directory)
        .env("TMPDIR", directory)
        .env("XDG_CONFIG_HOME", directory.join("config"))
        .env("XDG_CACHE_HOME", directory.join("cache"))
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// Finds a program: a path as it is, a name in the directories of `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    let all = std::env::var_os("PATH")?;
    std::env::split_paths(&all).map(|directory| directory.join(program)).find(is_program)
}
