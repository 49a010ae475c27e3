//! The allow-list of reply subjects: Callboard publishes to a caller's subject only if that is an
//! inbox of a permitted user.
//!
//! A reply is published with the permissions of the service, which are wider than the caller's. The
//! server does not say which user sent a request. So callers cannot write anywhere but into
//! inboxes, but one caller can write into another's.
//!
//! Every answer passes through a [`ReplyTo`], which only this rule creates. Acknowledgements are
//! not answers: the server chooses their subjects, and `ack.rs` parses those.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_nats::{HeaderMap, Message, Request, Subject, client::RequestErrorKind};
use bytes::Bytes;
use proto::{excerpt, subject::Subjects};

use super::link::Link;
use crate::bus::BusError;

/// Inboxes of the users in `deploy/nats`, and the default of NATS clients.
pub(super) const REPLY_INBOXES: [&str; 5] =
    ["_INBOX", "_INBOX_client", "_INBOX_gateway", "_INBOX_watcher", "_INBOX_operator"];
/// Longest inbox prefix, in bytes.
const INBOX_BYTES_MAX: usize = 64;
/// Longest reply subject, in bytes.
const REPLY_BYTES_MAX: usize = 256;
/// Time in which the server reports that nobody subscribes to a reply subject.
const SUBSCRIBED: Duration = Duration::from_secs(1);
/// Characters of a rejected subject in the log.
const SHOWN_CHARS: usize = 80;
/// First token of the subjects that route replies between accounts.
const BETWEEN_ACCOUNTS: &str = "_R_";

/// An inbox prefix that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidInbox {
    /// The prefix is not 1 to 64 characters of A-Z a-z 0-9 _ -, in words joined by dots.
    Form,
    /// The subjects below the prefix are subjects of jobs.
    OfJobs,
    /// The server uses the subjects below the prefix.
    OfServer,
}

/// Checks an inbox prefix: words joined by dots, outside the subjects that servers and Callboard
/// use.
///
/// # Errors
/// The reason why it cannot be used.
pub fn check_inbox(inbox: &str, prefix: &str) -> Result<(), InvalidInbox> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let word = |word: &str| !word.is_empty() && word.bytes().all(plain);
    if inbox.len() > INBOX_BYTES_MAX || !inbox.split('.').all(word) {
        return Err(InvalidInbox::Form);
    }
    match inbox.split('.').next() {
        Some(first) if first == prefix => Err(InvalidInbox::OfJobs),
        Some(BETWEEN_ACCOUNTS) => Err(InvalidInbox::OfServer),
        Some(_) | None => Ok(()),
    }
}

/// The inbox prefixes that replies may be sent to.
#[derive(Debug)]
pub(super) struct ReplyRule {
    inboxes: Vec<String>,
    has_warned: AtomicBool,
}

/// An allowed reply subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplyTo {
    subject: Subject,
    /// Length of the permitted prefix and the word after it.
    inbox: usize,
}

impl ReplyRule {
    /// Allows the subjects below these inboxes. An invalid prefix allows nothing.
    pub(super) fn new(inboxes: &[String], subjects: &Subjects) -> Self {
        let valid = inboxes.iter().filter(|inbox| check_inbox(inbox, subjects.prefix()).is_ok());
        let inboxes = valid.map(|inbox| format!("{inbox}.")).collect();
        Self { inboxes, has_warned: AtomicBool::new(false) }
    }

