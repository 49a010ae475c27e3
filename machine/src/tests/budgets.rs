//! Budgets: spending is counted with each decision, and limits are checked before a decision that
//! spends.

use std::collections::BTreeSet;

use proto::{
    agent::{Agent, Dispatch, OnFailure},
    budget::{AtLimit, Axis, Price, Spend},
    cost::Cost,
    decision::Decision,
    event::Happened,
    fact::{Asked, AskedKind, PlanReply, Signal, TurnReply},
    id::ToolName,
    interaction::Answer,
    job::{FailReason, JobState, Outcome},
    lang::Language,
    message::Usage,
    notice::Notice,
    plan::Action,
    retry::RetryPolicy,
    tool::{Fault, ToolResult},
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, binding, calls, plan, plan_with, question, tool_call, transient};
use crate::Job;
use crate::events::Projection;

fn counts(what: &[Spend]) -> BTreeSet<Spend> {
    what.iter().copied().collect()
}

fn steps(limit: u32, what: &[Spend]) -> impl Fn(&mut Agent) {
    let what = counts(what);
    move |a| (a.budget.steps, a.budget.counts) = (Some(limit), what.clone())
}

/// Runs one step that loops: every turn calls a tool with new arguments, and the tool answers.
/// Returns the decisions until the job ended.
fn endless(agent: Agent) -> (Play, Vec<String>) {
    let mut p = Play::planned(agent, plan_with("a", |_| Action::Agent));
    let mut decided = p.drive();
    for turn in 1..=100 {
        if p.job.has_ended() {
            break;
        }
        let work = format!("g0.r0.a.n1.t{turn}");
        p.turn(&work, calls(vec![tool_call("x", "read", json!({"page": turn}))]));
        decided.extend(p.drive());
        if p.job.has_ended() {
            break;
        }
        p.ok(&format!("{work}.c0"), json!(turn));
        decided.extend(p.drive());
    }
    (p, decided)
}

fn reason(p: &Play) -> FailReason {
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("{:?}", p.outcome()) };
    reason
}

fn count(decided: &[String], kind: &str) -> usize {
    decided.iter().filter(|label| label.starts_with(kind)).count()
}

#[rstest]
#[case::turns_and_calls(5, &[Spend::Turn, Spend::Tool], 3, 2)]
#[case::turns(5, &[Spend::Turn], 5, 5)]
#[case::calls(5, &[Spend::Tool], 6, 5)]
#[case::a_step_of_the_plan(1, &[Spend::Step], 100, 99)]
fn what_counts_as_a_step_is_a_policy(
    #[case] limit: u32,
    #[case] what: &[Spend],
    #[case] turns: usize,
    #[case] called: usize,
) {
    let (p, decided) = endless(agent(|a| {
        a.guard.no_progress_stop = 0;
        steps(limit, what)(a);
    }));
    let got = (count(&decided, "turn"), count(&decided, "call"));
    assert_eq!(got, (turns, called), "{:?}", p.outcome());
}

#[rstest]
#[case::turns(|a: &mut Agent| a.budget.turns = Some(3), 3)]
#[case::tokens_in(|a: &mut Agent| a.budget.tokens_in = Some(25), 3)]
#[case::tokens_out(|a: &mut Agent| a.budget.tokens_out = Some(3), 3)]
#[case::tokens(|a: &mut Agent| a.budget.tokens = Some(33), 3)]
#[case::a_token_more(|a: &mut Agent| a.budget.tokens = Some(34), 4)]
#[case::money(|a: &mut Agent| {
    a.budget.price = Some(Price::new(1e5, 0.0));
    a.budget.money = Some(3.0);
}, 3)]
fn every_axis_ends_the_job_before_more_is_spent(
    #[case] limit: impl Fn(&mut Agent),
    #[case] turns: usize,
) {
    let (p, decided) = endless(agent(|a| limit(a)));
    assert_eq!(count(&decided, "turn"), turns);
    assert_eq!(reason(&p), FailReason::BudgetExceeded);
    assert_eq!(p.view().state, JobState::Failed);
}

