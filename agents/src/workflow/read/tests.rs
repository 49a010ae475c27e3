//! Tests of the checks: each mistake with its place, and the shipped and example files.

use std::fmt::Write;

use proto::{id::AgentName, tool::ToolSpec, workflow::WorkflowName};
use rstest::rstest;
use serde_json::json;

use super::*;

/// The tools, agents and workflows of the tests.
pub(crate) fn known() -> Known {
    let tool = |name: &str, effect: &str, schema: serde_json::Value| -> ToolSpec {
        let spec = json!({"name": name, "description": "", "schema": schema, "effect": effect, "pool": "p"});
        serde_json::from_value(spec).unwrap()
    };
    let one = |key: &str| {
        json!({"type": "object", "properties": {key: {"type": "string"}, "limit": {"type": "integer"}},
            "required": [key], "additionalProperties": false})
    };
    let tools = [
        tool("search_files", "pure", one("pattern")),
        tool("web_search", "pure", one("query")),
        tool("read_file", "pure", one("path")),
        tool("pay", "once", json!({"type": "object"})),
    ];
    let agents = ["react", "default"].map(|name| AgentName::new(name).unwrap());
    let flows = ["improve", "react"].map(|name| WorkflowName::new(name).unwrap());
    Known::of(&tools, agents, flows).complete()
}

fn mistakes(text: &str) -> Vec<String> {
    match read("w.yaml", text, &known()) {
        Ok(_) => Vec::new(),
        Err(mistakes) => mistakes.0.iter().map(ToString::to_string).collect(),
    }
}

fn warnings(text: &str) -> Vec<String> {
    let checked = read("w.yaml", text, &known()).unwrap_or_else(|wrong| panic!("{wrong}"));
    checked.warnings.iter().map(ToString::to_string).collect()
}

const HEAD: &str = "workflow: w\nstate:\n  n: {schema: {type: number}, initial: 0}\n  list: {schema: {type: array}, reduce: append, initial: []}\ninput: {type: object, properties: {q: {type: string}}}\nstart: a\nnodes:\n";

fn of(nodes: &str) -> Vec<String> {
    mistakes(&format!("{HEAD}{nodes}"))
}

