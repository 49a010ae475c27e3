//! SIGTERM and SIGINT: the first asks the process to finish what it has, the second ends it.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that was told twice to end: 128 + SIGINT, as shells have it.
pub const IMPATIENT: u8 = 130;

/// A token that is canceled by the first SIGTERM or SIGINT. The second one ends the process at
/// once with [`IMPATIENT`]; nothing is lost by it, what was in hand goes to other workers.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn on_signal() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let first = token.clone();
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
        };
        tracing::info!(
            signal = name,
            "finishing the work in progress; a second signal stops at once"
        );
        first.cancel();
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::warn!("stopped before all work in progress was finished");
        std::process::exit(i32::from(IMPATIENT));
    });
    Ok(token)
}

/// [`IMPATIENT`] as what `main` returns.
#[must_use]
pub fn impatient() -> ExitCode {
    ExitCode::from(IMPATIENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_signal_cancels_the_token() {
        let token = on_signal().unwrap();
        assert!(!token.is_cancelled());
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM)
            .unwrap();
        token.cancelled().await;
    }
}
