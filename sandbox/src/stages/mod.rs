//! The processes of the sandbox. Each is this program again, with another stage as its argument.

mod confined;
mod first;
mod inherited;
mod warden;

use std::{
    ffi::{OsStr, OsString},
    io::{Write, stdin},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    time::Duration,
};

use rustix::io::fcntl_dupfd_cloexec;

pub(crate) use self::warden::Answer;
use crate::{
    message::{self, Message, Messages, Refusal, Status},
    task::Task,
};

/// The argument that makes a process one of the sandbox; the stage follows it.
pub(crate) const ARGUMENT: &str = "sandbox-stage";

/// Longest time until a stage has started the next one or become the command.
const START_WITHIN: Duration = Duration::from_secs(30);

/// A process of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Warden,
    First,
    Confined,
}

impl Stage {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Warden => "warden",
            Self::First => "first",
            Self::Confined => "confined",
        }
    }

    fn of(name: &OsStr) -> Option<Self> {
        [Self::Warden, Self::First, Self::Confined].into_iter().find(|stage| name == stage.name())
    }
}

/// Runs the stage that the arguments name, in which case the process must end with the returned
/// code. Returns `None` for a process that is not one of the sandbox.
///
/// Must be called before the process has a second thread.
#[must_use]
pub fn enter(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let stage = Stage::of(&arguments.next()?)?;
    let ran = match stage {
        Stage::Warden => warden::run().is_ok(),
        Stage::First => first::run().is_ok(),
        Stage::Confined => confined::run().is_ok(),
    };
    Some(if ran { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The other end of the standard input: where a stage tells its parent what became of it.
struct Parent(UnixStream);

impl Parent {
    /// Takes a copy of the standard input that a new program does not inherit.
    fn of_stdin() -> Result<Self, Refusal> {
        let copy =
            fcntl_dupfd_cloexec(stdin().as_fd(), 3).map_err(Refusal::of("standard input"))?;
        Ok(Self(UnixStream::from(copy)))
    }

    /// Waits for the task.
    fn task(&self) -> Result<Task, Refusal> {
        let task = Messages::of(&self.0).next()?;
        task.ok_or_else(|| Refusal::Task("the input is empty".to_owned()))
    }

    /// Tells the parent. A parent that has gone needs no message.
    fn tell(&mut self, message: &Message) {
        let _ = message::write(&mut self.0, message);
    }

    /// Tells the parent about a stage that could not go on.
    fn told<T>(&mut self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        result.inspect_err(|refusal| self.tell(&Message::Refused(refusal.clone())))
    }
}

/// A stage that was started.
struct Started {
    process: Child,
    messages: Messages<UnixStream>,
}

impl Started {
    /// Starts a stage with a task. Its output goes where `output` says.
    fn of(stage: Stage, task: &Task, output: impl Fn() -> Stdio) -> Result<Self, Refusal> {
        let start = || {
            let (mut ours, theirs) = UnixStream::pair()?;
            let process = Command::new("/proc/self/exe")
                .args([ARGUMENT, stage.name()])
                .env_clear()
                .stdin(OwnedFd::from(theirs))
                .stdout(output())
                .stderr(output())
                .spawn()?;
            ours.set_read_timeout(Some(START_WITHIN))?;
            message::write(&mut ours, task)?;
            ours.flush()?;
            Ok(Self { process, messages: Messages::of(ours) })
        };
        start().map_err(|error: std::io::Error| Refusal::Program {
            program: stage.name().to_owned(),
            reason: error.to_string(),
        })
    }

    /// Waits until the stage has become the command, or says that its child has.
    fn wait_for_command(&mut self, stage: Stage) -> Result<(), Refusal> {
        let died = || Refusal::Task(format!("the process {} died before", stage.name()));
        self.said()?.ok_or_else(died)?;
        match stage {
            // The command inherits no end of the socket.
            Stage::Confined => self.said().map(drop),
            Stage::Warden | Stage::First => Ok(()),
        }
    }

    /// Reads a message; `None` at the end.
    fn said(&mut self) -> Result<Option<()>, Refusal> {
        match self.messages.next()? {
            None => Ok(None),
            Some(Message::Started) => Ok(Some(())),
            Some(Message::Refused(refusal)) => Err(refusal),
            Some(Message::Ended(_)) => Err(Refusal::Task("the command never started".to_owned())),
        }
    }
}

fn status(status: ExitStatus) -> Status {
    match status.code() {
        Some(code) => Status::Exited(code),
        None => Status::Signaled(status.signal().unwrap_or_default()),
    }
}
