//! The script of a workflow: two branches that join, and a loop that runs both again.

use std::collections::BTreeMap;

use proto::{
    fact::{Signal, Submitted},
    id::{StepId, ToolName},
    retry::RetryPolicy,
    workflow::{GraphChanges, Visit, Workflow, WorkflowRun},
};
use serde_json::{Value, json};

/// Visits of the loop.
pub(super) const ROUNDS: u32 = 2;
/// Nodes of the branches, each of which calls a tool. An edit puts the last node of the second branch
/// in the place of the first one.
const BRANCHES: [&[&str]; 2] = [&["a"], &["b", "c"]];

/// Returns `true` if each branch has done the work of as many visits as the split has had.
pub(in crate::proof) fn may_join(split: &Visit, done: &[StepId]) -> bool {
    let node = |step: &StepId| step.as_str().split("--").next().unwrap_or_default().to_owned();
    let count = |nodes: &[&str]| done.iter().filter(|id| nodes.contains(&&*node(id))).count();
    let rounds = usize::try_from(split.number).unwrap_or(usize::MAX);
    BRANCHES.into_iter().all(|nodes| count(nodes) >= rounds)
}

fn definition(join: &Value, second: &str) -> Workflow {
    let work = |_| json!({"work": {"type": "tool", "tool": "echo", "args": {}}});
    let mut definition = json!({
        "workflow": "loop", "version": 1, "start": "both",
        "nodes": {
            "both": {
                "work": {"type": "parallel", "join": join, "branches": [
                    {"name": "one", "start": "a", "nodes": ["a"]},
                    {"name": "two", "start": second, "nodes": [second]},
                ]},
                "next": [{"when": format!("visits.both < {ROUNDS}"), "to": "both"}, {"to": "end"}],
            },
        },
    });
    for branch in ["a", second] {
        definition["nodes"][branch] = work(branch);
    }
    serde_json::from_value(definition).expect("it is a workflow")
}

fn run(join: &Value, second: &str) -> WorkflowRun {
    let tool = ToolName::new("echo").expect("a word is a name");
    WorkflowRun {
        definition: definition(join, second),
        input: json!({}),
        tools: [(tool, super::binding(false))].into_iter().collect(),
        workflows: BTreeMap::new(),
    }
}

/// Returns the submission of the job. `waits` is `false` for a planted join that does not wait for
/// its second branch.
pub(super) fn submitted(waits: bool) -> Submitted {
    let join = if waits { json!("all") } else { json!({"at_least": 1}) };
    let run = run(&join, "b");
    let mut submitted = super::submission();
    submitted.agent.tool.retry =
        RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
    Submitted { workflow: Some(Box::new(run)), rules: proto::rules::Rules::WORKFLOWS, ..submitted }
}

/// Returns the edit, after which the second branch has another node. It does not count while a path
/// is at the node that it removes.
pub(super) fn edit() -> Signal {
    let (before, after) = (run(&json!("all"), "b"), run(&json!("all"), "c"));
    let changes = GraphChanges::of_run(&before, &after);
    Signal::EditGraph { base: 0, changes, run: Box::new(after) }
}
