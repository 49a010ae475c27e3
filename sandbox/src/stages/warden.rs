//! The process that starts a command and answers for its end.
//!
//! It reads the task from its standard input and writes one [`Answer`] to its standard output. The
//! end of its input means that nobody waits for the command any more, so a worker that is killed
//! takes its commands along.

use std::{
    io::{ErrorKind, Read, stdin, stdout},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::{ChildStderr, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    process::{Pid, PidfdFlags, getpid, pidfd_open, set_child_subreaper},
};
use serde::{Deserialize, Serialize};

use super::{Stage, Started, inherited, status};
use crate::{
    descendants,
    layers::namespaces,
    message::{self, Message, Messages, Refusal, Status},
    task::{Ended, Isolation, Output, Stopped, Task},
};

/// Number of bytes read from a stream at a time.
const PIECE: usize = 64 * 1024;

/// Largest size that an unprivileged process gives a pipe: `/proc/sys/fs/pipe-max-size`.
const PIPE_BYTES_MAX: usize = 1024 * 1024;

/// The warden's answer to the worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The command ran.
    Ended(Box<Ended>),
    /// The command did not run.
    Refused(Refusal),
    /// The command ran, and nobody knows how it ended or whether all of it did.
    Lost(String),
}

pub(super) fn run() -> std::io::Result<()> {
    let answer = match carry_out() {
        Ok(answer) => answer,
        Err(refusal) => Answer::Refused(refusal),
    };
    message::write(stdout(), &answer)
}

/// Runs the task of the standard input.
///
/// # Errors
/// If the command did not start.
fn carry_out() -> Result<Answer, Refusal> {
    inherited::close_all()?;
    let task: Option<Task> = Messages::of(stdin()).next()?;
    let task = task.ok_or_else(|| Refusal::Task("the input is empty".to_owned()))?;
    set_child_subreaper(Some(getpid())).map_err(Refusal::of("subreaper"))?;
    let stage = match task.isolation {
        Isolation::Kernel => {
            descendants::cannot_hide()?;
            Stage::Confined
        }
        Isolation::Namespaces => {
            namespaces::make()?;
            Stage::First
        }
    };
    let begin = Instant::now();
    let mut command = Started::of(stage, &task, Stdio::piped)?;
    if let Err(refusal) = command.wait_for_command(stage) {
        descendants::kill_all();
        return Err(refusal);
    }
    let watched = watch(&mut command, &task, begin);
    let killed = descendants::kill_all();
    let ended = watched.map_err(|error| error.to_string()).and_then(|watched| {
        let killed = killed.ok_or("a process of the command cannot be killed")?;
        Ok(watched.into_ended(&mut command, begin, killed))
    });
    Ok(ended.map_or_else(Answer::Lost, |ended| Answer::Ended(Box::new(ended))))
}

/// Status of a command that the warden killed.
const KILLED: Status = Status::Signaled(rustix::process::Signal::KILL.as_raw());

/// Returns the end of the command that the first process of its namespaces told before its own.
fn said(command: &mut Started) -> Option<Status> {
    match command.messages.next().ok()?? {
        Message::Ended(status) => Some(status),
        Message::Started | Message::Refused(_) => None,
    }
}

/// A command that has ended or must.
struct Watched {
    stopped: Option<Stopped>,
    streams: Streams,
    /// End of the command; `None` if a message or a kill says it.
    status: Option<Status>,
}

impl Watched {
    fn into_ended(mut self, command: &mut Started, begin: Instant, killed: usize) -> Ended {
        self.streams.read_rest();
        let status = self.status.or_else(|| said(command)).unwrap_or(KILLED);
        let took_ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (stdout, stderr) = self.streams.into_outputs();
        Ended { status, stopped: self.stopped, stdout, stderr, took_ms, killed }
    }
}

