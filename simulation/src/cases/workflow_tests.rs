//! Tests of cases of workflows: the way, the output, and the routes that no case takes.

use std::collections::BTreeMap;

use agents::{
    catalogue::Catalogue,
    workflow::read::{Known, read},
};
use proto::{
    lang::{Language, Words},
    workflow::{Workflow, WorkflowName},
};
use rstest::rstest;
use serde_json::json;

use super::*;

/// A draft that is marked, and written again unless it is good.
const SOURCE: &str = r#"
workflow: drafts
input: {type: object, required: [topic], properties: {topic: {type: string}}}
state:
  draft: {schema: {type: string}}
  marks: {schema: {type: array}, reduce: append, initial: []}
output: {text: "{{ state.draft }}", marks: "{{ state.marks }}"}
start: draft
nodes:
  draft:
    type: model
    prompt: "Write of {{ input.topic }}, try {{ visits.draft }}"
    write: {draft: "{{ reply }}"}
    next: mark
  mark:
    type: tool
    tool: mark
    args: {text: "{{ state.draft }}"}
    on_error: end
    write: {marks: "{{ result.mark }}"}
    next: [{when: "result.mark >= 8", to: end}, {when: "visits.draft < 2", to: draft}, {to: ask}]
  ask: {type: human, ask: "Is it good?", deadline: {after: 10m, then: late}, next: end}
  late: {type: set, write: {draft: late}, next: end}
"#;

/// Returns a workflow whose nodes run no other one.
fn tested(source: String, definition: Workflow) -> TestedWorkflow {
    TestedWorkflow { source, definition, workflows: BTreeMap::new() }
}

fn suite(cases: &str) -> Result<Suite, Mistake> {
    let definition = read("w", SOURCE, &Known::default()).unwrap().workflow;
    let workflow = tested(SOURCE.to_owned(), definition);
    let text = format!(
        r#"
script:
  rules:
    - when: {{ last: 'Write of (?<topic>\w+), try 1' }}
      reply: {{ text: "{{{{ captures.topic }}}}" }}
    - when: {{ last: 'Write of (?<topic>\w+), try' }}
      reply: {{ text: "much {{{{ captures.topic }}}}" }}
tools:
  - name: mark
    effect: pure
    results:
      - {{ when: {{ text: much rain }}, ok: {{ mark: 9 }} }}
      - {{ ok: {{ mark: 3 }} }}
cases: {cases}
"#
    );
    let read = |_: &str| Err(Words::from("no file".to_owned()));
    Suite::of_workflow(&text, workflow, Sources { agents: Catalogue::presets(), read: &read })
}

#[test]
fn a_case_reports_the_way_the_state_and_the_output() {
    let suite = suite("[{ name: rain, input: { topic: rain } }]").unwrap();
    let report = run(&suite.cases[0], None);
    assert!(report.is_passed(), "{report:#?}");
    let way = report.end.way.unwrap();
    assert_eq!(way.visits, ["draft", "mark", "draft", "mark"]);
    assert_eq!(way.output, json!({"text": "much rain", "marks": [3, 9]}));
    assert_eq!(way.state, json!({"draft": "much rain", "marks": [3, 9]}));
    let taken: Vec<String> = way.routes.iter().map(ToString::to_string).collect();
    let expected = [
        "draft → mark",
        "mark → draft (when: visits.draft < 2)",
        "mark → end (when: result.mark >= 8)",
    ];
    assert_eq!(taken, expected);
}

#[test]
fn the_routes_that_no_case_took_are_those_of_the_file_without_the_taken_ones() {
    let suite = suite("[{ name: rain, input: { topic: rain } }]").unwrap();
    let way = run(&suite.cases[0], None).end.way.unwrap();
    let definition = &suite.cases[0].workflow.as_ref().unwrap().definition;
    let never = never_taken(definition, [&way].into_iter());
    let never: Vec<String> = never.iter().map(ToString::to_string).collect();
    let expected =
        ["ask → end", "ask → late (timeout)", "late → end", "mark → ask", "mark → end (on_error)"];
    assert_eq!(never, expected);
}

#[rstest]
#[case("{ visits: { exactly: [draft, mark, draft, mark] } }", &[])]
#[case("{ visits: { exactly: [draft, mark] } }", &["visits exactly"])]
#[case("{ visits: { includes: [mark, draft] } }", &[])]
#[case("{ visits: { includes: [mark, ask] } }", &["visits includes"])]
#[case("{ output: { text: much rain } }", &[])]
#[case("{ output: { text: rain } }", &["output"])]
#[case("{ cost: { max: 0 }, turns: { max: 2 } }", &[])]
#[case("{ turns: { max: 1 } }", &["turns"])]
#[case("{ state: failed }", &["state"])]
fn each_expectation_of_a_workflow_is_compared_with_the_run(
    #[case] expect: &str,
    #[case] expected: &[&str],
) {
    let cases = format!("[{{ name: rain, input: {{ topic: rain }}, expect: {expect} }}]");
    let report = run(&suite(&cases).unwrap().cases[0], None);
    let word = |finding: &Finding| {
        let word = serde_json::to_value(finding.expectation).unwrap();
        format!("{} {}", word.as_str().unwrap(), finding.about).trim().to_owned()
    };
    let found: Vec<_> = report.findings.iter().map(word).collect();
    assert_eq!(found, expected, "{report:#?}");
    assert_eq!(report.broken, Vec::<String>::new());
}

