//! The reasons why a job does not move, in every kind of wait.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proto::{
    agent::{Agent, OnGivenUp},
    budget::{Axis, Spend},
    decision::DecisionKind,
    fact::{PlanReply, Signal, TurnReply},
    id::{Attempt, JobId, Pool, Seq, Shard},
    job::FailReason,
    plan::Action,
    tool::Fault,
    why::{Reason, Why},
    work_error::{ErrorClass, WorkError},
};

use super::play::{Play, agent, calls, plan, plan_with, question};
use crate::{QueueState, Surroundings};

fn first(play: &Play, around: &Surroundings) -> Why {
    play.job.why(around).remove(0)
}

fn codes(play: &Play) -> Vec<&'static str> {
    let reasons = play.job.why(&Surroundings::default());
    reasons.iter().map(|why| why.reason.code()).collect()
}

/// Returns a job whose only step is a call of a tool, and the time at which the call was sent.
fn calling(change: impl FnOnce(&mut Agent)) -> (Play, Timestamp) {
    let mut play = Play::planned(agent(change), plan("a"));
    play.drive();
    let sent = play.view().updated;
    (play, sent)
}

fn pools(all: &[(DecisionKind, &str)]) -> Option<BTreeSet<(DecisionKind, Pool)>> {
    Some(all.iter().map(|(kind, pool)| (*kind, Pool::new(pool).unwrap())).collect())
}

#[test]
fn a_command_is_sent_queued_or_running_as_its_queue_says() {
    let (play, sent) = calling(|_| {});
    assert_eq!(codes(&play), ["sent"]);
    let seq = play.last();
    for (delivered, code) in [(Seq(seq.0 - 1), "queued"), (seq, "running")] {
        let queue = QueueState { delivered, waiting: 41 };
        let pool = (DecisionKind::Call, Pool::new("builtin").unwrap());
        let around = Surroundings { queues: [(pool, queue)].into(), ..Surroundings::default() };
        let why = first(&play, &around);
        assert_eq!((why.reason.code(), why.since, why.until), (code, sent, None));
        if let Reason::Queued { waiting, .. } = why.reason {
            assert_eq!(waiting, 41);
        }
    }
}

#[test]
fn a_pool_that_no_live_worker_announces_is_named_also_while_a_dead_worker_holds_the_command() {
    let (play, sent) = calling(|_| {});
    let pool = (DecisionKind::Call, Pool::new("builtin").unwrap());
    let taken = QueueState { delivered: play.last(), waiting: 0 };
    let around = Surroundings {
        announced: pools(&[(DecisionKind::Plan, "default")]),
        queues: [(pool, taken)].into(),
        ..Surroundings::default()
    };
    let Why { reason: Reason::NoWorker { command }, since, .. } = first(&play, &around) else {
        panic!("{:?}", first(&play, &around));
    };
    assert_eq!((command.kind, command.pool.as_str(), since), (DecisionKind::Call, "builtin", sent));
    assert_eq!(command.tool.unwrap().as_str(), "echo");
    let served = Surroundings {
        announced: pools(&[(DecisionKind::Call, "builtin")]),
        ..Surroundings::default()
    };
    assert_eq!(first(&play, &served).reason.code(), "sent");
}

#[test]
fn a_failed_attempt_names_the_next_one_its_number_and_its_time() {
    let (mut play, _) = calling(|agent| agent.tool.retry.max_attempts = 5);
    for _ in 0..2 {
        play.fault("g0.r0.a", Fault::Timeout);
        play.drive();
        let timer = play.armed.keys().next().unwrap().to_string();
        let Why { reason, until, .. } = first(&play, &Surroundings::default());
        assert!(matches!(reason, Reason::Retry { max_attempts: 5, .. }), "{reason:?}");
        assert_eq!(until, play.armed.values().next().copied());
        play.fire(&timer);
        play.drive();
    }
    assert_eq!(codes(&play), ["sent"]);
}

#[test]
fn an_outage_is_the_reason_from_its_first_break_also_while_an_attempt_runs() {
    let mut play = Play::submit(agent(|_| {}));
    play.drive();
    let error = WorkError::new("the model provider cannot be reached", ErrorClass::Outage);
    play.reply(1, PlanReply::Failed { error: error.clone() });
    let began = play.view().updated;
    play.drive();
    let waits = first(&play, &Surroundings::default());
    let outage = |attempt| Reason::Outage {
        work: "g0.p1".parse().unwrap(),
        attempt: Attempt(attempt),
        error: error.message.clone(),
    };
    assert_eq!((waits.reason, waits.since), (outage(2), began));
    assert_eq!(waits.until, play.armed.values().next().copied());
    let timer = play.armed.keys().next().unwrap().to_string();
    play.fire(&timer);
    play.drive();
    let runs = first(&play, &Surroundings::default());
    assert_eq!((runs.reason, runs.since, runs.until), (outage(2), began, None));
    let unserved = Surroundings { announced: pools(&[]), ..Surroundings::default() };
    assert_eq!(first(&play, &unserved).reason.code(), "no_worker");
}

