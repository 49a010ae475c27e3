//! Loop guards: notices to the model, forced answers, ended runs, and complete reports.

use proto::{
    agent::{Agent, OnFailure, ReplanWhen},
    decision::{Decision, Note},
    event::Happened,
    fact::{CallTarget, PlanReply, Signal, TurnCall},
    id::WorkId,
    job::{FailReason, Outcome},
    notice::{Notice, NoticeKind},
    outline::{self, OutlineChange},
    plan::Action,
    policy::{AskLimit, PlanProtocol},
    retry::RetryPolicy,
    step::StepState,
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::events::Projection;

use super::play::{Play, agent, calls, plan, plan_with, question, refused_call, tool_call};

fn looping(agent: Agent) -> Play {
    Play::planned(agent, plan_with("a", |_| Action::Agent))
}

fn work(turn: u32) -> String {
    format!("g0.r0.a.n1.t{turn}")
}

/// The answer of a tool.
#[derive(Clone, Copy)]
enum Says {
    /// Always the same result.
    Same,
    /// A new result each time.
    New,
    No,
}

/// Takes a turn with these calls, lets their tools answer, and returns the command of the next
/// turn.
fn turn(p: &mut Play, number: u32, wanted: Vec<(TurnCall, Says)>) -> Option<Decision> {
    let (wanted, says): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
    p.turn(&work(number), calls(wanted));
    p.drive();
    for (n, says) in says.iter().enumerate() {
        let id = format!("{}.c{n}", work(number));
        match says {
            Says::Same => p.ok(&id, json!("the same")),
            Says::New => p.ok(&id, json!([number, n])),
            Says::No => p.no(&id),
        }
    }
    p.drive();
    p.decisions.first().cloned()
}

fn read(page: u32) -> TurnCall {
    tool_call("x", "read", json!({ "page": page }))
}

fn told(decision: Option<&Decision>) -> Vec<Notice> {
    let Some(Decision::Turn(turn)) = decision else { panic!("no turn: {decision:?}") };
    turn.notices.clone()
}

fn must_answer(decision: Option<&Decision>) -> bool {
    matches!(decision, Some(Decision::Turn(turn)) if turn.must_answer)
}

fn failed(p: &Play) -> (FailReason, String) {
    let Outcome::Failed { reason, message, .. } = p.outcome() else { panic!("{:?}", p.outcome()) };
    (reason, message)
}

#[test]
fn the_same_call_again_and_again_is_told_and_then_only_an_answer_is_wanted() {
    let mut p = looping(agent(|_| {}));
    p.drive();
    let mut next = Vec::new();
    for number in 1..=5 {
        next.push(turn(&mut p, number, vec![(read(1), Says::New)]));
    }
    let times: Vec<_> = next
        .iter()
        .map(|decision| match told(decision.as_ref())[..] {
            [] => 0,
            [Notice::Repeated { times, must_answer, .. }] => times + 10 * u32::from(must_answer),
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(times, [0, 0, 3, 4, 15]);
    assert_eq!(next.iter().filter(|d| must_answer(d.as_ref())).count(), 1);
    assert!(matches!(p.view().plan.unwrap().steps[0].notices[..], [Notice::Repeated { .. }]));
    p.done(&work(6), true, "enough");
    p.expect(&["finish completed"]);
}

#[test]
fn a_model_that_does_not_answer_then_has_its_run_ended_with_all_that_is_known() {
    let mut p = looping(agent(|_| {}));
    p.drive();
    for number in 1..=5 {
        turn(&mut p, number, vec![(read(1), Says::Same)]);
    }
    p.turn(&work(6), calls(vec![refused_call("x", "read", json!({}))]));
    p.expect(&["finish failed"]);
    let (reason, message) = failed(&p);
    assert_eq!(reason, FailReason::NoProgress);
    assert!(message.contains("tools were called where only an answer was expected"), "{message}");
    let step = &p.view().plan.unwrap().steps[0];
    assert_eq!((step.state, step.turns, step.calls.len()), (StepState::Failed, 6, 5));
    assert_eq!(step.notices, [Notice::NoAnswer]);
}

#[rstest]
#[case::in_turn(&[1, 2, 1, 2, 1, 2, 1], true)]
#[case::always_new(&[1, 2, 3, 4, 5, 6, 7], false)]
#[case::something_new_between(&[1, 1, 2, 1, 1, 3, 1], false)]
fn calls_are_repeated_when_nothing_new_is_called_between(
    #[case] pages: &[u32],
    #[case] told_of: bool,
) {
    let mut p = looping(agent(|_| {}));
    p.drive();
    let mut any = false;
    for (number, page) in (1..).zip(pages) {
        let next = turn(&mut p, number, vec![(read(*page), Says::New)]);
        any |= !told(next.as_ref()).is_empty();
    }
    assert_eq!(any, told_of);
}

#[test]
fn the_order_of_arguments_makes_no_other_call() {
    let mut p = looping(agent(|_| {}));
    p.drive();
    let args = [json!({"a": 1, "b": [2]}), json!({"b": [2], "a": 1}), json!({"a": 1, "b": [2]})];
    let mut next = None;
    for (number, args) in (1..).zip(args) {
        next = turn(&mut p, number, vec![(tool_call("x", "read", args), Says::New)]);
    }
    assert!(matches!(told(next.as_ref())[..], [Notice::Repeated { times: 3, .. }]));
}

#[test]
fn a_tool_that_fails_three_times_in_a_row_is_told_until_it_succeeds() {
    let mut p = looping(agent(|_| {}));
    p.drive();
    let says = [Says::No, Says::No, Says::No, Says::No, Says::New, Says::No];
    let mut seen = Vec::new();
    for (number, says) in (1..).zip(says) {
        let next = turn(&mut p, number, vec![(read(number), says)]);
        seen.push(match told(next.as_ref())[..] {
            [] => 0,
            [Notice::ToolFailure { ref tool, times }] if tool == "read" => times,
            ref other => panic!("{other:?}"),
        });
    }
    assert_eq!(seen, [0, 0, 3, 4, 0, 0]);
}

#[test]
fn people_see_a_warning_while_it_holds_and_one_event_each_time_it_begins() {
    let mut p = looping(agent(|_| {}));
    p.drive();
    let says = [Says::No, Says::No, Says::No, Says::No, Says::New, Says::No, Says::No, Says::No];
    let mut seen = Vec::new();
    for (number, says) in (1..).zip(says) {
        turn(&mut p, number, vec![(read(number), says)]);
        let of_job: Vec<NoticeKind> = p.job.summary().unwrap().notices.into_iter().collect();
        let of_view: Vec<NoticeKind> = p.view().notices.iter().map(Notice::kind).collect();
        assert_eq!(of_job, of_view);
        seen.push(of_view.contains(&NoticeKind::ToolFailure));
    }
    assert_eq!(seen, [false, false, true, true, false, false, false, true]);

    let mut projection = Projection::default();
    let events = p.log.iter().flat_map(|(at, _, record)| {
        projection.take(at.seq, at.time, record.as_ref().ok(), &p.at(at.seq))
    });
    let told = events.filter_map(|event| match event.happened {
        Happened::Notice(told) => Some((told.work.to_string(), told.message)),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    let message = "read has failed 3 times in a row".to_owned();
    let works = [4, 9].map(|number| (work(number).to_string(), message.clone()));
    assert_eq!(told, works);
}

#[test]
fn a_limit_that_is_nearly_used_up_is_a_warning_of_the_job() {
    let mut p = looping(agent(|a| (a.budget.steps, a.budget.warn_at) = (Some(4), 0.5)));
    p.drive();
    let mut seen = vec![p.view().notices];
    turn(&mut p, 1, vec![(read(1), Says::New)]);
    seen.push(p.view().notices);
    assert!(seen[0].is_empty(), "{seen:?}");
    assert!(matches!(seen[1][..], [Notice::BudgetLow { .. }]), "{seen:?}");
    p.signal(Signal::Cancel);
    p.drive();
    assert!(p.view().notices.is_empty(), "an ended job warns of nothing");
}

#[test]
fn failures_are_counted_by_tool_and_in_the_order_of_the_calls() {
    let mut p = looping(agent(|_| {}));
    p.drive();
    let call =
        |n: u32, name: &str, says| (tool_call(&format!("{name}{n}"), name, json!({"n": n})), says);
    turn(&mut p, 1, vec![call(1, "read", Says::No), call(1, "list", Says::No)]);
    turn(&mut p, 2, vec![call(2, "read", Says::No), call(2, "list", Says::New)]);
    let next = turn(&mut p, 3, vec![call(3, "list", Says::No), call(3, "read", Says::No)]);
    let [Notice::ToolFailure { tool, times: 3 }] = &told(next.as_ref())[..] else {
        panic!("{:?}", told(next.as_ref()))
    };
    assert_eq!(tool, "read");
}

#[test]
fn turns_of_which_nothing_new_comes_end_the_run() {
    let mut p = looping(agent(|a| a.guard.no_progress_stop = 4));
    p.drive();
    turn(&mut p, 1, vec![(read(1), Says::Same)]);
    for number in 2..=4 {
        p.turn(&work(number), calls(vec![refused_call("x", "fly", json!({"to": number}))]));
        p.drive();
    }
    p.turn(&work(5), calls(vec![refused_call("x", "fly", json!({}))]));
    p.expect(&["stop g0.r0.a.n1.t6", "finish failed"]);
    let (reason, message) = failed(&p);
    assert_eq!(reason, FailReason::NoProgress);
    for part in ["no progress", "\nDone: nothing", "\nNot done:\n1. do a", "\nWhy: ", "\nNext: "] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let step = &p.view().plan.unwrap().steps[0];
    assert_eq!(step.notices, [Notice::NoProgress { turns: 4 }]);
    assert_eq!((step.turns, step.calls.len()), (5, 1));
}

#[rstest]
#[case::a_new_result(read(1), Says::New)]
#[case::a_new_call(read(99), Says::Same)]
#[case::a_new_call_that_fails(read(98), Says::No)]
fn a_new_call_or_a_new_result_is_progress(#[case] call: TurnCall, #[case] says: Says) {
    let mut p = looping(agent(|a| {
        a.guard.no_progress_stop = 3;
        a.guard.repeat_stop = 0;
    }));
    p.drive();
    for number in 1..=3 {
        turn(&mut p, number, vec![(read(1), Says::Same)]);
    }
    turn(&mut p, 4, vec![(call, says)]);
    let next = turn(&mut p, 5, vec![(read(1), Says::Same)]);
    assert!(matches!(next, Some(Decision::Turn(_))), "{next:?}");
}

#[test]
fn guards_that_are_off_say_and_end_nothing() {
    let mut p = looping(agent(|a| {
        let guard = &mut a.guard;
        (guard.repeat_warn, guard.repeat_stop) = (0, 0);
        (guard.failing_warn, guard.no_progress_stop) = (0, 0);
        a.step.max_turns = 30;
    }));
    p.drive();
    for number in 1..=29 {
        let next = turn(&mut p, number, vec![(read(1), Says::No)]);
        assert_eq!((told(next.as_ref()), must_answer(next.as_ref())), (vec![], false));
    }
}

#[test]
fn a_run_that_a_guard_ended_is_run_again_where_the_policy_says_so() {
    let mut p = looping(agent(|a| {
        a.guard.no_progress_stop = 1;
        a.step.retry = RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
    }));
    p.drive();
    p.turn(&work(1), calls(vec![refused_call("x", "fly", json!({}))]));
    p.expect(&["stop g0.r0.a.n1.t2", "wait g0.r0.a #2"]);
    p.fire("retry-1");
    p.expect(&["turn g0.r0.a.n2.t1 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    let error = turn.task.as_ref().unwrap().previous_error.as_deref().unwrap();
    assert!(error.contains("no progress"), "{error}");
    assert!(p.view().plan.unwrap().steps[0].notices.is_empty());
    p.done("g0.r0.a.n2.t1", true, "so it goes");
    p.expect(&["finish completed"]);
}

#[test]
fn plans_of_which_nothing_comes_are_not_made_for_ever() {
    let mut p = Play::submit(agent(|a| {
        a.step.on_failure = OnFailure::Replan;
        a.replan.max = 50;
        a.guard.no_progress_stop = 2;
    }));
    p.drive();
    let mut stopped = false;
    for round in 1..=5 {
        // The same failing call each time, in a step with another id.
        p.reply(round, PlanReply::Plan { plan: plan(&format!("s{round}")) });
        p.drive();
        p.no(&format!("g0.r{}.s{round}", round - 1));
        let decided = p.drive();
        if decided.iter().any(|label| label.starts_with("stop")) {
            assert_eq!((round, decided.last().map(String::as_str)), (3, Some("finish failed")));
            stopped = true;
            break;
        }
    }
    assert!(stopped);
    assert_eq!(failed(&p).0, FailReason::NoProgress);
}

#[test]
fn a_planner_is_told_of_a_tool_that_keeps_failing() {
    let mut p = Play::submit(agent(|a| {
        a.step.on_failure = OnFailure::Replan;
        a.replan.max = 50;
    }));
    p.drive();
    for round in 1..=3 {
        p.reply(round, PlanReply::Plan { plan: plan(&format!("s{round}")) });
        p.drive();
        p.no(&format!("g0.r{}.s{round}", round - 1));
        p.drive();
    }
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one round") };
    let failure = |n: &&Notice| matches!(n, Notice::ToolFailure { times: 3, .. });
    assert!(work.notices.iter().any(|n| failure(&n)), "{:?}", work.notices);
}

#[test]
fn a_log_in_which_nobody_wanted_an_answer_goes_on_as_it_did() {
    let mut p = looping(agent(|_| {}));
    p.drive();
    for number in 1..=4 {
        turn(&mut p, number, vec![(read(1), Says::Same)]);
    }
    p.turn(&work(5), calls(vec![read(1)]));
    p.drive();
    p.ok(&format!("{}.c0", work(5)), json!("the same"));
    // A supervisor of a release without guards stored the next turn.
    let next = p.job.decide().unwrap();
    let Decision::Turn(mut old) = next.decision else { panic!("no turn") };
    assert!(old.must_answer);
    (old.must_answer, old.notices) = (false, Vec::new());
    p.decision(Decision::Turn(old));
    p.turn(&work(6), calls(vec![read(1)]));
    p.expect(&["call g0.r0.a.n1.t6.c0 #1"]);
}

#[test]
fn a_stop_that_came_too_late_says_nothing() {
    let mut p = looping(agent(|_| {}));
    p.drive();
    for work in ["g0.r0.a.n1.t1", "g0.r0.a.n1.t2", "g0.p2", "g0.r9.z.n1.t1"] {
        let work = WorkId::new(work).unwrap();
        let notice = Notice::NoProgress { turns: 8 };
        p.decision(Decision::Note(Note::Stopped { work, notice }));
    }
    assert!(p.job.poison().is_none());
    p.done(&work(1), true, "well");
    p.expect(&["finish completed"]);
}

/// Returns every order of `n` events.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(n - 1);
    let insert = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, n - 1);
        order
    };
    shorter.iter().flat_map(|order| (0..n).map(move |at| insert(order, at))).collect()
}

#[test]
fn results_of_one_turn_are_told_in_the_models_order_whatever_the_order_they_come_in() {
    let wanted = |n: usize| -> Vec<TurnCall> {
        (0..n)
            .map(|i| tool_call(&format!("c{i}"), ["read", "list"][i % 2], json!({"i": i})))
            .collect()
    };
    let mut tried = 0;
    for n in 1..=4 {
        let mut first: Option<Value> = None;
        for order in orders(n) {
            let mut p = looping(agent(|_| {}));
            p.drive();
            p.turn(&work(1), calls(wanted(n)));
            p.drive();
            for call in &order {
                assert_eq!(p.drive(), [""; 0], "the next turn waits for every result");
                let id = format!("{}.c{call}", work(1));
                if call % 3 == 2 { p.no(&id) } else { p.ok(&id, json!(call)) }
            }
            p.drive();
            let [Decision::Turn(next)] = p.decisions.as_slice() else { panic!("not one turn") };
            let ids: Vec<_> = next.replies.iter().map(|r| r.id.as_str()).collect();
            assert_eq!(ids, (0..n).map(|i| format!("c{i}")).collect::<Vec<_>>());
            let told = json!([next.replies, next.notices, p.view().plan.unwrap().steps[0].calls]);
            assert_eq!(*first.get_or_insert_with(|| told.clone()), told, "{order:?}");
            tried += 1;
        }
    }
    assert_eq!(tried, 1 + 2 + 6 + 24);
}

#[test]
fn a_loop_that_works_through_its_list_gets_on() {
    let update = |n: u32| TurnCall {
        id: format!("u{n}"),
        name: "set_plan".into(),
        args: json!({ "n": n }),
        target: CallTarget::Outline {
            change: OutlineChange::Set { items: outline::of_texts([format!("item {n}").as_str()]) },
        },
    };
    let work = |number: u32| format!("g0.r0.goal.n1.t{number}");
    let mut p = Play::submit(agent(|a| {
        a.plan.protocol = PlanProtocol::InlineTools;
        (a.guard.no_progress_stop, a.guard.repeat_stop) = (3, 0);
    }));
    p.drive();
    for number in 1..=8 {
        p.turn(&work(number), calls(vec![update(number)]));
        p.expect(&[&format!("turn {} #1", work(number + 1))]);
    }
    // Writing the same outline again is no progress.
    for number in 9..=11 {
        p.turn(&work(number), calls(vec![update(8)]));
        let next = if number < 11 { "turn" } else { "stop" };
        assert!(p.drive()[0].starts_with(next), "turn {number}");
    }
    assert_eq!(failed(&p).0, FailReason::NoProgress);
}

#[test]
fn tasks_that_are_done_without_words_get_on_and_the_same_task_again_does_not() {
    for (again, ends) in [(false, 10), (true, 4)] {
        let mut p = Play::submit(agent(|a| {
            (a.replan.when, a.replan.max) = (Some(ReplanWhen::AfterEachStep), 50);
            a.guard.no_progress_stop = 3;
        }));
        p.drive();
        let mut done = 0;
        for round in 1..=10 {
            let mut next = plan_with(&format!("s{round}"), |_| Action::Agent);
            if again {
                next.steps[0].description = "look".into();
            }
            p.reply(round, PlanReply::Plan { plan: next });
            p.drive();
            p.done(&format!("g0.r{}.s{round}.n1.t1", round - 1), true, "");
            done += 1;
            p.drive();
            if p.job.has_ended() {
                assert_eq!(failed(&p).0, FailReason::NoProgress);
                break;
            }
        }
        assert_eq!((done, p.job.has_ended()), (ends, again));
    }
}

#[test]
fn a_call_for_which_there_was_no_room_is_no_failure_of_its_tool() {
    let mut p = looping(agent(|a| (a.step.max_calls, a.ask.limit) = (1, AskLimit::AtMost(0))));
    p.drive();
    for number in 1..=3 {
        let page = |n: u32| (read(number * 10 + n), Says::New);
        let no_room = vec![page(0), page(1), page(2), page(3)];
        let (wanted, _): (Vec<_>, Vec<_>) = no_room.into_iter().unzip();
        p.turn(&work(number), calls(wanted));
        p.drive();
        p.ok(&format!("{}.c0", work(number)), json!(number));
        p.drive();
        assert_eq!(told(p.decisions.first()), [], "turn {number}");
    }
    for number in 4..=7 {
        p.turn(&work(number), calls(vec![question("q", &format!("what is {number}?"))]));
        p.drive();
        assert_eq!(told(p.decisions.first()), [], "turn {number}");
    }
}
