//! The measured workflows. The whole graph must stay equal to the one of `bench/peers`: three rounds of
//! a loop, a branch, and two paths at the same time with a join, all with the bench's cheap tool.

use serde_json::Value;

use super::RESULT_BYTES;

/// The name under which the workflow is stored.
pub(crate) const WORKFLOW: &str = "measured";

/// The number of items of a map that run at the same time.
pub(crate) const MAP_PARALLEL: u32 = 50;

/// A measured workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Graph {
    /// A loop, a branch and a parallel part with a join.
    Whole,
    /// A map whose every item is a call.
    Map,
    /// A wait for an event, and a call after it.
    Waiting,
}

/// Returns the file of a workflow.
pub(crate) fn source(graph: Graph) -> String {
    let nodes = match graph {
        Graph::Whole => WHOLE.replace("TEXT", &".".repeat(RESULT_BYTES)),
        Graph::Map => MAP.replace("PARALLEL", &MAP_PARALLEL.to_string()),
        Graph::Waiting => WAITING.to_owned(),
    };
    format!("workflow: {WORKFLOW}\nversion: 1\n{nodes}")
}

/// Returns whether the output of a workflow is complete.
pub(crate) fn is_right(graph: Graph, output: &Value) -> bool {
    match graph {
        Graph::Whole => output["whole"].as_str().is_some_and(|it| it.len() == 2 * RESULT_BYTES),
        Graph::Map => {
            let seen = output["seen"].as_array().map(Vec::as_slice).unwrap_or_default();
            !seen.is_empty() && seen.iter().enumerate().all(|(n, item)| *item == n)
        }
        Graph::Waiting => output["data"] == 1,
    }
}

const WHOLE: &str = r#"state:
  text: {schema: {type: string}}
  left: {schema: {type: string}}
  right: {schema: {type: string}}
  whole: {schema: {type: string}}
output: {whole: "{{ state.whole }}"}
start: draft
nodes:
  draft:
    type: tool
    tool: echo
    args: {value: "TEXT"}
    write: {text: "{{ result }}"}
    next: [{when: "visits.draft < 3", to: draft}, {to: choose}]
  choose: {type: branch, next: [{when: "visits.draft == 3", to: spread}, {to: wrong}]}
  spread: {type: parallel, branches: {left: left, right: right}, join: all, next: merge}
  left: {type: tool, tool: echo, args: {value: "{{ state.text }}"}, write: {left: "{{ result }}"}}
  right: {type: tool, tool: echo, args: {value: "{{ state.text }}"}, write: {right: "{{ result }}"}}
  merge:
    type: tool
    tool: echo
    args: {value: "{{ state.left }}{{ state.right }}"}
    write: {whole: "{{ result }}"}
    next: end
  wrong: {type: end, fail: "the loop has not ended"}
"#;

const MAP: &str = r#"limits: {steps: 1200}
input: {type: object, required: [rows], properties: {rows: {type: array}}}
state:
  seen: {schema: {type: array}, reduce: append, initial: []}
output: {seen: "{{ state.seen }}"}
start: each
nodes:
  each:
    type: map
    over: input.rows
    as: row
    do: call
    max_parallel: PARALLEL
    max_items: 1000
    collect: {seen: "{{ result }}"}
    next: end
  call: {type: tool, tool: echo, args: {value: "{{ row }}"}}
"#;

const WAITING: &str = r#"state:
  data: {schema: {type: integer}}
output: {data: "{{ state.data }}"}
start: rest
nodes:
  rest: {type: event, event: go, next: call, write: {data: "{{ event.data.n }}"}}
  call: {type: tool, tool: echo, args: {value: "{{ state.data }}"}, next: end}
"#;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_output_of_a_workflow_that_drops_work_is_wrong() {
        assert!(is_right(Graph::Whole, &json!({"whole": ".".repeat(2 * RESULT_BYTES)})));
        assert!(!is_right(Graph::Whole, &json!({"whole": "."})));
        assert!(is_right(Graph::Map, &json!({"seen": [0, 1, 2]})));
        assert!(!is_right(Graph::Map, &json!({"seen": [0, 2, 1]})));
        assert!(!is_right(Graph::Map, &json!({"seen": []})));
        assert!(is_right(Graph::Waiting, &json!({"data": 1})));
        assert!(!is_right(Graph::Waiting, &Value::Null));
    }
}