#[test]
fn a_timeout_is_a_route_on_the_virtual_clock() {
    let suite = suite("[{ name: snow, input: { topic: snow } }]").unwrap();
    let report = run(&suite.cases[0], None);
    let way = report.end.way.unwrap();
    assert_eq!(way.visits, ["draft", "mark", "draft", "mark", "ask", "late"]);
    // A question that nobody answers is reported, and its deadline ends the wait.
    assert!(way.routes.iter().any(|route| route.by == By::Timeout), "{way:#?}");
}

#[test]
fn input_that_does_not_fit_is_refused_as_the_front_door_refuses_it() {
    let suite = suite("[{ name: none, input: { topic: 7 } }]").unwrap();
    let report = run(&suite.cases[0], None);
    assert_eq!(report.findings[0].expectation, Expectation::Submission, "{report:#?}");
}

#[test]
fn expectations_of_workflows_are_refused_in_tests_of_agents() {
    let text =
        "agent: react\nscript: { else: { text: hello } }\ncases:\n  - { name: a, input: {} }\n";
    let read = |_: &str| Err(Words::from("no file".to_owned()));
    let sources = Sources { agents: Catalogue::presets(), read: &read };
    let mistake = Suite::parse(text, sources).unwrap_err();
    assert!(mistake.text("t", Language::En).starts_with("t:4:5: `input`, `visits`"), "{mistake:?}");
}

/// Returns the shipped workflow of a name, with cases for it.
fn shipped(name: &str, cases: &str) -> Suite {
    let (_, source) = agents::workflow::shipped::sources().find(|(n, _)| *n == name).unwrap();
    let definition = read(name, source, &Known::default()).unwrap().workflow;
    let workflow = tested(source.to_owned(), definition);
    let read = |_: &str| Err(Words::from("no file".to_owned()));
    let sources = Sources { agents: Catalogue::presets(), read: &read };
    Suite::of_workflow(cases, workflow, sources).unwrap_or_else(|m| panic!("{m:?}"))
}

fn of_agent(cases: &str) -> Suite {
    let read = |_: &str| Err(Words::from("no file".to_owned()));
    Suite::parse(cases, Sources { agents: Catalogue::presets(), read: &read }).unwrap()
}

/// One script for the preset and the graph: a call, and an answer that has read its result.
const LOOP: &str = r#"
agent: react
script:
  rules:
    - when: { offers: finish, turn: 1, any: 'Find the sum' }
      reply: { calls: [{ tool: echo, args: { value: 7 } }] }
    - when: { offers: finish, last: '7' }
      reply: { calls: [{ tool: finish, args: { success: true, response: "it is 7" } }] }
tools: [{ builtin: echo }]
"#;

#[test]
fn the_graph_react_and_the_preset_react_do_the_same_on_one_script() {
    let preset = of_agent(&format!("{LOOP}cases: [{{ name: one, goal: Find the sum }}]"));
    let graph = shipped(
        "react",
        &format!("{LOOP}cases: [{{ name: one, input: {{ task: Find the sum }} }}]"),
    );
    let (preset, graph) = (run(&preset.cases[0], None), run(&graph.cases[0], None));
    assert!(preset.is_passed() && graph.is_passed(), "{preset:#?}\n{graph:#?}");
    assert_eq!(preset.end.path, ["turn", "call echo", "turn"]);
    assert_eq!(preset.end.path, graph.end.path);
    assert_eq!((preset.end.state, preset.end.result), (graph.end.state, graph.end.result));
}

/// One script for both: the preset plans the calls, the graph plans sentences that an agent carries
/// out.
const PLANNING: &str = r#"
script:
  rules:
    - when: { system: 'plan whose steps are tool calls' }
      reply:
        json:
          summary: say both
          steps:
            - { id: step1, action: echo, params: { value: one }, description: say one }
            - { id: step2, action: echo, params: { value: two }, description: say two, dependsOn: [step1] }
    - when: { last: 'Plan this task in at most 20 steps' }
      reply: { json: { steps: [say one, say two] } }
    - when: { offers: finish, turn: 1, any: 'this step alone: say (?<word>one|two)' }
      reply: { calls: [{ tool: echo, args: { value: "{{ captures.word }}" } }] }
    - when: { offers: finish }
      reply: { calls: [{ tool: finish, args: { success: true, response: said } }] }
    - when: { last: 'from the results of its steps' }
      reply: { text: both are said }
