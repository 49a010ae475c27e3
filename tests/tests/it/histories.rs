//! The recorder of the golden histories in `machine/tests/histories`. It runs jobs on a nats-server
//! with a scripted model, and writes their logs. Only missing histories are recorded.
//!
//! `make test NEXTEST="--run-ignored only -p callboard-tests record_histories"`

mod presets;
mod workflows;

use std::{collections::BTreeMap, path::PathBuf};

use broker::{Broker, testing::wait::until as holds};
use callboard_tests::{
    company::Company,
    load, root,
    wait::{self, wait_for_door},
    web::WebServer,
};
use client::Client;
use proto::{
    agent::{Agent, OnFailure, OnGivenUp, PlanWhen},
    digest,
    door::{AgentChoice, GiveAnswer, SendSignal, Submit},
    entry::Entry,
    id::{ConversationId, JobId, Seq, SnapshotName, StepId},
    interaction::Verdict,
    job::SubStatus,
    point::{Order, Point},
    retry::RetryPolicy,
    step::StepState,
    subject::{Family, Subjects},
    view::JobView,
};
use runtime::presence::Crew;
use serde_json::{Value, json};
use wiremock::{Mock, ResponseTemplate, matchers};

use self::{presets::PRESETS, workflows::FLOWS};
use super::chaos::connect;

/// The script of the model, for all histories.
const SCRIPT: &str = include_str!("histories/script.yaml");

/// A job, and the acts of people and operators on it.
struct Scenario {
    name: &'static str,
    goal: &'static str,
    agent: fn(&mut Agent),
    acts: &'static [Act],
    /// The conversation that the job continues.
    conversation: Option<&'static str>,
}

