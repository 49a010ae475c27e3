//! The spelling of a workflow in blocks: the inverse of the reader, for workflows that were read.

use proto::workflow::{
    Agent, AgentTask, End, Event, FormField, Human, Join, Limits, Map, Model, Node, NodeId,
    Parallel, Pause, Place, Route, StateSlot, Target, TemplateValue, Timeout, Tool, Wait, Work,
    Workflow,
};
use serde_json::{Map as Fields, Value, json};

use super::read::FILE_BYTES_MAX;
use crate::source::tree;

/// Returns a workflow as its file in the block spelling has it.
#[must_use]
pub fn blocks(workflow: &Workflow) -> Value {
    let Workflow { name, version, about, input, state, output, limits: bounds, start, nodes } =
        workflow;
    let mut file = Fields::new();
    put(&mut file, "workflow", json!(name));
    put(&mut file, "version", json!(version));
    if !about.is_empty() {
        put(&mut file, "about", json!(about));
    }
    put_some(&mut file, "input", input.clone());
    if !state.is_empty() {
        let slots = state.iter().map(|(key, one)| (key.to_string(), slot(one)));
        put(&mut file, "state", Value::Object(slots.collect()));
    }
    put_some(&mut file, "output", output.as_ref().map(template));
    put(&mut file, "limits", limits(bounds));
    put(&mut file, "start", json!(start));
    let nodes = nodes.iter().map(|(id, one)| (id.to_string(), node(one)));
    put(&mut file, "nodes", Value::Object(nodes.collect()));
    Value::Object(file)
}

/// Returns a workflow as the text of a file in YAML: the nodes in the order in which paths reach them.
#[must_use]
pub fn yaml(workflow: &Workflow) -> String {
    let mut file = blocks(workflow);
    if let Some(nodes) = file["nodes"].as_object_mut() {
        let mut sorted = Fields::new();
        for id in in_order(workflow) {
            sorted.extend(nodes.get(id.as_str()).map(|node| (id.to_string(), node.clone())));
        }
        *nodes = sorted;
    }
    let is_same = |text: &String| {
        let again = tree::read_up_to(text, FILE_BYTES_MAX);
        again.is_ok_and(|again| again.to_json() == file)
    };
    // JSON is YAML, too, and needs less room without its lines.
    let written = serde_saphyr::to_string(&file).ok().filter(is_same);
    let written = written.or_else(|| serde_json::to_string_pretty(&file).ok().filter(is_same));
    written.unwrap_or_else(|| file.to_string())
}

/// Returns the nodes in the order of a walk from the start, each with its branches and body first.
fn in_order(workflow: &Workflow) -> Vec<&NodeId> {
    let edges = workflow.edges();
    let mut found: Vec<&NodeId> = Vec::new();
    let mut open = vec![&workflow.start];
    while let Some(id) = open.pop() {
        if found.contains(&id) {
            continue;
        }
        found.push(id);
        let leaves = |from: &Place| match from {
            Place::Node(node) | Place::Join(node) => node == id,
            Place::End => false,
        };
        let next = edges.iter().filter(|edge| leaves(&edge.from));
        let next: Vec<&NodeId> = next
            .filter_map(|edge| match &edge.to {
                Place::Node(to) => workflow.nodes.get_key_value(to).map(|(to, _)| to),
                Place::Join(_) | Place::End => None,
            })
            .collect();
        open.extend(next.into_iter().rev());
    }
    let rest: Vec<&NodeId> = workflow.nodes.keys().filter(|id| !found.contains(id)).collect();
    found.extend(rest);
    found
}

/// Returns a node as a file has it.
#[must_use]
pub fn node(node: &Node) -> Value {
    let Node { title, work: does, write, next, on_error, retry } = node;
    let mut fields = work(does);
    put_some(&mut fields, "title", title.as_ref().map(|title| json!(title)));
    if !write.is_empty() {
        put(&mut fields, "write", json!(write));
    }
    // The last node of a workflow has no way on, and every other one has.
    if !next.is_empty() {
        put(&mut fields, "next", routes(next));
    }
    put_some(&mut fields, "on_error", on_error.as_ref().map(target));
    put_some(&mut fields, "retry", retry.as_ref().map(|retry| json!(retry)));
    Value::Object(fields)
}

