//! Processes with the interaction role, and jobs that ask. The job machine decides their logs.

use std::sync::{Arc, Weak};

use broker::{
    Broker,
    bus::RequestContext,
    clock::{Clock, SystemClock},
    log::{CasOutcome, Log, Submission},
    memory::{Memory, MemoryOptions},
    nats::{NatsOptions, connect},
    testing::{
        NatsServer,
        wait::{PATIENCE, eventually, soon, until},
    },
};
use bytes::Bytes;
use callboard_interaction_actor::{InteractionActor, inbox_service::InboxService, options};
use futures::StreamExt;
use machine::Job;
use proto::{
    agent::Agent,
    decision::{AskWork, Decision, Finish, Note},
    door::Refusal,
    error::{Code, Failure},
    fact::{Fact, Signal, Signaled, Submitted},
    id::{AskId, JobId, Seq, TimerName, WorkerId},
    interaction::{Question, QuestionKind},
    job::Outcome,
    lang::Language,
    message::Usage,
    policy::AskLimit,
    subject::{Family, Subjects},
};
use ractor::{Actor, ActorCell};
use runtime::{
    people::People,
    registry::Registry,
    service::{ServiceActor, ServiceArgs},
    telemetry::new_trace,
    worker::{PoolActor, PoolArgs},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) struct Office {
    pub(crate) broker: Broker,
    place: Place,
    /// The clock by which links expire.
    clock: Arc<dyn Clock>,
    staff: Vec<ActorCell>,
    /// Logs of the processes; used to await their end.
    logs: Vec<Weak<dyn Log>>,
    hired: usize,
}

/// The broker of an office.
pub(crate) enum Place {
    Memory(Memory),
    Nats(NatsServer),
}

impl Place {
    async fn connect(&self, name: &str) -> Broker {
        let (name, subjects) = (WorkerId::new(name).unwrap(), Subjects::new("cb", 4).unwrap());
        match self {
            Self::Memory(memory) => memory.connect(name),
            Self::Nats(server) => {
                let servers = vec![server.url().to_owned()];
                let options = NatsOptions { servers, ack_wait_ms: 2_000, ..NatsOptions::default() };
                connect(&options, subjects, name).await.unwrap()
            }
        }
    }
}

pub(crate) fn job(id: &str) -> JobId {
    JobId::new(id).unwrap()
}

pub(crate) fn question(id: &str, kind: QuestionKind) -> Question {
    let id = AskId::new(id).unwrap();
    Question { id, prompt: "When?".into(), kind, step: None, deadline: None, default: None }
}

impl Office {
    pub(crate) async fn new() -> Self {
        Self::with(MemoryOptions::default(), People::default()).await
    }

    pub(crate) async fn with(options: MemoryOptions, people: People) -> Self {
        let memory = Memory::new(Subjects::new("cb", 4).unwrap(), options);
        Self::at(Place::Memory(memory), people).await
    }

    pub(crate) async fn at(place: Place, people: People) -> Self {
        Self::on(place, people, Arc::new(SystemClock::new())).await
    }

    /// An office on the in-memory log, whose links expire by `clock`.
    pub(crate) async fn by(clock: Arc<dyn Clock>) -> Self {
        let memory = Memory::new(Subjects::new("cb", 4).unwrap(), MemoryOptions::default());
        Self::on(Place::Memory(memory), People::default(), clock).await
    }

    async fn on(place: Place, people: People, clock: Arc<dyn Clock>) -> Self {
        let broker = place.connect("test").await;
        let (staff, logs) = (Vec::new(), Vec::new());
        let mut office = Self { broker, place, clock, staff, logs, hired: 0 };
        office.hire(people).await;
        office
    }

    pub(crate) fn memory(&self) -> &Memory {
        match &self.place {
            Place::Memory(memory) => memory,
            Place::Nats(_) => panic!("the log is on NATS"),
        }
    }

    /// Kills every process with the role, nats-server, and the caller's connection.
    pub(crate) async fn burn_down(&mut self) {
        self.fire_everybody().await;
        if let Place::Nats(server) = &mut self.place {
            server.kill9();
            server.restart().await;
        }
        self.broker = self.place.connect("test").await;
    }

    /// Starts another process with the role.
    pub(crate) async fn hire(&mut self, people: People) {
        self.hired += 1;
        let worker = WorkerId::new(format!("clerk-{}", self.hired)).unwrap();
        let broker = self.place.connect(worker.as_str()).await;
        self.logs.push(Arc::downgrade(&broker.log));
        let shutdown = CancellationToken::new();
        for options in options(16) {
            let role = InteractionActor::new(broker.clone());
            let args =
                PoolArgs::new(broker.clone(), worker.clone(), role, options, shutdown.clone());
            let (actor, _) = Actor::spawn(None, PoolActor::default(), args).await.unwrap();
            self.staff.push(actor.get_cell());
        }
        let registry = Registry::open(&broker).await.unwrap();
        let service = InboxService::new(broker.clone(), people, registry);
        let service = Arc::new(service.with_clock(Arc::clone(&self.clock)));
        let args = ServiceArgs { broker, service, in_flight: 20_000, shutdown };
        let (actor, _) = Actor::spawn(None, ServiceActor, args).await.unwrap();
        self.staff.push(actor.get_cell());
    }

