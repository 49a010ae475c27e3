//! Words that jobs are counted under: as many as there are agents in the configuration, however many
//! names submissions come up with.

use std::{collections::BTreeMap, sync::Arc};

use opentelemetry::StringValue;
use proto::{
    id::AgentName,
    job::{Outcome, SubStatus},
};

/// What agents that only one submission knows are counted as.
const INLINE: &str = "inline";

/// The agents that are counted by name. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(in crate::actors) struct Labels(Arc<BTreeMap<AgentName, StringValue>>);

impl Labels {
    pub(in crate::actors) fn new(agents: impl IntoIterator<Item = AgentName>) -> Self {
        let label = |name: AgentName| {
            let shared: Arc<str> = name.as_str().into();
            (name, StringValue::from(shared))
        };
        Self(Arc::new(agents.into_iter().map(label).collect()))
    }

    /// The agent as it is counted.
    pub(super) fn agent(&self, name: &AgentName) -> StringValue {
        self.0.get(name).cloned().unwrap_or_else(|| INLINE.into())
    }
}

/// What a job is at, as it is counted.
pub(super) fn status(sub_status: Option<SubStatus>) -> &'static str {
    match sub_status {
        None => "",
        Some(SubStatus::Planning) => "planning",
        Some(SubStatus::Executing) => "executing",
        Some(SubStatus::Replanning) => "replanning",
        Some(SubStatus::Parked) => "parked",
        Some(SubStatus::BackingOff) => "backing-off",
        Some(SubStatus::Paused) => "paused",
        Some(SubStatus::Poisoned) => "poisoned",
    }
}

/// Why a job failed; empty when it did not.
pub(super) fn reason(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Failed { reason, .. } => reason.as_str(),
        Outcome::Completed { .. } | Outcome::Canceled { .. } => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_configured_are_counted_as_one() {
        let name = |name: &str| AgentName::new(name).unwrap();
        let labels = Labels::new([name("default")]);
        assert_eq!(labels.agent(&name("default")).as_str(), "default");
        assert_eq!(labels.agent(&name("made-up-by-somebody")).as_str(), "inline");
    }
}