fn put(fields: &mut Fields<String, Value>, name: &str, value: Value) {
    fields.insert(name.to_owned(), value);
}

fn put_some(fields: &mut Fields<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        put(fields, name, value);
    }
}

fn template(template: &TemplateValue) -> Value {
    template.as_value().clone()
}

fn target(target: &Target) -> Value {
    json!(target.to_string())
}

fn duration(ms: u64) -> Value {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let whole = units.into_iter().find(|(size, _)| ms.is_multiple_of(*size));
    let (size, unit) = whole.unwrap_or((1, "ms"));
    json!(format!("{}{unit}", ms / size))
}

fn timeout(timeout: &Timeout) -> Value {
    json!({"after": duration(timeout.after_ms), "then": target(&timeout.then)})
}

fn join(join: Join) -> Value {
    match join {
        Join::All => json!("all"),
        Join::Any => json!("any"),
        Join::AtLeast(n) => json!({"at_least": n}),
    }
}

fn routes(next: &[Route]) -> Value {
    if let [Route { when: None, to }] = next {
        return target(to);
    }
    let route = |route: &Route| match &route.when {
        None => json!({"to": target(&route.to)}),
        Some(when) => json!({"when": when, "to": target(&route.to)}),
    };
    Value::Array(next.iter().map(route).collect())
}

fn limits(limits: &Limits) -> Value {
    let Limits { steps, visits, deadline_ms } = limits;
    let mut fields = Fields::new();
    put(&mut fields, "steps", json!(steps));
    put(&mut fields, "visits", json!(visits));
    put_some(&mut fields, "deadline", deadline_ms.map(duration));
    Value::Object(fields)
}

fn slot(slot: &StateSlot) -> Value {
    let StateSlot { schema, reduce, initial } = slot;
    let mut fields = Fields::new();
    put(&mut fields, "schema", schema.clone());
    put(&mut fields, "reduce", json!(reduce));
    put_some(&mut fields, "initial", initial.clone());
    Value::Object(fields)
}

/// Returns the type of a node with its own fields.
fn work(work: &Work) -> Fields<String, Value> {
    let mut fields = Fields::new();
    let kind = work.as_workflow().map_or_else(|| work.kind().as_str(), |_| "workflow");
    put(&mut fields, "type", json!(kind));
    match work {
        Work::Model(model) => put_model(&mut fields, model),
        Work::Tool(Tool { tool, args }) => {
            put(&mut fields, "tool", json!(tool));
            put(&mut fields, "args", template(args));
        }
        Work::Agent(Agent { does }) => put_task(&mut fields, does),
        Work::Human(human) => put_human(&mut fields, human),
        Work::Parallel(Parallel { branches, join: wanted }) => {
            let starts = branches.iter().map(|one| (one.name.to_string(), json!(one.start)));
            put(&mut fields, "branches", Value::Object(starts.collect()));
            put(&mut fields, "join", join(*wanted));
        }
        Work::Map(map) => put_map(&mut fields, map),
        Work::Wait(Wait { pause: Pause::ForMs(ms) }) => put(&mut fields, "for", duration(*ms)),
        Work::Wait(Wait { pause: Pause::Until(at) }) => put(&mut fields, "until", template(at)),
        Work::Event(Event { event, matches, timeout: late }) => {
            put(&mut fields, "event", json!(event));
            put_some(&mut fields, "match", matches.as_ref().map(|matches| json!(matches)));
            put_some(&mut fields, "timeout", late.as_ref().map(timeout));
        }
        Work::End(End::Output(output)) => {
            put_some(&mut fields, "output", output.as_ref().map(template));
        }
        Work::End(End::Fail(reason)) => put(&mut fields, "fail", template(reason)),
        Work::Branch {} | Work::Set {} => {}
    }
    fields
}

