//! Ids as types. A string that has become one of these types is safe in a subject, a file name and
//! a log line.
//!
//! nats-server accepts `*` and `>` as *publish* subjects, so an unchecked id would be stored and
//! would later match other jobs' filters. No code may build a subject from a plain string.

use std::str::FromStr;

use derive_more::{AsRef, Display};
use serde::{Deserialize, Serialize};

use crate::lang::{Language, Words};

messages::texts!(id);

/// Maximum length of an id, in bytes.
pub const ID_MAX: usize = 64;

/// Maximum length of a work id, in bytes. A work id holds a step id and some numbers, and never
/// appears in a subject.
pub const WORK_ID_MAX: usize = 128;

/// A string that is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct InvalidId {
    /// Maximum length of this kind of id, in bytes.
    pub max: usize,
    /// Name of the kind of id.
    pub what: IdKind,
    /// Rejected text, truncated to 80 characters.
    pub got: String,
}

/// The kinds of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray)]
pub enum IdKind {
    /// [`JobId`].
    Job,
    /// [`ConversationId`].
    Conversation,
    /// [`StepId`].
    Step,
    /// [`AskId`].
    Question,
    /// [`WorkerId`].
    Worker,
    /// [`ToolName`].
    Tool,
    /// [`AgentName`].
    Agent,
    /// [`Pool`].
    Pool,
    /// [`SnapshotName`].
    Snapshot,
    /// [`TimerName`].
    Timer,
    /// [`WorkId`].
    Work,
    /// [`HookName`].
    Hook,
}

impl IdKind {
    fn text(self, language: Language) -> String {
        let text = match self {
            Self::Job => Text::Job,
            Self::Conversation => Text::Conversation,
            Self::Step => Text::Step,
            Self::Question => Text::Question,
            Self::Worker => Text::Worker,
            Self::Tool => Text::Tool,
            Self::Agent => Text::Agent,
            Self::Pool => Text::Pool,
            Self::Snapshot => Text::Snapshot,
            Self::Timer => Text::Timer,
            Self::Work => Text::Work,
            Self::Hook => Text::Hook,
        };
        text.text(language)
    }
}

impl InvalidId {
    fn text(&self, language: Language) -> String {
        let Self { max, what, got } = self;
        Text::Invalid { what: &what.text(language), max, got }.text(language)
    }

    /// Returns the reason for users.
    #[must_use]
    pub fn words(&self) -> Words {
        Words::new(|language| self.text(language))
    }

    /// Reads the English message back, which is all that serde carries.
    #[must_use]
    pub fn of_message(message: &str) -> Option<Self> {
        let got = message.split_once(", got ")?.1;
        let got: String = serde_json::from_str(got).ok()?;
        let kinds = <IdKind as strum::VariantArray>::VARIANTS.iter();
        let each = kinds.flat_map(|what| [ID_MAX, WORK_ID_MAX].map(|max| (*what, max)));
        let mut each = each.map(|(what, max)| Self { max, what, got: got.clone() });
        each.find(|invalid| invalid.text(Language::En) == message)
    }
}

fn check(what: IdKind, s: &str, extra: &str, max: usize) -> Result<(), InvalidId> {
    let allowed = |b: u8| {
        b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || extra.as_bytes().contains(&b)
    };
    let fits = !s.is_empty() && s.len() <= max && s.bytes().all(allowed);
    if fits { Ok(()) } else { Err(InvalidId { max, what, got: s.chars().take(80).collect() }) }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $what:ident, $extra:literal, $max:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        #[derive(AsRef, Display)]
        #[serde(try_from = "String")]
        #[schemars(extend(
            "pattern" = concat!("^[A-Za-z0-9_", $extra, "-]+$"),
            "maxLength" = $max
        ))]
        pub struct $name(#[as_ref(str)] std::sync::Arc<str>);

        impl $name {
            /// Checks a string and makes an id of it.
            ///
            /// # Errors
            /// Fails when the string is empty, is longer than [`ID_MAX`] bytes ([`WORK_ID_MAX`] for
            /// work ids), or has a character that the kind of id does not allow.
            pub fn new(s: impl AsRef<str>) -> Result<Self, InvalidId> {
                check(IdKind::$what, s.as_ref(), $extra, $max)?;
                Ok(Self(s.as_ref().into()))
            }

            /// Returns the id as a string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(s: &str) -> Result<Self, InvalidId> {
                Self::new(s)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(s: String) -> Result<Self, InvalidId> {
                Self::new(s)
            }
        }
    )*};
}

