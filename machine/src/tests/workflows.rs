//! Workflows: routes, loops, joins, maps, people and pauses, and what a fold makes of their log.

use std::collections::BTreeMap;

use proto::{
    agent::{Agent, Dispatch, OnFailure, ReplanWhen},
    decision::Decision,
    fact::{Fact, Signal, Submitted, TurnReply},
    id::ToolName,
    interaction::{Answer, Verdict},
    job::{FailReason, Outcome},
    lang::Language,
    record::Known,
    workflow::{Workflow, WorkflowRun},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent, binding};

/// Submits a workflow whose nodes are given as JSON. `tool` may be called.
pub(super) fn submit(definition: Value) -> Play {
    submit_with(definition, json!({"ticket": "T-1"}))
}

pub(super) fn submit_with(definition: Value, input: Value) -> Play {
    submit_as(definition, input, agent(|_| {}))
}

fn submit_as(mut definition: Value, input: Value, agent: Agent) -> Play {
    definition["workflow"] = json!("test");
    definition["version"] = json!(1);
    let definition: Workflow = serde_json::from_value(definition).unwrap();
    let tools = [(ToolName::new("tool").unwrap(), binding())].into_iter().collect();
    let run = WorkflowRun { definition, input, tools, workflows: BTreeMap::new() };
    let submitted = Play::submitted(agent, Language::En);
    Play::submit_as(Submitted { workflow: Some(Box::new(run)), ..submitted })
}

fn output(play: &Play) -> Value {
    match play.outcome() {
        Outcome::Completed { value, .. } => value,
        other => panic!("{other:?}"),
    }
}

fn failure(play: &Play) -> (FailReason, String) {
    match play.outcome() {
        Outcome::Failed { reason, message, .. } => (reason, message),
        other => panic!("{other:?}"),
    }
}

pub(super) fn fits(value: Value) -> TurnReply {
    TurnReply::Done { success: true, response: String::new(), attachments: Vec::new(), value }
}

pub(super) fn tool(next: &Value) -> Value {
    json!({"work": {"type": "tool", "tool": "tool", "args": {"n": "{{ visits }}"}}, "next": next})
}

/// A draft that is marked and made again until it is good enough.
pub(super) fn drafting() -> Value {
    json!({
        "state": {
            "draft": {"schema": {"type": "string"}},
            "score": {"schema": {"type": "number"}, "reduce": "max", "initial": 0},
        },
        "output": {"answer": "{{ state.draft }}", "score": "{{ state.score }}"},
        "start": "draft",
        "nodes": {
            "draft": {
                "work": {"type": "model", "prompt": "Answer {{ input.ticket }}, try {{ visits.draft }}"},
                "write": {"draft": "{{ reply }}"},
                "next": [{"to": "mark"}],
            },
            "mark": {
                "work": {"type": "model", "prompt": "Mark {{ state.draft }}", "reply": {
                    "type": "object", "properties": {"mark": {"type": "number"}},
                }},
                "write": {"score": "{{ reply.mark }}"},
                "next": [{"to": "good"}],
            },
            "good": {
                "work": {"type": "branch"},
                "next": [
                    {"when": "state.score >= 8", "to": "end"},
                    {"when": "visits.draft < 3", "to": "draft"},
                    {"to": "end"},
                ],
            },
        },
    })
}

#[test]
fn a_loop_goes_on_until_its_condition_ends_it() {
    let mut p = submit(drafting());
    p.expect(&["advance 1", "turn g0.r0.draft--1.n1.t1 #1"]);
    p.done("g0.r0.draft--1.n1.t1", true, "bad");
    p.expect(&["advance 2", "turn g0.r0.mark--1.n1.t1 #1"]);
    p.turn("g0.r0.mark--1.n1.t1", fits(json!({"mark": 4})));
    p.expect(&["advance 3", "turn g0.r0.draft--2.n1.t1 #1"]);
    p.done("g0.r0.draft--2.n1.t1", true, "good");
    p.expect(&["advance 4", "turn g0.r0.mark--2.n1.t1 #1"]);
    p.turn("g0.r0.mark--2.n1.t1", fits(json!({"mark": 9})));
    p.expect(&["advance 5", "finish completed"]);
    assert_eq!(output(&p), json!({"answer": "good", "score": 9}));
    assert_eq!(
        p.states(),
        "draft--1:completed mark--1:completed draft--2:completed mark--2:completed"
    );
}

