//! The limits of requests for each caller.
//!
//! A caller is the owner of a token that the front door knows, and otherwise an address: who makes up
//! a token for each request is one caller, and takes nothing from the others.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::http::Method;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use quick_cache::sync::Cache;
use runtime::http;
use tokio::{sync::Semaphore, time::Instant};

use crate::settings::Gateway;

/// Requests at once that a caller may send after a pause, in seconds of the rate.
const BURST: NonZeroU32 = NonZeroU32::new(4).expect("it is not zero");
/// Largest number of callers whose requests are counted. Further ones take the place of those that
/// send little.
const CALLERS_MAX: usize = 16_384;
/// Time after which the front door is asked again whether it knows a token.
const KNOWN_FOR: Duration = Duration::from_secs(600);
/// Time after which the front door is asked again whether it admits everybody.
const NEEDLESS_FOR: Duration = Duration::from_secs(60);
/// Largest number of questions to the front door about tokens at once.
const QUESTIONS_MAX: usize = 16;

/// Time in which there is a place for a question; without one, the request counts for its address.
const PLACE_WITHIN: Duration = Duration::from_secs(2);

/// The requests and streams of all callers.
#[derive(Debug, Clone)]
pub(crate) struct Limits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    quotas: [Quota; 2],
    callers: Cache<String, Arc<Counted>>,
    /// Digests of tokens that the front door knows, with the time of its answer.
    known: Cache<String, Instant>,
    /// Time at which the front door admitted everybody.
    needless: Mutex<Option<Instant>>,
    questions: Semaphore,
    streams_max: usize,
    streams: Mutex<HashMap<String, usize>>,
}

/// The requests of one caller.
#[derive(Debug)]
struct Counted {
    reads: DefaultDirectRateLimiter,
    writes: DefaultDirectRateLimiter,
}

/// An open stream of a caller.
#[derive(Debug)]
pub(crate) struct Open {
    limits: Limits,
    key: String,
}

/// The front door's answer about a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// It names somebody.
    Known,
    /// It names nobody, or the front door does not answer.
    Unknown,
    /// The front door admits everybody, so no token names anybody.
    Needless,
}

impl Limits {
    pub(crate) fn new(settings: &Gateway) -> Self {
        let quota =
            |rate: NonZeroU32| Quota::per_second(rate).allow_burst(rate.saturating_mul(BURST));
        Self(Arc::new(Inner {
            quotas: [settings.reads_per_second, settings.writes_per_second].map(quota),
            callers: Cache::new(CALLERS_MAX),
            known: Cache::new(CALLERS_MAX),
            needless: Mutex::default(),
            questions: Semaphore::new(QUESTIONS_MAX),
            streams_max: settings.streams,
            streams: Mutex::default(),
        }))
    }

    /// Counts a request. Returns `false` if the caller sends too many.
    pub(crate) fn admit(&self, key: &str, method: &Method) -> bool {
        let counted = self.counted(key);
        let limiter = if method.is_safe() { &counted.reads } else { &counted.writes };
        limiter.check().is_ok()
    }

    fn counted(&self, key: &str) -> Arc<Counted> {
        let Inner { callers, quotas: [reads, writes], .. } = &*self.0;
        if let Some(counted) = callers.get(key) {
            return counted;
        }
        let (reads, writes) = (RateLimiter::direct(*reads), RateLimiter::direct(*writes));
        let fresh = Arc::new(Counted { reads, writes });
        let inserted = callers.get_or_insert_with::<_, std::convert::Infallible>(key, || Ok(fresh));
        let Ok(counted) = inserted;
        counted
    }

    /// Returns the key of a caller: the digest of a token that the front door knows, or the address.
    pub(crate) fn key(&self, digest: Option<&str>, peer: Option<IpAddr>) -> String {
        match digest.filter(|digest| self.knows(digest)) {
            Some(digest) => digest.to_owned(),
            None => peer.map_or_else(String::new, |peer| http::network(peer).to_string()),
        }
    }

    fn knows(&self, digest: &str) -> bool {
        self.0.known.get(digest).is_some_and(|since| since.elapsed() < KNOWN_FOR)
    }

