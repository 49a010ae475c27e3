//! Tests of positions in a job's log: rolling back to a position, naming one, and forking from one.

use broker::{
    memory::MemoryOptions,
    testing::jobs::{self, Jobs},
};
use callboard_tests::drive::{self, Timers};
use machine::{Job, check};
use proto::{
    error::Code,
    fact::{Called, Fact, PlanReply, Planned},
    id::{JobId, Seq},
    job::FailReason,
    tool::{Effect, ToolResult},
    work_error::{ErrorClass, WorkError},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::hall::{Hall, Setup, ask, open};
use crate::supervisor::company::Company;

/// Creates a job with two `once` calls, moved by hand. `one` has ended, and `two` has begun.
async fn sending(hall: &Hall) -> JobId {
    let job = JobId::new("j").unwrap();
    hall.ask("submit", r#"{"id":"j","goal":"send","agent":"unattended"}"#).await.unwrap();
    drive(hall, &job).await;
    let step = |step| jobs::step(step, "send", json!({}), jobs::binding(Effect::Once));
    let steps = ["one", "two<one", "three<two"].map(step).to_vec();
    let called = Called { result: ToolResult::ok(json!("sent")), ..jobs::called("g0.r0.one") };
    for fact in [
        Fact::Planned(jobs::planned(steps)),
        jobs::started("g0.r0.one", 1),
        Fact::Called(called),
        jobs::started("g0.r0.two", 1),
    ] {
        tell(hall, &job, fact).await;
    }
    job
}

pub(super) async fn tell(hall: &Hall, job: &JobId, fact: Fact) {
    Jobs { broker: hall.broker.clone() }.append(job, fact).await;
    drive(hall, job).await;
}

pub(super) async fn drive(hall: &Hall, job: &JobId) -> Job {
    drive::drive(&Jobs { broker: hall.broker.clone() }, job, Timers::LeftOut).await
}

/// Returns the position of the first record of a kind.
async fn first(hall: &Hall, job: &JobId, kind: &str) -> u64 {
    Jobs { broker: hall.broker.clone() }.positions(job, kind).await[0].0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_ended_goes_back_and_completes_again() {
    let mut company = Company::at_work(MemoryOptions::default(), "a b<a").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    company.ended(&job).await;
    let entries = company.broker.log.read(&job, Seq(0)).await.unwrap();
    let called = entries.iter().find(|entry| entry.record.as_ref().unwrap().kind == "called");
    let to = called.unwrap().seq;
    let body = json!({"job": "j", "signal": {"roll_back": {"to": to}}, "by": "ann"}).to_string();
    let answer = ask(&company.broker, "signal", &body, None).await.unwrap();
    assert_eq!(answer["state"], "working");
    let marker = Seq(answer["seq"].as_u64().unwrap());
    let again = company.until(&job, |job| job.seq() > marker && job.has_ended()).await;
    assert_eq!(again.generation().0, 1);
    let checked = check::check(&job, &company.broker.log.read(&job, Seq(0)).await.unwrap());
    assert!(checked.is_clean(), "{checked:?}");
    assert!(
        company.broker.log.finished_among(std::slice::from_ref(&job)).await.unwrap().contains(&job)
    );
    // A supervisor that starts afterwards finds the same.
    company.dismiss(0);
    company.hire_supervisor("s2").await;
    let body = json!({"job": "j", "signal": {"restart": {"step": "b"}}}).to_string();
    let answer = ask(&company.broker, "signal", &body, None).await.unwrap();
    let marker = Seq(answer["seq"].as_u64().unwrap());
    let again = company.until(&job, |job| job.seq() > marker && job.has_ended()).await;
    assert_eq!(again.generation().0, 2);
    let listed = ask(&company.broker, "list", r#"{"states":["completed"]}"#, None).await.unwrap();
    assert_eq!(listed["jobs"][0]["job"], "j");
}

/// The door keeps rows of ended jobs, and shows them as the log says.
#[tokio::test(flavor = "multi_thread")]
async fn the_row_of_a_job_that_had_ended_follows_its_log() {
    let company = Company::at_work(MemoryOptions::default(), "a b<a").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    company.ended(&job).await;
    let row = async || {
        let listed = ask(&company.broker, "list", "{}", None).await.unwrap();
        listed["jobs"].get(0).cloned()
    };
    let ended = row().await.unwrap();
    assert_eq!((&ended["state"], row().await.as_ref()), (&json!("completed"), Some(&ended)));

    let body = json!({"job": "j", "signal": {"restart": {"step": "b"}}, "by": "ann"}).to_string();
    let answer = ask(&company.broker, "signal", &body, None).await.unwrap();
    let marker = Seq(answer["seq"].as_u64().unwrap());
    assert_ne!(row().await.unwrap()["updated"], ended["updated"]);
    company.until(&job, |job| job.seq() > marker && job.has_ended()).await;
    let again = row().await.unwrap();
    assert_eq!((&again["state"], row().await.as_ref()), (&json!("completed"), Some(&again)));

    company.broker.log.purge(&job).await.unwrap();
    assert_eq!(row().await, None);
    company.submit("j").await;
    company.ended(&job).await;
    assert_ne!(row().await.unwrap()["created"], again["created"]);
}

/// Steps that are calls of a pure tool.
fn looks<const N: usize>(steps: [&str; N]) -> Fact {
    let step = |step| jobs::step(step, "look", json!({}), jobs::binding(Effect::Pure));
    Fact::Planned(jobs::planned(steps.map(step).to_vec()))
}

fn ended(work: &str, result: ToolResult) -> Fact {
    Fact::Called(Called { result, ..jobs::called(work) })
}

async fn submitted(hall: &Hall, agent: &str) -> JobId {
    let body = json!({"id": "j", "goal": "look", "agent": agent}).to_string();
    hall.ask("submit", body).await.unwrap();
    let job = JobId::new("j").unwrap();
    drive(hall, &job).await;
    job
}

#[tokio::test]
async fn a_failed_job_continues_from_just_before_its_failure() {
    let hall = Hall::new().await;
    let job = submitted(&hall, "unattended").await;
    for fact in [
        looks(["a", "b<a", "c<a"]),
        ended("g0.r0.a", ToolResult::ok(json!("kept"))),
        // The failure of b is the job's, although c continues.
        ended("g0.r0.b", ToolResult::failed("the store is closed")),
        ended("g0.r0.c", ToolResult::ok(json!("late"))),
    ] {
        tell(&hall, &job, fact).await;
    }
    let listed = hall.ask("list", r#"{"states":["failed"]}"#).await.unwrap();
    assert_eq!(listed["jobs"][0]["failure"], "step_failed");
    let recover = json!({"job": "j", "signal": {"recover": {}}}).to_string();
    let answer = hall.ask("signal", recover).await.unwrap();
    assert_eq!(answer["state"], "working");
    drive(&hall, &job).await;
    for work in ["g1.r0.b", "g1.r0.c"] {
        tell(&hall, &job, ended(work, ToolResult::ok(json!("done")))).await;
    }
    let view = drive(&hall, &job).await.view().unwrap();
    assert_eq!((view.state, view.generation.0), (proto::job::JobState::Completed, 1));
    let steps = view.plan.unwrap().steps;
    let responses: Vec<_> = steps.iter().map(|step| step.response.as_deref().unwrap()).collect();
    assert_eq!(responses, ["kept", "done", "done"]);
}

#[tokio::test]
async fn a_failed_planning_is_tried_again_with_the_job_itself() {
    let hall = Hall::new().await;
    let job = submitted(&hall, "unattended").await;
    let error = WorkError::new("the account has no credit", ErrorClass::Permanent);
    let planned = Planned { reply: PlanReply::Failed { error }, ..jobs::planned(Vec::new()) };
    tell(&hall, &job, Fact::Planned(planned)).await;
    let view = drive(&hall, &job).await.view().unwrap();
    assert_eq!(view.outcome.unwrap().failure(), Some(FailReason::PlanFailed));
    let recover = json!({"job": "j", "signal": {"recover": {}}}).to_string();
    hall.ask("signal", recover).await.unwrap();
    let waits = drive(&hall, &job).await.waits();
    assert_eq!(waits.commands.iter().map(|unit| unit.work.as_str()).collect::<Vec<_>>(), ["g1.p1"]);
}

#[tokio::test]
async fn only_a_failed_job_can_recover() {
    let hall = Hall::new().await;
    let job = submitted(&hall, "unattended").await;
    let recover = || json!({"job": "j", "signal": {"recover": {}}}).to_string();
    let refused = (Code::InvalidRequest, "signal.recover".to_owned());
    assert_eq!(hall.refused("signal", recover()).await, refused, "a running job");
    tell(&hall, &job, looks(["a"])).await;
    tell(&hall, &job, ended("g0.r0.a", ToolResult::ok(json!(1)))).await;
    assert_eq!(hall.refused("signal", recover()).await, refused, "a completed job");
}

#[rstest]
#[case::no_such_record(json!({"roll_back": {"to": 9_999}}), Code::NotFound, "signal.roll_back.to")]
#[case::no_such_name(json!({"roll_back": {"to": "x"}}), Code::NotFound, "signal.roll_back.to")]
#[case::no_name(json!({"roll_back": {"to": "a.b"}}), Code::InvalidId, "signal.roll_back.to")]
#[case::a_number_as_a_name(json!({"snapshot": {"name": "17"}}), Code::InvalidRequest, "signal.snapshot.name")]
#[case::no_record_to_name(json!({"snapshot": {"name": "then", "at": 9_999}}), Code::NotFound, "signal.snapshot.at")]
#[case::no_name_to_name(json!({"snapshot": {"name": "then", "at": "x"}}), Code::NotFound, "signal.snapshot.at")]
#[case::no_such_step(json!({"restart": {"step": "x"}}), Code::NotFound, "signal.restart.step")]
#[case::a_step_that_never_began(json!({"restart": {"step": "three"}}), Code::InvalidRequest, "signal.restart.step")]
#[case::what_was_sent(json!({"restart": {"step": "one"}}), Code::WouldRepeat, "signal.restart.step")]
#[case::what_is_being_sent(json!({"restart": {"step": "two"}}), Code::WouldRepeat, "signal.restart.step")]
#[tokio::test]
async fn what_cannot_be_is_refused_with_the_field(
    #[case] signal: Value,
    #[case] code: Code,
    #[case] field: &str,
) {
    let hall = Hall::new().await;
    let job = sending(&hall).await;
    let records = hall.broker.log.read(&job, Seq(0)).await.unwrap().len();
    let body = json!({"job": "j", "signal": signal}).to_string();
    assert_eq!(hall.refused("signal", body).await, (code, field.to_owned()));
    assert_eq!(hall.broker.log.read(&job, Seq(0)).await.unwrap().len(), records);
}

#[tokio::test]
async fn a_tool_that_must_not_run_twice_is_named_and_runs_again_when_that_is_said() {
    let hall = Hall::new().await;
    let job = sending(&hall).await;
    let restart = |again: bool| {
        json!({"job": "j", "signal": {"restart": {"step": "one", "again": again}}}).to_string()
    };
    let refused = hall.ask("signal", restart(false)).await.unwrap_err();
    assert!(refused.message.contains("send (g0.r0.one), send (g0.r0.two)"), "{}", refused.message);
    hall.ask("signal", restart(true)).await.unwrap();
    let folded = drive(&hall, &job).await;
    let view = folded.view().unwrap();
    assert_eq!((view.generation.0, folded.waits().commands.len()), (1, 1));
    assert_eq!(folded.waits().commands[0].work.as_str(), "g1.r0.one");
}

#[tokio::test]
async fn a_name_is_a_point_to_look_at_and_to_go_back_to() {
    let hall = Hall::new().await;
    let job = sending(&hall).await;
    let named =
        hall.ask("signal", r#"{"job":"j","signal":{"snapshot":{"name":"half"}}}"#).await.unwrap();
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!(view["snapshots"][0]["name"], "half");
    assert_eq!(view["snapshots"][0]["seq"], named["seq"]);
    let planned = first(&hall, &job, "planned").await;
    let body = json!({"job": "j", "at": planned}).to_string();
    let then = hall.ask("get", body).await.unwrap();
    assert_eq!(
        (&then["seq"], &then["plan"]["steps"][0]["state"]),
        (&json!(planned), &json!("ready"))
    );
    let at_name = hall.ask("get", r#"{"job":"j","at":"half"}"#).await.unwrap();
    assert_eq!(at_name["seq"], named["seq"]);
    // An earlier record, and another name of the same point.
    for (name, at) in [("planned", json!(planned)), ("again", json!("planned"))] {
        let name_it = json!({"job": "j", "signal": {"snapshot": {"name": name, "at": at}}});
        hall.ask("signal", name_it.to_string()).await.unwrap();
        let body = json!({"job": "j", "at": name}).to_string();
        assert_eq!(hall.ask("get", body).await.unwrap()["seq"], json!(planned));
    }
    assert_eq!(
        hall.refused("get", r#"{"job":"j","at":"never"}"#).await,
        (Code::NotFound, "at".to_owned())
    );
}

#[tokio::test]
async fn what_was_taken_out_can_be_forked_and_is_no_point_to_go_back_to() {
    let hall = Hall::new().await;
    let job = sending(&hall).await;
    let planned = first(&hall, &job, "planned").await;
    let called = first(&hall, &job, "called").await;
    let back = |to: u64| {
        json!({"job": "j", "signal": {"roll_back": {"to": to, "again": true}}}).to_string()
    };
    hall.ask("signal", back(planned)).await.unwrap();
    let refused = hall.ask("signal", back(called)).await.unwrap_err();
    assert!(refused.hint.contains(&format!("jobs fork j --at {called}")), "{}", refused.hint);
    let fork = json!({"id": "f", "fork": {"job": "j", "at": called, "again": true}}).to_string();
    hall.ask("submit", &fork).await.unwrap();
    let view = hall.ask("get", r#"{"job":"f"}"#).await.unwrap();
    assert_eq!(view["forked"], json!({"job": "j", "seq": called}));
    let states: Vec<_> =
        view["plan"]["steps"].as_array().unwrap().iter().map(|step| &step["state"]).collect();
    assert_eq!(states, ["completed", "ready", "pending"]);
    let folded = drive(&hall, &JobId::new("f").unwrap()).await;
    assert_eq!(folded.waits().commands[0].work.as_str(), "g1.r0.two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_completes_without_the_other_job_and_the_same_request_finds_it() {
    let company = Company::at_work(MemoryOptions::default(), "a b<a c<b").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    company.ended(&job).await;
    let entries = company.broker.log.read(&job, Seq(0)).await.unwrap();
    let called = entries.iter().find(|entry| entry.record.as_ref().unwrap().kind == "called");
    let at = called.unwrap().seq;
    let body = json!({"id": "f", "fork": {"job": "j", "at": at}}).to_string();
    let submitted = ask(&company.broker, "submit", &body, None).await.unwrap();
    assert_eq!(submitted["created"], true);
    company.broker.log.purge(&job).await.unwrap();
    let again = ask(&company.broker, "submit", &body, None).await.unwrap();
    assert_eq!((&again["created"], &again["seq"]), (&json!(false), &submitted["seq"]));
    let fork = JobId::new("f").unwrap();
    let ended = company.ended(&fork).await;
    let view = ended.view().unwrap();
    assert_eq!((view.generation.0, view.goal.as_str()), (1, "g"));
    let results = serde_json::to_value(view.outcome.unwrap()).unwrap()["results"].clone();
    assert_eq!(results, json!({"a": "a", "b": "b", "c": "c"}));
    let checked = check::check(&fork, &company.broker.log.read(&fork, Seq(0)).await.unwrap());
    assert!(checked.is_clean(), "{checked:?}");
    assert_eq!(checked.commands, 2, "what had ended is not done again");
    let other = json!({"id": "f", "fork": {"job": "other"}}).to_string();
    let conflict = ask(&company.broker, "submit", &other, None).await.unwrap_err();
    assert_eq!(conflict.code, Code::IdempotencyConflict);
    // A fork of the fork, which is then rolled back.
    let at = ended.first();
    let body = json!({"id": "ff", "fork": {"job": "f", "at": at}}).to_string();
    ask(&company.broker, "submit", &body, None).await.unwrap();
    let fork = JobId::new("ff").unwrap();
    assert_eq!(company.ended(&fork).await.generation().0, 2);
    let first = company.folded(&fork).await.first();
    let body = json!({"job": "ff", "signal": {"roll_back": {"to": first}}}).to_string();
    let answer = ask(&company.broker, "signal", &body, None).await.unwrap();
    let marker = Seq(answer["seq"].as_u64().unwrap());
    let ended = company.until(&fork, |job| job.seq() > marker && job.has_ended()).await;
    assert_eq!(ended.generation().0, 3);
}

#[rstest]
#[case::a_goal(json!({"goal": "g", "fork": {"job": "j"}}), Code::InvalidRequest, "goal")]
#[case::an_agent(json!({"agent": "default", "fork": {"job": "j"}}), Code::InvalidRequest, "agent")]
#[case::no_such_job(json!({"fork": {"job": "x"}}), Code::NotFound, "fork.job")]
#[case::no_such_point(json!({"fork": {"job": "j", "at": 9_999}}), Code::NotFound, "fork.at")]
#[case::what_would_run_again(json!({"fork": {"job": "j", "at": 1}}), Code::WouldRepeat, "fork.at")]
#[tokio::test]
async fn a_fork_that_cannot_be_is_refused_with_the_field(
    #[case] body: Value,
    #[case] code: Code,
    #[case] field: &str,
) {
    let hall = Hall::new().await;
    sending(&hall).await;
    assert_eq!(hall.refused("submit", body.to_string()).await, (code, field.to_owned()));
    assert_eq!(hall.jobs().await, ["j"]);
}
