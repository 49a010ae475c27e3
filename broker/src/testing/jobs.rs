//! Jobs that a test moves by hand, record by record, and the records they are made of.

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

/// An installation without a process. Every method panics when the broker does not do as it is told.
#[derive(Debug, Clone)]
pub struct Jobs {
    /// The connection that the test uses.
    pub broker: Broker,
}

impl Jobs {
    /// Jobs on a broker in memory, and the broker for further connections.
    ///
    /// # Panics
    /// When there are no shards.
    #[must_use]
    pub fn in_memory(shards: u16, options: MemoryOptions) -> (Memory, Self) {
        let memory = Memory::new(Subjects::new("cb", shards).expect("some shards"), options);
        let broker = memory.connect(WorkerId::new("test").expect("a word is an id"));
        (memory, Self { broker })
    }

    /// Submits a job.
    ///
    /// # Panics
    /// When it cannot be stored, or exists.
    pub async fn submit(&self, job: &str, submitted: Submitted) -> JobId {
        let job = JobId::new(job).expect("an id");
        let fact = Fact::Submitted(submitted);
        let stored = self.broker.log.submit(&job, &fact, trace()).await.expect("a submission");
        assert!(matches!(stored, Submission::Stored(_)), "{job} exists already");
        job
    }

    /// Stores a fact.
    ///
    /// # Panics
    /// When it cannot be stored.
    pub async fn append(&self, job: &JobId, fact: Fact) -> Seq {
        self.broker.log.append(job, &fact, trace()).await.expect("a stored fact")
    }

    /// Stores a decision after the last one in the log.
    ///
    /// # Panics
    /// When it cannot be stored, or another decision comes between.
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

    /// A job's log.
    ///
    /// # Panics
    /// When it cannot be read.
    pub async fn read(&self, job: &JobId) -> Vec<Entry> {
        self.broker.log.read(job, Seq(0)).await.expect("a log")
    }

    /// The positions of a job's records of one kind.
    ///
    /// # Panics
    /// When the log cannot be read.
    pub async fn positions(&self, job: &JobId, kind: &str) -> Vec<Seq> {
        let is = |entry: &Entry| entry.record.as_ref().is_ok_and(|record| record.kind == kind);
        self.read(job).await.into_iter().filter(is).map(|entry| entry.seq).collect()
    }
}

/// The trace of everything that is stored by hand.
#[must_use]
pub fn trace() -> TraceContext {
    TraceContext::new(1, 1, false)
}

/// A submission of a goal to an agent that asks nobody before it begins.
#[must_use]
pub fn submitted(goal: &str) -> Submitted {
    Submitted {
        goal: goal.to_owned(),
        agent: Agent { confirm: false, ..Agent::default() },
        language: Language::En,
        digest: digest::of_bytes(goal.as_bytes()),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: None,
        plan: None,
        files: Vec::new(),
        rules: Rules::NOW,
    }
}

/// A tool of version 1 in the pool of built-in tools, which needs no approval.
#[must_use]
pub fn binding(effect: Effect) -> Binding {
    Binding { pool: pools::builtin(), effect, approval: Approval::Never, version: "1".to_owned() }
}

/// A step that is one call of a tool, after others: `b<a` is step `b` after `a`, `c<a,b` after both.
///
/// # Panics
/// When a name is malformed.
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

/// The answer to the first command to plan.
///
/// # Panics
/// Never: its work has a name.
#[must_use]
pub fn planned(steps: Vec<Step>) -> Planned {
    Planned {
        work: WorkId::new("g0.p1").expect("the name of a unit of work"),
        attempt: Attempt::FIRST,
        reply: PlanReply::Plan { plan: Plan { title: "t".to_owned(), steps, replan: Vec::new() } },
        usage: Usage::default(),
        detected: None,
        outline: Vec::new(),
    }
}

/// The start of an attempt at a call.
///
/// # Panics
/// When the name of the work is malformed.
#[must_use]
pub fn started(work: &str, attempt: u32) -> Fact {
    let work = WorkId::new(work).expect("the name of a unit of work");
    Fact::Started(Started { work, attempt: Attempt(attempt) })
}

/// The result of the first attempt at a call.
///
/// # Panics
/// When the name of the work is malformed.
#[must_use]
pub fn called(work: &str) -> Called {
    Called {
        work: WorkId::new(work).expect("the name of a unit of work"),
        attempt: Attempt::FIRST,
        result: ToolResult::ok(json!(1)),
        fault: None,
        duration_ms: 1,
        cost: Default::default(),
    }
}
