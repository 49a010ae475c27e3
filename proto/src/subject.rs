//! The subjects of an installation. No other module builds or parses a subject.
//!
//! ```text
//! <prefix>.<shard>.<job>.in.<source>          facts
//! <prefix>.<shard>.<job>.in.call.<pool>       facts of tools
//! <prefix>.<shard>.<job>.do.<kind>.<pool>     decisions
//! <prefix>.<shard>.<job>.at.<timer>           scheduled messages
//! <prefix>.<shard>.<job>.live                 ephemeral: token deltas, progress
//! <prefix>.crew.<role>.<worker>               ephemeral: presence
//! <prefix>.stop.<shard>.<job>                 ephemeral: cancellation of a job's work
//! <prefix>.pulse.ask                          ephemeral: somebody reads pulses
//! <prefix>.pulse.shard.<shard>                ephemeral: which jobs of a shard changed
//! <prefix>.host.<kind>                        ephemeral: a host for a new session is sought
//! <prefix>.host.<kind>.<worker>               ephemeral: requests to one host of sessions
//! <prefix>.svc.<verb>                         the front door
//! <prefix>.object.<sha256>.<piece>            large values, in a stream of their own
//! ```

use crate::{
    decision::DecisionKind,
    fact::Source,
    id::{HookName, JobId, Pool, Shard, TimerName, WorkerId},
    pools,
    session::SessionKind,
};

/// Prefix of the name of an outbox's consumer.
const OUTBOX: &str = "hook-";

/// The decisions that go to outboxes. Questions open and close, and jobs end, in these records and in
/// the facts of people and of the clock.
const POSTED: [(DecisionKind, fn() -> Pool); 3] = [
    (DecisionKind::Ask, pools::people),
    (DecisionKind::Note, pools::people),
    (DecisionKind::Finish, pools::nobody),
];

/// The subjects of one installation, which has a prefix and a number of shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    prefix: String,
    shards: u16,
}

/// An invalid prefix or number of shards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInstallation {
    /// The prefix is not a single plain token.
    #[error("the prefix must be 1 to 16 characters of a-z 0-9 _ -, got {0:?}")]
    Prefix(String),
    /// The number of shards is 0 or above 256.
    #[error("an installation has 1 to 256 shards, got {0}")]
    Shards(u16),
}

/// The parsed subject of a stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSubject {
    /// Shard of the job.
    pub shard: Shard,
    /// Job that the message belongs to.
    pub job: JobId,
    /// Family of the message, with its source, kind or timer.
    pub family: Family,
}

/// The families of stored messages.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum Family {
    /// A fact from a source.
    #[display("in.{_0}")]
    In(Source),
    /// A decision of a kind, for a pool.
    #[display("do.{_0}.{_1}")]
    Do(DecisionKind, Pool),
    /// A scheduled message of a timer.
    #[display("at.{_0}")]
    At(TimerName),
    /// A fact from an unknown source, written by a newer Callboard.
    #[display("in.{_0}")]
    UnknownIn(String),
    /// A decision of an unknown kind, written by a newer Callboard. Its position counts for the
    /// compare-and-set, or no supervisor could store a decision after it.
    #[display("do.{_0}")]
    UnknownDo(String),
}

/// A subject that belongs to none of the stored families of this installation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a subject of this installation")]
pub struct ForeignSubject(pub String);