    /// Returns a message's reply subject, if the rule allows it.
    pub(super) fn admit(&self, message: &Message) -> Option<ReplyTo> {
        let reply = message.reply.as_ref()?;
        if let Some(inbox) = self.inbox(reply) {
            return Some(ReplyTo { subject: reply.clone(), inbox });
        }
        let reply = excerpt::ends(reply, SHOWN_CHARS);
        let asked = message.subject.as_str();
        let why = "a request gets no reply: nats.reply_inboxes does not allow its reply subject";
        if self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::debug!(asked, reply, "{why}");
        } else {
            tracing::warn!(asked, reply, "{why}");
        }
        None
    }

    /// Returns the length of the permitted prefix of a reply subject and the word after it; `None`
    /// if the rule does not allow the subject.
    fn inbox(&self, reply: &str) -> Option<usize> {
        let is_one_subject = |rest: &str| {
            let plain = |b: u8| b.is_ascii_graphic() && b != b'*' && b != b'>';
            rest.split('.').all(|token| !token.is_empty() && token.bytes().all(plain))
        };
        let below = |inbox: &String| {
            let rest = reply.strip_prefix(inbox.as_str()).filter(|rest| is_one_subject(rest))?;
            Some(inbox.len() + rest.split('.').next().map_or(0, str::len))
        };
        // The longest prefix is that of the fewest users.
        (reply.len() <= REPLY_BYTES_MAX).then(|| self.inboxes.iter().filter_map(below).max())?
    }
}

impl ReplyTo {
    /// Returns the permitted prefix and the word after it.
    pub(super) fn inbox(&self) -> &str {
        self.subject.get(..self.inbox).unwrap_or(&self.subject)
    }

