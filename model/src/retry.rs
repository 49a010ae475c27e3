//! Retries of a call whose reply has not started, and their pauses.
//!
//! A call is never retried after the first piece of its reply: that piece was displayed, and its
//! tokens were paid for.

use std::{future::Future, time::Duration};

use backon::{ExponentialBuilder, Retryable};
use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::{
    config::RetryConfig,
    error::{ErrorKind, ModelError, Phase},
};

/// Runs `attempt` until it succeeds, fails permanently, or exhausts the attempts or the waiting
/// time. Calls `again` for every failure that is retried.
pub(crate) async fn with_retries<T, F, Fut>(
    config: &RetryConfig,
    mut again: impl FnMut(ErrorKind),
    mut attempt: F,
) -> Result<T, ModelError>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, ModelError>>,
{
    let mut backoff = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(config.initial_interval_ms))
        .with_max_delay(Duration::from_millis(config.max_interval_ms))
        .with_factor(config.backoff_factor)
        .with_max_times(usize::try_from(config.max_attempts.saturating_sub(1)).unwrap_or(0));
    if config.jitter {
        backoff = backoff.with_jitter();
    }
    let mut left = Duration::from_millis(config.max_wait_ms);
    let mut made: u32 = 0;
    let counted = || {
        made = made.saturating_add(1);
        let number = made;
        let running = attempt();
        async move { running.await.map_err(|error| error.with_attempts(number)) }
    };
    counted
        .retry(backoff)
        .sleep(tokio::time::sleep)
        .when(|error| worth_another_attempt(error.kind()))
        .adjust(|error: &ModelError, chosen| {
            // No pause means that the attempts are exhausted; then the provider's request is
            // irrelevant.
            let wait =
                error.retry_after().map_or(chosen?, |asked| asked.max(Duration::from_millis(1)));
            left = left.checked_sub(wait)?;
            Some(wait)
        })
        .notify(|error, wait| {
            again(error.kind());
            tracing::debug!(
                kind = error.kind().as_str(),
                status = error.status(),
                wait_ms = wait.as_millis(),
                "retrying a model call"
            );
        })
        .await
}

/// `true` for transient failures before any token was produced.
const fn worth_another_attempt(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::RateLimited
        | ErrorKind::Overloaded
        | ErrorKind::ProviderFailed
        | ErrorKind::Unreachable
        | ErrorKind::Timeout { which: Phase::Connect } => true,
        // Slow and broken replies were produced and paid for; a retry is the caller's decision.
        ErrorKind::Timeout { which: Phase::FirstToken | Phase::Idle | Phase::Total }
        | ErrorKind::CutStream
        | ErrorKind::Malformed
        | ErrorKind::DuplicateCall
        | ErrorKind::Empty
        | ErrorKind::Config
        | ErrorKind::Auth
        | ErrorKind::Quota
        | ErrorKind::InvalidRequest
        | ErrorKind::ContextTooLong
        | ErrorKind::CutByLength
        | ErrorKind::TooLarge
        | ErrorKind::Refused => false,
    }
}

/// Returns the pause that the provider requests: `retry-after-ms`, or `Retry-After` in seconds or
/// as a date.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return seconds(millis / 1000.0);
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(given) = value.parse::<f64>() {
        return seconds(given);
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
    // A past date means an immediate retry.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// Converts seconds; `None` for negative, infinite or undefined values.
fn seconds(given: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(given).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use rstest::rstest;

    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[rstest]
    #[case("retry-after", "7", Some(7_000))]
    #[case("retry-after", "0.5", Some(500))]
    #[case("retry-after-ms", "250", Some(250))]
    #[case("retry-after", "Sat, 21 Nov 2026 00:00:10 GMT", Some(10_000))]
    #[case("retry-after", "Fri, 20 Nov 2026 00:00:00 GMT", Some(0))]
    #[case("retry-after", "-3", None)]
    #[case("retry-after", "inf", None)]
    #[case("retry-after", "soon", None)]
    fn retry_after_is_understood(
        #[case] name: &'static str,
        #[case] value: &str,
        #[case] millis: Option<u64>,
    ) {
        let now: Timestamp = "2026-11-21T00:00:00Z".parse().unwrap();
        assert_eq!(retry_after(&headers(name, value), now), millis.map(Duration::from_millis));
    }

    async fn attempts_of(error: ModelError, config: RetryConfig) -> (u32, ModelError, Duration) {
        let calls = AtomicU32::new(0);
        let begun = tokio::time::Instant::now();
        let mut again = 0;
        let failed = with_retries(
            &config,
            |_| again += 1,
            || {
                calls.fetch_add(1, Ordering::Relaxed);
                let error = error.clone();
                async move { Err::<(), _>(error) }
            },
        )
        .await
        .unwrap_err();
        assert_eq!(again + 1, calls.load(Ordering::Relaxed));
        (calls.load(Ordering::Relaxed), failed, begun.elapsed())
    }

    fn steady() -> RetryConfig {
        RetryConfig { jitter: false, ..RetryConfig::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_bounded_and_counted() {
        let (calls, error, waited) =
            attempts_of(ModelError::new(ErrorKind::Overloaded, "x"), steady()).await;
        assert_eq!((calls, error.attempts()), (4, 4));
        assert_eq!(waited.as_millis(), 500 + 1000 + 2000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_bad_request_is_not_tried_again() {
        let (calls, _, _) =
            attempts_of(ModelError::new(ErrorKind::InvalidRequest, "x"), steady()).await;
        assert_eq!(calls, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_providers_wait_is_honoured() {
        let error = ModelError::new(ErrorKind::RateLimited, "x")
            .with_retry_after(Some(Duration::from_secs(9)));
        let (calls, _, waited) = attempts_of(error, steady()).await;
        assert_eq!((calls, waited.as_secs()), (4, 27));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_bound_is_left_to_the_caller() {
        let error = ModelError::new(ErrorKind::RateLimited, "x")
            .with_retry_after(Some(Duration::from_secs(31)));
        let (calls, failed, waited) = attempts_of(error, steady()).await;
        assert_eq!((calls, waited.as_secs()), (1, 0));
        assert_eq!(failed.retry_after(), Some(Duration::from_secs(31)));
    }
}