#[rstest]
#[case::type_of_a_node(
    "  a: {type: modle}\n",
    "8:13: nodes.a.type: there is no such value; did you mean model?"
)]
#[case::field_of_a_node(
    "  a: {type: set, write: {n: 1}, retires: {}}\n",
    "8:33: nodes.a.retires: there is no such field; did you mean write?"
)]
#[case::missing_field("  a: {type: model}\n", "8:6: nodes.a: missing field `prompt`")]
#[case::target(
    "  a: {type: set, write: {n: 1}, next: bb}\n  b: {type: set, write: {n: 1}}\n",
    "8:39: nodes.a.next: there is no node bb; did you mean b?"
)]
#[case::id_of_a_node(
    "  a--b: {type: set, write: {n: 1}}\n",
    "8:3: nodes.a--b: the id of a node must be"
)]
#[case::tool(
    "  a: {type: tool, tool: serch_files, args: {}}\n",
    "8:25: nodes.a.tool: there is no tool serch_files; did you mean search_files?"
)]
#[case::argument(
    "  a: {type: tool, tool: web_search, args: {query: x, limt: 1}}\n",
    "8:54: nodes.a.args.limt: there is no such field; did you mean limit?"
)]
#[case::argument_of_another_type(
    "  a: {type: tool, tool: web_search, args: {query: x, limit: many}}\n",
    "8:54: nodes.a.args.limit: does not fit the schema: \"many\" is not of type \"integer\""
)]
#[case::missing_argument(
    "  a: {type: tool, tool: web_search}\n",
    "8:6: nodes.a.args: missing field `query`"
)]
#[case::agent(
    "  a: {type: agent, agent: raect, task: x}\n",
    "8:27: nodes.a.agent: there is no agent raect; did you mean react?"
)]
#[case::workflow(
    "  a: {type: workflow, workflow: imprve}\n",
    "8:33: nodes.a.workflow: there is no workflow imprve; did you mean improve?"
)]
#[case::written_key(
    "  a: {type: set, write: {nn: 1}}\n",
    "8:26: nodes.a.write.nn: nn is no key of the state; did you mean n?"
)]
#[case::written_value(
    "  a: {type: set, write: {n: word}}\n",
    "8:26: nodes.a.write.n: does not fit the schema"
)]
#[case::state_key(
    "  a: {type: model, prompt: \"{{ state.lst }}\"}\n",
    "8:28: nodes.a.prompt: lst is no key of the state; did you mean list? (character 10)"
)]
#[case::input_key(
    "  a: {type: model, prompt: \"{{ input.x }}\"}\n",
    "8:28: nodes.a.prompt: input has no field x; there are q (character 10)"
)]
#[case::visits(
    "  a: {type: model, prompt: \"{{ visits.b }}\"}\n",
    "8:28: nodes.a.prompt: there is no node b"
)]
#[case::variable(
    "  a: {type: model, prompt: \"{{ reply }}\"}\n",
    "8:28: nodes.a.prompt: there is no reply here; there are input, state, visits (character 4)"
)]
#[case::item_outside_of_a_map(
    "  a: {type: model, prompt: \"{{ item }}\"}\n",
    "8:28: nodes.a.prompt: there is no item here"
)]
#[case::field_of_a_reply(
    "  a: {type: model, prompt: x, reply: {type: object, properties: {kind: {}}}, write: {n: \"{{ reply.knd }}\"}}\n",
    "8:88: nodes.a.write.n: reply has no field knd; did you mean kind? (character 10)"
)]
#[case::filter(
    "  a: {type: model, prompt: \"{{ state.n | lenght }}\"}\n",
    "8:28: nodes.a.prompt: there is no filter lenght; did you mean length? (character 14)"
)]
#[case::test(
    "  a: {type: branch, next: [{when: state.n is odt, to: end}, {to: end}]}\n",
    "8:35: nodes.a.next[0].when: there is no test odt; did you mean odd? (character 12)"
)]
#[case::repetition(
    "  a: {type: model, prompt: \"{{ 'x' * 9 }}\"}\n",
    "8:28: nodes.a.prompt: expressions have no operator *; the filter times multiplies numbers (character 8)"
)]
#[case::statement(
    "  a: {type: model, prompt: \"{% if x %}\"}\n",
    "8:28: nodes.a.prompt: templates have no {%; only expressions in {{ }} (character 1)"
)]
#[case::condition_of_another_type(
    "  a: {type: branch, next: [{when: state.n, to: end}, {to: end}]}\n",
    "8:35: nodes.a.next[0].when: a condition must be true or false, not of type number"
)]
#[case::last_route(
    "  a: {type: branch, next: [{when: state.n > 1, to: end}, {when: 'true', to: end}]}\n",
    "8:59: nodes.a.next[1]: the last route must not have a condition"
)]
#[case::early_default(
    "  a: {type: branch, next: [{to: end}, {to: end}]}\n",
    "8:29: nodes.a.next[0]: a route without a condition must be the last one"
)]
#[case::items_of_another_type(
    "  a: {type: map, over: input.q, do: b}\n  b: {type: model, prompt: x}\n",
    "8:24: nodes.a.over: must be a list, not of type string"
)]
#[case::too_many_items(
    "  a: {type: map, over: state.list, max_items: 1000000, do: b}\n  b: {type: model, prompt: x}\n",
    "8:47: nodes.a.max_items: must be 1 to 1000"
)]
#[case::duration("  a: {type: wait, for: 10}\n", "8:24: nodes.a.for: must be a duration such as")]
#[case::zero("  a: {type: wait, for: 0s}\n", "8:24: nodes.a.for: must be 1 ms to one year")]
#[case::negative("  a: {type: wait, for: -5m}\n", "8:24: nodes.a.for: must be 1 ms to one year")]
#[case::too_long("  a: {type: wait, for: 900000000h}\n", "8:24: nodes.a.for: must be")]
#[case::time("  a: {type: wait, until: tomorrow}\n", "8:26: nodes.a.until: must be a time such as")]
#[case::secret(
    "  a: {type: model, prompt: x, system: \"use sk-abcdefghijklmnop\"}\n",
    "8:39: nodes.a.system: looks like a secret"
)]
#[case::unreachable(
    "  a: {type: set, write: {n: 1}}\n  b: {type: set, write: {n: 1}}\n",
    "9:6: nodes.b: no path leads to this node"
)]
#[case::no_end(
    "  a: {type: model, prompt: x, next: b}\n  b: {type: model, prompt: x, next: a}\n",
    "8:6: nodes.a: no path leads from this node to an end"
)]
#[case::circle(
    "  a: {type: branch, next: [{when: state.n > 1, to: b}, {to: end}]}\n  b: {type: set, write: {n: 1}, next: a}\n",
    "8:6: nodes.a: a is in a circle in which no node does any work"
)]
#[case::end_inside(
    "  a: {type: parallel, branches: {x: b}}\n  b: {type: end}\n",
    "9:6: nodes.b: a node of type end must be outside"
)]
#[case::map_in_map(
    "  a: {type: map, over: state.list, do: b}\n  b: {type: map, over: state.list, do: c}\n  c: {type: model, prompt: x}\n",
    "9:6: nodes.b: a map must not be inside the body of a map"
)]
#[case::two_regions(
    "  a: {type: parallel, branches: {x: b}, next: b}\n  b: {type: model, prompt: x}\n",
    "9:6: nodes.b: is part of "
)]
#[case::conflict(
    "  a: {type: parallel, branches: {x: b, y: c}}\n  b: {type: model, prompt: x, write: {n: 1}}\n  c: {type: model, prompt: x, write: {n: 2}}\n",
    "10:6: nodes.c: writes n at the same time as b, and both replace it"
)]
#[case::conflict_of_items(
    "  a: {type: map, over: state.list, do: b}\n  b: {type: model, prompt: x, write: {n: 1}}\n",
    "9:6: nodes.b: the items write n at the same time"
)]
#[case::collect(
    "  a: {type: map, over: state.list, do: b, collect: {n: 1}}\n  b: {type: model, prompt: x}\n",
    "8:55: nodes.a.collect.n: collect writes once for each item"
)]
#[case::join(
    "  a: {type: parallel, branches: {x: b}, join: {at_least: 2}}\n  b: {type: model, prompt: x}\n",
    "nodes.a.join: waits for 2 of 1 paths"
)]
#[case::form(
    "  a: {type: human, ask: x, deadline: {after: 1d, then: end}, form: [{key: k, type: numbr}]}\n",
    "nodes.a.form[0].type: there is no such value; did you mean number?"
)]
#[case::form_twice(
    "  a: {type: human, ask: x, form: [{key: k, type: boolean}, {key: k, type: boolean}]}\n",
    "nodes.a.form[1]: k is defined twice"
)]
#[case::form_default(
    "  a: {type: human, ask: x, form: [{key: k, type: boolean, default: 3}]}\n",
    "nodes.a.form[0].default: the default does not fit the field"
)]
#[case::retry(
    "  a: {type: model, prompt: x, retry: {max_attempts: 0}}\n",
    "nodes.a.retry.max_attempts: must be 1 to 100"
)]
#[case::schema(
    "  a: {type: model, prompt: x, reply: {type: objekt}}\n",
    "8:37: nodes.a.reply: is no valid JSON Schema"
)]
#[case::self_reference(
    "  a: {type: model, prompt: x, next: a}\n",
    "8:6: nodes.a: no path leads from this node to an end"
)]
fn a_mistake_is_reported_with_its_place(#[case] nodes: &str, #[case] expected: &str) {
    let found = of(nodes);
    let is_there = found.iter().any(|mistake| mistake.contains(expected));
    assert!(is_there, "{expected}\n{found:#?}");
}

