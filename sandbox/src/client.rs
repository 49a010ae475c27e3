//! The worker's side: what the kernel enforces here, and the run of a task.

use std::{ffi::OsString, io, path::PathBuf, process::Stdio, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
};

use crate::{
    message::{Refusal, Status},
    stages::{ARGUMENT, Answer, Stage},
    task::{Ended, Isolation, Limits, Task},
    users::{User, Users},
};

/// The program whose [`enter`](crate::enter) runs the stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// Its path, which must stay the same program while tasks start.
    pub program: PathBuf,
    /// Arguments before those of the sandbox.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// Returns the program of this process.
    #[must_use]
    pub fn this_program() -> Self {
        // The link leads to the program that runs, even if another file has its name by now.
        Self { program: PathBuf::from("/proc/self/exe"), arguments: Vec::new() }
    }
}

/// The reason why a task has no end.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The command did not start.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The warden died, or cannot be started.
    #[error("the warden of the command: {0}")]
    Warden(#[from] io::Error),
    /// As many commands run as there are users for them.
    #[error("every user for commands is in use")]
    NoUser,
}

/// A way to run commands that was tried on this machine.
#[derive(Debug, Clone)]
pub struct Sandbox {
    launcher: Launcher,
    isolation: Isolation,
    users: Option<Arc<Users>>,
}

impl Sandbox {
    /// Finds the strongest isolation that the kernel and the rights of this process allow, by
    /// running a command in it. Root also gives each command a user of `users`.
    ///
    /// # Errors
    /// The refusal of the weakest permitted isolation, `least`.
    pub async fn open(
        launcher: Launcher,
        least: Isolation,
        users: Users,
    ) -> Result<Self, SandboxError> {
        let users = rustix::process::geteuid().is_root().then(|| Arc::new(users));
        let with = |isolation| Self { launcher: launcher.clone(), isolation, users: users.clone() };
        let strongest = with(Isolation::Namespaces);
        match strongest.try_out().await {
            Ok(()) => return Ok(strongest),
            Err(refused) if least == Isolation::Namespaces => return Err(refused),
            Err(_) => {}
        }
        let weaker = with(Isolation::Kernel);
        weaker.try_out().await.map(|()| weaker)
    }

    /// The layers around every command.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Takes a user for one command. `None` if commands run as the user of this process.
    ///
    /// # Errors
    /// If all users are taken.
    pub fn user(&self) -> Result<Option<User>, SandboxError> {
        let Some(users) = &self.users else { return Ok(None) };
        Users::take(users).map(Some).ok_or(SandboxError::NoUser)
    }

    /// Runs a task. The isolation is that of this sandbox, whatever the task says. Dropping the
    /// future ends the command.
    ///
    /// # Errors
    /// If the command did not start or its warden died. A command that fails is not an error.
    pub async fn run(&self, task: Task) -> Result<Ended, SandboxError> {
        let task = Task { isolation: self.isolation, ..task };
        let mut message = serde_json::to_vec(&task).map_err(io::Error::from)?;
        message.push(b'\n');
        let mut warden = Command::new(&self.launcher.program)
            .args(&self.launcher.arguments)
            .args([ARGUMENT, Stage::Warden.name()])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        // The warden reads the end of this pipe as the end of the worker, or of its interest.
        let mut interest = warden.stdin.take().ok_or_else(unpiped)?;
        interest.write_all(&message).await?;
        let mut answer = Vec::new();
        let mut stdout = warden.stdout.take().ok_or_else(unpiped)?;
        stdout.read_to_end(&mut answer).await?;
        warden.wait().await?;
        drop(interest);
        match serde_json::from_slice(&answer).map_err(io::Error::from)? {
            Answer::Ended(ended) => Ok(*ended),
            Answer::Refused(refusal) => Err(refusal.into()),
        }
    }

    /// Runs a command that does nothing.
    async fn try_out(&self) -> Result<(), SandboxError> {
        let user = self.user()?;
        let limits = Limits {
            time_ms: 10_000,
            output_bytes: 1024,
            memory_bytes: 1 << 30,
            file_bytes: 0,
            processes: 64,
            open_files: 64,
        };
        let task = Task {
            argv: vec!["true".to_owned()],
            directory: "/usr".into(),
            variables: [].into(),
            readable: Vec::new(),
            writable: Vec::new(),
            temporary: None,
            user: user.as_ref().map(User::id),
            isolation: self.isolation,
            limits,
        };
        let ended = self.run(task).await?;
        if ended.status == Status::Exited(0) {
            return Ok(());
        }
        let reason = format!("`true` ended with {:?}: {}", ended.status, ended.stderr.text);
        Err(Refusal::Program { program: "true".to_owned(), reason }.into())
    }
}

fn unpiped() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
