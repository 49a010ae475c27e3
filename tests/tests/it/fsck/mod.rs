//! Tests of `callboard fsck` on a real nats-server: every kind of defect is planted and must be
//! reported, and jobs without a defect must not be.

mod stage;

use std::{collections::BTreeMap, process::Output, time::Duration};

use broker::kv::{self, Bucket};
use callboard_tests::{
    drive::Timers,
    wait::{view, wait_for_door},
};
use client::Client;
use jiff::{SignedDuration, Timestamp};
use operator::fsck::{self, JobCondition, Scope};
use proto::{
    agent::{Agent, OnGivenUp, PlanWhen},
    decision::{Decision, DecisionKind, Finish, pools},
    fact::{Answered, Fact, PlanReply, Signal, Signaled, Source},
    id::{AskId, Generation, JobId, Seq, Shard, TimerName},
    interaction::Answer,
    job::Outcome,
    message::Usage,
    retry::RetryPolicy,
    work_error::{ErrorClass, WorkError},
};
use runtime::telemetry::new_trace;
use serde_json::Value;

use self::stage::{Jobs, Stage};

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|half| String::from_utf8_lossy(half)).concat()
}

fn far() -> Timestamp {
    Timestamp::now().checked_add(SignedDuration::from_hours(1)).unwrap()
}

