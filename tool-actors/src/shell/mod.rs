//! The shell: commands of models in the workspace of their job, confined by the kernel.

mod files;
pub mod settings;

use std::{path::Path, sync::Arc, time::Duration};

use sandbox::{Ended, Launcher, Limits, Sandbox, SandboxError, Task, User, Users};
use tokio::time::{MissedTickBehavior, interval};

use self::files::Files;
use crate::{
    tool::ToolFault,
    tools::unblocked,
    workspace::{FileError, Workspace},
};

/// Interval at which the size of a workspace is looked at while a command runs.
const LOOK_EVERY: Duration = Duration::from_millis(500);
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
    /// The command did not start.
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
        let users = settings.first_user..=settings.first_user + (settings::USERS - 1);
        let sandbox = Sandbox::open(launcher, settings.isolation, Users::of(users)).await?;
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

    /// Runs a command in a workspace. Dropping the future ends the command.
    ///
    /// # Errors
    /// If the command did not start, or was killed because its workspace is full.
    pub(crate) async fn run(
        &self,
        workspace: Workspace,
        command: String,
        time: Duration,
    ) -> Result<Ran, ShellError> {
        let user = self.sandbox.user()?;
        let owner = user.as_ref().map(User::id);
        let temporary = tempfile::tempdir().map_err(|error| FileError::io("TMPDIR", &error))?;
        let scratch = temporary.path().to_owned();
        let bounds = self.bounds();
        let prepared = unblocked(move || {
            let directory = workspace.directory()?;
            let shared = workspace.shared_files()?;
            if let Some(owner) = owner {
                for given in [&directory, &scratch] {
                    let name = given.display().to_string();
                    files::give(given, owner).map_err(|error| FileError::io(&name, &error))?;
                }
            }
            Ok::<_, FileError>((Files::of(&directory, bounds), directory, shared))
        });
        let (before, directory, shared) = prepared.await??;
        let task = self.task(command, &directory, temporary.path(), time);
        let task = Task { user: owner, readable: [task.readable, shared].concat(), ..task };
        let ended = self.within_bounds(task, &directory).await?;
        let after = unblocked(move || Files::of(&directory, bounds)).await?;
        Ok(Ran { ended, changed: before.changes(&after) })
    }

    /// Runs a task until it ends or its workspace is full.
    async fn within_bounds(&self, task: Task, directory: &Path) -> Result<Ended, ShellError> {
        let run = self.sandbox.run(task);
        tokio::pin!(run);
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                ended = &mut run => return Ok(ended?),
                _ = looks.tick() => {
                    let (directory, bounds) = (directory.to_owned(), self.bounds());
                    if unblocked(move || Files::of(&directory, bounds).is_full()).await? {
                        return Err(ShellError::Full);
                    }
                }
            }
        }
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
