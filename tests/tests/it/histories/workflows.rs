//! The jobs that run workflows: each type of node, and each way to leave one.

use proto::{
    door::{Submit, SubmitWorkflow},
    point::Order,
    view::JobView,
    workflow::EventName,
};
use serde_json::json;

use super::Act;

/// A workflow, and the acts of people on its job. Its end depends on no race: branches write to keys
/// of their own.
pub(super) struct Flow {
    pub(super) name: &'static str,
    source: &'static str,
    /// Input, as JSON.
    input: &'static str,
    pub(super) acts: &'static [Act],
}

impl Flow {
    /// Returns the submission of the flow's job.
    pub(super) fn submission(&self) -> Submit {
        let input = serde_json::from_str(self.input).unwrap();
        let source = Some(self.source.to_owned());
        let workflow = Some(SubmitWorkflow { source, input, ..SubmitWorkflow::default() });
        Submit { workflow, ..Submit::goal("run a workflow") }
    }
}

const FLOW: Flow = Flow { name: "", source: "", input: "{}", acts: &[] };

fn payment(sum: u32) -> Order {
    Order::Event { name: EventName::new("payment").unwrap(), data: json!({ "sum": sum }) }
}

/// Returns whether the job has begun its first node.
fn begun(view: &JobView) -> bool {
    view.graph.as_ref().is_some_and(|graph| !graph.current.is_empty())
}

pub(super) const FLOWS: &[Flow] = &[
    // model, branch, set and end; a loop with a bound.
    Flow {
        name: "workflow-loop",
        source: r#"
workflow: loop
input: {type: object, required: [topic], properties: {topic: {type: string}}}
state:
  draft: {schema: {type: string}}
  marks: {schema: {type: array}, reduce: append, initial: []}
start: draft
nodes:
  draft: {type: model, prompt: "flow draft of {{ input.topic }}, try {{ visits.draft }}", write: {draft: "{{ reply }}"}, next: mark}
  mark:
    type: model
    prompt: "flow mark of {{ state.draft }}"
    reply: {type: object, required: [mark], properties: {mark: {type: number}}}
    write: {marks: "{{ reply.mark }}"}
    next: good
  good: {type: branch, next: [{when: "(state.marks | last) >= 8", to: praise}, {to: draft}]}
  praise: {type: set, write: {draft: "{{ state.draft }}, well done"}, next: over}
  over: {type: end, output: {text: "{{ state.draft }}", marks: "{{ state.marks }}"}}
"#,
        input: r#"{"topic": "rain"}"#,
        ..FLOW
    },
    // tool and parallel; a join that waits for both branches, one of which has two nodes.
    Flow {
        name: "workflow-parallel",
        source: r#"
workflow: parallel
state: {one: {schema: {}}, two: {schema: {}}}
start: both
nodes:
  both: {type: parallel, branches: {first: one, second: rest}, next: end}
  one: {type: tool, tool: echo, args: {value: 1}, write: {one: "{{ result }}"}}
  rest: {type: tool, tool: sleep, args: {ms: 30}, next: two}
  two: {type: tool, tool: echo, args: {value: 2}, write: {two: "{{ result }}"}}
"#,
        ..FLOW
    },
    // A join that can no longer have what it waits for, and its way on.
    Flow {
        name: "workflow-join-fails",
        source: r#"
workflow: join-fails
state: {one: {schema: {}}, two: {schema: {}}}
start: both
nodes:
  both: {type: parallel, branches: {first: one, second: two}, join: all, on_error: sorry, next: end}
  one: {type: tool, tool: sleep, args: {ms: 400}, next: late}
  late: {type: tool, tool: echo, args: {value: 1}, write: {one: "{{ result }}"}}
  two: {type: set, write: {two: "{{ state.one.absent }}"}}
  sorry: {type: end, fail: "one of two failed"}
"#,
        ..FLOW
    },
    // human with a form, and an approval.
    Flow {
        name: "workflow-human",
        source: r#"
workflow: human
state: {name: {schema: {type: string}}, sent: {schema: {type: boolean}}}
start: ask
nodes:
  ask: {type: human, ask: "Whose name?", write: {name: "{{ answer.text }}"}, next: send}
  send: {type: plan_check, ask: "Send to {{ state.name }}?", write: {sent: "{{ answer.approved }}"}, next: end}
"#,
        acts: &[Act::Answer("Ann"), Act::Reject],
        ..FLOW
    },
    // wait.
    Flow {
        name: "workflow-wait",
        source: r#"
workflow: wait
state: {done: {schema: {type: boolean}, initial: false}}
start: rest
nodes:
  rest: {type: wait, for: 300ms, next: done}
  done: {type: set, write: {done: true}}
"#,
        ..FLOW
    },
    // agent in this job, with a tool.
    Flow {
        name: "workflow-agent",
        source: r#"
workflow: agent
state: {answer: {schema: {}}}
start: work
nodes:
  work: {type: agent, task: "flow task", tools: [echo], write: {answer: "{{ result }}"}}
"#,
        ..FLOW
    },
    // event, whose report fits.
    Flow {
        name: "workflow-event",
        source: r#"
workflow: event
state: {sum: {schema: {}}}
start: paid
nodes:
  paid: {type: event, event: payment, match: "event.data.sum > 1", timeout: {after: 1h, then: end}, write: {sum: "{{ event.data.sum }}"}, next: end}
"#,
        acts: &[Act::Order(|| payment(7), begun)],
        ..FLOW
    },
];
