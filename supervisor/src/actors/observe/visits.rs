//! The durations of the visits of workflows' nodes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{LazyLock, Mutex, PoisonError},
};

use machine::Job;
use opentelemetry::{KeyValue, StringValue, metrics::Histogram};
use proto::workflow::{NodeId, WorkflowName};
use runtime::telemetry::{self, SECONDS, keys};

/// Maximum number of nodes, of all workflows together, that are counted by name. Anybody who may
/// submit names workflows and nodes, so their number must have a bound.
const NODES_NAMED_MAX: usize = 300;

/// Label of all further workflows and nodes.
const OTHER: &str = "other";

static DURATION: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    telemetry::histogram(
        "callboard.workflow.node.duration",
        "A visit of a workflow's node, from its entry to its end.",
        SECONDS,
    )
});

static NAMED: Mutex<Named> = Mutex::new(Named(BTreeMap::new()));

/// The nodes that are counted by name: the first ones of which a visit ended.
#[derive(Debug)]
struct Named(BTreeMap<WorkflowName, BTreeSet<NodeId>>);

impl Named {
    /// Returns the labels of a workflow and of its node.
    fn labels(&mut self, workflow: &WorkflowName, node: &NodeId) -> (StringValue, StringValue) {
        let is_known = self.0.get(workflow).is_some_and(|nodes| nodes.contains(node));
        if !is_known {
            if self.0.values().map(BTreeSet::len).sum::<usize>() >= NODES_NAMED_MAX {
                return (OTHER.into(), OTHER.into());
            }
            self.0.entry(workflow.clone()).or_default().insert(node.clone());
        }
        (workflow.as_str().to_owned().into(), node.as_str().to_owned().into())
    }
}

/// Records the visits that ended with the last advance of a job's workflow.
pub(in crate::actors) fn visits(job: &Job) {
    for ended in job.ended_visits() {
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        let (workflow, node) = named.labels(ended.workflow, ended.node);
        drop(named);
        let state = ended.state.to_string();
        DURATION.record(
            ended.took.as_secs_f64().max(0.0),
            &[
                KeyValue::new(keys::WORKFLOW, workflow),
                KeyValue::new(keys::WORKFLOW_NODE, node),
                KeyValue::new(keys::STEP_STATE, state),
            ],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_beyond_the_bound_are_counted_as_one() {
        let mut named = Named(BTreeMap::new());
        let workflow = |n: usize| WorkflowName::new(format!("w{n}")).unwrap();
        let node = |n: usize| NodeId::new(format!("n{n}")).unwrap();
        for n in 0..NODES_NAMED_MAX {
            let (first, second) = named.labels(&workflow(n / 10), &node(n));
            assert_eq!(
                (first.as_str(), second.as_str()),
                (&*format!("w{}", n / 10), &*format!("n{n}"))
            );
        }
        let (first, second) = named.labels(&workflow(0), &node(NODES_NAMED_MAX));
        assert_eq!((first.as_str(), second.as_str()), (OTHER, OTHER));
        let (first, second) = named.labels(&workflow(0), &node(3));
        assert_eq!((first.as_str(), second.as_str()), ("w0", "n3"));
    }
}
