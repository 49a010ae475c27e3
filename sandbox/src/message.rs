//! What the processes of the sandbox say to each other: JSON lines on the standard input, which is
//! a socket.

use std::io::{BufRead, BufReader, Read, Take, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Longest message, in bytes; a task holds paths, variables and one command.
const BYTES_MAX: u64 = 4 << 20;

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it.
    Signaled(i32),
}

/// The reason why a command did not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The kernel or the rights of this process do not allow a layer of the isolation.
    #[error("{layer}: {reason}")]
    Layer {
        /// The layer.
        layer: String,
        /// The kernel's error.
        reason: String,
    },
    /// The program cannot be started.
    #[error("{program}: {reason}")]
    Program {
        /// The program.
        program: String,
        /// The kernel's error.
        reason: String,
    },
    /// The task is not one.
    #[error("the task cannot be read: {0}")]
    Task(String),
}

impl Refusal {
    /// Returns the function that names a layer's error.
    pub(crate) fn of<E: std::fmt::Display>(layer: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Layer { layer: layer.to_owned(), reason: error.to_string() }
    }
}

/// A message of a process to the one that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// The command runs.
    Started,
    /// The command does not run.
    Refused(Refusal),
    /// The command's own process has ended.
    Ended(Status),
}

/// Reads messages from a stream. It may take more bytes than one message from the stream.
pub(crate) struct Messages<R>(BufReader<Take<R>>);

impl<R: Read> Messages<R> {
    pub(crate) fn of(stream: R) -> Self {
        Self(BufReader::new(stream.take(BYTES_MAX)))
    }

    /// Waits for the next message; `None` at the end of the stream.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Refusal> {
        let mut line = Vec::new();
        let read = self.0.read_until(b'\n', &mut line);
        read.map_err(|error| Refusal::Task(error.to_string()))?;
        if line.is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(&line).map(Some).map_err(|error| Refusal::Task(error.to_string()))
    }
}

/// Writes one message.
pub(crate) fn write(mut to: impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}