#[rstest]
#[case::name(
    "workflow: ../x\nstart: a\nnodes: {}\n",
    "w.yaml:1:11: workflow: the name of a workflow must be"
)]
#[case::no_nodes("workflow: w\nstart: a\nnodes: {}\n", "w.yaml:2:8: start: there is no node a")]
#[case::no_mapping("- a\n", "w.yaml:1:1: a workflow is a mapping")]
#[case::empty("", "w.yaml:1:1: a workflow is a mapping")]
#[case::limit(
    "workflow: w\nlimits: {steps: 0}\nstart: a\nnodes: {}\n",
    "w.yaml:2:17: limits.steps: must be 1 to 1200"
)]
#[case::deadline(
    "workflow: w\nlimits: {deadline: 0s}\nstart: a\nnodes: {}\n",
    "w.yaml:2:20: limits.deadline: must be 1 ms to one year"
)]
#[case::reducer(
    "workflow: w\nstate: {x: {schema: {type: number}, reduce: appnd}}\nstart: a\nnodes: {}\n",
    "w.yaml:2:45: state.x.reduce: there is no such value; did you mean append?"
)]
#[case::reducer_of_a_type(
    "workflow: w\nstate: {x: {schema: {type: number}, reduce: append}}\nstart: a\nnodes: {}\n",
    "state.x.reduce: append does not work on values of type number"
)]
#[case::initial(
    "workflow: w\nstate: {x: {schema: {type: number}, initial: a}}\nstart: a\nnodes: {}\n",
    "w.yaml:2:46: state.x.initial: does not fit the schema"
)]
#[case::norway(
    "workflow: no\nversion: 1e3\nstart: a\nnodes: {}\n",
    "w.yaml:2:10: version: must be 1 to"
)]
#[case::twice("workflow: w\nstart: a\nstart: b\nnodes: {}\n", "w.yaml:3:1: start is defined twice")]
#[case::tag("workflow: !!python/object w\nstart: a\nnodes: {}\n", "tag")]
#[case::include("workflow: !include /etc/passwd\nstart: a\nnodes: {}\n", "tag")]
#[case::documents("workflow: w\n---\nworkflow: w\n", "w.yaml:")]
fn a_mistake_of_the_head_is_reported_with_its_place(#[case] text: &str, #[case] expected: &str) {
    let found = mistakes(text);
    assert!(found.iter().any(|mistake| mistake.contains(expected)), "{expected}\n{found:#?}");
}

