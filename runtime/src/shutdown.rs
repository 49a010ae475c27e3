//! SIGTERM and SIGINT. The first signal begins a graceful shutdown, the second one ends the
//! process.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code after a second signal: 128 + SIGINT, as in shells.
pub const IMPATIENT: u8 = 130;

/// Returns a token that the first SIGTERM or SIGINT cancels. The second signal ends the process at
/// once with [`IMPATIENT`]. Nothing is lost then, because the broker delivers the running commands
/// to other workers.
///
/// # Errors
/// An error is returned when the signal handlers cannot be installed.
pub fn on_signal() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let first = token.clone();
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "finishing what is in hand; once more ends at once");
        first.cancel();
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::warn!("ended before everything in hand was finished");
        std::process::exit(i32::from(IMPATIENT));
    });
    Ok(token)
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
