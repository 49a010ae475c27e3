//! The worker's side: what the kernel enforces here, and the run of a task.

use std::{io, ops::Range, path::PathBuf, process::Stdio};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
};

use crate::{
    message::{Refusal, Status},
    stages::{ARGUMENT, Answer, Stage},
    task::{Ended, Isolation, Limits, Task},
};

/// The program whose [`enter`](crate::enter) runs the stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// Its path, which must stay the same program while tasks start.
    pub program: PathBuf,
}

impl Launcher {
    /// Returns the program of this process.
    #[must_use]
    pub fn this_program() -> Self {
        // The link leads to the program that runs, even if another file has its name by now.
        Self { program: PathBuf::from("/proc/self/exe") }
    }
}

/// The reason why a task has no end.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The command did not start.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The command may have run, and nobody knows how it ended.
    #[error("nobody knows how the command ended: {0}")]
    Lost(String),
    /// The warden died, or cannot be started.
    #[error("the warden of the command: {0}")]
    Warden(#[from] io::Error),
}

/// A way to run commands that was tried on this machine.
#[derive(Debug, Clone)]
pub struct Sandbox {
    launcher: Launcher,
    isolation: Isolation,
    users: Option<Range<u32>>,
}

impl Sandbox {
    /// Finds the strongest isolation that the kernel and the rights of this process allow, by
    /// running a command in it. Root runs commands as users of `users`, ids that nobody else has.
    ///
    /// # Errors
    /// The refusal of the weakest permitted isolation, `least`.
    pub async fn open(
        launcher: Launcher,
        least: Isolation,
        users: Range<u32>,
    ) -> Result<Self, SandboxError> {
        let users = rustix::process::geteuid().is_root().then_some(users);
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

    /// Returns the user of the commands of one owner: the same one each time, and rarely that of
    /// another owner. `None` if commands run as the user of this process.
    #[must_use]
    pub fn user_of(&self, owner: &str) -> Option<u32> {
        let users = self.users.as_ref()?;
        // FNV-1a, which stays the same from one release to the next.
        let hash = owner
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Some(users.start + hash % users.len().try_into().unwrap_or(u32::MAX).max(1))
    }

    /// Runs a task until it ends, or `stop` does, which kills it. The isolation is that of this
    /// sandbox, whatever the task says. Dropping the future kills the command too, but does not wait
    /// for its end.
    ///
    /// # Errors
    /// If the command did not start or its warden died. A command that fails is not an error.
    pub async fn run(
        &self,
        task: Task,
        stop: impl Future<Output = ()>,
    ) -> Result<Ended, SandboxError> {
        let task = Task { isolation: self.isolation, ..task };
        let mut message = serde_json::to_vec(&task).map_err(io::Error::from)?;
        message.push(b'\n');
        let mut warden = Command::new(&self.launcher.program)
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
        let answered = stdout.read_to_end(&mut answer);
        tokio::pin!(answered);
        tokio::select! {
            read = &mut answered => read?,
            () = stop => {
                drop(interest);
                answered.await?
            }
        };
        warden.wait().await?;
        match serde_json::from_slice(&answer).map_err(io::Error::from)? {
            Answer::Ended(ended) => Ok(*ended),
            Answer::Refused(refusal) => Err(refusal.into()),
            Answer::Lost(why) => Err(SandboxError::Lost(why)),
        }
    }

    /// Runs a command that does nothing.
    async fn try_out(&self) -> Result<(), SandboxError> {
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
            user: self.user_of(""),
            isolation: self.isolation,
            limits,
        };
        let ended = self.run(task, std::future::pending()).await?;
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
