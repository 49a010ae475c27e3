//! Outages: work waits for a service that cannot be reached.

use jiff::{SignedDuration, Timestamp};
use proto::{
    agent::{Agent, OnGivenUp},
    decision::Decision,
    fact::{PlanReply, Signal, TurnReply},
    id::Attempt,
    job::{FailReason, JobState, Outcome, SubStatus},
    plan::Action,
    retry::OutagePolicy,
    tool::Fault,
    work_error::{ErrorClass, WorkError},
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, plan, plan_with, transient};

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn unreachable() -> WorkError {
    WorkError::new("the model provider cannot be reached", ErrorClass::Outage)
}

/// A unit of work whose command is out.
struct Unit {
    play: Play,
    /// Breaks the current attempt by an outage.
    outage: fn(&mut Play),
    /// Breaks the current attempt by another transient error.
    transient: fn(&mut Play),
    /// Ends the job well.
    end: fn(&mut Play),
}

fn planning(agent: Agent) -> Unit {
    let mut play = Play::submit(Agent { confirm: false, ..agent });
    play.drive();
    Unit {
        play,
        outage: |p| p.reply(1, PlanReply::Failed { error: unreachable() }),
        transient: |p| p.reply(1, PlanReply::Failed { error: transient() }),
        end: |p| {
            p.reply(1, PlanReply::Plan { plan: plan("a") });
            p.drive();
            p.ok("g0.r0.a", json!(1));
        },
    }
}

fn turning(agent: Agent) -> Unit {
    let mut play = Play::planned(agent, plan_with("a", |_| Action::Agent));
    play.drive();
    Unit {
        play,
        outage: |p| p.turn("g0.r0.a.n1.t1", TurnReply::Failed { error: unreachable() }),
        transient: |p| p.turn("g0.r0.a.n1.t1", TurnReply::Failed { error: transient() }),
        end: |p| p.done("g0.r0.a.n1.t1", true, "done"),
    }
}

fn calling(agent: Agent) -> Unit {
    let mut play = Play::planned(agent, plan("a"));
    play.drive();
    Unit {
        play,
        outage: |p| p.outage("g0.r0.a"),
        transient: |p| p.fault("g0.r0.a", Fault::Timeout),
        end: |p| p.ok("g0.r0.a", json!(1)),
    }
}

/// Lets the next attempts break by an outage until it has lasted `length`, and returns the number
/// of attempts. The last command is out, or the job has ended.
fn outage(unit: &mut Unit, length: SignedDuration) -> u32 {
    let Unit { play, outage, .. } = unit;
    let start: Timestamp = play.view().updated;
    for attempts in 1.. {
        outage(play);
        play.drive();
        let [Decision::Wait(wait)] = play.decisions.as_slice() else { return attempts };
        let (timer, until) = (wait.timer.clone(), wait.until);
        play.fire(timer.as_str());
        play.drive();
        if until.duration_since(start) >= length {
            return attempts;
        }
    }
    unreachable!("a range without an end")
}

fn one_attempt(change: impl FnOnce(&mut Agent)) -> Agent {
    agent(|agent| {
        agent.tool.retry.max_attempts = 1;
        change(agent);
    })
}

#[rstest]
#[case::a_round_of_planning(planning)]
#[case::a_turn(turning)]
#[case::a_call(calling)]
fn work_waits_for_the_end_of_an_outage_however_few_attempts_it_has(
    #[case] unit: fn(Agent) -> Unit,
) {
    let mut unit = unit(one_attempt(|_| {}));
    let attempts = outage(&mut unit, DAY * 6);
    assert!((100..300).contains(&attempts), "{attempts}");
    (unit.end)(&mut unit.play);
    unit.play.drive();
    assert_eq!(unit.play.view().state, JobState::Completed);
}

#[rstest]
#[case::a_round_of_planning(planning, FailReason::PlanFailed)]
#[case::a_turn(turning, FailReason::StepFailed)]
#[case::a_call(calling, FailReason::StepFailed)]
fn without_a_deadline_an_outage_of_more_than_the_limit_fails_the_job(
    #[case] unit: fn(Agent) -> Unit,
    #[case] expected: FailReason,
) {
    let mut unit = unit(one_attempt(|_| {}));
    outage(&mut unit, DAY * 30);
    let Outcome::Failed { reason, .. } = unit.play.outcome() else { panic!("not failed") };
    assert_eq!(reason, expected);
    let lasted = unit.play.view().updated.duration_since(unit.play.view().created);
    assert!(lasted > DAY * 6 && lasted <= DAY * 8, "{lasted:?}");
}

#[test]
fn a_job_with_a_deadline_waits_until_its_deadline() {
    let mut unit = turning(one_attempt(|agent| {
        agent.deadline_ms = Some(u64::try_from((DAY * 20).as_millis()).unwrap());
    }));
    outage(&mut unit, DAY * 19);
    assert_eq!(unit.play.view().state, JobState::Working);
    unit.play.fire("deadline");
    unit.play.drive();
    let Outcome::Failed { reason, .. } = unit.play.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::DeadlineExceeded);
}