impl Subjects {
    /// Creates the subjects of an installation.
    ///
    /// # Errors
    /// Fails when the prefix is not a single plain token or the number of shards is not 1 to 256.
    pub fn new(prefix: &str, shards: u16) -> Result<Self, InvalidInstallation> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        if prefix.is_empty() || prefix.len() > 16 || !prefix.bytes().all(plain) {
            return Err(InvalidInstallation::Prefix(prefix.chars().take(40).collect()));
        }
        if !(1..=256).contains(&shards) {
            return Err(InvalidInstallation::Shards(shards));
        }
        Ok(Self { prefix: prefix.to_owned(), shards })
    }

    /// Returns the installation's prefix.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the number of shards.
    #[must_use]
    pub fn shards(&self) -> u16 {
        self.shards
    }

    /// Returns an iterator over all shards.
    pub fn all_shards(&self) -> impl Iterator<Item = Shard> + use<> {
        (0..self.shards).map(Shard)
    }

    /// Returns the shard of a job.
    #[must_use]
    pub fn shard_of(&self, job: &JobId) -> Shard {
        Shard::of(job, self.shards)
    }

    fn job(&self, job: &JobId) -> String {
        format!("{}.{}.{job}", self.prefix, self.shard_of(job))
    }

    /// Returns the subject of a fact from `source`.
    #[must_use]
    pub fn fact(&self, job: &JobId, source: &Source) -> String {
        format!("{}.in.{source}", self.job(job))
    }

    /// Returns the subject of a decision.
    #[must_use]
    pub fn decision(&self, job: &JobId, kind: DecisionKind, pool: &Pool) -> String {
        format!("{}.do.{}.{pool}", self.job(job), kind.as_str())
    }

    /// Returns the filter of all decisions of a job. Every compare-and-set uses this filter.
    #[must_use]
    pub fn decisions_of(&self, job: &JobId) -> String {
        format!("{}.do.>", self.job(job))
    }

    /// Returns the subject of a timer, which is also where its schedule is stored.
    #[must_use]
    pub fn timer(&self, job: &JobId, timer: &TimerName) -> String {
        format!("{}.at.{timer}", self.job(job))
    }

    /// Returns the filter of all timers of a job.
    #[must_use]
    pub fn timers_of(&self, job: &JobId) -> String {
        format!("{}.at.*", self.job(job))
    }

    /// Returns the filter of all timers of a shard.
    #[must_use]
    pub fn timers_in(&self, shard: Shard) -> String {
        format!("{}.{shard}.*.at.*", self.prefix)
    }

    /// Returns the filter of every message of a job, stored or ephemeral.
    #[must_use]
    pub fn everything_of(&self, job: &JobId) -> String {
        format!("{}.>", self.job(job))
    }

    /// Returns the filters of a job's facts and decisions, without timers and ephemeral messages.
    #[must_use]
    pub fn records_of(&self, job: &JobId) -> Vec<String> {
        ["in", "do"].map(|family| format!("{}.{family}.>", self.job(job))).to_vec()
    }

    /// Returns the subject of a job's ephemeral progress messages, which no stream stores.
    #[must_use]
    pub fn live(&self, job: &JobId) -> String {
        format!("{}.live", self.job(job))
    }

    /// Returns the filters of a shard's stream: facts, decisions and timers, but not `live`.
    #[must_use]
    pub fn stored_in(&self, shard: Shard) -> Vec<String> {
        ["in", "do", "at"].map(|family| format!("{}.{shard}.*.{family}.>", self.prefix)).to_vec()
    }

    /// Returns the filter of all facts of a shard.
    #[must_use]
    pub fn facts_in(&self, shard: Shard) -> String {
        format!("{}.{shard}.*.in.>", self.prefix)
    }

    /// Returns the filter of all submissions and signals of a shard.
    #[must_use]
    pub fn door_facts_in(&self, shard: Shard) -> String {
        format!("{}.{shard}.*.in.{}", self.prefix, Source::Door)
    }

    /// Returns the filter of the commands of one kind for one pool in a shard.
    #[must_use]
    pub fn commands_in(&self, shard: Shard, kind: DecisionKind, pool: &Pool) -> String {
        format!("{}.{shard}.*.do.{}.{pool}", self.prefix, kind.as_str())
    }

    /// Returns the subject on which a reader of pulses asks for them.
    #[must_use]
    pub fn pulse_ask(&self) -> String {
        format!("{}.pulse.ask", self.prefix)
    }

    /// Returns the subject of a shard's pulses.
    #[must_use]
    pub fn pulse(&self, shard: Shard) -> String {
        format!("{}.pulse.shard.{shard}", self.prefix)
    }

    /// Returns the filter of the pulses of all shards.
    #[must_use]
    pub fn all_pulses(&self) -> String {
        format!("{}.pulse.shard.*", self.prefix)
    }

    /// Returns the subject of a worker's presence messages.
    #[must_use]
    pub fn presence(&self, role: &str, worker: &WorkerId) -> String {
        format!("{}.crew.{role}.{worker}", self.prefix)
    }

    /// Returns the role and the worker of a presence message's subject, or `None` for any other
    /// subject.
    #[must_use]
    pub fn present<'a>(&self, subject: &'a str) -> Option<(&'a str, WorkerId)> {
        let rest = subject.strip_prefix(&self.prefix)?.strip_prefix(".crew.")?;
        let (role, worker) = rest.split_once('.')?;
        Some((role, WorkerId::new(worker).ok()?))
    }

    /// Returns the filter of all presence messages.
    #[must_use]
    pub fn all_presence(&self) -> String {
        format!("{}.crew.>", self.prefix)
    }

    /// Returns the subject of a job's cancellation message, on which workers drop their work for
    /// the job.
    #[must_use]
    pub fn stop(&self, job: &JobId) -> String {
        format!("{}.stop.{}.{job}", self.prefix, self.shard_of(job))
    }

    /// Returns the filter of all cancellation messages.
    #[must_use]
    pub fn all_stops(&self) -> String {
        format!("{}.stop.>", self.prefix)
    }

    /// Returns the job that a `stop` subject names, or `None` for any other subject.
    #[must_use]
    pub fn stopped(&self, subject: &str) -> Option<JobId> {
        let job = JobId::new(subject.rsplit('.').next()?).ok()?;
        (subject == self.stop(&job)).then_some(job)
    }

    /// Returns the subject on which all hosts of a kind of session are asked for offers.
    #[must_use]
    pub fn hosts(&self, kind: SessionKind) -> String {
        format!("{}.host.{kind}", self.prefix)
    }

    /// Returns the subject of the requests to one host of a kind of session.
    #[must_use]
    pub fn host(&self, kind: SessionKind, host: &WorkerId) -> String {
        format!("{}.host.{kind}.{host}", self.prefix)
    }

    /// Returns the subject of a verb of the front door.
    #[must_use]
    pub fn service(&self, verb: impl std::fmt::Display) -> String {
        format!("{}.svc.{verb}", self.prefix)
    }

    /// Returns the name of a shard's stream.
    #[must_use]
    pub fn stream(&self, shard: Shard) -> String {
        format!("{}-shard-{shard}", self.prefix)
    }

    /// Returns the name of the durable consumer of a shard's facts.
    #[must_use]
    pub fn facts_consumer(&self) -> String {
        "facts".to_owned()
    }

    /// Returns the name of the durable consumer of one kind of command for one pool.
    #[must_use]
    pub fn commands_consumer(&self, kind: DecisionKind, pool: &Pool) -> String {
        format!("{}-{pool}", kind.as_str())
    }

    /// Returns the name of the durable consumer that is a webhook's outbox.
    #[must_use]
    pub fn outbox_consumer(&self, hook: &HookName) -> String {
        format!("{OUTBOX}{hook}")
    }

    /// Returns the webhook whose outbox a consumer is, or `None` for any other consumer.
    #[must_use]
    pub fn hook_of(&self, consumer: &str) -> Option<HookName> {
        HookName::new(consumer.strip_prefix(OUTBOX)?).ok()
    }

    /// Returns the filters of an outbox in a shard: see [`Family::is_posted`].
    #[must_use]
    pub fn posted_in(&self, shard: Shard, hook: &HookName) -> Vec<String> {
        let facts = [Source::People, Source::Clock].into_iter();
        let facts = facts.chain(hook.is_tasks().then_some(Source::Door));
        let facts = facts.map(|source| format!("in.{source}"));
        let decisions = POSTED.map(|(kind, pool)| format!("do.{}.{}", kind.as_str(), pool()));
        let all = facts.chain(decisions);
        all.map(|end| format!("{}.{shard}.*.{end}", self.prefix)).collect()
    }

    /// Returns the name of a key-value bucket or an object store.
    #[must_use]
    pub fn bucket(&self, what: &str) -> String {
        format!("{}-{what}", self.prefix)
    }

    /// Returns the subject of one piece of a large value, by the value's SHA-256 in hex.
    #[must_use]
    pub fn object_piece(&self, sha256: &str, piece: usize) -> String {
        format!("{}.object.{sha256}.{piece}", self.prefix)
    }

    /// Returns the filter of all pieces of a large value.
    #[must_use]
    pub fn object(&self, sha256: &str) -> String {
        format!("{}.object.{sha256}.*", self.prefix)
    }

    /// Returns the filter of all pieces of all large values.
    #[must_use]
    pub fn all_objects(&self) -> String {
        format!("{}.object.*.*", self.prefix)
    }

    /// Parses the subject of a stored message.
    ///
    /// # Errors
    /// Fails when the subject belongs to none of the three stored families, or its shard is not the
    /// job's.
    pub fn parse(&self, subject: &str) -> Result<RecordSubject, ForeignSubject> {
        self.place(subject).ok_or_else(|| ForeignSubject(subject.chars().take(200).collect()))
    }

    /// Returns the job whose filter of decisions ([`Subjects::decisions_of`]) matches `subject`,
    /// even when the rest of the subject is malformed. The message then takes a position among that
    /// job's decisions.
    #[must_use]
    pub fn among_decisions(&self, subject: &str) -> Option<JobId> {
        let rest = subject.strip_prefix(&self.prefix)?.strip_prefix('.')?;
        let job = JobId::new(rest.split('.').nth(1)?).ok()?;
        let all = self.decisions_of(&job);
        let place = all.strip_suffix('>')?;
        subject.starts_with(place).then_some(job)
    }

    fn place(&self, subject: &str) -> Option<RecordSubject> {
        let mut tokens = subject.strip_prefix(&self.prefix)?.strip_prefix('.')?.split('.');
        let shard = tokens.next()?;
        let job = JobId::new(tokens.next()?).ok()?;
        let family = Family::of(tokens.next()?, tokens.next()?, tokens.next())?;
        // The shard must be written as this code writes it: `+6` is the same number and another
        // token.
        let own = self.shard_of(&job);
        let whole = tokens.next().is_none() && shard == own.to_string();
        whole.then_some(RecordSubject { shard: own, job, family })
    }
}

