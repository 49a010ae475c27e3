//! The times of the tries of one event. Pure: chance is an argument.

use std::time::Duration;

/// The largest part of a wait that chance adds, so that events that failed together are not sent
/// together again.
const JITTER: f64 = 0.1;

/// Returns the wait after this failed try, counted from 1; `None` after the last one. `waits` are
/// seconds, and `chance` is at least 0 and below 1.
pub(super) fn wait(waits: &[u64], tries: u64, chance: f64) -> Option<Duration> {
    let at = usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX);
    let wait = waits.get(at).copied().map(Duration::from_secs)?;
    Some(wait.mul_f64(1.0 + JITTER * chance))
}

#[cfg(test)]
mod tests {
    use runtime::config::Section;

    use super::{super::Webhooks, *};

    #[test]
    fn by_default_an_event_is_tried_eight_times_over_about_28_hours() {
        let waits = &Webhooks::defaults().retry_after_seconds;
        let all = |chance| (1..).map_while(move |tries| wait(waits, tries, chance));
        assert_eq!(all(0.0).count() + 1, 8);
        let hours = |chance| all(chance).sum::<Duration>().as_secs_f64() / 3_600.0;
        assert!((27.5..27.7).contains(&hours(0.0)), "{}", hours(0.0));
        assert!((30.0..30.4).contains(&hours(0.999)), "{}", hours(0.999));
        assert_eq!(wait(waits, u64::MAX, 0.5), None);
        assert!(waits.is_sorted(), "{waits:?}");
    }

    #[test]
    fn without_waits_there_is_one_try() {
        assert_eq!(wait(&[], 1, 0.5), None);
    }
}