#[test]
fn a_dead_letter_waits_for_an_operator() {
    let (mut play, _) = calling(|agent| {
        agent.tool.retry.max_attempts = 1;
        agent.tool.on_given_up = OnGivenUp::Park;
    });
    play.fault("g0.r0.a", Fault::Timeout);
    play.drive();
    assert_eq!(codes(&play), ["given_up"]);
}

#[test]
fn a_question_names_its_id_and_its_deadline() {
    let mut play = Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent));
    play.drive();
    play.turn("g0.r0.a.n1.t1", calls(vec![question("c1", "Which colour?")]));
    play.drive();
    let why = first(&play, &Surroundings::default());
    let Reason::Question { job, path, ask, prompt } = why.reason else { panic!("{why:?}") };
    assert_eq!((job.as_str(), path, ask.as_str()), ("job", None, "q1"));
    assert_eq!((prompt.as_str(), why.until), ("Which colour?", play.view().questions[0].deadline));
    let unserved = Surroundings { announced: pools(&[]), ..Surroundings::default() };
    assert_eq!(first(&play, &unserved).reason.code(), "no_worker");
}

#[test]
fn a_pause_comes_before_the_work_that_still_runs() {
    let (mut play, _) = calling(|_| {});
    play.signal(Signal::Pause);
    let paused = play.view().updated;
    play.drive();
    assert_eq!(codes(&play), ["paused", "sent"]);
    assert_eq!(first(&play, &Surroundings::default()).since, paused);
}

#[test]
fn a_job_that_will_fail_says_so_while_work_runs() {
    let mixed = plan_with("a b", |id| match id {
        "a" => Action::Agent,
        _ => plan("b").steps[0].action.clone(),
    });
    let mut play = Play::planned(agent(|agent| agent.ask.deadline_ms = Some(1000)), mixed);
    play.drive();
    play.turn("g0.r0.a.n1.t1", calls(vec![question("c1", "Which colour?")]));
    play.drive();
    play.fire("ask-q1");
    let failed = play.view().updated;
    play.drive();
    assert_eq!(codes(&play), ["sent", "ending"]);
    let ending = play.job.why(&Surroundings::default()).remove(1);
    assert_eq!(ending.reason, Reason::Ending { failure: FailReason::QuestionExpired });
    assert_eq!(ending.since, failed);
}

#[test]
fn a_used_up_limit_is_named_with_its_figures() {
    let mut play = Play::planned(
        agent(|agent| {
            agent.budget.steps = Some(1);
            agent.budget.counts = [Spend::Tool].into();
        }),
        plan("a b"),
    );
    play.drive();
    assert_eq!(codes(&play), ["sent", "budget_used"]);
    let Reason::BudgetUsed { gauge } = play.job.why(&Surroundings::default()).remove(1).reason
    else {
        panic!("not the budget");
    };
    assert_eq!((gauge.axis, gauge.limit), (Axis::Steps, 1.0));
}

#[test]
fn a_shard_without_a_supervisor_is_a_reason_of_every_job() {
    let play = Play::submit(agent(|_| {}));
    assert_eq!(codes(&play), ["deciding"]);
    let around = Surroundings { unowned: Some(Shard(3)), ..Surroundings::default() };
    assert_eq!(first(&play, &around).reason, Reason::NoSupervisor { shard: Shard(3) });
}

#[test]
fn an_ended_job_has_no_reason() {
    let (mut play, _) = calling(|_| {});
    play.signal(Signal::Cancel);
    play.drive();
    assert!(play.job.has_ended());
    let around = Surroundings { unowned: Some(Shard(0)), ..Surroundings::default() };
    assert!(play.job.why(&around).is_empty());
}

#[test]
fn a_parent_names_its_child_and_the_reason_of_the_child() {
    let family = super::family::parent();
    let why = first(&family, &Surroundings::default());
    let Reason::Child { job, path, why: None, .. } = why.reason else { panic!("{why:?}") };
    let outage = Why {
        reason: Reason::Outage {
            work: "g0.p1".parse().unwrap(),
            attempt: Attempt(2),
            error: "the model provider cannot be reached".into(),
        },
        since: why.since,
        until: Some(why.since),
    };
    let children = [(JobId::clone(&job), outage.clone())].into();
    let around = Surroundings { children, ..Surroundings::default() };
    let why = first(&family, &around);
    assert_eq!(why.until, outage.until);
    let Reason::Child { why: Some(below), .. } = why.reason else { panic!("{path}") };
    assert_eq!(*below, outage);
}

#[test]
fn a_failed_turn_of_many_names_its_step() {
    let mut play = Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent));
    play.drive();
    let why = first(&play, &Surroundings::default());
    let Reason::Sent { command } = why.reason else { panic!("{why:?}") };
    assert_eq!((command.kind, command.step.unwrap().as_str()), (DecisionKind::Turn, "a"));
    let error = WorkError::new("503", ErrorClass::Transient);
    play.turn("g0.r0.a.n1.t1", TurnReply::Failed { error });
    play.drive();
    assert_eq!(codes(&play), ["retry"]);
}
