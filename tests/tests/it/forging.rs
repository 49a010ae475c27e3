//! A worker with the right to write results answers for the planner and the executor, in the real
//! program. Neither role runs here, so no other process answers first.

use broker::{
    Broker,
    testing::{
        RawWriter, jobs,
        wait::{patiently, until},
    },
};
use callboard_tests::{company::Company, wait::wait_for_door, web::WebServer};
use client::Client;
use futures::StreamExt;
use proto::{
    agent::{Agent, OnUnparseable, PlanWhen},
    decision::{Decision, PlanTalk},
    door::{AgentChoice, Submit},
    entry::Entry,
    fact::{CallTarget, Fact, Planned, Source, TurnCall, TurnReply, Turned},
    id::{Attempt, JobId, Seq, TimerName, WorkId},
    job::{FailReason, Outcome},
    message::Usage,
    record::Known,
    tool::{Binding, Effect},
};
use runtime::telemetry::new_trace;
use serde_json::{Value, json};
use wiremock::{Mock, ResponseTemplate, matchers};

use super::chaos::connect;

const SCRIPT: &str = "rules: [ { name: none, when: { any: 'x' }, reply: { text: x } } ]";

fn reader(change: impl FnOnce(&mut Agent)) -> Agent {
    let tools = Some(vec!["read_file".parse().unwrap()]);
    let mut agent = Agent { confirm: false, tools, ..Agent::default() };
    change(&mut agent);
    agent
}

/// The tests' worker, which writes what a planner, an executor or the built-in tools may write.
struct Forger {
    broker: Broker,
    client: Client,
    job: JobId,
}

impl Forger {
    async fn submit(broker: &Broker, job: &str, agent: Agent) -> Self {
        let (client, job) = (Client::new(broker), JobId::new(job).unwrap());
        let agent = Some(AgentChoice::Inline(Box::new(agent)));
        client
            .submit(Submit { id: Some(job.clone()), agent, ..Submit::goal("read the notes") })
            .await
            .unwrap();
        Self { broker: broker.clone(), client, job }
    }

    /// Waits for a decision for which `wanted` returns a value.
    async fn decided<T>(&self, wanted: impl Fn(&Decision) -> Option<T>) -> T {
        let mut records = self.broker.log.watch(&self.job, Seq(0)).await.unwrap();
        let found = async {
            loop {
                let entry = records.next().await.unwrap().unwrap();
                let Ok(Known::Decision(decision)) = entry.record.unwrap().known() else { continue };
                if let Some(found) = wanted(&decision) {
                    return found;
                }
            }
        };
        match patiently(found).await {
            Some(found) => found,
            None => panic!("{:?}", self.client.get(&self.job).await),
        }
    }

    async fn say(&self, fact: Fact) {
        self.broker.log.append(&self.job, &fact, new_trace()).await.unwrap();
    }

    /// Answers a planning round with one tool call.
    async fn plan(&self, round: u32, tool: &str, args: Value, binding: Binding) {
        let work = WorkId::new(format!("g0.p{round}")).unwrap();
        let is_it = |decision: &Decision| {
            matches!(decision, Decision::Plan(plan) if plan.work == work).then_some(())
        };
        self.decided(is_it).await;
        let planned = jobs::planned(vec![jobs::step("a", tool, args, binding)]);
        self.say(Fact::Planned(Planned { work, ..planned })).await;
    }

    async fn ended(&self) -> Outcome {
        let end = |decision: &Decision| {
            let Decision::Finish(finish) = decision else { return None };
            Some(finish.outcome.clone())
        };
        self.decided(end).await
    }

