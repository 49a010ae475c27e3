//! Jobs that a test writes record by record, and builders of those records.

use proto::{
    agent::Agent,
    decision::{Decision, pools},
    digest,
    entry::Entry,
    fact::{Called, Fact, PlanReply, Planned, Started, Submitted},
    id::{Attempt, JobId, Seq, StepId, ToolName, WorkId, WorkerId},
    lang::Language,
    message::Usage,
    plan::{Action, Plan, Step},
    rules::Rules,
    subject::{Family, Subjects},
    tool::{Approval, Binding, Effect, ToolResult},
    trace::TraceContext,
};
use serde_json::{Value, json};

use crate::{
    Broker,
    log::{CasOutcome, Submission},
    memory::{Memory, MemoryOptions},
};

/// Access to an installation that no process serves. Every method panics when the broker fails.
#[derive(Debug, Clone)]
pub struct Jobs {
    /// The connection that the test uses.
    pub broker: Broker,
}

impl Jobs {
    /// Creates an in-memory broker and a connection to it. The [`Memory`] opens further
    /// connections.
    ///
    /// # Panics
    /// If `shards` is 0.
    #[must_use]
    pub fn in_memory(shards: u16, options: MemoryOptions) -> (Memory, Self) {
        let memory = Memory::new(Subjects::new("cb", shards).expect("some shards"), options);
        let broker = memory.connect(WorkerId::new("test").expect("a word is an id"));
        (memory, Self { broker })
    }

    /// Submits a job and returns its id.
    ///
    /// # Panics
    /// If the submission cannot be stored, or the job exists.
    pub async fn submit(&self, job: &str, submitted: Submitted) -> JobId {
        let job = JobId::new(job).expect("an id");
        let fact = Fact::Submitted(submitted);
        let stored = self.broker.log.submit(&job, &fact, trace()).await.expect("a submission");
        assert!(matches!(stored, Submission::Stored(_)), "{job} exists already");
        job
    }

    /// Appends a fact and returns its position.
    ///
    /// # Panics
    /// If the fact cannot be stored.
    pub async fn append(&self, job: &JobId, fact: Fact) -> Seq {
        self.broker.log.append(job, &fact, trace()).await.expect("a stored fact")
    }

    /// Appends a decision after the last one in the log and returns its position.
    ///
    /// # Panics
    /// If the decision cannot be stored, or another writer appends a decision first.
    pub async fn decide(&self, job: &JobId, decision: &Decision) -> Seq {
        let decisions = self
            .read(job)
            .await
            .into_iter()
            .filter(|entry| matches!(entry.family, Family::Do(..) | Family::UnknownDo(_)));
        let after = decisions.last().map_or(Seq(0), |entry| entry.seq);
        let stored = self.broker.log.decide(job, decision, after, None, trace()).await;
        let CasOutcome::Stored(seq) = stored.expect("a stored decision") else {
            unreachable!("nobody but the test decides for {job}")
        };
        seq
    }

    /// Reads a job's whole log.
    ///
    /// # Panics
    /// If the log cannot be read.
    pub async fn read(&self, job: &JobId) -> Vec<Entry> {
        self.broker.log.read(job, Seq(0)).await.expect("a log")
    }

    /// Returns the positions of a job's records of one kind.
    ///
    /// # Panics
    /// If the log cannot be read.
    pub async fn positions(&self, job: &JobId, kind: &str) -> Vec<Seq> {
        let is = |entry: &Entry| entry.record.as_ref().is_ok_and(|record| record.kind == kind);
        self.read(job).await.into_iter().filter(is).map(|entry| entry.seq).collect()
    }
}

/// The trace context of records that tests append.
#[must_use]
pub fn trace() -> TraceContext {
    TraceContext::new(1, 1, false)
}

/// Builds a submission of a goal to an agent that starts without confirmation.
#[must_use]
pub fn submitted(goal: &str) -> Submitted {
    Submitted {
        goal: goal.to_owned(),
        agent: Agent { confirm: false, ..Agent::default() },
        language: Language::En,
        language_detected: false,
        digest: digest::of_bytes(goal.as_bytes()),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: None,
        workflow: None,
        plan: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: Rules::NOW,
    }
}

/// Builds a binding to a built-in tool of version 1 without approval.
#[must_use]
pub fn binding(effect: Effect) -> Binding {
    Binding {
        pool: pools::builtin(),
        effect,
        approval: Approval::Never,
        destructive: false,
        untrusted: false,
        version: "1".to_owned(),
    }
}

/// Builds a step that calls one tool, optionally after others: `b<a` is step `b` after `a`, `c<a,b`
/// after both.
///
/// # Panics
/// If a step id is malformed.
#[must_use]
pub fn step(step: &str, tool: &str, args: Value, binding: Binding) -> Step {
    let id = |step: &str| StepId::new(step).expect("the id of a step");
    let (name, after) = step.split_once('<').unwrap_or((step, ""));
    Step {
        id: id(name),
        title: String::new(),
        description: name.to_owned(),
        depends_on: after.split(',').filter(|after| !after.is_empty()).map(id).collect(),
        action: Action::Tool { tool: ToolName::new(tool).expect("a tool's name"), args, binding },
    }
}

/// Builds the reply to the first planning command.
///
/// # Panics
/// Never: the unit of work has a valid name.
#[must_use]
pub fn planned(steps: Vec<Step>) -> Planned {
    Planned {
        work: WorkId::new("g0.p1").expect("the name of a unit of work"),
        attempt: Attempt::FIRST,
        reply: PlanReply::Plan { plan: Plan { title: "t".to_owned(), steps, ..Plan::default() } },
        usage: Usage::default(),
        detected: None,
        outline: Vec::new(),
        reasoning: String::new(),
        answered: None,
    }
}

/// Builds the fact that an attempt at a call has started.
///
/// # Panics
/// If `work` is malformed.
#[must_use]
pub fn started(work: &str, attempt: u32) -> Fact {
    let work = WorkId::new(work).expect("the name of a unit of work");
    Fact::Started(Started { work, attempt: Attempt(attempt) })
}

/// Builds the successful result of the first attempt at a call.
///
/// # Panics
/// If `work` is malformed.
#[must_use]
pub fn called(work: &str) -> Called {
    Called {
        work: WorkId::new(work).expect("the name of a unit of work"),
        attempt: Attempt::FIRST,
        result: ToolResult::ok(json!(1)),
        fault: None,
        outage: false,
        duration_ms: 1,
        cost: Default::default(),
        files: Vec::new(),
    }
}
