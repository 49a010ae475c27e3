//! Captured log lines of a thread, for tests of logging.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;
use tracing::{Level, subscriber::DefaultGuard};

use super::wait::patiently;

/// The captured log lines of a thread.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    written: Arc<Mutex<Vec<u8>>>,
    changed: Arc<Notify>,
}

impl Lines {
    /// Captures this thread's log output up to a level, for as long as the guard lives.
    #[must_use]
    pub fn of(level: Level) -> (Self, DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (lines, tracing::subscriber::set_default(subscriber))
    }

    /// Returns everything logged so far.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until a text is logged, and returns everything logged so far.
    ///
    /// # Panics
    /// If [`wait::PATIENCE`](super::wait::PATIENCE) passes before the text is logged.
    #[expect(clippy::panic, reason = "a test that waits in vain fails, and shows what was logged")]
    pub async fn until(&self, text: &str) -> String {
        let found = patiently(async {
            loop {
                let changed = self.changed.notified();
                let all = self.text();
                if all.contains(text) {
                    return all;
                }
                changed.await;
            }
        });
        found.await.unwrap_or_else(|| panic!("{text:?} was never logged: {}", self.text()))
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        self.changed.notify_waiters();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
