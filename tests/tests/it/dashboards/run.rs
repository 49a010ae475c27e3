//! A run that exports every metric: jobs with every outcome, retries, answers, and every failure at
//! least once.

use broker::{
    Broker,
    log::{Queue, Whereabouts},
    testing::{NatsServer, RawWriter, wait::until},
};
use callboard_tests::{
    company::{Company, Process},
    wait::{self, wait_for_door},
};
use client::Client;
use proto::{
    agent::Agent,
    budget::Budget,
    decision::{DecisionKind, pools},
    door::{AgentChoice, GiveAnswer, Inbox, SendSignal, Submit},
    guard::Guard,
    id::{AgentName, JobId},
    interaction::{QuestionKind, Verdict},
    job::JobState,
    point::Order,
    subject::Subjects,
};

use super::prometheus::free_port;
use crate::{admin::http::ask, chaos::connect, tracing::receiver::Receiver};

/// The script of the model, with one rule for each required event.
const SCRIPT: &str = r#"
rules:
  - name: a provider that is busy once
    when: { system: 'You are a planner', last: 'work in steps' }
    times: 1
    fault: { status: 429, retry_after: 0 }
  - name: tools, turns and dependencies
    when: { system: 'You are a planner', last: 'work in steps' }
    reply:
      json:
        title: "steps"
        steps:
          - { id: make, description: "make a task", tool: create_task, args: { title: "a task" } }
          - { id: think, description: "think", depends_on: [make] }
  - name: a first turn
    when: { offers: finish, turn: 1, last: 'think' }
    reply: { calls: [ { tool: echo, args: { value: "a thought" } } ] }
  - name: a second turn
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "thought" } } ] }

  - name: a tool that is not there
    when: { system: 'You are a planner', last: 'fetch (?<url>\S+)' }
    reply:
      json: { title: "fetch", steps: [ { id: get, description: "get", tool: http_get, args: { url: "{{ captures.url }}" } } ] }
  - name: a question
    when: { system: 'You are a planner', offers: ask_user, turn: 1, last: 'ask somebody' }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "What?" } } ] }
  - name: a long rest
    when: { system: 'You are a planner', last: 'rest (?<ms>\d+)' }
    reply:
      json: { title: "rest", steps: [ { id: rest, description: "rest", tool: sleep, args: { ms: "{{ captures.ms | int }}" } } ] }
  - name: a provider that is away for all attempts of a call
    when: { system: 'You are a planner', last: 'outlast an outage' }
    times: 4
    fault: { status: 503, retry_after: 0 }
  - name: the provider is there again
    when: { system: 'You are a planner', last: 'outlast an outage' }
    reply:
      json: { title: "rest", steps: [ { id: rest, description: "rest", tool: sleep, args: { ms: 1 } } ] }
  - name: a provider that refuses
    when: { system: 'You are a planner', last: 'be refused' }
    fault: { status: 401 }

else: { text: "I do not know." }
"#;

/// The account has a limit of one gigabyte, so that the limit's metric exists.
const ACCOUNT: &str = "accounts { company: { jetstream: { max_file: 1G }, users: [ { user: company, password: company } ] } }\nno_auth_user: company";

/// The running installation, with the addresses of its metrics.
pub(crate) struct Run {
    pub(crate) company: Company,
    pub(crate) targets: Vec<String>,
    gateway: String,
    /// The receiver of its traces.
    pub(crate) receiver: Receiver,
    processes: Vec<Process>,
    broker: Broker,
    client: Client,
    raw: RawWriter,
}