    /// Kills every process with the role immediately.
    pub(crate) async fn fire_everybody(&mut self) {
        for actor in self.staff.drain(..) {
            actor.kill();
            actor.wait(None).await.unwrap();
        }
        // The runtime drops the killed actors' tasks a little later.
        for log in self.logs.drain(..) {
            until("the end of all tasks", async || log.strong_count() == 0).await;
        }
    }

    /// Submits a job whose agent will ask twenty questions, and has asked none.
    pub(crate) async fn submit(&self, id: &str) -> JobId {
        self.submit_with(id, |_| {}).await
    }

    /// Submits a job like [`Self::submit`], changed by `change`.
    pub(crate) async fn submit_with(&self, id: &str, change: impl FnOnce(&mut Submitted)) -> JobId {
        let mut agent = Agent { confirm: false, ..Agent::default() };
        agent.ask.limit = AskLimit::Unlimited;
        agent.step.max_calls = 20;
        let mut submitted = Submitted {
            goal: format!("goal of {id}"),
            agent,
            language: Language::En,
            language_detected: false,
            digest: "d".into(),
            by: Some("ann".into()),
            conversation: None,
            parent: None,
            agents: Default::default(),
            forked: None,
            plan: None,
            workflow: None,
            files: Vec::new(),
            labels: proto::label::Labels::default(),
            rules: proto::rules::Rules::NOW,
        };
        change(&mut submitted);
        let (job, fact) = (job(id), Fact::Submitted(submitted));
        let stored = self.broker.log.submit(&job, &fact, new_trace()).await.unwrap();
        assert!(matches!(stored, Submission::Stored(_)));
        let mut folded = self.folded(&job).await;
        while let Some(result) = self.work(&mut folded).await {
            self.broker.log.append(&job, &result, new_trace()).await.unwrap();
            self.catch_up(&mut folded).await;
        }
        job
    }