#[test]
fn a_job_that_needs_nothing_more_completes_at_its_limit() {
    let spends = agent(|a| {
        steps(2, &[Spend::Tool])(a);
        a.budget.tokens = Some(1);
    });
    let mut p = Play::planned(spends, plan("a b<a"));
    p.expect(&["call g0.r0.a #1"]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&["call g0.r0.b #1"]);
    p.ok("g0.r0.b", json!(1));
    p.expect(&["finish completed"]);
}

#[test]
fn tokens_that_are_used_up_hold_back_models_and_no_tool() {
    let spends = agent(|a| a.budget.tokens = Some(11));
    let mut p = Play::planned(spends, plan_with("a b", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("x", "read", json!({}))]));
    p.expect(&["call g0.r0.a.n1.t1.c0 #1"]);
    p.ok("g0.r0.a.n1.t1.c0", json!(1));
    p.expect(&[]);
    p.done("g0.r0.b.n1.t1", true, "what was out may end");
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, results, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::BudgetExceeded);
    assert_eq!(results, json!({"b": "what was out may end"}));
}

#[test]
fn another_attempt_at_the_same_work_is_not_counted_again() {
    let tries = RetryPolicy { max_attempts: 5, jitter: 0.0, ..RetryPolicy::default() };
    let spends = agent(|a| {
        steps(2, &[Spend::Turn, Spend::Tool])(a);
        a.tool.retry = tries;
    });
    let mut p = Play::planned(spends, plan_with("a", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", TurnReply::Failed { error: transient() });
    p.drive();
    p.fire("retry-1");
    p.expect(&["turn g0.r0.a.n1.t1 #2"]);
    p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("x", "read", json!({}))]));
    p.expect(&["call g0.r0.a.n1.t1.c0 #1"]);
    p.fault("g0.r0.a.n1.t1.c0", Fault::Timeout);
    p.expect(&["wait g0.r0.a.n1.t1.c0 #2"]);
    p.fire("retry-2");
    p.expect(&["call g0.r0.a.n1.t1.c0 #2"]);
    let [gauge] = p.view().budget[..] else { panic!("not one limit") };
    assert_eq!((gauge.axis, gauge.used, gauge.limit), (Axis::Steps, 2.0, 2.0));
    p.ok("g0.r0.a.n1.t1.c0", json!(1));
    p.expect(&["finish failed"]);
}

#[test]
fn rounds_of_planning_count_once_however_often_a_reply_cannot_be_used() {
    let spends = agent(|a| {
        steps(2, &[Spend::Plan, Spend::Replan])(a);
        a.step.on_failure = OnFailure::Replan;
    });
    let mut p = Play::submit(spends);
    p.expect(&["plan g0.p1 #1"]);
    p.unparseable(1);
    p.expect(&["plan g0.p2 #1"]);
    p.reply(2, PlanReply::Plan { plan: plan("a") });
    p.drive();
    p.no("g0.r0.a");
    p.expect(&["plan g0.p3 #1"]);
    p.reply(3, PlanReply::Plan { plan: plan("b") });
    p.drive();
    p.no("g0.r1.b");
    p.expect(&["finish failed"]);
    assert_eq!(reason(&p), FailReason::BudgetExceeded);
}

#[test]
fn questions_count_where_the_policy_says_so() {
    let asked = || question("x", "Sure?");
    for (what, ends) in [(&[Spend::Ask][..], true), (&[Spend::Tool][..], false)] {
        let spends = agent(steps(1, what));
        let mut p = Play::planned(spends, plan_with("a", |_| Action::Agent));
        p.drive();
        p.turn("g0.r0.a.n1.t1", calls(vec![asked()]));
        p.expect(&["ask q1 question"]);
        p.answer_with("q1", Answer::respond(json!("yes")));
        p.drive();
        p.turn("g0.r0.a.n1.t2", calls(vec![asked()]));
        p.expect(if ends { &["finish failed"] } else { &["ask q2 question"] });
    }
}