fn put_model(fields: &mut Fields<String, Value>, model: &Model) {
    let Model { prompt, system, model, reply } = model;
    put(fields, "prompt", template(prompt));
    put_some(fields, "system", system.as_ref().map(template));
    put_some(fields, "model", model.as_ref().map(|model| json!(model)));
    put_some(fields, "reply", reply.clone());
}

fn put_task(fields: &mut Fields<String, Value>, task: &AgentTask) {
    match task {
        AgentTask::Here { task, tools } => {
            put(fields, "task", template(task));
            put_some(fields, "tools", tools.as_ref().map(|tools| json!(tools)));
        }
        AgentTask::Named { agent, task } => {
            put(fields, "agent", json!(agent));
            put(fields, "task", template(task));
        }
        AgentTask::Workflow { workflow, input } => {
            put(fields, "workflow", json!(workflow));
            put(fields, "input", template(input));
        }
    }
}

fn put_human(fields: &mut Fields<String, Value>, human: &Human) {
    let Human { ask, form, deadline } = human;
    put(fields, "ask", template(ask));
    if !form.is_empty() {
        put(fields, "form", Value::Array(form.iter().map(form_field).collect()));
    }
    put_some(fields, "deadline", deadline.as_ref().map(timeout));
}

fn form_field(field: &FormField) -> Value {
    let FormField { key, label, input, required, description, default } = field;
    let mut fields = json!(input).as_object().cloned().unwrap_or_default();
    put(&mut fields, "key", json!(key));
    put(&mut fields, "label", json!(label));
    put(&mut fields, "required", json!(required));
    put_some(&mut fields, "description", description.as_ref().map(|text| json!(text)));
    put_some(&mut fields, "default", default.as_ref().map(template));
    Value::Object(fields)
}