fn transient() -> PlanReply {
    let message = "503".to_owned();
    PlanReply::Failed { error: WorkError::new(message, ErrorClass::Transient) }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_are_where_they_should_be_are_counted_and_not_named() {
    let mut stage = Stage::new().await;
    let queued = stage.job("queued", |_| {}).await;
    stage.stands(&queued, JobCondition::Queued).await;
    stage.drive(&queued, Timers::Armed).await;
    stage.forget_facts(&queued).await;
    stage.stands(&queued, JobCondition::Queued).await;

    let leased = stage.job("leased", |_| {}).await;
    stage.drive(&leased, Timers::Armed).await;
    stage.held = stage.take(DecisionKind::Plan, &pools::models(), &[&leased]).await;
    stage.stands(&leased, JobCondition::Leased).await;

    let asking = stage.job("asking", |agent| agent.confirm = true).await;
    stage.drive(&asking, Timers::Armed).await;
    stage.plan(&asking, "builtin").await;
    stage.drive(&asking, Timers::Armed).await;
    stage.stands(&asking, JobCondition::Person).await;

    let backing = stage.job("backing", slow).await;
    stage.drive(&backing, Timers::Armed).await;
    stage.planned(&backing, transient()).await;
    stage.drive(&backing, Timers::Armed).await;
    stage.stands(&backing, JobCondition::Clock).await;

    let paused = stage.job("paused", |_| {}).await;
    let pause = Signaled { signal: Signal::Pause, reason: None, by: None, parent_seq: None };
    stage.by_hand.append(&paused, Fact::Signaled(pause)).await;
    stage.stands(&paused, JobCondition::Held).await;

    let lost = stage.job("lost", |agent| {
        agent.tool.retry = RetryPolicy::never();
        agent.tool.on_given_up = OnGivenUp::Park;
    });
    let lost = lost.await;
    stage.drive(&lost, Timers::Armed).await;
    stage.planned(&lost, transient()).await;
    stage.drive(&lost, Timers::Armed).await;
    stage.stands(&lost, JobCondition::DeadLettered).await;

    let ended = ended(&mut stage, "ended").await;
    stage.stands(&ended, JobCondition::Ended).await;
    stage
        .by_hand
        .broker
        .log
        .arm(&ended, &TimerName::new("late").unwrap(), far(), new_trace())
        .await
        .unwrap();

    let strange = stage.job("strange", |_| {}).await;
    let subject = stage.by_hand.broker.log.subjects().fact(&strange, &Source::Door);
    let record = r#"{"v":1,"kind":"danced","id":"1","by":"w","body":{}}"#;
    stage.raw.store(subject, record, None).await.unwrap();
    stage.stands(&strange, JobCondition::Parked).await;

    let whole = fsck::look(&stage.by_hand.broker, &Scope::default()).await.unwrap();
    assert!(whole.is_clean(), "{:?}", whole.wrong);
    assert_eq!((whole.jobs, whole.idle_timers), (8, 1));
    let letters: Vec<String> = whole
        .dead
        .iter()
        .map(|letter| format!("{} {}", letter.job, letter.kind.as_str()))
        .collect();
    assert_eq!(letters, [format!("{lost} given_up"), format!("{strange} unreadable")]);
}

fn slow(agent: &mut Agent) {
    agent.tool.retry = RetryPolicy {
        initial_interval_ms: 3_600_000,
        max_interval_ms: 3_600_000,
        ..RetryPolicy::default()
    };
}

/// Returns a job that has completed.
async fn ended(stage: &mut Stage, name: &str) -> JobId {
    let job = stage.job(name, |_| {}).await;
    stage.drive(&job, Timers::Armed).await;
    stage.plan(&job, "builtin").await;
    stage.drive(&job, Timers::Armed).await;
    stage.called(&job, 1).await;
    stage.drive(&job, Timers::Armed).await;
    job
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one installation, broken in every way at once")]
async fn everything_that_can_be_wrong_is_named() {
    let mut stage = Stage::new().await;
    let mut expected: BTreeMap<JobId, &str> = BTreeMap::new();

    let unattended = stage.job("unattended", |_| {}).await;
    stage.forget_facts(&unattended).await;
    let found = stage.found(&[&unattended]).await;
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("unattended: the decision plan should follow record 0"),
        "{found:?}"
    );
    expected.insert(unattended, "unattended");

    // Of one queue, one command is lost. Of another one's two commands, the first is held by a
    // worker, and the second may be. All are taken at once, because the server continues to deliver
    // for a while.
    let dropped = stage.job("dropped", |_| {}).await;
    let shard = Shard(stage.next);
    let (one, two) = (stage.job("one", |_| {}).await, stage.job_in(shard, "two", |_| {}).await);
    for job in [&dropped, &one, &two] {
        stage.drive(job, Timers::Armed).await;
    }
    let all = [&dropped, &one, &two];
    for delivery in stage.take(DecisionKind::Plan, &pools::models(), &all).await {
        if delivery.entry.job == one {
            stage.held.push(delivery);
        } else {
            delivery.ack.done().await;
        }
    }
    expected.insert(dropped, "dropped");
    let found = loop {
        // An acknowledgement has no reply.
        let found = stage.found(&[&one, &two]).await;
        if !found.is_empty() {
            break found;
        }
    };
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("one of 2 without a result, of which workers hold 1"), "{found:?}");
    expected.extend([(one, "dropped"), (two, "dropped")]);

    let uncovered = stage.job("uncovered", |_| {}).await;
    stage.drive(&uncovered, Timers::Armed).await;
    stage.plan(&uncovered, "nowhere").await;
    stage.drive(&uncovered, Timers::Armed).await;
    let found = stage.found(&[&uncovered]).await;
    assert!(found[0].ends_with("call.nowhere has no consumer"), "{found:?}");
    expected.insert(uncovered, "uncovered");

    let timeless = stage.job("timeless", slow).await;
    stage.drive(&timeless, Timers::Armed).await;
    stage.planned(&timeless, transient()).await;
    stage.drive(&timeless, Timers::LeftOut).await;
    let found = stage.found(&[&timeless]).await;
    assert_eq!(found, ["no_timer: it waits for the timer retry-1, which is not armed"]);
    expected.insert(timeless, "no_timer");

    let unseen = stage.job("unseen", |agent| agent.confirm = true).await;
    stage.drive(&unseen, Timers::Armed).await;
    stage.plan(&unseen, "builtin").await;
    stage.drive(&unseen, Timers::Armed).await;
    for taken in stage.take(DecisionKind::Ask, &pools::people(), &[&unseen]).await {
        taken.ack.done().await;
    }
    expected.insert(unseen, "not_in_inbox");

    let hidden = stage.job("hidden", |agent| agent.confirm = true).await;
    stage.drive(&hidden, Timers::Armed).await;
    stage.plan(&hidden, "builtin").await;
    stage.drive(&hidden, Timers::Armed).await;
    for taken in stage.take(DecisionKind::Ask, &pools::people(), &[&hidden]).await {
        taken.ack.done().await;
    }
    let key = kv::inbox_key(&hidden, &AskId::new("q1").unwrap());
    stage.by_hand.broker.kv.put(Bucket::Inbox, &key, "{}".into()).await.unwrap();
    expected.insert(hidden, "not_in_inbox");

    let shown = ended(&mut stage, "shown").await;
    let key = kv::inbox_key(&shown, &AskId::new("q1").unwrap());
    stage.by_hand.broker.kv.put(Bucket::Inbox, &key, "{}".into()).await.unwrap();
    expected.insert(shown, "still_in_inbox");

    let twice = ended(&mut stage, "twice").await;
    let outcome = Outcome::Canceled { reason: None };
    let (usage, generation) = (Usage::default(), Generation::FIRST);
    stage.by_hand.decide(&twice, &Decision::Finish(Finish { outcome, usage, generation })).await;
    expected.insert(twice, "after_the_end decided_twice");

    let foreign = stage.job("foreign", |agent| agent.plan.when = PlanWhen::Never).await;
    stage.drive(&foreign, Timers::Armed).await;
    stage.called(&foreign, 7).await;
    expected.insert(foreign, "commandless uncovered");

    let report = fsck::look(&stage.by_hand.broker, &Scope::default()).await.unwrap();
    let words = |wrong: &fsck::Wrong| {
        let words: Vec<_> = wrong.findings.iter().map(fsck::Finding::word).collect();
        words.join(" ")
    };
    let found: BTreeMap<JobId, String> =
        report.wrong.iter().map(|wrong| (wrong.job.clone(), words(wrong))).collect();
    let expected: BTreeMap<JobId, String> =
        expected.into_iter().map(|(job, words)| (job, words.to_owned())).collect();
    assert_eq!(found, expected);
    programs_are_told(&stage, &expected);
}