#[test]
fn a_prompt_counts_the_visit_that_it_is_for() {
    let mut p = submit(drafting());
    p.drive();
    let Some(Decision::Turn(turn)) = p.decisions.last() else { panic!("no turn") };
    assert_eq!(turn.task.as_ref().unwrap().description, "Answer T-1, try 1");
    assert!(turn.node && turn.model.tools.as_ref().is_some_and(Vec::is_empty));
}

#[rstest]
#[case::after_each_step(|a: &mut Agent| a.replan.when = Some(ReplanWhen::AfterEachStep))]
#[case::after_failures(|a: &mut Agent| a.step.on_failure = OnFailure::Replan)]
#[case::in_turn(|a: &mut Agent| a.dispatch = Dispatch::Sequential)]
fn rules_for_plans_do_not_hold_a_workflow(#[case] change: fn(&mut Agent)) {
    let bad = json!({
        "work": {"type": "tool", "tool": "tool", "args": {}}, "on_error": "next", "next": [],
    });
    let definition = json!({
        "start": "bad",
        "nodes": {"bad": bad, "next": tool(&json!([{"to": "end"}]))},
    });
    let mut p = submit_as(definition, json!({}), agent(change));
    p.drive();
    p.no("g0.r0.bad--1");
    p.signal(Signal::Steer { text: "hurry".into() });
    p.expect(&["advance 2", "call g0.r0.next--1 #1"]);
    p.ok("g0.r0.next--1", json!(1));
    p.expect(&["advance 3", "finish completed"]);
}

#[test]
fn a_rejected_approval_is_an_answer() {
    let mut p = submit(json!({
        "state": {"said": {"schema": {}}},
        "start": "ask",
        "nodes": {"ask": {
            "work": {"type": "human", "ask": "Send?", "form": [
                {"key": "approved", "label": "Approve", "input": {"type": "boolean"}},
            ]},
            "write": {"said": "{{ answer.approved }}"},
            "next": [{"to": "end"}],
        }},
    }));
    p.drive();
    p.answer("q1", Verdict::Reject, Some("not now"));
    p.drive();
    assert_eq!(output(&p), json!({"said": false}));
}

#[test]
fn a_fold_never_evaluates_an_expression() {
    let mut p = submit(drafting());
    p.drive();
    p.done("g0.r0.draft--1.n1.t1", true, "good");
    p.drive();
    p.turn("g0.r0.mark--1.n1.t1", fits(json!({"mark": 9})));
    p.drive();
    let whole = p.view();
    let Ok(Known::Fact(first)) = &mut p.log[0].2 else { panic!("no submission") };
    let Fact::Submitted(submitted) = first.as_mut() else { panic!("no submission") };
    let run = submitted.workflow.as_mut().unwrap();
    let text = serde_json::to_string(&run.definition).unwrap();
    let broken = text.replace("state.", "}} no template {{").replace("reply.", "( no expression");
    assert_ne!(text, broken);
    run.definition = serde_json::from_str(&broken).unwrap();
    let mut folded = p.folded().view().unwrap();
    // The digest is that of the definition, which is another one.
    let digest = whole.graph.as_ref().unwrap().digest.clone();
    folded.graph.as_mut().unwrap().digest = digest;
    assert_eq!(folded, whole);
}

#[test]
fn a_reply_that_does_not_fit_is_told_to_the_model() {
    let mut p = submit(drafting());
    p.drive();
    p.done("g0.r0.draft--1.n1.t1", true, "a draft");
    p.drive();
    let misfits =
        serde_json::from_value(json!([{"field": "mark", "why": "is no number"}])).unwrap();
    p.turn("g0.r0.mark--1.n1.t1", TurnReply::Misfit { text: "{}".into(), misfits });
    p.expect(&["turn g0.r0.mark--1.n2.t1 #1"]);
    p.turn("g0.r0.mark--1.n2.t1", fits(json!({"mark": 9})));
    p.expect(&["advance 3", "finish completed"]);
}

