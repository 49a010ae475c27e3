//! Signals of a command: the first one requests an end, the second one ends the program at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{exit::Exit, failure::CliError};

/// The signal handlers of this process.
#[derive(Debug)]
pub(crate) struct Interrupts {
    int: Signal,
    term: Signal,
}

impl Interrupts {
    /// Installs handlers for SIGINT and SIGTERM.
    ///
    /// # Errors
    /// If the handlers cannot be installed.
    pub(crate) fn take() -> Result<Self, CliError> {
        let handler = |kind| signal(kind).map_err(|e| CliError::io("signals", &e));
        Ok(Self { int: handler(SignalKind::interrupt())?, term: handler(SignalKind::terminate())? })
    }

    /// Waits for the next signal. From then on another one ends the program at once. Cancellation
    /// safe.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
        }
        tokio::spawn(async {
            if let Ok(mut again) = Self::take() {
                tokio::select! {
                    _ = again.int.recv() => {}
                    _ = again.term.recv() => {}
                }
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
        });
    }
}