    /// Stores the next plan or turn of a job, and returns the fact that its worker would store.
    async fn work(&self, folded: &mut Job) -> Option<Fact> {
        let decision = folded.decide()?.decision;
        let result = match &decision {
            Decision::Plan(work) => {
                let step = json!({"id": "step1", "description": "ask", "action": "agent"});
                let reply = json!({"type": "plan", "plan": {"title": "t", "steps": [step]}});
                let planned = json!({"work": work.work, "attempt": work.attempt, "reply": reply});
                Fact::Planned(serde_json::from_value(planned).unwrap())
            }
            Decision::Turn(work) => {
                let asked = json!({"prompt": "When?", "mode": "query"});
                let call = |n| {
                    let target = json!({"target": "person", "question": asked});
                    json!({"id": format!("c{n}"), "name": "ask_user", "args": {}, "target": target})
                };
                let calls: Vec<_> = (0..20).map(call).collect();
                let reply = json!({"type": "calls", "calls": calls});
                let turned = json!({"work": work.work, "attempt": work.attempt, "reply": reply});
                Fact::Turned(serde_json::from_value(turned).unwrap())
            }
            Decision::Ask(_) => return None,
            other @ (Decision::Call(_)
            | Decision::Done(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Finish(_)) => panic!("not expected: {other:?}"),
        };
        self.store(folded, &decision).await;
        Some(result)
    }

    async fn folded(&self, job: &JobId) -> Job {
        machine::replay(job, &self.broker.log.read(job, Seq(0)).await.unwrap())
    }

    async fn catch_up(&self, folded: &mut Job) {
        let entries = self.broker.log.read(folded.id(), folded.seq()).await.unwrap();
        entries.iter().for_each(|entry| folded.take(entry));
        assert_eq!(folded.poison(), None);
    }

    async fn store(&self, folded: &mut Job, decision: &Decision) {
        self.decide(&folded.id().clone(), decision).await;
        self.catch_up(folded).await;
    }

    /// Stores a decision as a supervisor would.
    pub(crate) async fn decide(&self, job: &JobId, decision: &Decision) {
        let entries = self.broker.log.read(job, Seq(0)).await.unwrap();
        let is_decision = |entry: &&proto::entry::Entry| matches!(entry.family, Family::Do(..));
        let after = entries.iter().rfind(is_decision).map_or(Seq(0), |entry| entry.seq);
        let stored = self.broker.log.decide(job, decision, after, None, new_trace()).await;
        assert!(matches!(stored.unwrap(), CasOutcome::Stored(_)), "somebody else decides");
    }

    /// Makes a job ask these questions in place of its agent's next ones.
    pub(crate) async fn ask_all(&self, job: &JobId, questions: impl Iterator<Item = Question>) {
        let mut folded = self.folded(job).await;
        for question in questions {
            let mut next = folded.decide().map(|next| next.decision);
            // A child tells its parent of each question.
            while let Some(note @ Decision::Note(_)) = next {
                self.store(&mut folded, &note).await;
                next = folded.decide().map(|next| next.decision);
            }
            let Some(Decision::Ask(wanted)) = next else { panic!("not a question: {next:?}") };
            self.store(&mut folded, &Decision::Ask(AskWork { question, ..wanted })).await;
        }
    }

    pub(crate) async fn ask(&self, job: &JobId, question: Question) {
        self.ask_all(job, [question].into_iter()).await;
    }

    /// Creates a job with one question `q1` of a kind, and waits until it is in the inbox.
    pub(crate) async fn asked(&self, id: &str, kind: QuestionKind) -> JobId {
        let job = self.submit(id).await;
        self.ask(&job, question("q1", kind)).await;
        self.until(&job, 1).await;
        job
    }

    pub(crate) async fn close(&self, job: &JobId, because: proto::decision::Closed) {
        let ask = AskId::new("q1").unwrap();
        self.decide(
            job,
            &Decision::Note(Note::QuestionClosed { ask, because, generation: Default::default() }),
        )
        .await;
    }

    pub(crate) async fn finish(&self, job: &JobId) {
        let outcome = Outcome::Canceled { reason: None };
        self.decide(
            job,
            &Decision::Finish(Finish {
                outcome,
                usage: Usage::default(),
                generation: Default::default(),
            }),
        )
        .await;
    }

    pub(crate) async fn cancel(&self, job: &JobId) {
        let signaled =
            Signaled { signal: Signal::Cancel, reason: None, by: None, parent_seq: None };
        self.broker.log.append(job, &Fact::Signaled(signaled), new_trace()).await.unwrap();
    }

    /// Makes the deadline of `q1` expire, and waits until the log contains that.
    pub(crate) async fn expire(&self, job: &JobId) {
        let timer = TimerName::new("ask-q1").unwrap();
        let now = jiff::Timestamp::now();
        self.broker.log.arm(job, &timer, now, new_trace()).await.unwrap();
        let mut entries = self.broker.log.watch(job, Seq(0)).await.unwrap();
        let is_fired = |entry: &proto::entry::Entry| {
            entry.record.as_ref().is_ok_and(|record| record.kind == "fired")
        };
        while !is_fired(&soon("the timer", entries.next()).await.unwrap().unwrap()) {}
    }

    pub(crate) async fn send(
        &self,
        verb: &str,
        body: impl AsRef<[u8]>,
        token: Option<&str>,
    ) -> Result<Value, Failure> {
        let context = RequestContext { trace: None, token: token.map(str::to_owned) };
        let subject = self.broker.log.subjects().service(verb);
        let body = Bytes::copy_from_slice(body.as_ref());
        let answer = self.broker.bus.request(subject, body, context, PATIENCE).await.unwrap();
        match serde_json::from_slice::<Refusal>(&answer.payload) {
            Ok(refusal) => Err(refusal.error),
            Err(_) => Ok(serde_json::from_slice(&answer.payload).unwrap()),
        }
    }

    pub(crate) async fn answer(&self, job: &JobId, mut body: Value) -> Result<Value, Failure> {
        body["job"] = json!(job);
        if body.get("ask").is_none() {
            body["ask"] = json!("q1");
        }
        self.send("answer", body.to_string(), None).await
    }

    /// Returns the code of a refused answer and the field that it names.
    pub(crate) async fn refused(&self, job: &JobId, body: Value) -> (Code, String) {
        match self.answer(job, body.clone()).await {
            Err(failure) => (failure.code, failure.field.unwrap_or_default()),
            Ok(answer) => panic!("{body} was taken: {answer}"),
        }
    }

    pub(crate) async fn inbox(&self, body: &str) -> Value {
        self.send("inbox", body, None).await.unwrap()
    }

    /// Waits until the inbox has `count` questions of a job.
    pub(crate) async fn until(&self, job: &JobId, count: usize) {
        let body = json!({"job": job, "limit": 1000}).to_string();
        eventually(format!("{count} questions of {job} in the inbox"), async || {
            let inbox = self.inbox(&body).await;
            let shown = inbox["questions"].as_array().unwrap().len();
            if shown == count { Ok(()) } else { Err(shown) }
        })
        .await;
    }
}