impl Run {
    /// Starts an installation of three processes.
    pub(crate) async fn start() -> Self {
        let nats = NatsServer::start_with(&[ACCOUNT], &[]).await;
        let mut company = Company::on(nats, SCRIPT).await;
        let receiver = Receiver::grpc().await;
        company.set("TELEMETRY__OTLP_ENDPOINT", receiver.address());
        for (key, value) in [
            ("MODEL__TEMPERATURE", "0.0"),
            ("MODEL__CACHE_BYTES", "1000000"),
            ("MODEL__PRICE__INPUT_PER_MILLION", "3.0"),
            ("MODEL__PRICE__OUTPUT_PER_MILLION", "15.0"),
            ("MODEL__RETRY__INITIAL_INTERVAL_MS", "50"),
            ("NATS__REQUEST_TIMEOUT_MS", "1000"),
            ("SUPERVISOR__PROBE_INTERVAL_MS", "1000"),
            ("TOOLS__HTTP__ALLOW_PRIVATE", "true"),
        ] {
            company.set(key, value);
        }
        let gateway = format!("127.0.0.1:{}", free_port());
        company.set("GATEWAY__LISTEN", &gateway);
        let (mut targets, mut processes) = (Vec::new(), Vec::new());
        for (name, roles) in [
            ("supervisor", "supervisor,interaction,door,gateway"),
            ("worker", "planner,executor,tools"),
            ("victim", "tools"),
        ] {
            let address = format!("127.0.0.1:{}", free_port());
            company.set("ADMIN__LISTEN", &address);
            processes.push(company.serve(name, roles));
            targets.push(address);
        }
        let broker = connect(&company).await;
        let client = Client::new(&broker);
        wait_for_door(&client).await;
        let raw = RawWriter::connect(company.nats.url()).await;
        Self { company, targets, gateway, receiver, processes, broker, client, raw }
    }

    /// Plays everything that happens on healthy machines. Each part ends when its event has
    /// happened.
    pub(crate) async fn play(&self) {
        self.parked_and_answered().await;
        self.failing().await;
        self.steered().await;
        self.unreadable().await;
        let counted = ask(&self.gateway, "GET", "/v1/jobs/count", "").await;
        assert!(counted.is_some_and(|counted| counted.status == 200));
    }

    /// Plays the failures of machines. Counters of killed processes are lost.
    pub(crate) async fn disturb(&mut self) {
        self.a_worker_dies().await;
        self.nats_is_away().await;
        // A question stays open in the inbox.
        self.submit("open", "ask somebody").await;
        self.until("open", JobState::InputRequired).await;
    }

    async fn parked_and_answered(&self) {
        self.submit_to("steps", "work in steps", "default").await;
        self.until("steps", JobState::InputRequired).await;
        for accepted in [true, false] {
            // The second answer is refused.
            assert_eq!(self.approve("steps").await, accepted);
        }
        self.until("steps", JobState::Completed).await;
        // The job approaches its limit with the first step, and never reaches it.
        let budget = Budget { steps: Some(1000), warn_at: 0.0001, ..Budget::default() };
        // The first call of a tool is one too many for this guard.
        let guard = Guard { repeat_warn: 1, ..Guard::default() };
        let inline = Agent { confirm: false, budget, guard, ..Agent::default() };
        let inline = AgentChoice::Inline(Box::new(inline));
        let submit =
            Submit { id: Some(id("inline")), agent: Some(inline), ..Submit::goal("work in steps") };
        self.client.submit(submit).await.unwrap();
        self.until("inline", JobState::Completed).await;
    }

