//! The limits of requests for each caller.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::http::Method;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use proto::digest;

use crate::settings::Gateway;

/// Requests at once that a caller may send after a pause, in seconds of the rate.
const BURST: NonZeroU32 = NonZeroU32::new(4).expect("it is not zero");
/// Requests after which callers that send nothing any more are forgotten.
const SWEEP_AFTER: u32 = 4_096;

/// The requests and streams of all callers.
#[derive(Debug, Clone)]
pub(crate) struct Limits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    reads: DefaultKeyedRateLimiter<String>,
    writes: DefaultKeyedRateLimiter<String>,
    streams_max: usize,
    streams: Mutex<HashMap<String, usize>>,
    seen: AtomicU32,
}

/// An open stream of a caller.
#[derive(Debug)]
pub(crate) struct Open {
    limits: Limits,
    key: String,
}

impl Limits {
    pub(crate) fn new(settings: &Gateway) -> Self {
        let quota =
            |rate: NonZeroU32| Quota::per_second(rate).allow_burst(rate.saturating_mul(BURST));
        Self(Arc::new(Inner {
            reads: RateLimiter::keyed(quota(settings.reads_per_second)),
            writes: RateLimiter::keyed(quota(settings.writes_per_second)),
            streams_max: settings.streams,
            streams: Mutex::default(),
            seen: AtomicU32::new(0),
        }))
    }

    /// Counts a request. Returns `false` if the caller sends too many.
    pub(crate) fn admit(&self, key: &String, method: &Method) -> bool {
        let inner = &*self.0;
        if inner.seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP_AFTER) {
            inner.reads.retain_recent();
            inner.writes.retain_recent();
        }
        let limiter = if method.is_safe() { &inner.reads } else { &inner.writes };
        limiter.check_key(key).is_ok()
    }

    /// Returns the largest number of streams of a caller.
    pub(crate) fn streams_max(&self) -> usize {
        self.0.streams_max
    }

    /// Counts a stream until it is dropped. Returns `None` if the caller has too many.
    pub(crate) fn open(&self, key: &str) -> Option<Open> {
        let mut streams = self.0.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let count = streams.entry(key.to_owned()).or_default();
        if *count >= self.0.streams_max {
            return None;
        }
        *count += 1;
        Some(Open { limits: self.clone(), key: key.to_owned() })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut streams = self.limits.0.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = streams.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                streams.remove(&self.key);
            }
        }
    }
}

/// Returns the key of a caller: the digest of the token or, without one, the address.
pub(crate) fn key(token: Option<&str>, peer: Option<IpAddr>) -> String {
    match (token, peer) {
        (Some(token), _) => digest::of_bytes(token.as_bytes()),
        (None, Some(peer)) => peer.to_string(),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use runtime::config::Section;

    use super::*;

    fn limits() -> Limits {
        Limits::new(&Gateway::defaults())
    }

    #[test]
    fn a_caller_that_sends_too_much_takes_nothing_from_another() {
        let limits = limits();
        let (loud, calm) = ("loud".to_owned(), "calm".to_owned());
        let admitted = (0..1_000).take_while(|_| limits.admit(&loud, &Method::POST)).count();
        assert!((40..1_000).contains(&admitted), "{admitted}");
        assert!(limits.admit(&calm, &Method::POST));
        assert!(limits.admit(&loud, &Method::GET), "reads are counted apart");
    }

    #[test]
    fn a_stream_that_ended_makes_room_for_another() {
        let limits = limits();
        let mut open: Vec<_> = std::iter::from_fn(|| limits.open("a")).take(100).collect();
        assert_eq!(open.len(), 32);
        assert!(limits.open("b").is_some());
        open.pop();
        assert!(limits.open("a").is_some());
        drop(open);
        assert!(limits.0.streams.lock().unwrap().is_empty());
    }
}