    fn needless(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.needless.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request of a token that is not known yet, and asks the front door about it unless its
    /// address sends too many of them. Returns `false` if the request is one too many.
    pub(crate) async fn admit_new(
        &self,
        digest: &str,
        address: &str,
        method: &Method,
        ask: impl Future<Output = Token>,
    ) -> bool {
        if self.needless().is_some_and(|since| since.elapsed() < NEEDLESS_FOR) {
            return self.admit(address, method);
        }
        if self.0.known.get(digest).is_some() {
            // A bucket gives no rights, so a token keeps its own while the front door is asked again,
            // whatever else its address sends.
            if !self.admit(digest, method) {
                return false;
            }
            if let Ok(_place) = self.0.questions.try_acquire()
                && ask.await == Token::Known
            {
                self.0.known.insert(digest.to_owned(), Instant::now());
            }
            return true;
        }
        let place = tokio::time::timeout(PLACE_WITHIN, self.0.questions.acquire()).await;
        let Ok(Ok(_place)) = place else { return self.admit(address, method) };
        // The request before this one may have asked.
        if self.knows(digest) {
            return self.admit(digest, method);
        }
        if !self.admit(address, method) {
            return false;
        }
        match ask.await {
            Token::Known => self.0.known.insert(digest.to_owned(), Instant::now()),
            Token::Needless => *self.needless() = Some(Instant::now()),
            Token::Unknown => {}
        }
        true
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
        let (loud, calm) = ("loud", "calm");
        let admitted = (0..1_000).take_while(|_| limits.admit(loud, &Method::POST)).count();
        assert!((40..1_000).contains(&admitted), "{admitted}");
        assert!(limits.admit(calm, &Method::POST));
        assert!(limits.admit(loud, &Method::GET), "reads are counted apart");
    }

    #[tokio::test(start_paused = true)]
    async fn the_owner_of_a_token_is_no_stranger_again_when_its_address_is_busy() {
        let limits = limits();
        assert!(send(&limits, "ann's", Token::Known).await);
        tokio::time::advance(KNOWN_FOR).await;
        while limits.admit("10.0.0.1", &Method::POST) {}
        assert!(send(&limits, "ann's", Token::Unknown).await, "the front door does not answer");
        assert!(!send(&limits, "bob's", Token::Unknown).await);
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_place_for_a_question_counts_for_the_address() {
        let limits = limits();
        let _places = limits.0.questions.acquire_many(u32::try_from(QUESTIONS_MAX).unwrap()).await;
        assert!(send(&limits, "ann's", Token::Known).await);
        assert!(!limits.knows("ann's"));
    }

    async fn send(limits: &Limits, token: &str, said: Token) -> bool {
        limits.admit_new(token, "10.0.0.1", &Method::POST, async { said }).await
    }

    #[tokio::test]
    async fn who_makes_up_tokens_is_one_caller_and_takes_nothing_from_the_owner_of_one() {
        let limits = limits();
        assert!(send(&limits, "ann's", Token::Known).await);
        let mut admitted = 0;
        for n in 0..1_000 {
            admitted += usize::from(send(&limits, &format!("made-up-{n}"), Token::Unknown).await);
        }
        assert!((39..1_000).contains(&admitted), "{admitted}");
        let peer = Some("10.0.0.1".parse().unwrap());
        assert_eq!(limits.key(Some("made-up-1"), peer), "10.0.0.1");
        let key = limits.key(Some("ann's"), peer);
        assert_eq!(key, "ann's");
        assert!(limits.admit(&key, &Method::POST));
        assert_eq!(limits.0.callers.len(), 2, "no bucket of a token that names nobody");
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_asked_about_again_after_a_time() {
        let limits = limits();
        assert!(send(&limits, "ann's", Token::Known).await);
        tokio::time::advance(KNOWN_FOR).await;
        assert_eq!(limits.key(Some("ann's"), None), "");
    }

    #[test]
    fn callers_are_bounded_and_an_address_is_one_in_all_its_forms() {
        let limits = limits();
        for n in 0..CALLERS_MAX * 2 {
            limits.admit(&n.to_string(), &Method::GET);
        }
        assert!(limits.0.callers.len() <= CALLERS_MAX, "{}", limits.0.callers.len());
        let key = |address: &str| limits.key(None, Some(address.parse().unwrap()));
        assert_eq!(key("::ffff:10.0.0.1"), key("10.0.0.1"));
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:ffff:ffff:ffff"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
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
