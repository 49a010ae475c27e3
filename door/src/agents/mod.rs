//! The agents that submissions may name: those that the process was started with, and those of the
//! bucket, which take precedence and are followed while the process runs.
//!
//! A value in the bucket may have been written by another program, so it is parsed like a file. A
//! faulty agent is refused by name and logged; an agent of the same name that it overrides is never
//! used in its place. A value that cannot be parsed at all is no agent: it is left out and logged.

mod history;
mod verbs;

use std::collections::{BTreeSet, HashMap};

use agents::catalogue::{Catalogue, Stored};
use broker::{
    Broker,
    kv::{Bucket, Change, KvError, Versioned},
};
use proto::{
    agent::{Agent, Layer},
    id::AgentName,
};

pub(super) use self::verbs::unknown;
use crate::bucket::{Followed, Kept};

/// Limit on the agents of the bucket. Further ones are skipped and logged.
pub const AGENTS_MAX: usize = 1_000;

/// All agents of the installation, kept current in memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agents(Followed<Catalogue>);

impl Agents {
    /// Returns a set of agents that never changes.
    #[must_use]
    pub fn fixed(catalogue: Catalogue) -> Self {
        Self(Followed::fixed(catalogue))
    }

    /// Reads the bucket over `catalogue`, and follows it from then on.
    ///
    /// # Errors
    /// Returns an error if the bucket cannot be read at first. Later failures lead to a new read.
    pub async fn open(broker: &Broker, catalogue: Catalogue) -> Result<Self, KvError> {
        Followed::open(broker, catalogue).await.map(Self)
    }

    /// Returns `true` if there is an agent of this name, usable or not.
    #[must_use]
    pub fn knows(&self, name: &AgentName) -> bool {
        self.look(|all| all.get(name).is_some())
    }

    /// Calls `look` with all agents.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Catalogue) -> T) -> T {
        self.0.look(look)
    }

    /// Calls `look` with all agents, after the present value of one was read from the bucket.
    fn look_at<T>(&self, value: Option<Versioned>, look: impl FnOnce(&Catalogue) -> T) -> T {
        self.0.change(|all| {
            if let Some(value) = value {
                let name = agent_name(&value.key);
                let known = name.and_then(|name| all.entry(&name)).and_then(|entry| entry.text);
                if known.is_none_or(|text| text.as_bytes() != value.value) {
                    all.apply(Change::Put(value));
                }
            }
            look(all)
        })
    }

    fn change(&self, change: impl FnOnce(&mut Catalogue)) {
        self.0.change(change);
    }
}

impl From<HashMap<AgentName, Agent>> for Agents {
    fn from(agents: HashMap<AgentName, Agent>) -> Self {
        Self::fixed(Catalogue::default().with_given(agents.into_values()))
    }
}

impl Kept for Catalogue {
    const BUCKET: Bucket = Bucket::Agents;

    fn fill(&mut self, present: Vec<Change>) {
        let values = present.into_iter().filter_map(|change| {
            let (name, value) = value_of(change)?;
            Some((name, value?))
        });
        fill(self, values.collect());
    }

    fn apply(&mut self, change: Change) {
        match value_of(change) {
            Some((name, Some(value))) => {
                follow(self, vec![(name.clone(), value)]);
                warn(self, &name);
            }
            Some((name, None)) => {
                self.remove(Layer::Bucket, &name);
            }
            None => {}
        }
    }
}

/// Returns the agent that changed, and its value unless it was deleted.
fn value_of(change: Change) -> Option<(AgentName, Option<Stored>)> {
    let (key, value) = match change {
        Change::Put(put) => (put.key, Some(Stored::Value(put.value.to_vec()))),
        Change::Foreign(key) => (key, Some(Stored::Foreign)),
        Change::Deleted(key) => (key, None),
        Change::CaughtUp => return None,
    };
    Some((agent_name(&key)?, value))
}

/// Replaces the agents of the bucket. An agent that was read before stays if its new value cannot
/// be parsed.
fn fill(catalogue: &mut Catalogue, stored: Vec<(AgentName, Stored)>) {
    let names: BTreeSet<_> = stored.iter().map(|(name, _)| name.clone()).collect();
    catalogue.keep(Layer::Bucket, &names);
    follow(catalogue, stored);
    names.iter().for_each(|name| warn(catalogue, name));
}

fn follow(catalogue: &mut Catalogue, stored: Vec<(AgentName, Stored)>) {
    let passed_over = catalogue.follow(stored, AGENTS_MAX);
    if passed_over > 0 {
        tracing::warn!(
            passed_over,
            "the bucket has more than {AGENTS_MAX} agents; the rest is ignored"
        );
    }
}

fn agent_name(key: &str) -> Option<AgentName> {
    let name = AgentName::new(key).ok();
    if name.is_none() && history::parse(key).is_none() {
        tracing::warn!(
            "the bucket of agents has a key that is not an agent name; the key is ignored"
        );
    }
    name
}

/// Logs what is wrong with an agent. Details may quote user content and are logged at debug level.
fn warn(catalogue: &Catalogue, name: &AgentName) {
    if let Some(mistakes) = catalogue.ignored(name) {
        let is_used = catalogue.get(name).is_some();
        tracing::error!(agent = %name, is_used, "the bucket holds a value that is not an agent; the value is ignored");
        tracing::debug!(agent = %name, %mistakes, "the errors of the ignored value");
    } else if let Some(Err(mistakes)) = catalogue.get(name) {
        tracing::warn!(agent = %name, mistakes = mistakes.0.len(), "an agent of the bucket is invalid");
        tracing::debug!(agent = %name, %mistakes, "the errors of the agent");
    }
}