    /// Returns the called tools, each with the reason if the call was refused.
    async fn calls(&self) -> Vec<(String, Option<String>)> {
        let entries = self.broker.log.read(&self.job, Seq(0)).await.unwrap();
        let call = |entry: Entry| {
            let Known::Decision(decision) = entry.record.unwrap().known().unwrap() else {
                return None;
            };
            let Decision::Call(call) = *decision else { return None };
            Some((call.tool.to_string(), call.refused.map(|error| error.message)))
        };
        entries.into_iter().filter_map(call).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_forges_runs_nothing_beyond_the_agent_and_the_registry() {
    let outside = WebServer::start().await;
    let answer = ResponseTemplate::new(200);
    Mock::given(matchers::any()).respond_with(answer).expect(0).mount(&outside).await;
    let mut company = Company::start(SCRIPT).await;
    company.set("TOOLS__HTTP__ALLOW_PRIVATE", "true");
    let _process = company.serve("no planner", "supervisor,door,tools");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let announced = async || client.tools().await.is_ok_and(|tools| tools.tools.len() > 5);
    until("the built-in tools", announced).await;
    let written = company.workspace().join("jobs");
    let write = json!({"path": "owned.txt", "content": "owned"});
    let post = json!({"url": outside.uri(), "json": {}});

    // Plans with tools that the agent may not use.
    let forger = Forger::submit(
        &broker,
        "plans",
        reader(|agent| {
            agent.plan.attempts = 2;
            agent.plan.on_unparseable = OnUnparseable::Fail;
        }),
    )
    .await;
    forger.plan(1, "write_file", write.clone(), jobs::binding(Effect::Idempotent)).await;
    forger.plan(2, "http_post", post.clone(), jobs::binding(Effect::Once)).await;
    let Outcome::Failed { reason, .. } = forger.ended().await else { panic!("not failed") };
    assert_eq!((reason, forger.calls().await), (FailReason::PlanFailed, Vec::new()));
    let rejected = forger.decided(|decision| {
        let Decision::Plan(work) = decision else { return None };
        let PlanTalk::Rejected { error, .. } = work.dialogue.last()? else { return None };
        Some(error.clone())
    });
    assert_eq!(
        rejected.await,
        "steps[0].tool: the tool \"write_file\" is not allowed here; the tools are: read_file"
    );

    // A turn with such a call, beside an allowed one.
    std::fs::write(company.workspace().join("notes.txt"), "notes").unwrap();
    let forger =
        Forger::submit(&broker, "turns", reader(|agent| agent.plan.when = PlanWhen::Never)).await;
    let first = |decision: &Decision| {
        let Decision::Turn(turn) = decision else { return None };
        Some(turn.work.clone())
    };
    let call = |id: &str, tool: &str, args, effect| {
        let target =
            CallTarget::Tool { tool: tool.parse().unwrap(), binding: jobs::binding(effect) };
        TurnCall { id: id.to_owned(), name: tool.to_owned(), args, target }
    };
    let calls = vec![
        call("1", "write_file", write, Effect::Idempotent),
        call("2", "read_file", json!({"path": "notes.txt"}), Effect::Pure),
    ];
    let (work, attempt) = (forger.decided(first).await, Attempt::FIRST);
    let reply = TurnReply::Calls { text: String::new(), calls };
    let (usage, reasoning) = (Usage::default(), String::new());
    let turned = Turned { work, attempt, reply, usage, reasoning, opaque: None, answered: None };
    forger.say(Fact::Turned(turned)).await;
    let second = |decision: &Decision| {
        let Decision::Turn(turn) = decision else { return None };
        (turn.turn == 2).then(|| turn.replies.clone())
    };
    let told = forger.decided(second).await;
    let not_allowed = "the tool \"write_file\" is not allowed here; the tools are: read_file";
    assert_eq!(told[0].text, not_allowed);
    assert!(told[1].text.contains("notes"), "{told:?}");
    assert_eq!(forger.calls().await, [("read_file".to_owned(), None)]);

    // A tool that the agent may use, but that needs an approval whatever a worker claims.
    let forger = Forger::submit(&broker, "approval", reader(|agent| agent.tools = None)).await;
    forger.plan(1, "http_post", post, jobs::binding(Effect::Once)).await;
    let Outcome::Failed { message, .. } = forger.ended().await else { panic!("not failed") };
    let why = "http_post: its approval is always in the registry, and nobody approved the call; the call was not sent";
    assert_eq!(message, format!("step a failed: {why}"));
    assert_eq!(forger.calls().await, [("http_post".to_owned(), Some(why.to_owned()))]);

    assert!(!written.exists(), "a tool ran that the agent may not use");
}

/// Of the workers only the planner is asked for something, so no other one can fail its attempt or
/// make the job wait for a newer release.
#[tokio::test(flavor = "multi_thread")]
async fn records_that_cannot_be_read_stop_no_job() {
    let company = Company::start(SCRIPT).await;
    std::fs::write(company.workspace().join("notes.txt"), "notes").unwrap();
    let _process = company.serve("no planner", "supervisor,door,tools");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let announced = async || client.tools().await.is_ok_and(|tools| tools.tools.len() > 5);
    until("the built-in tools", announced).await;
    let forger = Forger::submit(&broker, "garbage", reader(|_| {})).await;
    let asked = |attempt| {
        move |decision: &Decision| {
            matches!(decision, Decision::Plan(plan) if plan.attempt == attempt).then_some(())
        }
    };
    forger.decided(asked(Attempt::FIRST)).await;

    let raw = RawWriter::connect(company.nats.url()).await;
    let write = async |source: &Source, version: u16, kind: &str| {
        let body = json!({"work": "g0.p1", "attempt": 1});
        let record = json!({"v": version, "kind": kind, "id": "x", "by": "w9", "body": body});
        let subject = broker.log.subjects().fact(&forger.job, source);
        raw.store(subject, record.to_string(), None).await.unwrap();
    };
    let pool = |name: &str| Source::Call(name.parse().unwrap());
    let others = [Source::Turn, pool("builtin"), pool("python")];
    for source in &others {
        write(source, 1, "danced").await;
        write(source, 2, "planned").await;
    }
    write(&Source::Plan, 1, "danced").await;
    forger.decided(asked(Attempt(2))).await;
    let args = json!({"path": "notes.txt"});
    let step = jobs::step("a", "read_file", args, jobs::binding(Effect::Pure));
    let work = WorkId::new("g0.p1").unwrap();
    let planned = Planned { work, attempt: Attempt(2), ..jobs::planned(vec![step]) };
    forger.say(Fact::Planned(planned)).await;
    let end = forger.ended().await;
    assert!(matches!(end, Outcome::Completed { .. }), "{end:?}");
    assert_eq!(client.get(&forger.job).await.unwrap().ignored, 6);
}

/// A plain write with two headers removes a timer, and no permission prevents it.
#[tokio::test(flavor = "multi_thread")]
async fn a_timer_that_a_worker_removes_comes_back() {
    let mut company = Company::start(SCRIPT).await;
    company.set("SUPERVISOR__SWEEP_INTERVAL_MS", "1000");
    let _process = company.serve("no planner", "supervisor,door");
    let broker = connect(&company).await;
    wait_for_door(&Client::new(&broker)).await;
    let forger =
        Forger::submit(&broker, "timers", reader(|agent| agent.deadline_ms = Some(3_600_000)))
            .await;
    forger.decided(|decision| matches!(decision, Decision::Plan(_)).then_some(())).await;
    let deadline = TimerName::new("deadline").unwrap();
    let armed = async || broker.log.armed(&forger.job).await.unwrap().contains(&deadline);
    assert!(armed().await);

    let subjects = broker.log.subjects();
    let results = subjects.fact(&forger.job, &Source::Turn);
    let raw = RawWriter::connect(company.nats.url()).await;
    raw.remove_timer(results, subjects.timer(&forger.job, &deadline)).await;
    assert!(
        !armed().await,
        "the server no longer removes it; then this test has served its purpose"
    );
    until("the timer is armed again", armed).await;
}