/// An act of a person, performed when the job reaches the required state.
#[derive(Debug, Clone)]
enum Act {
    Approve,
    Revise(&'static str),
    Answer(&'static str),
    /// Answers the question of a child, at the child.
    AnswerBelow(&'static str),
    Reject,
    Edit(&'static str),
    Steer(&'static str),
    Signal(Order, Option<SubStatus>),
    /// Sends a signal that refers to a position or a step.
    Order(fn() -> Order, fn(&JobView) -> bool),
}

const NOTHING: fn(&mut Agent) = |agent| agent.confirm = false;

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "zh-tasks",
        goal: "先标记任务，创建发邮件任务，标记完成",
        agent: |_| {},
        acts: &[Act::Approve],
        conversation: None,
    },
    Scenario { name: "diamond", goal: "diamond", agent: NOTHING, acts: &[], conversation: None },
    // The first job shows that its work is quick, so the second one needs no queue.
    Scenario {
        name: "queued",
        goal: "tour of default",
        agent: NOTHING,
        acts: &[],
        conversation: None,
    },
    Scenario {
        name: "local",
        goal: "tour of default",
        agent: NOTHING,
        acts: &[],
        conversation: None,
    },
    Scenario {
        name: "agent-loop",
        goal: "loop",
        agent: |agent| {
            agent.confirm = false;
            agent.plan.when = PlanWhen::Never;
        },
        acts: &[Act::Answer("Ann")],
        conversation: None,
    },
    Scenario {
        name: "confirm-edit",
        goal: "confirm",
        agent: |agent| agent.ask.deadline_ms = Some(3_600_000),
        acts: &[Act::Revise("add a second step"), Act::Approve],
        conversation: None,
    },
    Scenario {
        name: "retry",
        goal: "retry",
        agent: |agent| {
            agent.confirm = false;
            agent.tool.retry = quick(2);
            agent.step.retry = quick(2);
        },
        acts: &[],
        conversation: None,
    },
    Scenario {
        name: "replan",
        goal: "replan",
        agent: |agent| {
            agent.confirm = false;
            agent.tool.retry = RetryPolicy::never();
            agent.step.on_failure = OnFailure::Replan;
        },
        acts: &[],
        conversation: None,
    },
    Scenario {
        name: "cancel",
        goal: "confirm",
        agent: |_| {},
        acts: &[Act::Signal(Order::Cancel, Some(SubStatus::Parked))],
        conversation: None,
    },
    Scenario {
        name: "pause",
        goal: "nap",
        agent: NOTHING,
        acts: &[
            Act::Signal(Order::Pause, Some(SubStatus::Executing)),
            Act::Signal(Order::Resume, Some(SubStatus::Paused)),
        ],
        conversation: None,
    },
    Scenario {
        name: "deadline",
        goal: "nap",
        agent: |agent| {
            agent.confirm = false;
            agent.deadline_ms = Some(1_500);
        },
        acts: &[],
        conversation: None,
    },
    Scenario {
        name: "question-expired",
        goal: "ask and wait",
        agent: |agent| {
            agent.confirm = false;
            agent.ask.deadline_ms = Some(700);
        },
        acts: &[],
        conversation: None,
    },
    Scenario {
        name: "given-up",
        goal: "replan",
        agent: |agent| {
            agent.confirm = false;
            agent.tool.retry = RetryPolicy::never();
            agent.tool.on_given_up = OnGivenUp::Park;
        },
        acts: &[
            Act::Signal(Order::Retry, Some(SubStatus::Parked)),
            Act::Signal(Order::Cancel, Some(SubStatus::Parked)),
        ],
        conversation: None,
    },
    Scenario {
        name: "post-once",
        goal: "post",
        agent: NOTHING,
        acts: &[Act::Approve],
        conversation: None,
    },
    Scenario {
        name: "family",
        goal: "family",
        agent: |agent| {
            agent.confirm = false;
            agent.agents =
                serde_json::from_value(json!([{"name": "direct", "interactive": true}])).unwrap();
        },
        acts: &[Act::AnswerBelow("Ann")],
        conversation: None,
    },
    Scenario {
        name: "rolled-back",
        goal: "nap",
        agent: NOTHING,
        acts: &[
            Act::Order(name_it, naps),
            Act::Order(go_back, |view| naps(view) && !view.snapshots.is_empty()),
            Act::Order(go_back, |view| view.state.is_terminal()),
        ],
        conversation: None,
    },
    Scenario {
        name: "restarted",
        goal: "diamond",
        agent: NOTHING,
        acts: &[Act::Order(
            || Order::Restart { step: StepId::new("b").unwrap(), again: false },
            |view| view.state.is_terminal(),
        )],
        conversation: None,
    },
];

fn here() -> SnapshotName {
    SnapshotName::new("here").unwrap()
}

fn name_it() -> Order {
    Order::Snapshot { name: here(), at: None }
}

fn go_back() -> Order {
    Order::RollBack { to: Point::Name(here()), again: false }
}

fn naps(view: &JobView) -> bool {
    let mut steps = view.plan.iter().flat_map(|plan| &plan.steps);
    steps.any(|step| step.state == StepState::Running)
}

fn quick(attempts: u32) -> RetryPolicy {
    RetryPolicy { max_attempts: attempts, initial_interval_ms: 100, ..RetryPolicy::default() }
}

fn directory() -> PathBuf {
    root().join("machine/tests/histories")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "records what is not recorded yet; see the head of this file"]
async fn record_histories() {
    let mut index: BTreeMap<String, Value> =
        serde_json::from_str(&std::fs::read_to_string(directory().join("index.json")).unwrap())
            .unwrap();
    let new: Vec<&Scenario> = SCENARIOS
        .iter()
        .chain(PRESETS)
        .filter(|scenario| !index.contains_key(scenario.name))
        .collect();
    let server = WebServer::start().await;
    Mock::given(matchers::any()).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    let mut company = Company::start(&SCRIPT.replace("@url@", &server.uri())).await;
    company.set("TOOLS__HTTP__ALLOW_PRIVATE", "true");
    let _all = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let tools_are_there = async || client.tools().await.is_ok_and(|tools| tools.tools.len() > 5);
    holds("tools", tools_are_there).await;
    // Work without the queue begins once all live processes are known.
    Crew::open(&broker).settled().await;
    let mut played = Vec::new();
    for scenario in new {
        let job = play(&client, scenario).await;
        load::ended(&broker, std::slice::from_ref(&job)).await;
        played.push((scenario.name, job));
    }
    let flows: Vec<_> = FLOWS.iter().filter(|flow| !index.contains_key(flow.name)).collect();
    for flow in flows {
        let agent = Agent { confirm: false, ..Agent::default() };
        let submit = flow.submission();
        played.push((flow.name, perform(&client, flow.name, submit, agent, flow.acts).await));
    }
    for (name, job) in played {
        load::ended(&broker, std::slice::from_ref(&job)).await;
        index.insert(name.to_owned(), write(&broker, name, &job).await);
        for (n, child) in client.get(&job).await.unwrap().children.iter().enumerate() {
            let name = format!("{name}-child-{}", n + 1);
            index.insert(name.clone(), write(&broker, &name, &child.job).await);
        }
        eprintln!("{name} is recorded");
    }
    let list = serde_json::to_string_pretty(&index).unwrap() + "\n";
    std::fs::write(directory().join("index.json"), list).unwrap();
}

/// Runs the job of a scenario.
async fn play(client: &Client, scenario: &Scenario) -> JobId {
    let mut agent = Agent::default();
    (scenario.agent)(&mut agent);
    let conversation = scenario.conversation.map(|id| ConversationId::new(id).unwrap());
    let submit = Submit { conversation, ..Submit::goal(scenario.goal) };
    perform(client, scenario.name, submit, agent, scenario.acts).await
}

/// Submits a job, and performs the acts of people on it.
async fn perform(client: &Client, name: &str, submit: Submit, agent: Agent, acts: &[Act]) -> JobId {
    let id = JobId::new(name).unwrap();
    let agent = Some(AgentChoice::Inline(Box::new(agent)));
    client.submit(Submit { id: Some(id.clone()), agent, ..submit }).await.unwrap();
    for act in acts {
        let answer = |view: &JobView, decision, text: Option<&str>, value, digest| GiveAnswer {
            job: view.job.clone(),
            ask: view.questions[0].id.clone(),
            decision,
            value,
            text: text.map(str::to_owned),
            digest,
            remember: None,
            by: Some("ann".to_owned()),
            four_eyes: false,
        };
        let asked = async || wait::view(client, &id, |view| !view.questions.is_empty()).await;
        match act {
            Act::Approve => {
                let view = asked().await;
                let question = serde_json::to_value(&view.questions[0]).unwrap();
                let digest = question["digest"].as_str().map(str::to_owned);
                client.call(&answer(&view, Verdict::Approve, None, None, digest)).await.unwrap();
                settled(client, &id, &view).await;
            }
            Act::Revise(words) => {
                let view = asked().await;
                let words = answer(&view, Verdict::Respond, Some(words), None, None);
                client.call(&words).await.unwrap();
                settled(client, &id, &view).await;
            }
            Act::Answer(text) => {
                let view = asked().await;
                let value = Some(json!(text));
                client.call(&answer(&view, Verdict::Respond, None, value, None)).await.unwrap();
                settled(client, &id, &view).await;
            }
            Act::AnswerBelow(text) => answer_below(client, &id, text).await,
            Act::Reject => {
                let view = asked().await;
                client.call(&answer(&view, Verdict::Reject, None, None, None)).await.unwrap();
                settled(client, &id, &view).await;
            }
            Act::Edit(plan) => {
                let view = asked().await;
                let plan = Some(serde_json::from_str(plan).unwrap());
                client.call(&answer(&view, Verdict::Edit, None, plan, None)).await.unwrap();
                settled(client, &id, &view).await;
            }
            Act::Steer(words) => steer(client, &asked().await, words).await,
            Act::Signal(signal, when) => {
                let view = wait::view(client, &id, |view| view.sub_status == *when).await;
                send(client, &id, signal.clone()).await;
                wait::view(client, &id, |now| now.seq > view.seq).await;
            }
            Act::Order(order, when) => {
                wait::view(client, &id, when).await;
                let seq = send(client, &id, order()).await;
                wait::view(client, &id, |now| now.seq > seq).await;
            }
        }
    }
    id
}

/// Sends a signal to a job, and returns its position.
async fn send(client: &Client, job: &JobId, signal: Order) -> Seq {
    let (reason, by) = (Some("a test".to_owned()), Some("ann".to_owned()));
    let signal = SendSignal { job: job.clone(), signal, expected_seq: None, reason, by };
    client.call(&signal).await.unwrap().seq
}

/// Steers a job while it waits for an answer.
async fn steer(client: &Client, view: &JobView, words: &str) {
    let signal = Order::Steer { text: words.to_owned() };
    let (job, by) = (view.job.clone(), Some("ann".to_owned()));
    client.call(&SendSignal { job, signal, expected_seq: None, reason: None, by }).await.unwrap();
    wait::view(client, &view.job, |now| now.seq > view.seq).await;
}

/// Answers the question of a child, at the child.
async fn answer_below(client: &Client, id: &JobId, text: &str) {
    let below = |view: &JobView| view.children.iter().find_map(|c| c.questions.first().cloned());
    let asked = below(&wait::view(client, id, |view| below(view).is_some()).await).unwrap();
    let given = GiveAnswer {
        job: asked.job,
        ask: asked.question.id,
        decision: Verdict::Respond,
        value: Some(json!(text)),
        text: None,
        digest: None,
        remember: None,
        by: Some("ann".to_owned()),
        four_eyes: false,
    };
    client.call(&given).await.unwrap();
    wait::view(client, id, |view| below(view).is_none()).await;
}

/// Waits until a question is closed.
async fn settled(client: &Client, id: &JobId, asked: &JobView) {
    wait::view(client, id, |view| view.questions.iter().all(|q| q.id != asked.questions[0].id))
        .await;
}

/// Writes a log to its file, and returns its entry for the index.
async fn write(broker: &Broker, name: &str, job: &JobId) -> Value {
    let entries = broker.log.read(job, Seq(0)).await.unwrap();
    let lines: Vec<String> =
        entries.iter().map(|entry| line(broker.log.subjects(), entry)).collect();
    let text = lines.join("\n") + "\n";
    std::fs::write(directory().join(format!("{name}.jsonl")), &text).unwrap();
    json!({
        "sha256": digest::of_bytes(text.as_bytes()),
        "records": entries.len(),
        "states": machine::testing::states(job, &entries),
    })
}

fn line(subjects: &Subjects, entry: &Entry) -> String {
    let subject = match &entry.family {
        Family::In(source) => subjects.fact(&entry.job, source),
        Family::Do(kind, pool) => subjects.decision(&entry.job, *kind, pool),
        other @ (Family::At(_) | Family::UnknownIn(_) | Family::UnknownDo(_)) => {
            panic!("{} has a {other}", entry.job)
        }
    };
    let record = serde_json::to_value(entry.record.as_ref().unwrap()).unwrap();
    json!({"seq": entry.seq, "time": entry.time, "subject": subject, "record": record}).to_string()
}