#[test]
fn all_mistakes_are_reported_at_once_in_the_order_of_the_file() {
    let found = of(
        "  a: {type: modle}\n  b: {type: wait, for: x}\n  c: {type: set, write: {nn: 1}, next: d}\n",
    );
    let places: Vec<_> =
        found.iter().map(|m| m.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        places,
        [
            "w.yaml:8:13 nodes.a.type",
            "w.yaml:9:24 nodes.b.for",
            "w.yaml:10:26 nodes.c.write.nn",
            "w.yaml:10:40 nodes.c.next"
        ]
    );
}

#[test]
fn an_attack_by_yaml_is_refused_soon() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..9 {
        let _ = writeln!(bomb, "a{n}: &a{n} [{}]", vec![format!("*a{}", n - 1); 10].join(", "));
    }
    let many = "---\nworkflow: w\n".repeat(10_000);
    for text in [bomb, "x: ".repeat(3) + &"[".repeat(10_000), many, "#".repeat(FILE_BYTES_MAX + 1)]
    {
        assert!(!mistakes(&text).is_empty());
    }
}

#[test]
fn more_nodes_than_the_bound_are_refused() {
    let mut nodes = String::new();
    for n in 0..=proto::workflow::NODES_MAX {
        let _ = writeln!(nodes, "  a{n}: {{type: set, write: {{n: 1}}}}");
    }
    assert!(of(&nodes).iter().any(|mistake| mistake.contains("at most 500")), "{:?}", of(&nodes));
}

#[test]
fn a_person_without_a_deadline_and_a_tool_that_must_not_repeat_are_warned_of() {
    let found = warnings(&format!(
        "{HEAD}  a: {{type: tool, tool: pay, next: b}}\n  b: {{type: human, ask: x, next: [{{when: visits.a < 3, to: a}}, {{to: end}}]}}\n"
    ));
    assert_eq!(
        found,
        [
            "w.yaml:8:6: nodes.a.tool: pay must not be repeated, and this node can be visited several times",
            "w.yaml:9:6: nodes.b: waits for a person without a deadline"
        ]
    );
}

#[test]
fn an_unknown_tool_is_a_warning_when_there_may_be_others() {
    let text = format!("{HEAD}  a: {{type: tool, tool: other}}\n");
    let some = Known { is_complete: false, ..known() };
    let checked = read("w.yaml", &text, &some).unwrap();
    assert_eq!(
        checked.warnings[0].to_string(),
        "w.yaml:8:25: nodes.a.tool: there is no tool other"
    );
}