    /// Sends an answer.
    ///
    /// # Errors
    /// If the answer exceeds the server's size limit, or the connection is closed.
    pub(super) async fn send(
        &self,
        link: &Link,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<(), BusError> {
        let bytes = payload.len();
        if bytes > link.client.max_payload() {
            return Err(BusError::TooLarge(bytes));
        }
        let to = self.subject.clone();
        let sent = match headers {
            Some(headers) => link.client.publish_with_headers(to, headers, payload).await,
            None => link.client.publish(to, payload).await,
        };
        sent.map_err(|error| BusError::Unavailable(error.to_string()))
    }

    /// Sends an answer as a request, which the server refuses at once where nobody subscribes. A
    /// subscriber does not reply, so a silent second means that there is one.
    pub(super) async fn is_heard(&self, link: &Link, payload: Bytes) -> Result<bool, BusError> {
        let request = Request::new().payload(payload).timeout(Some(SUBSCRIBED));
        match link.client.send_request(self.subject.clone(), request).await {
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                RequestErrorKind::TimedOut => Ok(true),
                RequestErrorKind::NoResponders => Ok(false),
                RequestErrorKind::InvalidSubject
                | RequestErrorKind::MaxPayloadExceeded
                | RequestErrorKind::Other => Err(BusError::Unavailable(error.to_string())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn rule(inboxes: &[&str]) -> ReplyRule {
        let inboxes: Vec<String> = inboxes.iter().map(|&inbox| inbox.to_owned()).collect();
        ReplyRule::new(&inboxes, &Subjects::new("cb", 8).unwrap())
    }

    #[rstest]
    #[case::by_default("_INBOX.a")]
    #[case::async_nats("_INBOX_client.shared.Vq0Jt4Zk2aB1cD3eF5gH6i.17")]
    #[case::the_tool("_INBOX_operator.c9D2Zk.Qw1")]
    #[case::watcher("_INBOX_watcher.1")]
    fn inboxes_of_the_shipped_users_are_answered(#[case] reply: &str) {
        assert!(rule(&REPLY_INBOXES).inbox(reply).is_some());
    }

    #[rstest]
    #[case::agent("$KV.cb-agents.default")]
    #[case::conversation("$KV.cb-conversations.x")]
    #[case::decision("cb.0.job.do.finish.none")]
    #[case::submission("cb.0.job.in.door")]
    #[case::request("cb.svc.submit")]
    #[case::administration("$JS.API.STREAM.DELETE.cb-shard-0")]
    #[case::acknowledgement("$JS.ACK.cb-shard-0.facts.1.1.1.1.1")]
    #[case::system("$SYS.REQ.SERVER.PING")]
    #[case::services("$SRV.PING")]
    #[case::between_accounts("_R_.abc.def")]
    #[case::another_process("_INBOX_supervisor.a.b")]
    #[case::another_installation("other.0.job.in.door")]
    #[case::the_prefix_alone("_INBOX")]
    #[case::nothing_below("_INBOX.")]
    #[case::longer_word("_INBOXES.a")]
    #[case::one_of_all("_INBOX.*")]
    #[case::all("_INBOX_client.>")]
    #[case::a_part_of_all("_INBOX_client.a*.b")]
    #[case::empty_token("_INBOX.a..b")]
    #[case::ends_with_a_dot("_INBOX.a.")]
    #[case::white_space("_INBOX.a b")]
    #[case::line_break("_INBOX.a\r\nPUB x 0")]
    #[case::control("_INBOX.a\u{7}")]
    #[case::not_ascii("_INBOX.收")]
    #[case::other_case("_inbox.a")]
    #[case::empty("")]
    fn nothing_else_is_answered(#[case] reply: &str) {
        assert!(rule(&REPLY_INBOXES).inbox(reply).is_none(), "{reply}");
    }

    #[rstest]
    #[case::a_user("_INBOX_client.shared.Vq0Jt4Zk2aB1cD3eF5gH6i.17", "_INBOX_client.shared")]
    #[case::a_connection("_INBOX.Vq0Jt4Zk2aB1cD3eF5gH6i.17", "_INBOX.Vq0Jt4Zk2aB1cD3eF5gH6i")]
    #[case::nothing_more("_INBOX_watcher.1", "_INBOX_watcher.1")]
    #[case::an_inbox_of_its_own("_INBOX.billing.a.b", "_INBOX.billing.a")]
    fn callers_are_told_apart_by_the_word_after_the_prefix(
        #[case] reply: &str,
        #[case] inbox: &str,
    ) {
        let inboxes: Vec<&str> = REPLY_INBOXES.into_iter().chain(["_INBOX.billing"]).collect();
        let length = rule(&inboxes).inbox(reply).unwrap();
        assert_eq!(&reply[..length], inbox);
    }

    #[test]
    fn a_subject_that_is_too_long_is_not_answered() {
        let below = |bytes| format!("_INBOX.{}", "a".repeat(bytes - "_INBOX.".len()));
        assert!(rule(&REPLY_INBOXES).inbox(&below(REPLY_BYTES_MAX)).is_some());
        assert!(rule(&REPLY_INBOXES).inbox(&below(REPLY_BYTES_MAX + 1)).is_none());
    }

    #[rstest]
    #[case::jobs("cb", "cb.0.job.in.door")]
    #[case::buckets("$KV", "$KV.cb-agents.default")]
    #[case::everything("", "cb.0.job.in.door")]
    #[case::all(">", "cb.0.job.in.door")]
    #[case::one_of_all("*", "cb.0.job.in.door")]
    #[case::between_accounts("_R_", "_R_.abc.def")]
    fn an_entry_that_is_no_inbox_allows_nothing(#[case] inbox: &str, #[case] reply: &str) {
        assert!(check_inbox(inbox, "cb").is_err());
        assert!(rule(&[inbox]).inbox(reply).is_none());
    }

    proptest! {
        /// For any text around an inbox: an allowed subject is below one of the inboxes.
        #[test]
        fn what_is_answered_is_one_subject_below_an_inbox(
            reply in r"(_INBOX|_INBOX_client|\$KV|cb|_R_|\PC{0,4})?[.a-zA-Z0-9$*>_ \r\n-]{0,24}",
        ) {
            if rule(&REPLY_INBOXES).inbox(&reply).is_some() {
                prop_assert!(REPLY_INBOXES.contains(&reply.split('.').next().unwrap()));
                prop_assert!(!reply.contains(['*', '>', ' ', '\r', '\n']) && !reply.ends_with('.'));
            }
        }
    }
}
