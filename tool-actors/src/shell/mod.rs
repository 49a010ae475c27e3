//! The shell: commands of models in the workspace of their job, confined by the kernel.

mod files;
pub mod settings;

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sandbox::{Ended, Launcher, Limits, Sandbox, SandboxError, Task};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use self::files::Files;
use crate::{
    tool::ToolFault,
    tools::unblocked,
    workspace::{FileError, Workspace, remove},
};

/// Interval at which the size of a workspace is looked at while a command runs.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Interval at which a workspace is tried in which another command runs.
const LOCK_EVERY: Duration = Duration::from_millis(50);
/// Largest number of open files of one process.
const OPEN_FILES: u64 = 1024;
const MIB: u64 = 1024 * 1024;

/// The shell of a worker. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shell {
    sandbox: Sandbox,
    settings: Arc<settings::Shell>,
}

/// A command that ran.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its end and its output.
    pub(crate) ended: Ended,
    /// The paths of files that it made, changed or removed, in order.
    pub(crate) changed: Vec<String>,
}

/// A command without a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShellError {
    /// The command outgrew the workspace and was killed.
    #[error("the workspace is full")]
    Full,
    /// The command did not start, or nobody knows its end.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The workspace cannot be used.
    #[error(transparent)]
    Files(#[from] FileError),
    /// The tool broke.
    #[error(transparent)]
    Fault(#[from] ToolFault),
}

impl Shell {
    /// Finds out how this machine confines commands. `None` if the settings want no shell.
    ///
    /// # Errors
    /// If the machine cannot confine them as the settings demand.
    pub async fn open(
        settings: &settings::Shell,
        launcher: Launcher,
    ) -> Result<Option<Self>, SandboxError> {
        if !settings.enabled {
            return Ok(None);
        }
        let users = settings.first_user..settings.first_user + settings::USERS;
        let sandbox = Sandbox::open(launcher, settings.isolation, users).await?;
        Ok(Some(Self { sandbox, settings: Arc::new(settings.clone()) }))
    }

    /// The layers around every command.
    #[must_use]
    pub fn isolation(&self) -> sandbox::Isolation {
        self.sandbox.isolation()
    }

    /// The settings of this shell.
    pub(crate) fn settings(&self) -> &settings::Shell {
        &self.settings
    }

    /// Runs a command in a workspace. The command is killed when `stop` is cancelled; dropping the
    /// future would not wait for its end, and another command could meet it in the workspace.
    ///
    /// # Errors
    /// If the command did not start, or was killed because its workspace is full.
    pub(crate) async fn run(
        &self,
        workspace: Workspace,
        command: String,
        time: Duration,
        stop: CancellationToken,
    ) -> Result<Ran, ShellError> {
        let _alone = tokio::select! {
            alone = self.alone(&workspace) => alone?,
            () = stop.cancelled() => return Err(ToolFault::unavailable("canceled").into()),
        };
        let owner = self.sandbox.user_of(&workspace.name());
        let temporary = tempfile::tempdir()
            .map_err(|error| ToolFault::unavailable(format!("temporary files: {error}")))?;
        let scratch = temporary.path().to_owned();
        let prepared = unblocked(move || {
            let directory = workspace.directory()?;
            let shared = workspace.shared_files()?;
            if let Some(owner) = owner {
                for given in [&directory, &scratch] {
                    let name = given.display().to_string();
                    files::give(given, owner)
                        .map_err(|errno| FileError::io(&name, &errno.into()))?;
                }
            }
            Ok::<_, FileError>((Files::of(&directory, files::Bounds::NONE), directory, shared))
        });
        let (before, directory, shared) = prepared.await??;
        let task = self.task(command, &directory, temporary.path(), time);
        let task = Task { user: owner, readable: [task.readable, shared].concat(), ..task };
        // The files from before may stay, so that a command can make room in a full workspace.
        let bounds = self.bounds().or(&before);
        let ended = self.within_bounds(task, bounds, &stop).await;
        let after = unblocked(move || {
            // A command may have made directories deeper than a recursive removal can go.
            let _ = remove::all(&temporary.keep());
            Files::of(&directory, bounds)
        });
        let (ended, after) = (ended?, after.await?);
        if after.is_full() {
            return Err(ShellError::Full);
        }
        Ok(Ran { ended, changed: before.changes(&after) })
    }

    /// Waits until no other command runs in a workspace, here or in another process: it may belong to
    /// one user at a time. Dropping the handle lets the next one in.
    async fn alone(&self, workspace: &Workspace) -> Result<File, ShellError> {
        let workspace = workspace.clone();
        let opened = unblocked(move || {
            let directory = workspace.directory()?;
            let name = directory.display().to_string();
            File::open(&directory).map_err(|error| FileError::io(&name, &error))
        });
        let directory = opened.await??;
        let mut tries = interval(LOCK_EVERY);
        loop {
            tries.tick().await;
            match directory.try_lock() {
                Ok(()) => return Ok(directory),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(FileError::io("workspace", &error).into());
                }
            }
        }
    }

    /// Runs a task until it ends, is stopped, or a directory that it may write is full.
    async fn within_bounds(
        &self,
        task: Task,
        bounds: files::Bounds,
        stop: &CancellationToken,
    ) -> Result<Ended, ShellError> {
        let directories = task.writable.clone();
        let mut is_full = false;
        let stopped = async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = full(directories, bounds) => is_full = true,
            }
        };
        let ended = self.sandbox.run(task, stopped).await?;
        if is_full { Err(ShellError::Full) } else { Ok(ended) }
    }

    fn bounds(&self) -> files::Bounds {
        let settings = &self.settings;
        files::Bounds { bytes: settings.workspace_mb * MIB, number: settings.workspace_files }
    }

    fn task(&self, command: String, directory: &Path, temporary: &Path, time: Duration) -> Task {
        let settings = &self.settings;
        let text = |path: &Path| path.display().to_string();
        let variables = [
            ("HOME", text(directory)),
            ("TMPDIR", text(temporary)),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
        ];
        Task {
            argv: vec!["sh".to_owned(), "-c".to_owned(), command],
            directory: directory.to_owned(),
            variables: variables.map(|(name, value)| (name.to_owned(), value)).into(),
            readable: settings.readable.clone(),
            writable: vec![directory.to_owned(), temporary.to_owned()],
            temporary: Some(temporary.to_owned()),
            user: None,
            isolation: self.sandbox.isolation(),
            limits: Limits {
                time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
                output_bytes: settings.output_bytes,
                memory_bytes: settings.memory_mb * MIB,
                file_bytes: settings.file_mb * MIB,
                processes: settings.processes,
                open_files: OPEN_FILES,
            },
        }
    }
}

/// Waits until one of these directories is full.
async fn full(directories: Vec<PathBuf>, bounds: files::Bounds) {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let is_full = Arc::new(move |directory: &PathBuf| Files::of(directory, bounds).is_full());
    loop {
        looks.tick().await;
        let (directories, is_full) = (directories.clone(), Arc::clone(&is_full));
        let found = unblocked(move || directories.iter().any(|one| is_full(one)));
        // A look that broke found nothing.
        if found.await.unwrap_or_default() {
            return;
        }
    }
}