#[test]
fn a_planners_question_beyond_the_budget_is_not_asked() {
    let mut p = Play::submit(agent(steps(1, &[Spend::Plan, Spend::Ask])));
    p.drive();
    let question = Asked { prompt: "Which?".into(), kind: AskedKind::Query, default: None };
    p.reply(1, PlanReply::Question { question });
    p.expect(&["finish failed"]);
    assert_eq!(reason(&p), FailReason::BudgetExceeded);
}

#[test]
fn work_that_is_out_may_end_or_is_abandoned() {
    for at_limit in [AtLimit::LetEnd, AtLimit::Abandon] {
        let spends = agent(|a| {
            steps(1, &[Spend::Tool])(a);
            a.budget.at_limit = at_limit;
        });
        let mut p = Play::planned(spends, plan("a b"));
        match at_limit {
            AtLimit::Abandon => p.expect(&["call g0.r0.a #1", "finish failed"]),
            AtLimit::LetEnd => {
                p.expect(&["call g0.r0.a #1"]);
                p.signal(Signal::Resume);
                p.expect(&[]);
                p.ok("g0.r0.a", json!("got it"));
                p.expect(&["finish failed"]);
                let Outcome::Failed { results, .. } = p.outcome() else { panic!("not failed") };
                assert_eq!(results, json!({"a": "got it"}));
            }
        }
        assert_eq!(reason(&p), FailReason::BudgetExceeded);
    }
}

#[test]
fn a_decision_that_was_made_before_the_limit_was_known_is_carried_out() {
    let spends = agent(|a| a.budget.tokens = Some(11));
    let mut p = Play::planned(spends, plan_with("a b", |_| Action::Agent));
    let first = p.job.decide().unwrap().decision;
    p.decision(first);
    let second = p.job.decide().unwrap().decision;
    p.done("g0.r0.a.n1.t1", true, "eleven tokens");
    p.decision(second);
    assert!(p.job.poison().is_none());
    p.done("g0.r0.b.n1.t1", true, "it was asked, so it counts");
    p.expect(&["finish failed"]);
}

#[test]
fn the_model_is_warned_from_a_share_on_and_people_see_it() {
    let spends = agent(|a| {
        a.budget.turns = Some(5);
        a.budget.warn_at = 0.6;
        a.deadline_ms = Some(1_000_000);
    });
    let mut p = Play::planned(spends, plan_with("a", |_| Action::Agent));
    let mut warned = Vec::new();
    for turn in 1..=5 {
        p.drive();
        let Some(Decision::Turn(work)) = p.decisions.last() else { panic!("no turn") };
        let near = work.notices.iter().any(|notice| matches!(notice, Notice::BudgetLow { .. }));
        warned.push((near, p.job.warnings() == [Axis::Turns]));
        let work = format!("g0.r0.a.n1.t{turn}");
        p.turn(&work, calls(vec![tool_call("x", "read", json!({"page": turn}))]));
        p.drive();
        p.ok(&format!("{work}.c0"), json!(turn));
    }
    // The command of a turn is decided before that turn is counted.
    let (n, y) = (false, true);
    assert_eq!(warned, [(n, n), (n, n), (n, y), (y, y), (y, y)]);
    let gauges = p.view().budget;
    assert_eq!(gauges.iter().map(|g| g.axis).collect::<Vec<_>>(), [Axis::Turns, Axis::Time]);
    assert!(gauges[0].is_used_up() && !gauges[1].warned);
}

