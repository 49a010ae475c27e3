//! The program of a server: its start with an environment of its own, its standard error, its end.
//!
//! A program has a process group of its own, and its end takes the whole group along. If the worker
//! is killed, its ends of the pipes close; a server ends when its standard input does, as the protocol
//! demands. A program that ignores that outlives a killed worker.

use std::{
    collections::VecDeque,
    io,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret, SecretString};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStdin, ChildStdout, Command},
};
use tokio_util::task::AbortOnDropHandle;

/// Kept end of a program's standard error, in bytes.
pub(crate) const STDERR_BYTES_MAX: usize = 4 * 1024;
/// Time for a program to end by itself after its standard input has closed.
const END_WITHIN: Duration = Duration::from_secs(3);
/// Time for a program to end after it was told to.
const TERM_WITHIN: Duration = Duration::from_secs(1);

/// A running program. Its group is killed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Option<Pid>,
    tail: Tail,
    _reader: Option<AbortOnDropHandle<()>>,
}

/// The end of a program's standard error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Returns the last lines.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        kept.extend(bytes);
        let over = kept.len().saturating_sub(STDERR_BYTES_MAX);
        kept.drain(..over);
    }
}

impl Process {
    /// Starts a program, and returns it with its output and input.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn start(
        path: &Path,
        args: &[String],
        env: &[(String, SecretString)],
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut command = Command::new(path);
        command
            .args(args)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value.expose_secret())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let missing = || io::Error::other("a pipe is missing");
        let output = child.stdout.take().ok_or_else(missing)?;
        let input = child.stdin.take().ok_or_else(missing)?;
        let tail = Tail::default();
        let reader = child
            .stderr
            .take()
            .map(|stderr| AbortOnDropHandle::new(tokio::spawn(drain(stderr, tail.clone()))));
        Ok((Self { child, group, tail, _reader: reader }, output, input))
    }

    /// Returns the end of the program's standard error.
    pub(crate) fn tail(&self) -> Tail {
        self.tail.clone()
    }

    /// Waits for the program, whose standard input has closed, and ends it with its group if it does
    /// not end in time.
    pub(crate) async fn end(mut self) {
        if tokio::time::timeout(END_WITHIN, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(TERM_WITHIN, self.child.wait()).await;
        }
        // The rest of the group is killed as the value is dropped.
    }

    fn signal(&self, signal: Signal) {
        // An error means that the group has ended.
        let _ = self.group.map(|group| kill_process_group(group, signal));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Reads standard error to its end, so that a program never waits for its reader.
async fn drain(mut stderr: impl AsyncRead + Unpin, tail: Tail) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        tail.keep(buffer.get(..read).unwrap_or_default());
    }
}