/// Returns the token when it could be a source or a kind that is unknown here.
fn word(token: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b == b'_';
    ((1..=64).contains(&token.len()) && token.bytes().all(plain)).then(|| token.to_owned())
}

impl Family {
    /// Parses the short form of a family: `in.plan`, `do.call.builtin`.
    #[must_use]
    pub fn from_words(words: &str) -> Option<Self> {
        let mut tokens = words.split('.');
        let family = match (tokens.next()?, tokens.next()?, tokens.next()) {
            // An unknown kind is written without its pool.
            ("do", kind, None) => Self::UnknownDo(word(kind)?),
            (family, first, second) => Self::of(family, first, second)?,
        };
        tokens.next().is_none().then_some(family)
    }

    /// `true` for records that go to an outbox, as [`Subjects::posted_in`] filters them. That of A2A
    /// notifications also has the messages of sub-agents, whose questions their parents show.
    #[must_use]
    pub fn is_posted(&self, hook: &HookName) -> bool {
        match self {
            Self::In(Source::Door) => hook.is_tasks(),
            Self::In(source) => matches!(source, Source::People | Source::Clock),
            Self::Do(kind, pool) => POSTED.iter().any(|(known, of)| kind == known && *pool == of()),
            Self::At(_) | Self::UnknownIn(_) | Self::UnknownDo(_) => false,
        }
    }

    fn of(family: &str, first: &str, second: Option<&str>) -> Option<Self> {
        Some(match (family, second) {
            ("in", None) => match first.parse() {
                Ok(source) => Self::In(source),
                Err(_) => Self::UnknownIn(word(first)?),
            },
            ("in", Some(pool)) => Self::In(format!("{first}.{pool}").parse().ok()?),
            ("do", Some(pool)) => {
                let pool = Pool::new(pool).ok()?;
                match first.parse() {
                    Ok(kind) => Self::Do(kind, pool),
                    Err(_) => Self::UnknownDo(word(first)?),
                }
            }
            ("at", None) => Self::At(TimerName::new(first).ok()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