fn put_map(fields: &mut Fields<String, Value>, map: &Map) {
    let Map { over, item, max_parallel, max_items, start, nodes: _, collect, join: wanted } = map;
    put(fields, "over", json!(over));
    put(fields, "as", json!(item));
    put(fields, "max_parallel", json!(max_parallel));
    put(fields, "max_items", json!(max_items));
    put(fields, "do", json!(start));
    if !collect.is_empty() {
        put(fields, "collect", json!(collect));
    }
    put(fields, "join", join(*wanted));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::workflow::{
        read::{Known, read},
        shipped,
        testing::drawn_file,
    };

    fn is_read_back(text: &str) {
        let known = Known::default();
        let workflow =
            read("first", text, &known).unwrap_or_else(|wrong| panic!("{wrong}")).workflow;
        for again in [blocks(&workflow).to_string(), yaml(&workflow)] {
            let second =
                read("second", &again, &known).unwrap_or_else(|wrong| panic!("{wrong}\n{again}"));
            assert_eq!(second.workflow, workflow, "{again}");
        }
    }

    #[test]
    fn the_workflows_that_come_with_the_program_are_read_back_as_they_were() {
        for name in shipped::names() {
            let workflow = shipped::shipped(&name, &Known::default()).unwrap().unwrap().workflow;
            is_read_back(&blocks(&workflow).to_string());
        }
    }

    /// A file with every type of node and every field of theirs.
    #[test]
    fn every_field_of_a_file_is_read_back_as_it_was() {
        is_read_back(
            r#"
workflow: all
version: 3
about: Everything
input: {type: object, properties: {topic: {type: string}}}
state:
  list: {schema: {type: array}, reduce: append, initial: []}
  word: {schema: {type: string}}
output: {list: "{{ state.list }}"}
limits: {steps: 100, visits: 7, deadline: 2h}
start: model
nodes:
  model: {type: model, title: Asks, prompt: "Say {{ input.topic }}", system: short, model: small, reply: {type: object}, write: {word: "{{ reply.x }}"}, on_error: tool, retry: {max_attempts: 2}, next: tool}
  tool: {type: tool, tool: echo, args: {a: 1}, next: [{when: "state.word == 'x'", to: here}, {to: named}]}
  here: {type: agent, task: do it, tools: [echo], next: named}
  named: {type: agent, agent: helper, task: do it, next: below}
  below: {type: workflow, workflow: react, input: {goal: x}, next: ask}
  ask: {type: human, ask: Which?, form: [{key: size, label: Size, type: number, min: 1, required: true, description: a number, default: 2}], deadline: {after: 1d, then: check}, next: check}
  check: {type: plan_check, ask: "Sure?", deadline: {after: 90s, then: end}, next: paid}
  paid: {type: event, event: paid, match: "event.data.x == 1", timeout: {after: 500ms, then: both}, write: {list: "{{ event.data }}"}, next: both}
  both: {type: parallel, branches: {a: one, b: two}, join: {at_least: 1}, on_error: each, next: each}
  one: {type: set, write: {list: 1}}
  two: {type: wait, for: 10s}
  each: {type: map, over: "[1, 2]", as: row, do: row, max_parallel: 2, max_items: 9, collect: {list: "{{ row }}"}, join: any, next: until}
  row: {type: tool, tool: echo, args: {row: "{{ row }}"}}
  until: {type: wait, until: "2030-01-01T00:00:00Z", next: choice}
  choice: {type: branch, next: [{when: "state.list | length > 3", to: good}, {to: bad}]}
  good: {type: end, output: {word: "{{ state.word }}"}}
  bad: {type: end, fail: "no {{ state.word }}"}
"#,
        );
    }

    proptest! {
        #[test]
        fn a_drawn_workflow_is_read_back_as_it_was(
            choices in proptest::collection::vec(any::<u32>(), 0..60),
        ) {
            is_read_back(&drawn_file(&choices).to_string());
        }
    }

    fn workflow(text: &str) -> Workflow {
        read("w", text, &Known::default()).unwrap_or_else(|wrong| panic!("{wrong}")).workflow
    }

    #[rstest]
    #[case::words("yes")]
    #[case::number("1e3")]
    #[case::nothing("~")]
    #[case::comment("a # b: - c")]
    #[case::lines("  one\n\n two \n")]
    #[case::quotes("it's \"here\" \\ {{ input }}")]
    #[case::wide("好 \u{200b} 🙂")]
    #[case::controls("\u{7f}\u{85}\u{9b}")]
    #[case::byte_order_mark("\u{feff}x")]
    fn texts_that_mean_something_in_yaml_stay_texts(#[case] text: &str) {
        let file = "workflow: w\nstate: {x: {schema: {}, initial: x}}\nstart: a\n\
                    nodes: {a: {type: model, prompt: x}}\n";
        let mut before = workflow(file);
        let slot = before.state.values_mut().next().unwrap();
        slot.initial = Some(json!(text));
        let written = yaml(&before);
        assert!(written.lines().count() > 5, "{written}");
        assert_eq!(workflow(&written), before, "{written}");
    }

    #[test]
    fn nodes_are_in_the_order_of_their_paths_and_durations_in_whole_units() {
        let file = "workflow: w\nlimits: {deadline: 7d}\nstart: zoo\nnodes:\n  \
                    aim: {type: wait, for: 90s, next: end}\n  \
                    zoo: {type: parallel, branches: {b: cat, a: bee}, next: aim}\n  \
                    bee: {type: model, prompt: x}\n  cat: {type: wait, for: 2h}\n";
        let written = yaml(&workflow(file));
        let at = |part: &str| written.find(part).unwrap_or_else(|| panic!("{part}: {written}"));
        let order = ["\n  zoo:", "\n  cat:", "\n  bee:", "\n  aim:"].map(at);
        assert!(order.is_sorted(), "{written}");
        let durations = ["for: 90s", "for: 2h", "deadline: 7d"];
        assert!(durations.iter().all(|it| written.contains(it)), "{written}");
    }
}
