//! Drafts, and the plans or errors they become.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better unborrowed")]

use rstest::rstest;
use runtime::{
    arguments::{self, Placeholders},
    schema::Schemas,
};

use std::collections::BTreeSet;

use agents::{
    draft::{self, Frame},
    toolbox::Toolbox,
};
use proto::{
    id::StepId,
    plan::{Action, Plan},
    tool::ToolSpec,
};
use serde_json::{Value, json};

use crate::testing;

/// Formats steps as `id[tool]<dependencies`, or returns the mistakes. Step `old` has completed
/// before.
fn normalised(value: Value) -> Result<Plan, String> {
    let draft = draft::of(value).unwrap();
    let (specs, schemas) = (testing::tools(), Schemas::new());
    let work = testing::work(json!({}));
    let tools = Toolbox::new(&specs, work.model.tools.as_deref());
    let completed = BTreeSet::from([StepId::new("old").unwrap(), StepId::new("step2").unwrap()]);
    let check =
        |tool: &ToolSpec, args: &Value| arguments::check(&schemas, tool, args, Placeholders::Open);
    let frame = Frame {
        goal: "the goal\nat length",
        tools: &tools,
        completed: &completed,
        kept: &BTreeSet::new(),
        earlier: &BTreeSet::new(),
        check_args: &check,
    };
    draft::plan(draft, &frame).map_err(|e| e.to_string())
}

fn line(plan: &Plan) -> String {
    let steps = plan.steps.iter().map(|step| {
        let tool = match &step.action {
            Action::Tool { tool, args, binding } => format!("[{tool}.{}{args}]", binding.version),
            Action::Agent => String::new(),
        };
        let on: Vec<_> = step.depends_on.iter().map(StepId::as_str).collect();
        format!("{}{tool}<{}", step.id, on.join(","))
    });
    steps.collect::<Vec<_>>().join(" ")
}

fn check(steps: Value, expected: &str) {
    let got = normalised(json!({"title": "T", "steps": steps}));
    assert_eq!(got.as_ref().map(line).unwrap_or_else(String::clone), expected);
}

#[rstest]
#[case::ids_are_given(json!(["a", "b"]), "step1< step3<")]
#[case::ids_that_are_there_are_kept_and_avoided(
    json!([{"id": "step3", "description": "x"}, "a", "b"]), "step3< step4< step5<")]
#[case::a_tool(
    json!([{"id": "a", "description": "x", "tool": "complete_task", "args": {"id": 62}}]),
    "a[complete_task.7{\"id\":62}]<")]
#[case::a_tool_as_prompts_name_it(
    json!([{"id": "a", "description": "x", "action": "@complete_task", "params": {"id": 62}}]),
    "a[complete_task.7{\"id\":62}]<")]
#[case::declared_once(
    json!([{"id": "a", "description": "x"}, {"id": "b", "description": "y", "depends_on": ["a", "a", "old"]}]),
    "a< b<a,old")]
#[case::a_read_step_is_depended_on(
    json!([
        {"id": "a", "description": "x", "tool": "create_task", "args": {"title": "A"}},
        {"id": "b", "description": "y", "tool": "complete_task", "args": {"id": "{{a.id}}"}},
        {"id": "c", "description": "z", "tool": "create_task", "args": {"title": "{{a.id}} and {{old.x}}"}, "dependsOn": ["b"]},
    ]),
    "a[create_task.7{\"title\":\"A\"}]< b[complete_task.7{\"id\":\"{{a.id}}\"}]<a c[create_task.7{\"title\":\"{{a.id}} and {{old.x}}\"}]<b,a,old")]
#[case::a_declared_later_step_may_be_read(
    json!([
        {"id": "b", "description": "y", "tool": "complete_task", "args": {"id": "{{a.id}}"}, "depends_on": ["a"]},
        {"id": "a", "description": "x", "tool": "create_task", "args": {"title": "A"}},
    ]),
    "b[complete_task.7{\"id\":\"{{a.id}}\"}]<a a[create_task.7{\"title\":\"A\"}]<")]
#[case::other_braces_are_literal(
    json!([{"id": "a", "description": "x", "tool": "create_task", "args": {"title": "{{ }} ${HOME} $(id) {{a b}}"}}]),
    "a[create_task.7{\"title\":\"{{ }} ${HOME} $(id) {{a b}}\"}]<")]
#[case::nothing_left_to_do(json!([]), "")]
fn a_draft_becomes(#[case] steps: Value, #[case] expected: &str) {
    check(steps, expected);
}

fn calling(tool: &str, args: Value) -> Value {
    json!([{"id": "a", "description": "x", "tool": tool, "args": args}])
}

#[rstest]
#[case::misspelt(calling("create_task", json!({"title": "x {{old[n]}}"})),
    "step a: {{old[n]}} is no placeholder; write {{old}}, {{old.field}} or {{old.items[0]}}")]
#[case::braces_of_something_else(calling("create_task", json!({"title": "image: {{name}}"})),
    r#"step a reads {{name…}}, but there is no step name; where braces are meant as they are, write {{"{{"}} for the first two"#)]
#[case::unknown_tool(calling("drop_tables", json!({})),
    "step a: there is no tool \"drop_tables\"; the tools are: complete_task, create_task")]