/// Checks that the command reports the same, by its exit code and as JSON.
fn programs_are_told(stage: &Stage, expected: &BTreeMap<JobId, String>) {
    let run = |arguments: &[&str]| {
        let output = stage.company.command().arg("fsck").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said, _) = run(&["--json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    let jobs: Vec<&str> =
        report["wrong"].as_array().unwrap().iter().map(|w| w["job"].as_str().unwrap()).collect();
    assert_eq!((code, jobs.len()), (Some(1), expected.len()), "{said}");
    for job in expected.keys() {
        assert!(jobs.contains(&job.as_str()), "{job} is not named: {said}");
    }
    let (code, said, _) = run(&[]);
    assert!(said.contains("jobs are inconsistent"), "{said}");
    assert!(said.contains("call.nowhere has no consumer") && code == Some(1), "{said}");
    let (code, _, why) = run(&["never-submitted"]);
    assert!(why.contains("there is no job never-submitted") && code == Some(6), "{why}");
    let (code, _, why) = run(&["--shard", "12"]);
    assert!(why.contains("there is no shard 12") && code == Some(2), "{why}");
    let (code, _, why) = run(&["--url", "nats://127.0.0.1:1", "--timeout", "500ms"]);
    assert_eq!(code, Some(2), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_moves_meanwhile_is_looked_at_again_before_it_is_named() {
    let mut jobs = Jobs::in_memory().await;
    let job = jobs.job("moves", |agent| agent.confirm = true).await;
    jobs.forget_facts(&job).await;
    let scope = Scope { settle: Duration::from_millis(1500), ..Scope::default() };
    let (report, ()) = tokio::join!(fsck::look(&jobs.by_hand.broker, &scope), async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        jobs.drive(&job, Timers::Armed).await;
        jobs.plan(&job, "builtin").await;
        jobs.drive(&job, Timers::Armed).await;
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.standing(JobCondition::Person), 1, "{report:?}");

    // An answered question is no defect while its inbox entry is being removed.
    let answered = Answered {
        ask: AskId::new("q1").unwrap(),
        answer: Answer::approve(None),
        by: "ann".to_owned(),
    };
    let key = kv::inbox_key(&job, &AskId::new("q1").unwrap());
    jobs.by_hand.broker.kv.put(Bucket::Inbox, &key, "{}".into()).await.unwrap();
    jobs.by_hand.append(&job, Fact::Answered(answered)).await;
    jobs.drive(&job, Timers::Armed).await;
    let (report, removed) = tokio::join!(fsck::look(&jobs.by_hand.broker, &scope), async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        jobs.by_hand.broker.kv.delete(Bucket::Inbox, &key).await
    });
    assert!(removed.is_ok() && report.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_command_is_decided_again_after_the_rollback_that_is_advised() {
    let mut stage = Stage::new().await;
    let job = stage.job("dropped", |_| {}).await;
    let submitted = stage.by_hand.broker.log.read(&job, Seq(0)).await.unwrap()[0].seq.to_string();
    stage.drive(&job, Timers::Armed).await;
    for delivery in stage.take(DecisionKind::Plan, &pools::models(), &[&job]).await {
        delivery.ack.done().await;
    }
    let _process = stage.company.serve("all", "all");
    let client = Client::new(&stage.by_hand.broker);
    wait_for_door(&client).await;
    let run = |args: &[&str]| stage.company.command().args(args).output().unwrap();
    let found = run(&["fsck", job.as_str()]);
    assert_eq!(found.status.code(), Some(1), "{}", said(&found));
    assert!(said(&found).contains("callboard jobs rollback JOB --to SEQ"), "{}", said(&found));
    let back = run(&["jobs", "rollback", job.as_str(), "--to", &submitted]);
    assert!(back.status.success(), "{}", said(&back));
    // The submission, the plan, the rollback, and the plan again.
    view(&client, &job, |view| view.generation > Generation::FIRST && view.records > 3).await;
    let clean = run(&["fsck", job.as_str()]);
    assert!(clean.status.success(), "{}", said(&clean));
}
