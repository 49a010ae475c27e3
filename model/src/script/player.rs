//! The state of a running script: it selects the rule that answers, and counts. Requests over HTTP
//! and within the process get the same answers.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{
    Script,
    conversation::Conversation,
    reply::{Counts, Fault, Rendered},
};

/// A running script.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) script: Arc<Script>,
    /// Number of matches that each rule has answered.
    answered: Vec<AtomicU64>,
    requests: AtomicU64,
    unanswered: AtomicU64,
}

/// The script has no answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoAnswer {
    /// The reason, for users.
    pub(super) message: String,
    /// Stable identifier of the reason.
    pub(super) code: &'static str,
}

impl Player {
    pub(super) fn new(script: Script) -> Self {
        Self::of(Arc::new(script))
    }

    /// Creates a player of the same script at its beginning.
    pub(super) fn rewound(&self) -> Self {
        Self::of(Arc::clone(&self.script))
    }

    fn of(script: Arc<Script>) -> Self {
        let answered = script.rules.iter().map(|_| AtomicU64::new(0)).collect();
        Self { script, answered, requests: AtomicU64::new(0), unanswered: AtomicU64::new(0) }
    }

    /// Counts a request and returns its number, from 1.
    pub(super) fn request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Number of requests without an answer so far.
    pub(super) fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Counts and logs a request without an answer.
    pub(super) fn missed(&self, message: &str) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(message, "the scripted model has no matching rule");
    }

    /// Renders the reply of the first matching rule with matches left.
    pub(super) fn answer(
        &self,
        talk: &Conversation,
        request: u64,
    ) -> Result<(Rendered, Option<Fault>), NoAnswer> {
        let broken = |rule: &str, message: String| NoAnswer {
            message: format!("{rule}: {message}"),
            code: "template",
        };
        for (rule, answered) in self.script.rules.iter().zip(&self.answered) {
            let Some(captures) = rule.when.matches(talk) else { continue };
            let Some(seen) = take_turn(answered, rule.times) else { continue };
            let counts = Counts { request, seen };
            return rule
                .reply
                .render(&self.script.templates, talk, &captures, counts)
                .map(|rendered| (rendered, rule.fault.clone()))
                .map_err(|message| broken(&rule.name, message));
        }
        let Some(otherwise) = &self.script.otherwise else {
            let message = "no rule of the script matches this conversation, and it has no else";
            return Err(NoAnswer { message: message.to_owned(), code: "no_rule" });
        };
        let counts = Counts { request, seen: request };
        otherwise
            .render(&self.script.templates, talk, &serde_json::Map::new(), counts)
            .map(|rendered| (rendered, None))
            .map_err(|message| broken("else", message))
    }
}

/// Counts a match and returns its number, from 1; `None` if the rule is exhausted.
fn take_turn(answered: &AtomicU64, times: Option<u32>) -> Option<u64> {
    let next = |count: u64| times.is_none_or(|times| count < u64::from(times)).then_some(count + 1);
    answered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok().map(|before| before + 1)
}