#[rstest]
#[case::all(json!("all"), &["a", "b"], "end a+b")]
#[case::any(json!("any"), &["b"], "end b")]
#[case::one_of_two(json!({"at_least": 1}), &["a"], "end a")]
fn a_join_waits_for_its_branches(
    #[case] join: Value,
    #[case] ends: &[&str],
    #[case] expected: &str,
) {
    let mut p = submit(json!({
        "state": {"seen": {"schema": {"type": "array"}, "reduce": "append", "initial": []}},
        "output": "end {{ state.seen | join('+') }}",
        "start": "split",
        "nodes": {
            "split": {
                "work": {"type": "parallel", "join": join, "branches": [
                    {"name": "one", "start": "a", "nodes": ["a"]},
                    {"name": "two", "start": "b", "nodes": ["b"]},
                ]},
                "next": [{"to": "end"}],
            },
            "a": {
                "work": {"type": "tool", "tool": "tool", "args": {}},
                "write": {"seen": "{{ result }}"}, "next": [{"to": "end"}],
            },
            "b": {
                "work": {"type": "tool", "tool": "tool", "args": {}},
                "write": {"seen": "{{ result }}"}, "next": [{"to": "end"}],
            },
        },
    }));
    p.expect(&["advance 1", "call g0.r0.a--1 #1", "call g0.r0.b--1 #1"]);
    for end in ends {
        p.ok(&format!("g0.r0.{end}--1"), json!(end));
        p.drive();
    }
    assert_eq!(output(&p), json!(expected));
}

#[test]
fn a_map_runs_as_many_items_as_it_may_and_collects_in_their_order() {
    let mut p = submit_with(
        json!({
            "state": {"notes": {"schema": {"type": "array"}, "reduce": "append", "initial": []}},
            "output": "{{ state.notes }}",
            "start": "each",
            "nodes": {
                "each": {
                    "work": {"type": "map", "over": "input.rows", "item": "row", "max_parallel": 2,
                        "max_items": 5, "start": "judge", "nodes": ["judge"],
                        "collect": {"notes": "{{ index }}: {{ result }}"}, "join": "all"},
                    "next": [{"to": "end"}],
                },
                "judge": {
                    "work": {"type": "tool", "tool": "tool", "args": {"row": "{{ row }}"}},
                    "next": [{"to": "end"}],
                },
            },
        }),
        json!({"rows": ["x", "y", "z"]}),
    );
    p.expect(&["advance 1", "call g0.r0.judge--1--0 #1", "call g0.r0.judge--1--1 #1"]);
    p.ok("g0.r0.judge--1--1", json!("why"));
    p.expect(&["advance 2", "call g0.r0.judge--1--2 #1"]);
    p.ok("g0.r0.judge--1--2", json!("zed"));
    p.expect(&["advance 3"]);
    p.ok("g0.r0.judge--1--0", json!("ex"));
    p.expect(&["advance 4", "finish completed"]);
    assert_eq!(output(&p), json!(["0: ex", "1: why", "2: zed"]));
}

pub(super) fn asking() -> Value {
    json!({
        "state": {"said": {"schema": {"type": "string"}, "initial": "nothing"}},
        "output": "{{ state.said }}",
        "start": "ask",
        "nodes": {
            "ask": {
                "work": {"type": "human", "ask": "Send {{ input.ticket }}?",
                    "deadline": {"after_ms": 60000, "then": "late"}},
                "write": {"said": "{{ answer.text }}"},
                "on_error": "refused",
                "next": [{"to": "end"}],
            },
            "late": {"work": {"type": "set"}, "write": {"said": "late"}, "next": [{"to": "end"}]},
            "refused": {"work": {"type": "set"}, "write": {"said": "no"}, "next": [{"to": "end"}]},
        },
    })
}

