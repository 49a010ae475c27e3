//! An installation that exports its telemetry to a receiver, and a job with every kind of work: a
//! question, a plan check, a tool in another language, a tool that fails at first, model turns, a
//! tool that asks a model, and slow people.

use std::process::{Child, Command, Stdio};

use broker::{Broker, testing::wait::eventually};
use callboard_tests::{
    company::{Company, Process},
    installed, root,
    wait::{self, wait_for_door, wait_for_tool},
    web::WebServer,
};
use client::Client;
use proto::{
    agent::Agent,
    door::{AgentChoice, GiveAnswer, Inbox, InboxEntry, Submit},
    id::JobId,
    interaction::{QuestionKind, Verdict},
    job::JobState,
    trace::TraceContext,
};
use serde_json::json;
use wiremock::{Mock, ResponseTemplate, matchers};

use super::Receiver;
use crate::chaos::connect;

/// The body of the server from which jobs fetch.
pub(super) const PAGE: &str = "page-canary-5b1e";

const SCRIPT: &str = r#"
rules:
  - name: ask first
    when: { system: 'You are a planner', offers: ask_user, turn: 1, last: 'greet' }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Whom?" } } ] }

  - name: then plan
    when: { system: 'You are a planner', any: 'greet (?<url>\S+)' }
    reply:
      json:
        title: "greet"
        steps:
          - { id: count, description: "count", tool: word_count, args: { text: "{{ last }}" } }
          - { id: fetch, description: "fetch", depends_on: [count], tool: http_get, args: { url: "{{ captures.url }}" } }
          - { id: think, description: "think", depends_on: [fetch] }
          - { id: say, description: "say", depends_on: [think], tool: model, args: { task: "say it" } }

  - name: first turn
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: echo, args: { value: "hello" } } ] }

  - name: second turn
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "thought" } } ] }

  - name: the tool that asks a model
    when: { last: 'say it' }
    reply: { text: "it is said" }
"#;

/// A running installation, and a server from which its jobs fetch.
pub(super) struct Stage {
    pub(super) broker: Broker,
    pub(super) client: Client,
    pub(super) host: WebServer,
    pub(super) processes: Vec<Process>,
    _snake: Snake,
    /// The base of the other fields, so it is dropped last.
    #[expect(dead_code, reason = "it is held, not used")]
    company: Company,
}

/// The worker in Python. It is killed when it is dropped.
struct Snake(Child);

impl Drop for Snake {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stage {
    /// Starts everything, with further settings and variables (with the full prefix
    /// `CALLBOARD__…`).
    pub(super) async fn start(receiver: &Receiver, more: &[(&str, &str)]) -> Self {
        let mut company = Company::start(SCRIPT).await;
        for (name, value) in [
            ("CALLBOARD__TELEMETRY__OTLP_ENDPOINT", receiver.address()),
            ("CALLBOARD__TELEMETRY__METRIC_INTERVAL_MS", "1000"),
            ("CALLBOARD__TOOLS__HTTP__ALLOW_PRIVATE", "true"),
            // No message is redelivered, however slow the machine is.
            ("CALLBOARD__NATS__ACK_WAIT_MS", "60000"),
            ("CALLBOARD__NATS__FACTS_ACK_WAIT_MS", "60000"),
            ("OTEL_BSP_SCHEDULE_DELAY", "100"),
            ("OTEL_BLRP_SCHEDULE_DELAY", "100"),
        ] {
            company.variable(name, value);
        }
        more.iter().for_each(|(name, value)| company.variable(name, value));
        let processes = vec![
            company.serve("supervisor", "supervisor,door"),
            company.serve("people", "interaction"),
            company.serve("minds", "planner,executor"),
            company.serve("hands", "tools"),
        ];
        let broker = connect(&company).await;
        let client = Client::new(&broker);
        wait_for_door(&client).await;
        let snake = Snake::start(&company);
        let stage = Self { broker, client, host: host().await, processes, _snake: snake, company };
        for tool in ["word_count", "model"] {
            wait_for_tool(&stage.client, tool).await;
        }
        stage
    }

    /// Submits a job with a plan check. `words` is added to the goal that the script needs.
    pub(super) async fn submit(&self, words: &str, trace: Option<TraceContext>) -> JobId {
        let agent: Agent = serde_json::from_value(json!({
            "name": "greeter",
            "tool": {"retry": {"initial_interval_ms": 300, "jitter": 0.0}},
        }))
        .unwrap();
        let goal = format!("{words} greet {}/", self.host.uri());
        let submit =
            Submit { agent: Some(AgentChoice::Inline(Box::new(agent))), ..Submit::goal(goal) };
        let client = self.client.clone();
        let client = trace.map_or(client.clone(), |trace| client.with_trace(trace));
        client.submit(submit).await.unwrap().job
    }

    /// Waits for an open question that is `wanted`, and returns it.
    pub(super) async fn question(&self, wanted: impl Fn(&QuestionKind) -> bool) -> InboxEntry {
        eventually("a question", async || {
            let page = self.client.call(&Inbox::default()).await.unwrap();
            let found = page.questions.into_iter().find(|entry| wanted(&entry.question.kind));
            found.ok_or("it was not asked")
        })
        .await
    }

    /// Answers the planner's question.
    pub(super) async fn answer(&self, words: &str) {
        let entry = self.question(|kind| matches!(kind, QuestionKind::Question)).await;
        self.give(entry, Verdict::Respond, Some(words), None).await;
    }

    /// Approves the plan.
    pub(super) async fn approve(&self) {
        let entry = self.question(|kind| matches!(kind, QuestionKind::PlanCheck { .. })).await;
        let QuestionKind::PlanCheck { digest, .. } = entry.question.kind.clone() else {
            panic!("it was a plan check");
        };
        self.give(entry, Verdict::Approve, None, Some(digest)).await;
    }

    async fn give(
        &self,
        entry: InboxEntry,
        decision: Verdict,
        value: Option<&str>,
        digest: Option<String>,
    ) {
        let answer = GiveAnswer {
            job: entry.job,
            ask: entry.question.id,
            decision,
            value: value.map(|words| json!(words)),
            text: None,
            digest,
            remember: None,
            by: Some("the tester".into()),
            four_eyes: false,
        };
        self.client.call(&answer).await.unwrap();
    }

    /// Waits until the job has completed.
    pub(super) async fn completed(&self, job: &JobId) {
        let view = wait::view(&self.client, job, |view| view.state.is_terminal()).await;
        assert_eq!(view.state, JobState::Completed, "{view:#?}");
    }

    /// Returns the logs of all processes.
    pub(super) fn logged(&self) -> String {
        self.processes.iter().map(Process::logged).collect()
    }
}

impl Snake {
    fn start(company: &Company) -> Self {
        let mut python = Command::new(installed("python"));
        // Python writes no bytecode into the sources.
        python.arg("-B").arg(root().join("examples/python-worker/worker.py"));
        python.args(["--servers", company.nats.url(), "--name", "snake", "--data"]);
        python.arg(company.workspace().join("lines.sqlite"));
        Self(python.stdin(Stdio::null()).spawn().unwrap())
    }
}

/// Starts a server that fails the first request and answers the second one.
async fn host() -> WebServer {
    let server = WebServer::start().await;
    let get = || Mock::given(matchers::method("GET"));
    let busy = ResponseTemplate::new(503);
    get().respond_with(busy).up_to_n_times(1).with_priority(1).mount(&server).await;
    get().respond_with(ResponseTemplate::new(200).set_body_string(PAGE)).mount(&server).await;
    server
}
