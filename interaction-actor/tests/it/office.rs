//! A desk where questions are answered, and somebody who asks them.

use std::sync::{Arc, Weak};

use broker::{
    Broker,
    bus::RequestContext,
    log::{CasOutcome, Log, Submission},
    memory::{Memory, MemoryOptions},
    nats::{NatsOptions, connect},
    testing::{
        NatsServer,
        wait::{PATIENCE, eventually, soon, until},
    },
};
use bytes::Bytes;
use callboard_interaction_actor::{desk::Desk, work::Asking};
use futures::StreamExt;
use proto::{
    agent::Agent,
    decision::{AskWork, Decision, DecisionKind, Finish, Note, pools},
    door::Refusal,
    error::{Code, Failure},
    fact::{Fact, Signal, Signaled, Submitted},
    id::{AskId, JobId, Seq, TimerName, WorkId, WorkerId},
    interaction::{Question, QuestionKind},
    job::Outcome,
    lang::Language,
    message::Usage,
    subject::Subjects,
};
use ractor::{Actor, ActorCell};
use runtime::{
    people::People,
    registry::Registry,
    service::{ServiceActor, ServiceArgs},
    telemetry::new_trace,
    worker::{PoolActor, PoolArgs, PoolOptions},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) struct Office {
    pub(crate) broker: Broker,
    place: Place,
    staff: Vec<ActorCell>,
    /// What the staff writes to.
    logs: Vec<Weak<dyn Log>>,
    hired: usize,
}

/// Where the log is.
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
        let broker = place.connect("test").await;
        let mut office = Self { broker, place, staff: Vec::new(), logs: Vec::new(), hired: 0 };
        office.hire(people).await;
        office
    }

    /// The log, in memory.
    pub(crate) fn memory(&self) -> &Memory {
        match &self.place {
            Place::Memory(memory) => memory,
            Place::Nats(_) => panic!("the log is on NATS"),
        }
    }

    /// Everything dies: every process with the role, nats-server, and the caller's connection.
    pub(crate) async fn burn_down(&mut self) {
        self.fire_everybody().await;
        if let Place::Nats(server) = &mut self.place {
            server.kill9();
            server.restart().await;
        }
        self.broker = self.place.connect("test").await;
    }

    /// One more process with the role.
    pub(crate) async fn hire(&mut self, people: People) {
        self.hired += 1;
        let worker = WorkerId::new(format!("clerk-{}", self.hired)).unwrap();
        let broker = self.place.connect(worker.as_str()).await;
        self.logs.push(Arc::downgrade(&broker.log));
        let shutdown = CancellationToken::new();
        let work = Arc::new(Asking::new(broker.clone()));
        for kind in [DecisionKind::Ask, DecisionKind::Note] {
            let options = PoolOptions::new(kind, pools::people(), 16);
            let args = PoolArgs::new(
                broker.clone(),
                worker.clone(),
                work.clone(),
                options,
                shutdown.clone(),
            );
            let (actor, _) = Actor::spawn(None, PoolActor, args).await.unwrap();
            self.staff.push(actor.get_cell());
        }
        let service =
            Arc::new(Desk::new(broker.clone(), people, Registry::open(&broker).await.unwrap()));
        let args = ServiceArgs { broker, service, in_flight: 20_000, shutdown };
        let (actor, _) = Actor::spawn(None, ServiceActor, args).await.unwrap();
        self.staff.push(actor.get_cell());
    }

    /// Ends every process with the role at once, whatever they are doing.
    pub(crate) async fn fire_everybody(&mut self) {
        for actor in self.staff.drain(..) {
            actor.kill();
            actor.wait(None).await.unwrap();
        }
        // What the killed actors had spawned is dropped when the runtime next looks at it.
        for log in self.logs.drain(..) {
            until("the end of all tasks", async || log.strong_count() == 0).await;
        }
    }

    pub(crate) async fn submit(&self, id: &str) -> JobId {
        let fact = Fact::Submitted(Submitted {
            goal: format!("goal of {id}"),
            agent: Agent::default(),
            language: Language::En,
            digest: "d".into(),
            by: Some("ann".into()),
            conversation: None,
            parent: None,
            agents: Default::default(),
            forked: None,
            plan: None,
            files: Vec::new(),
            rules: proto::rules::Rules::NOW,
        });
        let stored = self.broker.log.submit(&job(id), &fact, new_trace()).await.unwrap();
        assert!(matches!(stored, Submission::Stored(_)));
        job(id)
    }

    /// What the supervisor would store.
    pub(crate) async fn decide(&self, job: &JobId, decision: &Decision) -> Seq {
        let mut after = Seq(0);
        for entry in self.broker.log.read(job, Seq(0)).await.unwrap() {
            if entry.family.to_string().starts_with("do.") {
                after = entry.seq;
            }
        }
        let stored = self.broker.log.decide(job, decision, after, None, new_trace()).await;
        match stored.unwrap() {
            CasOutcome::Stored(seq) => seq,
            CasOutcome::Conflict => panic!("somebody else decides"),
        }
    }

    pub(crate) async fn ask(&self, job: &JobId, question: Question) -> Seq {
        let work = WorkId::new(format!("g0.{}", question.id)).unwrap();
        self.decide(job, &Decision::Ask(AskWork { work, question })).await
    }

    /// A job with one question of a kind, `q1`, that is in the inbox.
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

    /// Has the deadline of `q1` pass, and waits until the log says so.
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

    /// The code of a refused answer and the field it names.
    pub(crate) async fn refused(&self, job: &JobId, body: Value) -> (Code, String) {
        match self.answer(job, body.clone()).await {
            Err(failure) => (failure.code, failure.field.unwrap_or_default()),
            Ok(answer) => panic!("{body} was taken: {answer}"),
        }
    }

    pub(crate) async fn inbox(&self, body: &str) -> Value {
        self.send("inbox", body, None).await.unwrap()
    }

    /// Waits until so many questions of a job are in the inbox.
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