#[rstest]
#[case::a_turn(turning)]
#[case::a_call(calling)]
fn attempts_during_an_outage_do_not_count_as_attempts_of_the_retry_policy(
    #[case] unit: fn(Agent) -> Unit,
) {
    let mut unit = unit(agent(|agent| agent.tool.retry.max_attempts = 3));
    for _ in 0..2 {
        outage(&mut unit, SignedDuration::from_mins(10));
        (unit.transient)(&mut unit.play);
        unit.play.drive();
        let [Decision::Wait(wait)] = unit.play.decisions.as_slice() else { panic!("no wait") };
        let timer = wait.timer.clone();
        unit.play.fire(timer.as_str());
        unit.play.drive();
    }
    outage(&mut unit, SignedDuration::from_mins(10));
    (unit.transient)(&mut unit.play);
    unit.play.expect(&["finish failed"]);
}

#[rstest]
#[case::a_round_of_planning(planning)]
#[case::a_turn(turning)]
#[case::a_call(calling)]
fn a_policy_without_waiting_bounds_the_attempts_of_an_outage(#[case] unit: fn(Agent) -> Unit) {
    let mut unit = unit(agent(|agent| {
        agent.tool.retry.max_attempts = 3;
        agent.outage = OutagePolicy::never();
    }));
    assert_eq!(outage(&mut unit, DAY), 3);
    assert_eq!(unit.play.view().state, JobState::Failed);
}

#[test]
fn the_view_names_the_next_attempt_the_error_and_the_start_of_the_outage() {
    let mut unit = turning(one_attempt(|_| {}));
    let play = &mut unit.play;
    assert_eq!(play.view().retries, []);
    (unit.outage)(play);
    let began = play.view().updated;
    play.expect(&["wait g0.r0.a.n1.t1 #2"]);
    let view = play.view();
    assert_eq!(view.sub_status, Some(SubStatus::BackingOff));
    let [retry] = view.retries.as_slice() else { panic!("{:?}", view.retries) };
    assert_eq!((retry.attempt, retry.work.as_str()), (Attempt(2), "g0.r0.a.n1.t1"));
    assert_eq!(retry.error, "the model provider cannot be reached");
    assert_eq!(retry.outage_since, Some(began));
    assert!(retry.next_at.is_some_and(|next| next > began), "{retry:?}");
    assert_eq!(play.job.summary().unwrap().retry.as_ref(), Some(retry));
    // While the attempt runs, the view still has the last error.
    play.fire("retry-1");
    play.expect(&["turn g0.r0.a.n1.t1 #2"]);
    let view = play.view();
    assert_eq!((view.retries.len(), view.retries[0].next_at), (1, None));
    (unit.end)(play);
    play.drive();
    assert_eq!(play.view().retries, []);
}

#[test]
fn an_operators_retry_ends_the_wait_at_once_and_allows_the_outage_its_whole_time_again() {
    let mut unit = calling(one_attempt(|agent| agent.tool.on_given_up = OnGivenUp::Park));
    outage(&mut unit, DAY * 30);
    assert_eq!(unit.play.view().sub_status, Some(SubStatus::Parked), "given up after the limit");
    unit.play.signal(Signal::Retry);
    unit.play.drive();
    outage(&mut unit, DAY * 6);
    (unit.outage)(&mut unit.play);
    unit.play.drive();
    unit.play.signal(Signal::Retry);
    unit.play.drive();
    assert!(matches!(unit.play.decisions.as_slice(), [Decision::Call(_)]));
    (unit.end)(&mut unit.play);
    unit.play.drive();
    assert_eq!(unit.play.view().state, JobState::Completed);
}

#[test]
fn attempts_during_an_outage_spend_nothing_of_the_budget() {
    let mut unit = turning(one_attempt(|agent| {
        agent.budget.turns = Some(1);
        agent.budget.steps = Some(1);
    }));
    outage(&mut unit, SignedDuration::from_hours(2));
    (unit.end)(&mut unit.play);
    unit.play.drive();
    assert_eq!(unit.play.view().state, JobState::Completed);
}

#[test]
fn only_a_few_units_of_a_job_are_attempted_during_an_outage_and_all_follow_after_it() {
    let steps: Vec<_> = (0..30).map(|n| format!("s{n}")).collect();
    let agent = one_attempt(|_| {});
    let mut p = Play::planned(agent, plan_with(&steps.join(" "), |_| Action::Agent));
    assert_eq!(p.drive().len(), 30, "every step begins");
    let out = |p: &Play| -> Vec<String> {
        p.job.waits().commands.iter().map(|unit| unit.work.to_string()).collect()
    };
    for _ in 0..10 {
        for work in out(&p) {
            p.turn(&work, TurnReply::Failed { error: unreachable() });
            p.drive();
        }
        let timers = p.job.waits().timers;
        assert_eq!(timers.len(), 8, "each with a timer");
        for timer in timers {
            p.fire(timer.timer.as_str());
            p.drive();
        }
    }
    assert_eq!(out(&p).len(), 8);
    // The service is there again.
    while p.view().state == JobState::Working {
        for timer in p.job.waits().timers {
            p.fire(timer.timer.as_str());
            p.drive();
        }
        for work in out(&p) {
            p.done(&work, true, "done");
            p.drive();
        }
    }
    assert_eq!(p.view().state, JobState::Completed);
    assert!(p.view().records < 30 * 2 + 12 * 8 * 4 + 200, "{}", p.view().records);
}

#[test]
fn an_outage_policy_may_bound_the_attempts() {
    let mut unit = planning(one_attempt(|agent| agent.outage.max_attempts = Some(3)));
    assert_eq!(outage(&mut unit, DAY), 3);
    let Outcome::Failed { reason, .. } = unit.play.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::PlanFailed);
}