#[case::near_miss(calling("create-task", json!({"title": "x"})),
    "step a: there is no tool \"create-task\"; did you mean create_task? the tools are: complete_task, create_task")]
#[case::look_alike(calling("create_tаsk", json!({"title": "x"})),
    "step a: there is no tool \"create_t\\u{430}sk\"; did you mean create_task? the tools are: complete_task, create_task")]
#[case::forbidden_tool(calling("secret", json!({})),
    "step a: the tool \"secret\" is not allowed here; the tools are: complete_task, create_task")]
#[case::wrong_argument(calling("complete_task", json!({"id": "62"})),
    "step a: the arguments of complete_task do not fit: id: \"62\" is not of type \"integer\"")]
#[case::words_where_a_number_must_be(calling("complete_task", json!({"id": "#{{old.id}}"})),
    "step a: the arguments of complete_task do not fit: id: \"#{{old.id}}\" is not of type \"integer\"")]
#[case::missing_argument(calling("complete_task", json!(null)),
    "step a: the arguments of complete_task do not fit: id: \"id\" is a required property")]
#[case::extra_argument(calling("complete_task", json!({"id": 1, "force": true})),
    "step a: the arguments of complete_task do not fit: force: is not an argument of this tool")]
#[case::arguments_as_a_text(calling("complete_task", json!("62")),
    "step a: the arguments of complete_task do not fit: the arguments must be a JSON object")]
#[case::arguments_without_a_tool(json!([{"id": "a", "description": "x", "args": {"id": 1}}]),
    "step a has arguments but names no tool")]
#[case::reads_a_step_that_is_none(calling("complete_task", json!({"id": "{{other.id}}"})),
    r#"step a reads {{other…}}, but there is no step other; where braces are meant as they are, write {{"{{"}} for the first two"#)]
#[case::reads_itself(calling("complete_task", json!({"id": "{{a.id}}"})),
    "step a reads {{a…}} but does not depend on a")]
#[case::reads_a_later_step(
    json!([
        {"id": "a", "description": "x", "tool": "complete_task", "args": {"id": "{{b.id}}"}},
        {"id": "b", "description": "y"},
    ]),
    "step a reads {{b…}} but does not depend on b")]
#[case::declared_and_not_there(
    json!([{"id": "a", "description": "x", "tool": "complete_task", "args": {"id": "{{z.id}}"}, "depends_on": ["z"]}]),
    "step a depends on z, which is not a step of the plan")]
#[case::dangling(json!([{"id": "a", "description": "x", "depends_on": ["z"]}]),
    "step a depends on z, which is not a step of the plan")]
#[case::depends_on_itself(json!([{"id": "a", "description": "x", "depends_on": ["a"]}]), "step a depends on itself")]
#[case::circle(
    json!([{"id": "a", "description": "x", "depends_on": ["b"]}, {"id": "b", "description": "y", "depends_on": ["a"]}]),
    "Circular dependency detected in plan steps: a → b → a")]
#[case::duplicate(json!([{"id": "a", "description": "x"}, {"id": "a", "description": "y"}]), "two steps have the id a")]
#[case::completed_before(json!([{"id": "old", "description": "x"}]),
    "step old has completed already and cannot be planned again; use another id")]
#[case::no_description(json!([{"id": "a", "tool": "complete_task", "args": {"id": 1}}]), "step a has no description")]
#[case::empty_text(json!([" "]), "step step1 has no description")]
#[case::id_with_a_space(json!([{"id": "step 1", "description": "x"}]),
    "steps[0].id: step id must be 1 to 64 characters of A-Z a-z 0-9 _ -, got \"step 1\"")]
#[case::id_that_is_a_subject(json!([{"id": "cb.>", "description": "x"}]),
    "steps[0].id: step id must be 1 to 64 characters of A-Z a-z 0-9 _ -, got \"cb.>\"")]
#[case::dependency_that_is_no_id(json!([{"id": "a", "description": "x", "depends_on": ["步骤一"]}]),
    "step a: depends_on: step id must be 1 to 64 characters of A-Z a-z 0-9 _ -, got \"步骤一\"")]
fn a_draft_is_refused_as_a_whole(#[case] steps: Value, #[case] expected: &str) {
    check(steps, expected);
}

#[test]
fn sizes_are_bounded() {
    check(json!(vec!["x"; 10_000]), "the plan has 10000 steps; at most 500 are allowed");
    check(
        json!([{"id": "a", "description": "x".repeat(40_000)}]),
        "the description of step a is longer than 32768 bytes",
    );
    let ids: Vec<_> = (0..150).map(|n| format!("s{n}")).collect();
    let mut steps: Vec<_> = ids.iter().map(|id| json!({"id": id, "description": "x"})).collect();
    steps.push(json!({"id": "all", "description": "x", "depends_on": ids}));
    check(json!(steps), "step all has more than 100 dependencies");
}

#[test]
fn a_plan_without_a_title_is_called_after_its_goal() {
    let titled = |title: &str| normalised(json!({"title": title, "steps": ["x"]})).unwrap().title;
    assert_eq!(titled(""), "the goal");
    assert_eq!(titled("T\nmore"), "T");
    assert_eq!(titled(&"字".repeat(1000)).len(), 510);
}