/// Waits for the end of the command, of its time, or of the worker's interest.
fn watch(command: &mut Started, task: &Task, begin: Instant) -> std::io::Result<Watched> {
    let child = Pid::from_child(&command.process);
    let process = pidfd_open(child, PidfdFlags::empty())?;
    let mut streams = Streams::of(command, task.limits.output_bytes)?;
    let deadline = begin + Duration::from_millis(task.limits.time_ms);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let event = streams.wait(&process, left)?;
        let stopped = match event {
            Event::Output => continue,
            Event::Process => {
                let ended = command.process.wait()?;
                let known = (task.isolation == Isolation::Kernel).then(|| status(ended));
                return Ok(Watched { stopped: None, streams, status: known });
            }
            Event::Worker => Stopped::Canceled,
            Event::Time => Stopped::TimedOut,
        };
        return Ok(Watched { stopped: Some(stopped), streams, status: Some(KILLED) });
    }
}

/// The first event of a wait.
enum Event {
    /// There was output, which was read.
    Output,
    /// The child of the warden ended.
    Process,
    /// The worker closed the standard input.
    Worker,
    /// The time is over.
    Time,
}

/// The output of the command.
struct Streams {
    stdout: Stream<ChildStdout>,
    stderr: Stream<ChildStderr>,
}

impl Streams {
    fn of(command: &mut Started, bytes_max: usize) -> Result<Self, Errno> {
        let streams = command.process.stdout.take().zip(command.process.stderr.take());
        let (stdout, stderr) = streams.ok_or(Errno::BADF)?;
        Ok(Self { stdout: Stream::of(stdout, bytes_max)?, stderr: Stream::of(stderr, bytes_max)? })
    }

    /// Waits for the next event, and reads the output that is there.
    fn wait(&mut self, process: &OwnedFd, left: Duration) -> Result<Event, Errno> {
        let stdin = stdin();
        let timeout = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        let (process_ended, worker_left, none) = {
            let mut fds =
                vec![PollFd::new(process, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
            fds.extend(self.stdout.open().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            fds.extend(self.stderr.open().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            let ready = match poll(&mut fds, Some(&timeout)) {
                Err(Errno::INTR) => return Ok(Event::Output),
                ready => ready?,
            };
            (!fds[0].revents().is_empty(), !fds[1].revents().is_empty(), ready == 0)
        };
        self.stdout.read();
        self.stderr.read();
        // More output may be there; a command that floods must not outlive its time.
        Ok(match (process_ended, worker_left, none || left.is_zero()) {
            (true, ..) => Event::Process,
            (_, true, _) => Event::Worker,
            (_, _, true) => Event::Time,
            _ => Event::Output,
        })
    }

    /// Reads what is left when no process can write any more.
    fn read_rest(&mut self) {
        self.stdout.read();
        self.stderr.read();
    }

    fn into_outputs(self) -> (Output, Output) {
        (self.stdout.into_output(), self.stderr.into_output())
    }
}

/// One stream of output, of which the beginning is kept.
struct Stream<R> {
    from: Option<R>,
    kept: Vec<u8>,
    bytes_max: usize,
    dropped: u64,
}

impl<R: Read + AsFd> Stream<R> {
    fn of(from: R, bytes_max: usize) -> Result<Self, Errno> {
        fcntl_setfl(&from, fcntl_getfl(&from)? | OFlags::NONBLOCK)?;
        Ok(Self { from: Some(from), kept: Vec::new(), bytes_max, dropped: 0 })
    }

    fn open(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    /// Reads what the pipe holds, which is at most its size.
    fn read(&mut self) {
        let mut piece = [0; PIECE];
        for _ in 0..PIPE_BYTES_MAX / PIECE {
            let Some(from) = &mut self.from else { return };
            match from.read(&mut piece) {
                Ok(0) => self.from = None,
                Ok(length) => self.keep(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.from = None,
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.bytes_max.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.dropped += (bytes.len() - room) as u64;
    }

    fn into_output(self) -> Output {
        Output { text: String::from_utf8_lossy(&self.kept).into_owned(), dropped: self.dropped }
    }
}
