//! The script of a workflow: two branches that join, and a loop that runs both again.

use std::collections::BTreeMap;

use proto::{
    fact::Submitted,
    id::ToolName,
    retry::RetryPolicy,
    workflow::{Visit, Workflow, WorkflowRun},
};
use serde_json::{Value, json};

/// Visits of the loop.
pub(super) const ROUNDS: u32 = 2;
/// Nodes of the branches, each of which calls a tool.
const BRANCHES: [&str; 2] = ["a", "b"];

/// Returns the steps that the join of a visit waits for.
pub(in crate::proof) fn joined_by(split: &Visit) -> impl Iterator<Item = String> + use<> {
    let number = split.number;
    BRANCHES.into_iter().map(move |branch| format!("{branch}--{number}"))
}

fn definition(join: &Value) -> Workflow {
    let work = |_| json!({"work": {"type": "tool", "tool": "echo", "args": {}}});
    let mut definition = json!({
        "workflow": "loop", "version": 1, "start": "both",
        "nodes": {
            "both": {
                "work": {"type": "parallel", "join": join, "branches": [
                    {"name": "one", "start": "a", "nodes": ["a"]},
                    {"name": "two", "start": "b", "nodes": ["b"]},
                ]},
                "next": [{"when": format!("visits.both < {ROUNDS}"), "to": "both"}, {"to": "end"}],
            },
        },
    });
    for branch in BRANCHES {
        definition["nodes"][branch] = work(branch);
    }
    serde_json::from_value(definition).expect("it is a workflow")
}

/// Returns the submission of the job. `waits` is `false` for a planted join that does not wait for
/// its second branch.
pub(super) fn submitted(waits: bool) -> Submitted {
    let join = if waits { json!("all") } else { json!({"at_least": 1}) };
    let tool = ToolName::new("echo").expect("a word is a name");
    let run = WorkflowRun {
        definition: definition(&join),
        input: json!({}),
        tools: [(tool, super::binding())].into_iter().collect(),
        workflows: BTreeMap::new(),
    };
    let mut submitted = super::submission();
    submitted.agent.tool.retry =
        RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
    Submitted { workflow: Some(Box::new(run)), rules: proto::rules::Rules::WORKFLOWS, ..submitted }
}
