//! Changes of the log level at run time: permanent, or for a time after which the former level
//! returns.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use tokio_util::task::AbortOnDropHandle;

use crate::telemetry::{LogLevel, TelemetryError};

/// The longest duration of a temporary level.
const LASTS_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The reason why a level cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum LevelError {
    /// The text is neither a level nor a filter.
    #[error("{0}")]
    Level(#[from] TelemetryError),
    /// The duration cannot be parsed, or is too long.
    #[error("for: write a time with its unit, such as 30s or 10m, of at most 24h")]
    Time,
}

/// The control of the log level. Clones share it.
#[derive(Debug, Clone)]
pub struct LevelControl {
    level: LogLevel,
    passing: Arc<Mutex<Option<Passing>>>,
}

/// A temporary level.
#[derive(Debug)]
struct Passing {
    until: Timestamp,
    back_to: String,
    _task: AbortOnDropHandle<()>,
}

impl LevelControl {
    /// Creates the control of a log's level.
    #[must_use]
    pub fn new(level: LogLevel) -> Self {
        Self { level, passing: Arc::default() }
    }

    /// Returns the current level. If it is temporary, a second line has its end and the level after
    /// it.
    #[must_use]
    pub fn shown(&self) -> String {
        let passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        let back = passing.as_ref().map(|p| format!("until {}, then {}\n", p.until, p.back_to));
        format!("{}\n{}", self.level.get(), back.unwrap_or_default())
    }

    /// Sets the level permanently, and ends a temporary one.
    ///
    /// # Errors
    /// An error is returned when the text is no level. Nothing is changed then.
    pub fn set(&self, level: &str) -> Result<(), LevelError> {
        let mut passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        self.level.set(level)?;
        *passing = None;
        tracing::info!(log_level = level, "the log level was changed");
        Ok(())
    }

    /// Sets the level for a time. After the last of several overlapping times, the level before the
    /// first one returns.
    ///
    /// # Errors
    /// An error is returned when the text is no level or the time cannot be parsed. Nothing is
    /// changed then.
    pub fn set_for(&self, level: &str, time: &str) -> Result<(), LevelError> {
        let time = lasts(time)?;
        let mut passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        let back_to = match &*passing {
            Some(passing) => passing.back_to.clone(),
            None => self.level.get(),
        };
        self.level.set(level)?;
        tracing::info!(log_level = level, ?time, "the log level was changed temporarily");
        let this = self.clone();
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep(time).await;
            this.go_back();
        }));
        let until = Timestamp::now().checked_add(time).unwrap_or(Timestamp::MAX);
        let until = until.round(jiff::Unit::Second).unwrap_or(until);
        *passing = Some(Passing { until, back_to, _task: task });
        Ok(())
    }

    fn go_back(&self) {
        let mut passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Passing { back_to, .. }) = passing.take() else { return };
        match self.level.set(&back_to) {
            Ok(()) => tracing::info!(log_level = back_to, "the log level was restored"),
            Err(error) => tracing::error!(%error, "the log level could not be restored"),
        }
    }
}

fn lasts(text: &str) -> Result<Duration, LevelError> {
    let time = text.parse::<jiff::SignedDuration>().map_err(|_| LevelError::Time)?;
    let time = Duration::try_from(time).map_err(|_| LevelError::Time)?;
    if time.is_zero() || time > LASTS_MAX { Err(LevelError::Time) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_level_for_a_time_goes_back_to_what_it_was_before_the_first() {
        let control = LevelControl::new(LogLevel::detached("warn"));
        control.set_for("debug", "10m").unwrap();
        assert!(control.shown().starts_with("debug\nuntil "), "{}", control.shown());
        assert!(control.shown().ends_with(", then warn\n"));
        tokio::time::sleep(Duration::from_secs(300)).await;
        control.set_for("trace", "10m").unwrap();
        tokio::time::sleep(Duration::from_secs(599)).await;
        assert!(control.shown().starts_with("trace\n"), "the first time does not count any more");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(control.shown(), "warn\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_level_for_good_ends_the_time() {
        let control = LevelControl::new(LogLevel::detached("warn"));
        control.set_for("debug", "10m").unwrap();
        control.set("error").unwrap();
        tokio::time::sleep(Duration::from_secs(601)).await;
        assert_eq!(control.shown(), "error\n");
    }

    #[tokio::test]
    async fn what_is_wrong_changes_nothing() {
        let control = LevelControl::new(LogLevel::detached("warn"));
        for time in ["", "10", "-1m", "0s", "25h", "soon", "1y"] {
            assert!(matches!(control.set_for("debug", time), Err(LevelError::Time)), "{time}");
        }
        assert!(control.set_for("loud", "1m").is_err());
        assert!(control.set("loud").is_err());
        assert_eq!(control.shown(), "warn\n");
    }
}
