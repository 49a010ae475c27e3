//! Labels of metrics. Their number is bounded by the configured agents, whatever names submissions
//! contain.

use std::{collections::BTreeMap, sync::Arc};

use opentelemetry::StringValue;
use proto::{
    id::AgentName,
    job::{Outcome, SubStatus},
};

/// Label of agents that are defined only in a submission.
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

    /// Returns the label of an agent.
    pub(super) fn agent(&self, name: &AgentName) -> StringValue {
        self.0.get(name).cloned().unwrap_or_else(|| INLINE.into())
    }
}

/// Returns the label of a sub-status; empty for a job without one.
pub(super) fn status(sub_status: Option<SubStatus>) -> &'static str {
    sub_status.map_or("", Into::into)
}

/// Returns the reason for which a job failed; empty if it did not.
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