ids! {
    /// The id of a job, which is also its idempotency key: submitting the same id again attaches to
    /// the same job.
    JobId, Job, "", ID_MAX;
    /// The id of a conversation: a sequence of jobs.
    ConversationId, Conversation, "", ID_MAX;
    /// The id of a step, unique within the job.
    StepId, Step, "", ID_MAX;
    /// The id of a question to a user, unique within the job (`q1`, `q2`, …).
    AskId, Question, "", ID_MAX;
    /// The id of a process that runs actors.
    WorkerId, Worker, "", ID_MAX;
    /// The name of a tool, in models' calls and in plans.
    ToolName, Tool, "", ID_MAX;
    /// The name of an agent, which is a set of policies.
    AgentName, Agent, "", ID_MAX;
    /// The name of a pool of workers: a toolset or a model pool. It is the last token of a
    /// decision's subject.
    Pool, Pool, "", ID_MAX;
    /// The name of a snapshot: a position of a job's log.
    SnapshotName, Snapshot, "", ID_MAX;
    /// The name of a job's scheduled message. Scheduling under the same name replaces the timer.
    TimerName, Timer, "", ID_MAX;
    /// The name of a unit of work, the same for all attempts (`g0.s2`, `g0.s1.r1.t3.c0`). With the
    /// job id it forms the idempotency key that tools receive.
    WorkId, Work, ".", WORK_ID_MAX;
    /// The name of a webhook in the configuration.
    HookName, Hook, "", ID_MAX;
}

impl HookName {
    const TASKS: &str = "a2a";

    /// Returns the name of the outbox of A2A notifications, which no webhook has.
    ///
    /// # Panics
    /// Never: the word is a name.
    #[must_use]
    pub fn tasks() -> Self {
        Self::new(Self::TASKS).expect("a word is a name")
    }

    /// `true` for the outbox of A2A notifications.
    #[must_use]
    pub fn is_tasks(&self) -> bool {
        self.as_str() == Self::TASKS
    }
}

/// The number of an attempt at a [`WorkId`], from 1.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
#[derive(Display)]
pub struct Attempt(pub u32);

/// An attempt at a unit of work: the subject of a command and of its result.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Display, Deserialize, schemars::JsonSchema,
)]
#[display("{work} #{attempt}")]
pub struct Unit {
    /// Unit of work.
    pub work: WorkId,
    /// Number of the attempt.
    pub attempt: Attempt,
}

impl Attempt {
    /// The first attempt.
    pub const FIRST: Self = Self(1);

    /// Returns the number of the following attempt.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// The number of rollbacks of a job: the number after `g` in the names of its work. Decisions and
/// results of an earlier generation have no effect in a later one.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
#[derive(Display)]
pub struct Generation(pub u32);

impl Generation {
    /// The generation of a job that was never rolled back.
    pub const FIRST: Self = Self(0);

    /// Returns the following generation.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns whether the job was never rolled back.
    #[must_use]
    pub fn is_first(&self) -> bool {
        *self == Self::FIRST
    }
}

impl WorkId {
    /// Returns the generation in the name, or the first one when the name has none.
    #[must_use]
    pub fn generation(&self) -> Generation {
        let named = self.as_str().strip_prefix('g').and_then(|rest| rest.split('.').next());
        Generation(named.and_then(|number| number.parse().ok()).unwrap_or_default())
    }

    /// Returns the name without its generation. It stays the same when the work is sent again after
    /// a rollback.
    #[must_use]
    pub fn unit(&self) -> &str {
        let (generation, unit) = self.as_str().split_once('.').unwrap_or_default();
        let number = generation.strip_prefix('g').filter(|number| number.parse::<u32>().is_ok());
        number.map_or(self.as_str(), |_| unit)
    }
}

/// A position in a shard's stream. 0 is the position before the first record.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
#[derive(Display)]
pub struct Seq(pub u64);

/// The number of one of the streams that an installation's jobs are distributed over.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
#[derive(Display)]
pub struct Shard(pub u16);

impl Shard {
    /// Returns the shard of a job: the FNV-1a hash (64 bit) of the id, modulo the number of shards.
    /// The number of shards is fixed for the life of an installation, and a client in any language
    /// can compute the shard.
    ///
    /// # Panics
    /// Panics when `shards` is 0; the configuration refuses that value.
    #[must_use]
    pub fn of(job: &JobId, shards: u16) -> Self {
        assert!(shards > 0, "an installation has at least one shard");
        let hash = job.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(u16::try_from(hash % u64::from(shards)).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_refuse_what_would_break_a_subject() {
        for bad in
            ["", "*", ">", "a.b", "a b", "..", "a\0", "a\r\n", "\u{202e}x", &"x".repeat(65), "é"]
        {
            assert!(JobId::new(bad).is_err(), "{bad:?} was accepted");
        }
        assert!(JobId::new("x".repeat(64)).is_ok());
        assert!(WorkId::new("g0.s1.r1.t3.c0").is_ok());
        assert!(serde_json::from_str::<JobId>("\"a.b\"").is_err());
    }

    #[test]
    fn the_shard_of_a_job_never_changes() {
        let of = |id: &str, n| Shard::of(&JobId::new(id).unwrap(), n).0;
        assert_eq!([of("demo", 8), of("a", 8), of("job-1", 8), of("job-1", 1)], [6, 4, 6, 0]);
    }
}