    async fn failing(&self) {
        // No server listens on that port.
        self.submit("fetch", &format!("fetch http://127.0.0.1:{}/", free_port())).await;
        self.submit("refused", "be refused").await;
        self.submit("outage", "outlast an outage").await;
        self.until("refused", JobState::Failed).await;
        self.until("fetch", JobState::Failed).await;
        self.until("outage", JobState::Completed).await;
        assert!(self.client.get(&id("nobody")).await.is_err());
        let result = self.store("fetch", "in.call.builtin", r#"{"v":1,"kind":"called","id":"foreign","body":{"work":"g0.r0.get","attempt":9,"result":{"success":true}}}"#).await;
        assert!(result, "a result that nobody waits for is stored");
    }

    async fn steered(&self) {
        self.submit("paused", "rest 1000").await;
        self.signal("paused", Order::Pause).await;
        self.submit("canceled", "rest 60000").await;
        self.until_in_hand("canceled").await;
        self.signal("canceled", Order::Cancel).await;
        self.until("canceled", JobState::Canceled).await;
    }

    async fn unreadable(&self) {
        self.submit("broken", "ask somebody").await;
        self.until("broken", JobState::InputRequired).await;
        assert!(
            self.store("broken", "in.door", r#"{"v":1,"kind":"dance","id":"x","body":{}}"#).await
        );
    }

    /// Kills a worker, whose calls are redelivered.
    async fn a_worker_dies(&mut self) {
        for at in 0..8 {
            let name = format!("survivor{at}");
            self.submit(&name, "rest 2000").await;
            self.until_in_hand(&name).await;
        }
        let [_, worker, victim] = self.processes.as_mut_slice() else { panic!("three processes") };
        worker.kill9();
        victim.kill9();
        self.company.set("ADMIN__LISTEN", &self.targets[1]);
        worker.restart(&self.company);
        self.company.set("ADMIN__LISTEN", &self.targets[2]);
        victim.restart(&self.company);
        for at in 0..8 {
            self.until(&format!("survivor{at}"), JobState::Completed).await;
        }
    }

    /// Kills the broker. Results cannot be stored, and the worker retries.
    async fn nats_is_away(&mut self) {
        self.submit("away", "rest 1500").await;
        self.until_in_hand("away").await;
        self.company.nats.kill9();
        until("a result that could not be stored", async || {
            // Either process with tools may have the call.
            for target in &self.targets[1..] {
                let metrics = ask(target, "GET", "/metrics", "").await;
                if metrics.is_some_and(|metrics| metrics.body.lines().any(is_failed_result)) {
                    return true;
                }
            }
            false
        })
        .await;
        self.company.nats.restart().await;
        wait_for_door(&self.client).await;
        self.until("away", JobState::Completed).await;
    }

    async fn submit(&self, job: &str, goal: &str) {
        self.submit_to(job, goal, "unattended").await;
    }

    async fn submit_to(&self, job: &str, goal: &str, agent: &str) {
        let agent = AgentChoice::Named(AgentName::new(agent).unwrap());
        let submit =
            Submit { id: Some(id(job)), agent: Some(agent), ..Submit::goal(goal.to_owned()) };
        self.client.submit(submit).await.unwrap();
    }

    async fn signal(&self, job: &str, signal: Order) {
        let signal =
            SendSignal { job: id(job), signal, expected_seq: None, reason: None, by: None };
        self.client.call(&signal).await.unwrap();
    }

    /// Approves the job's question, and returns whether the answer was accepted.
    async fn approve(&self, job: &str) -> bool {
        let open = self.client.call(&Inbox::default()).await.unwrap();
        let plan = open.questions.iter().find(|entry| entry.job == id(job));
        let (ask, digest) = match plan.map(|entry| (&entry.question.id, &entry.question.kind)) {
            Some((ask, QuestionKind::ToolApproval { digest, .. })) => {
                (ask.clone(), Some(digest.clone()))
            }
            Some((ask, _)) => (ask.clone(), None),
            None => (proto::id::AskId::new("q1").unwrap(), None),
        };
        let decision = Verdict::Approve;
        let answer = GiveAnswer {
            job: id(job),
            ask,
            decision,
            value: None,
            text: None,
            digest,
            remember: None,
            by: None,
            four_eyes: false,
        };
        self.client.call(&answer).await.is_ok()
    }

    /// Stores a record without the checks of a writer.
    async fn store(&self, job: &str, end: &str, record: &str) -> bool {
        let subjects = Subjects::new("cb", 8).unwrap();
        let subject = format!("cb.{}.{job}.{end}", subjects.shard_of(&id(job)));
        self.raw.store(subject, record.to_owned(), None).await.is_some()
    }

    async fn until(&self, job: &str, wanted: JobState) {
        wait::until(&self.client, &id(job), wanted).await;
    }

    /// Waits until a worker has a call of the job.
    async fn until_in_hand(&self, job: &str) {
        let (job, log) = (id(job), &self.broker.log);
        let call = wait::record(&self.broker, &job, "call").await;
        let queue = Queue::Commands(DecisionKind::Call, pools::builtin());
        until("a worker that takes the call", async || {
            let all = log.progress(log.subjects().shard_of(&job)).await.unwrap_or_default();
            let calls = all.iter().find(|progress| progress.queue == queue);
            calls.is_some_and(|calls| calls.of(call) != Whereabouts::Queued)
        })
        .await;
    }
}

/// Returns whether a line of metrics counts results that could not be stored.
fn is_failed_result(line: &str) -> bool {
    line.starts_with("messaging_client_operation_duration_seconds_count")
        && line.contains("callboard_record_kind=\"called\"")
        && line.contains("error_type=\"unavailable\"")
}

fn id(job: &str) -> JobId {
    JobId::new(job).unwrap()
}
