//! Signals in a conversation: the first Ctrl-C discards the typed line, the second one leaves.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::CliError;

/// The signal handlers of this process.
#[derive(Debug)]
pub(super) struct Interrupts {
    int: Signal,
    term: Signal,
}

/// A received signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// `SIGINT`, by Ctrl-C.
    Asked,
    /// `SIGTERM`.
    Ended,
}

impl Interrupts {
    pub(super) fn take() -> Result<Self, CliError> {
        let handler = |kind| signal(kind).map_err(|e| CliError::io("signals", &e));
        Ok(Self { int: handler(SignalKind::interrupt())?, term: handler(SignalKind::terminate())? })
    }

    /// Waits for the next signal. Cancellation safe.
    pub(super) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.int.recv() => Interrupt::Asked,
            _ = self.term.recv() => Interrupt::Ended,
        }
    }
}