#[test]
fn a_planner_is_warned_too() {
    let spends = agent(|a| {
        steps(3, &[Spend::Tool])(a);
        a.step.on_failure = OnFailure::Replan;
        a.budget.warn_at = 0.5;
    });
    let mut p = Play::planned(spends, plan("a b"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.no("g0.r0.b");
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one round") };
    let [Notice::BudgetLow { gauge }] = work.notices[..] else { panic!("{:?}", work.notices) };
    assert_eq!((gauge.used, gauge.limit), (2.0, 3.0));
}

#[test]
fn the_report_says_what_was_reached_and_why_not_more() {
    for (language, parts) in [
        (
            Language::En,
            [
                "the maximum number of steps is reached (1 of 1 steps)",
                "\nDone:\n1. milk is bought",
                "\nNot done:\n1. do b\n2. do c",
                "\nWhy: the job may spend no more",
                "\nNext: ",
            ],
        ),
        (
            Language::Zh,
            [
                "已达到最大执行步数（1/1 步）",
                "\n已完成部分：\n1. milk is bought",
                "\n未完成部分：\n1. do b\n2. do c",
                "\n未完成原因：任务的预算已用尽",
                "\n下一步建议：",
            ],
        ),
    ] {
        let spends = agent(|a| {
            steps(1, &[Spend::Tool])(a);
            a.dispatch = Dispatch::Sequential;
        });
        let mut p = Play::submit_in(spends, language);
        p.drive();
        p.reply(1, PlanReply::Plan { plan: plan("a b c") });
        p.drive();
        p.ok("g0.r0.a", json!("milk is bought"));
        p.expect(&["finish failed"]);
        let Outcome::Failed { message, .. } = p.outcome() else { panic!("not failed") };
        let mut rest = message.as_str();
        for part in parts {
            let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not in {message}"));
            rest = &rest[at + part.len()..];
        }
        assert!(message.starts_with(parts[0]));
    }
}

#[test]
fn a_log_from_before_there_were_budgets_folds_as_it_did() {
    let before: Agent = serde_json::from_value(json!({"confirm": false})).unwrap();
    assert!(before.budget.is_unlimited());
    let (p, decided) = endless(before);
    assert_eq!(count(&decided, "turn"), 100);
    assert_eq!(reason(&p), FailReason::StepFailed);
    assert!(p.view().budget.is_empty());
}

fn cost(tokens: u64, money: Option<f64>) -> Cost {
    Cost { usage: Usage::reported(tokens, 1), money }
}

/// The cost of tools belongs to the job's spending: once per result that counts, faults included.
/// It is reported as an event and shown per tool.
#[test]
fn what_tools_cost_counts_once_among_what_the_job_spent() {
    let mut p = Play::planned(agent(|a| a.tool.retry.jitter = 0.0), plan("a b"));
    p.drive();
    let usage = p.view().usage;
    let mut watching = Projection::default();
    watching.take(p.job.seq(), jiff::Timestamp::UNIX_EPOCH, None, &p.job);
    let broke = ToolResult::failed("broken");
    p.result_at("g0.r0.a", 1, broke, Some(Fault::Timeout), cost(10, Some(0.5)));
    p.drive();
    p.fire("retry-1");
    p.drive();
    for _redelivered in 0..3 {
        p.result_at("g0.r0.a", 2, ToolResult::ok(json!(1)), None, cost(20, Some(0.25)));
    }
    p.result_at("g0.r0.b", 1, ToolResult::ok(json!(1)), None, Cost::default());
    let view = p.view();
    assert_eq!(view.ignored, 2);
    assert_eq!(view.usage.input_tokens, usage.input_tokens + 30);
    assert_eq!(view.usage.output_tokens, usage.output_tokens + 2);
    let [echo] = view.tools.as_slice() else { panic!("{:?}", view.tools) };
    assert_eq!((echo.tool.as_str(), echo.calls, echo.money), ("echo", 2, Some(0.75)));
    assert_eq!((echo.usage.input_tokens, echo.usage.output_tokens), (30, 2));

    let (mut job, mut events) = (Job::new(p.job.id().clone()), Projection::default());
    let mut told = Vec::new();
    for (at, family, record) in &p.log {
        job.apply(*at, family, record.as_ref());
        let happened = events.take(at.seq, at.time, record.as_ref().ok(), &job);
        told.extend(happened.into_iter().filter_map(|event| match event.happened {
            Happened::Usage(usage) if usage.tool.is_some() => {
                Some((usage.tool.unwrap().to_string(), usage.spent.input_tokens, usage.paid))
            }
            _ => None,
        }));
    }
    assert_eq!(told, [("echo".to_owned(), 10, Some(0.5)), ("echo".to_owned(), 20, Some(0.25))]);
}

/// A tool that has reported a cost is not called once its budget is used up; other tools are.
#[rstest]
#[case::tokens(|a: &mut Agent| a.budget.tokens = Some(30), cost(40, None))]
#[case::money(|a: &mut Agent| {
    a.budget.money = Some(0.5);
    a.budget.price = Some(Price::new(1.0, 1.0));
}, cost(1, Some(0.5)))]
fn a_tool_that_costs_is_held_back_when_nothing_is_left(
    #[case] limit: fn(&mut Agent),
    #[case] cost: Cost,
) {
    for (other, ends) in [("echo", FailReason::BudgetExceeded), ("free", FailReason::StepFailed)] {
        let step = |name: &str| match plan("x").steps[0].action.clone() {
            Action::Tool { args, binding, .. } => {
                let tool = if name == "a" { "echo" } else { other };
                Action::Tool { tool: ToolName::new(tool).unwrap(), args, binding }
            }
            Action::Agent => Action::Agent,
        };
        let mut p = Play::planned(agent(limit), plan_with("a b<a", step));
        p.drive();
        p.result_at("g0.r0.a", 1, ToolResult::ok(json!(1)), None, cost);
        p.drive();
        if other == "free" {
            p.no("g0.r0.b");
            p.drive();
        }
        assert_eq!(reason(&p), ends, "{other}");
    }
}

