//! The limit on warnings about outages: thousands of jobs that wait for one service log one line a
//! minute.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Interval between two warnings about one service.
const EVERY: Duration = Duration::from_secs(60);
/// Maximum number of services that are distinguished; the others share one interval.
const SERVICES_MAX: usize = 256;
/// The name that services beyond the maximum share.
const OTHERS: &str = "";

/// The last warnings about each service.
#[derive(Debug)]
pub(super) struct OutageWarnings(Mutex<BTreeMap<String, LastWarning>>);

#[derive(Debug)]
struct LastWarning {
    at: Instant,
    /// Number of waits since this warning.
    waits: u64,
}

impl OutageWarnings {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Counts a wait for a service. Returns the number of waits since the last warning, this one
    /// included, if a warning is due.
    pub(super) fn count(&self, service: &str, now: Instant) -> Option<u64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !last.contains_key(service);
        let service = if is_new && last.len() >= SERVICES_MAX { OTHERS } else { service };
        let Some(warning) = last.get_mut(service) else {
            last.insert(service.to_owned(), LastWarning { at: now, waits: 0 });
            return Some(1);
        };
        warning.waits = warning.waits.saturating_add(1);
        if now.saturating_duration_since(warning.at) < EVERY {
            return None;
        }
        warning.at = now;
        Some(std::mem::take(&mut warning.waits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn thousands_of_jobs_give_one_warning_a_minute_and_service() {
        let (warnings, begin) = (OutageWarnings::new(), Instant::now());
        let count =
            |service: &str, seconds| warnings.count(service, begin + Duration::from_secs(seconds));
        assert_eq!(count("model", 0), Some(1));
        assert!((0..5_000).all(|_| count("model", 1).is_none()));
        assert_eq!(count("http_get", 1), Some(1));
        assert_eq!(count("model", 60), Some(5_001));
        assert_eq!(count("model", 61), None);
        let services = (0..10_000).filter_map(|n| count(&format!("tool{n}"), 70));
        assert!(services.count() <= SERVICES_MAX + 1);
    }
}