fn example(name: &str) -> Checked {
    let path = format!("{}/../examples/workflows/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    read(&path, &text, &known()).unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[rstest]
#[case("ticket")]
#[case("research")]
#[case("improve")]
#[case("rows")]
#[case("payment")]
#[case("chapters")]
#[case("edges")]
fn an_example_has_no_mistakes_and_no_warnings(#[case] name: &str) {
    let Checked { workflow, warnings } = example(name);
    assert_eq!(workflow.name.as_str(), name);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn the_shipped_workflows_have_no_mistakes_and_no_warnings() {
    for name in crate::workflow::shipped::names() {
        let checked = crate::workflow::shipped::shipped(&name, &known()).unwrap();
        let Checked { workflow, warnings } = checked.unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(workflow.name, name);
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

#[test]
fn the_edge_spelling_gives_the_same_form_as_the_block_spelling() {
    let edges = "name: w\nstate: {x: {schema: {type: array}, reduce: append, initial: []}}\nmax_steps: 9\nnodes:\n\
        - {id: a, type: llm_call, config: {prompt: p}}\n- {id: b, type: llm_call, config: {prompt: p}}\n\
        - {id: c, type: tool_execution, config: {tool: pay}}\n- {id: d, type: llm_call, config: {prompt: p}}\n\
        - {id: e, type: llm_call, config: {prompt: p}}\nedges:\n- {source: START, target: a}\n- {source: a, target: b}\n\
        - {source: a, target: c}\n- {source: b, target: d}\n- {source: d, target: e, condition: 'state.x == []'}\n- {source: c, target: e}\n- {source: d, target: e}\n- {source: e, target: END}\n";
    let blocks = "workflow: w\nstate: {x: {schema: {type: array}, reduce: append, initial: []}}\nlimits: {steps: 9}\nstart: a\nnodes:\n  \
        a: {type: model, prompt: p, next: a-fork}\n  a-fork: {type: parallel, branches: {b: b, c: c}, next: e}\n  \
        b: {type: model, prompt: p, next: d}\n  c: {type: tool, tool: pay}\n  \
        d: {type: model, prompt: p, next: [{when: 'state.x == []', to: end}, {to: end}]}\n  e: {type: model, prompt: p}\n";
    let form = |text: &str| {
        read("w.yaml", text, &known()).unwrap_or_else(|wrong| panic!("{wrong}")).workflow
    };
    assert_eq!(form(edges), form(blocks));
}

#[rstest]
#[case::paths_that_meet_early(
    "- {source: a, target: b}\n- {source: a, target: c}\n- {source: c, target: b, condition: 'visits.a < 1'}\n- {source: b, target: END}\n- {source: c, target: END}\n",
    "edges: the paths from a meet at b, before end that all of them pass"
)]
#[case::paths_without_end(
    "- {source: a, target: b}\n- {source: a, target: c}\n- {source: b, target: b}\n- {source: c, target: c}\n",
    "edges: the paths from a do not meet again"
)]
#[case::unknown_node(
    "- {source: a, target: b}\n- {source: b, target: cc}\n",
    "there is no node cc; did you mean c?"
)]
#[case::unknown_field(
    "- {source: a, target: b, cond: x}\n",
    "edges[0].cond: there is no such field; did you mean condition?"
)]
fn an_edge_that_cannot_be_carried_over_is_refused(#[case] edges: &str, #[case] expected: &str) {
    let nodes: String = ["a", "b", "c"]
        .map(|id| format!("- {{id: {id}, type: llm_call, config: {{prompt: p}}}}\n"))
        .concat();
    let found = mistakes(&format!("name: w\nnodes:\n{nodes}edges:\n{edges}"));
    assert!(found.iter().any(|mistake| mistake.contains(expected)), "{expected}\n{found:#?}");
}

#[test]
fn calls_that_run_in_parallel_become_branches() {
    let text = "name: w\nnodes:\n- id: a\n  type: tool_execution\n  config:\n    parallel: true\n    calls: [{tool: pay}, {tool: web_search, args: {query: x}}]\n";
    let workflow =
        read("w.yaml", text, &known()).unwrap_or_else(|wrong| panic!("{wrong}")).workflow;
    let ids: Vec<_> = workflow.nodes.keys().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["a", "a-1", "a-2"]);
}