tools: [{ builtin: echo }]
"#;
const CALLS: &str =
    "{ calls: [{ tool: echo, args: { value: one } }, { tool: echo, args: { value: two } }] }";

#[test]
fn the_graph_plan_and_execute_and_the_preset_plan_then_execute_make_the_same_calls() {
    let goal = "First say one, then say two";
    let preset = of_agent(&format!(
        "agent: plan-then-execute\n{PLANNING}cases: [{{ name: one, goal: '{goal}', answers: [{{ kind: plan_check }}], expect: {CALLS} }}]"
    ));
    let graph = shipped(
        "plan-and-execute",
        &format!(
            "{PLANNING}cases: [{{ name: one, input: {{ task: '{goal}' }}, expect: {CALLS} }}]"
        ),
    );
    let (preset, graph) = (run(&preset.cases[0], None), run(&graph.cases[0], None));
    assert!(preset.is_passed() && graph.is_passed(), "{preset:#?}\n{graph:#?}");
    let calls = |report: &Report| {
        let calls = report.end.path.iter().filter(|point| *point == "call echo");
        calls.count()
    };
    assert_eq!((calls(&preset), calls(&graph)), (2, 2));
    let way = graph.end.way.unwrap();
    let visits = ["plan", "more", "execute", "more", "execute", "more", "answer"];
    assert_eq!(way.visits, visits);
    assert_eq!(way.output, json!({"answer": "both are said", "steps": ["say one", "say two"]}));
}

/// No preset has the name `human-review`, so the graph alone is held.
#[test]
fn the_graph_human_review_repeats_until_the_person_approves() {
    let graph = shipped(
        "human-review",
        r#"
script:
  rules:
    - when: { offers: finish, any: 'Requested change: shorter' }
      reply: { calls: [{ tool: finish, args: { success: true, response: short } }] }
    - when: { offers: finish }
      reply: { calls: [{ tool: finish, args: { success: true, response: a long text } }] }
cases:
  - name: one
    input: { task: Write }
    answers:
      - { prompt: a long text, value: { approved: false, text: shorter } }
      - { prompt: short, value: { approved: true } }
"#,
    );
    let report = run(&graph.cases[0], None);
    assert!(report.is_passed(), "{report:#?}");
    let way = report.end.way.unwrap();
    assert_eq!(way.visits, ["work", "review", "work", "review"]);
    assert_eq!(way.output, json!({"answer": "short"}));
}

const ABOVE: &str = r#"
workflow: above
state: {said: {schema: {type: string}}}
output: {said: "{{ state.said }}"}
start: below
nodes:
  below: {type: workflow, workflow: sub, input: {topic: rain}, write: {said: "{{ result.text }}"}}
"#;

const BELOW: &str = r#"
workflow: sub
input: {type: object, required: [topic], properties: {topic: {type: string}}}
state: {text: {schema: {type: string}}}
output: {text: "{{ state.text }}"}
start: write
nodes:
  write: {type: model, prompt: "Write of {{ input.topic }}", write: {text: "{{ reply }}"}}
"#;

#[rstest]
#[case::there(&[("sub", BELOW)], &[])]
#[case::missing(&[], &[Expectation::Submission])]
fn a_sub_workflow_runs_from_its_file_or_is_named(
    #[case] files: &[(&str, &str)],
    #[case] expected: &[Expectation],
) {
    let definition = read("above", ABOVE, &Known::default()).unwrap().workflow;
    let name = |name: &str| WorkflowName::new(name).unwrap();
    let workflows = files.iter().map(|(of, text)| (name(of), (*text).to_owned())).collect();
    let workflow = TestedWorkflow { source: ABOVE.to_owned(), definition, workflows };
    let text = "script: { rules: [ { when: { last: Write of rain }, reply: { text: It rains } } ] }\n\
                cases: [ { name: rain, expect: { output: { said: It rains } } } ]\n";
    let read = |_: &str| Err(Words::from("no file".to_owned()));
    let sources = Sources { agents: Catalogue::presets(), read: &read };
    let suite = Suite::of_workflow(text, workflow, sources).unwrap();
    let report = run(&suite.cases[0], None);
    let found: Vec<_> = report.findings.iter().map(|finding| finding.expectation).collect();
    assert_eq!(found, expected, "{report:#?}");
    // The refusal names the workflow.
    let is_named = report.findings.iter().all(|finding| format!("{finding:?}").contains("sub"));
    assert!(is_named, "{report:#?}");
}