/// Tokens that a tool has already paid for are not charged at the model's price as well.
#[test]
fn tokens_of_a_tool_cost_what_it_says_or_what_those_of_the_job_do() {
    let spent = |money| {
        let mut p = Play::planned(
            agent(|a| {
                a.budget.money = Some(100.0);
                a.budget.price = Some(Price::new(1e6, 0.0));
            }),
            plan("a"),
        );
        p.drive();
        let before = p.view().budget[0].used;
        p.result_at("g0.r0.a", 1, ToolResult::ok(json!(1)), None, cost(3, money));
        p.view().budget[0].used - before
    };
    assert_eq!((spent(None), spent(Some(0.5)), spent(Some(-1.0))), (3.0, 0.5, 3.0));
}

/// Approves the waiting call.
fn approve(p: &mut Play) {
    let asked = p.view().questions.remove(0);
    let shown = serde_json::to_value(&asked).unwrap();
    let digest = shown["digest"].as_str().map(str::to_owned);
    p.answer_with(asked.id.as_str(), Answer::approve(digest));
}

#[test]
fn a_step_counts_that_a_person_was_asked_about_first() {
    let approved = |_: &str| Action::Tool {
        tool: proto::id::ToolName::new("echo").unwrap(),
        args: json!({}),
        binding: proto::tool::Binding { approval: proto::tool::Approval::Always, ..binding() },
    };
    let change = |a: &mut Agent| {
        steps(2, &[Spend::Step])(a);
        a.dispatch = Dispatch::Sequential;
    };
    let mut p = Play::planned(agent(change), plan_with("a b c d e", approved));
    for (n, step) in ["a", "b"].into_iter().enumerate() {
        p.expect(&[&format!("ask q{} tool_approval", n + 1)]);
        approve(&mut p);
        p.expect(&[&format!("call g0.r0.{step} #1")]);
        p.ok(&format!("g0.r0.{step}"), json!(n));
    }
    p.expect(&["ask q3 tool_approval"]);
    approve(&mut p);
    p.expect(&["finish failed"]);
    assert_eq!(reason(&p), FailReason::BudgetExceeded);
    assert_eq!(p.states(), "a:completed b:completed c:canceled d:canceled e:canceled");
}
