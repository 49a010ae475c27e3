//! Ctrl-C in a conversation: once takes back what was typed, twice leaves.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::CliError;

/// Interrupts of this process.
#[derive(Debug)]
pub(super) struct Interrupts {
    int: Signal,
    term: Signal,
}

/// What somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// Ctrl-C.
    Asked,
    /// The program is to end.
    Ended,
}

impl Interrupts {
    pub(super) fn take() -> Result<Self, CliError> {
        let handler = |kind| signal(kind).map_err(|e| CliError::io("signals", &e));
        Ok(Self { int: handler(SignalKind::interrupt())?, term: handler(SignalKind::terminate())? })
    }

    /// The next one. Cancel-safe.
    pub(super) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.int.recv() => Interrupt::Asked,
            _ = self.term.recv() => Interrupt::Ended,
        }
    }
}