#[rstest]
#[case::answer(Some(Verdict::Respond), "yes")]
#[case::refusal(Some(Verdict::Reject), "no")]
#[case::silence(None, "late")]
fn a_person_decides_the_way(#[case] verdict: Option<Verdict>, #[case] expected: &str) {
    let mut p = submit(asking());
    p.expect(&["advance 1", "ask q1 question"]);
    match verdict {
        Some(decision) => {
            let value = (decision == Verdict::Respond).then(|| json!("yes"));
            p.answer_with(
                "q1",
                Answer { decision, value, text: None, digest: None, remember: None },
            );
        }
        None => p.fire("ask-q1"),
    }
    p.drive();
    assert_eq!(output(&p), json!(expected));
}

#[test]
fn a_pause_ends_with_its_timer() {
    let mut p = submit(json!({
        "start": "wait",
        "nodes": {"wait": {
            "work": {"type": "wait", "pause": {"for_ms": 60000}}, "next": [{"to": "end"}],
        }},
    }));
    p.expect(&["advance 1", "wait g0.r0.wait--1 #1"]);
    p.fire("retry-1");
    p.expect(&["advance 2", "finish completed"]);
}

#[rstest]
#[case::of_one_node(json!({"steps": 100, "visits": 3}), "visited again 3 times")]
#[case::of_all_nodes(json!({"steps": 2, "visits": 100}), "used up its 2 steps")]
fn a_loop_without_an_end_meets_its_bound(#[case] limits: Value, #[case] expected: &str) {
    let mut p = submit(json!({
        "limits": limits,
        "start": "again",
        "nodes": {"again": tool(&json!([{"to": "again"}]))},
    }));
    for visit in 1..=3 {
        if p.job.has_ended() {
            break;
        }
        p.drive();
        if !p.job.has_ended() {
            p.ok(&format!("g0.r0.again--{visit}"), json!(1));
            p.drive();
        }
    }
    let (reason, message) = failure(&p);
    assert_eq!(reason, FailReason::BudgetExceeded);
    assert!(message.contains(expected), "{message}");
}

#[rstest]
#[case::failed_call(tool(&json!([])), true)]
#[case::unknown_field(
    json!({"work": {"type": "set"}, "write": {"n": "{{ input.nothing.more }}"}, "next": []}), false)]
#[case::misfit(
    json!({"work": {"type": "set"}, "write": {"n": "text"}, "next": []}), false)]
#[case::no_boolean(
    json!({"work": {"type": "branch"}, "next": [{"when": "input.ticket", "to": "end"}]}), false)]
fn an_error_takes_its_own_way_or_fails_the_job(#[case] node: Value, #[case] calls: bool) {
    for has_way in [true, false] {
        let mut node = node.clone();
        if has_way {
            node["on_error"] = json!("sorry");
        }
        let mut p = submit(json!({
            "state": {"n": {"schema": {"type": "number"}, "initial": 0}},
            "start": "bad",
            "nodes": {
                "bad": node,
                "sorry": {"work": {"type": "set"}, "write": {"n": 7}, "next": [{"to": "end"}]},
            },
        }));
        p.drive();
        if calls {
            p.no("g0.r0.bad--1");
            p.drive();
            while !p.job.has_ended() {
                let timer = p.armed.keys().next().unwrap().to_string();
                p.fire(&timer);
                p.drive();
                p.no("g0.r0.bad--1");
                p.drive();
            }
        }
        if has_way {
            assert_eq!(output(&p), json!({"n": 7}));
        } else {
            let (reason, message) = failure(&p);
            assert_eq!(reason, FailReason::StepFailed);
            assert!(message.contains("bad"), "{message}");
        }
    }
}

#[test]
fn a_rollback_into_a_loop_decides_again_from_there() {
    let mut p = submit(drafting());
    p.drive();
    p.done("g0.r0.draft--1.n1.t1", true, "bad");
    p.drive();
    let before = p.last();
    p.turn("g0.r0.mark--1.n1.t1", fits(json!({"mark": 4})));
    p.drive();
    p.done("g0.r0.draft--2.n1.t1", true, "worse");
    p.drive();
    assert!(p.back(before));
    p.expect(&["turn g1.r0.mark--1.n1.t1 #1"]);
    p.turn("g1.r0.mark--1.n1.t1", fits(json!({"mark": 10})));
    p.expect(&["advance 3", "finish completed"]);
    assert_eq!(output(&p), json!({"answer": "bad", "score": 10}));
}
