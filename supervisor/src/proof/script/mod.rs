//! The scripts of the model: its jobs, and the exact content of every outside record. Scripts do
//! not determine when a record is written.

mod family;
mod workflow;

use jiff::{SignedDuration, Timestamp};
use machine::testing;
use proto::{
    agent::Agent,
    entry::Entry,
    fact::{Answered, Called, Fact, Fired, PlanReply, Planned, Signal, Signaled, Submitted},
    id::{Attempt, Generation, JobId, Pool, Seq, StepId, ToolName, Unit, WorkId, WorkerId},
    interaction::Answer,
    lang::Language,
    message::Usage,
    plan::{Action, Plan, Step},
    record::Record,
    retry::RetryPolicy,
    subject::Family,
    tool::{Approval, Binding, Effect, Fault, ToolResult},
    trace::TraceContext,
};
use serde_json::json;

pub(super) use self::workflow::may_join;
use super::{
    log::{Body, Log, Written},
    memory::Memory,
    mutation::Mutation,
};

/// A record, in its shortest form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Saying {
    /// The submission of the first job.
    Submitted,
    Cancel,
    /// The rollback of the job to its plan.
    RollBack,
    /// An edit of the graph.
    Edit,
    /// A person's answer to the first open question.
    Answered,
    Fired {
        timer: u8,
    },
    /// The result of the command at this position.
    Result {
        command: u8,
        reply: Reply,
        says: Attempt,
        /// `true` if it names the job's current generation instead of its own.
        renamed: bool,
    },
    /// A fact that another job sent.
    Fact(u32),
    /// A decision by a supervisor whose last known decision is at `after`.
    Decision {
        next: u32,
        after: u8,
    },
}

/// The reply of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reply {
    Done,
    /// The work failed and may be retried.
    Broke,
}

/// The script of an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// One job with two steps.
    Alone {
        /// `true` if the second step depends on the first.
        in_order: bool,
        /// `true` if a person confirms the plan.
        confirm: bool,
        /// `true` if the job has a deadline.
        deadline: bool,
        /// Work that supervisors may carry out themselves.
        local: Local,
    },
    /// A job that hands its only step to a sub-agent.
    Family {
        /// `true` if the child asks a person a question.
        asks: bool,
    },
    /// One job with a workflow of three nodes: two branches that join, and a loop.
    Workflow,
}

/// The work of a lone job that supervisors may carry out themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Local {
    /// None.
    Nothing,
    /// All of it: no step has effects outside.
    All,
    /// All but the second step, which has an effect.
    Pure,
}

impl Saying {
    pub(super) fn is_decision(self) -> bool {
        matches!(self, Self::Decision { .. })
    }

    pub(super) fn is_decision_after(self, position: u8) -> bool {
        matches!(self, Self::Decision { after, .. } if after == position)
    }
}

impl Script {
    /// Returns the jobs, each after its parent.
    pub(super) fn jobs(self) -> Vec<JobId> {
        match self {
            Self::Alone { .. } | Self::Workflow => vec![family::parent()],
            Self::Family { .. } => vec![family::parent(), family::child()],
        }
    }

    /// Returns `true` if an actor takes facts and reads the log in one step, and a worker takes and
    /// answers a command in one step. The scripts of a lone job use separate steps.
    pub(super) fn is_coarse(self) -> bool {
        matches!(self, Self::Family { .. })
    }

    /// Returns `true` if a supervisor may carry commands out itself.
    pub(super) fn is_local(self) -> bool {
        matches!(self, Self::Alone { local: Local::All | Local::Pure, .. })
    }

    /// Returns the record in full, at the end of the log.
    pub(super) fn write(self, before: &Log, saying: Saying, memory: &Memory) -> Written {
        let at = before.written.len() + 1;
        let writer = WorkerId::new("somebody").expect("a word is an id");
        let id = format!("r{at}");
        let job = before.job.id();
        let time = before.written.last().map_or(START, |last| last.entry.time);
        if let Saying::Decision { next, .. } = saying {
            let decision = memory.nexts[next as usize].decision.clone();
            let record = Record::of_decision(&decision, id, &writer).expect("it has no floats");
            let family = Family::Do(decision.kind(), decision.pool());
            let entry = self::entry(at, time, job, family, record);
            let attempt = decision.unit();
            // A note may be repeated after a rollback.
            let label = format!("{} {}", decision.generation(), testing::label(&decision));
            return Written {
                saying,
                entry,
                body: Body::Decision(Box::new(decision), label),
                attempt,
            };
        }
        let (fact, attempt) = self.fact(before, saying, memory);
        let minutes = i64::from(matches!(saying, Saying::Fired { .. }));
        let time = time.checked_add(SignedDuration::from_mins(minutes)).expect("it is not late");
        let record = Record::of_fact(&fact, id, &writer).expect("it has no floats");
        let entry = self::entry(at, time, job, Family::In(fact.source()), record);
        Written { saying, entry, body: Body::Fact(Box::new(fact)), attempt }
    }

    /// Returns a fact, and the attempt if it is a result.
    fn fact(self, before: &Log, saying: Saying, memory: &Memory) -> (Fact, Option<Unit>) {
        let fact = match saying {
            Saying::Submitted => Fact::Submitted(self.submitted(memory)),
            Saying::Cancel => signaled(Signal::Cancel),
            Saying::RollBack => {
                let to = seq(before.planned.expect("it is rolled back to its plan"));
                signaled(Signal::RollBack { to, seen: seq(before.written.len() - 1), again: false })
            }
            Saying::Edit => signaled(workflow::edit()),
            Saying::Answered => {
                let ask = before.asks.clone().expect("it asks");
                let answer = match self {
                    Self::Alone { .. } | Self::Workflow => Answer::approve(None),
                    Self::Family { .. } => Answer::respond(json!("yes")),
                };
                Fact::Answered(Answered { ask, answer, by: "ann".into() })
            }
            Saying::Fired { timer } => {
                Fact::Fired(Fired { timer: memory.timer_name(timer).clone() })
            }
            Saying::Fact(fact) => memory.fact(fact).clone(),
            Saying::Result { command, reply, says, renamed } => {
                let sent = before.written.get(usize::from(command)).and_then(|c| c.attempt.clone());
                let mut work = sent.expect("a result is one of a command").work;
                if renamed {
                    work = in_generation(&work, before.job.generation());
                }
                let attempt = Some(Unit { work: work.clone(), attempt: says });
                return (self.result(work, says, reply), attempt);
            }
            Saying::Decision { .. } => unreachable!("a decision is no fact"),
        };
        (fact, None)
    }

    fn submitted(self, memory: &Memory) -> Submitted {
        let (confirm, deadline) = match self {
            Self::Alone { confirm, deadline, .. } => (confirm, deadline),
            Self::Family { .. } => return family::submitted(),
            Self::Workflow => {
                return workflow::submitted(memory.mutation != Some(Mutation::JoinEarly));
            }
        };
        let mut agent = Agent { confirm, ..Agent::default() };
        agent.tool.retry = RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
        agent.deadline_ms = deadline.then_some(3_600_000);
        Submitted { agent, ..submission() }
    }

    pub(super) fn result(self, work: WorkId, attempt: Attempt, reply: Reply) -> Fact {
        let (in_order, local) = match self {
            Self::Alone { in_order, local, .. } => (in_order, local),
            Self::Workflow => (false, Local::Nothing),
            Self::Family { asks } => return family::turned(asks, work, attempt),
        };
        if work.as_str().split('.').nth(1).is_some_and(|part| part.starts_with('p')) {
            let reply = match reply {
                Reply::Done => PlanReply::Plan { plan: plan(in_order, local) },
                Reply::Broke => {
                    PlanReply::Unparseable { text: "?".into(), error: "?".into(), action: false }
                }
            };
            let usage = Usage::default();
            let (detected, outline) = (None, Vec::new());
            let reasoning = String::new();
            return Fact::Planned(Planned {
                work,
                attempt,
                reply,
                usage,
                detected,
                outline,
                reasoning,
                answered: None,
            });
        }
        let (result, fault) = match reply {
            Reply::Done => (ToolResult::ok(json!(work.as_str())), None),
            Reply::Broke => (ToolResult::failed("broken"), Some(Fault::Timeout)),
        };
        Fact::Called(Called {
            work,
            attempt,
            result,
            fault,
            outage: false,
            duration_ms: 1,
            cost: Default::default(),
            files: Vec::new(),
        })
    }
}

/// Returns a submission with the default agent.
fn submission() -> Submitted {
    Submitted {
        goal: "reach the goal".into(),
        agent: Agent::default(),
        language: Language::En,
        language_detected: false,
        digest: "d".into(),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: None,
        plan: None,
        workflow: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: proto::rules::Rules::NOW,
    }
}

fn binding(is_pure: bool) -> Binding {
    Binding {
        pool: Pool::new("builtin").expect("a word is a name"),
        effect: if is_pure { Effect::Pure } else { Effect::Idempotent },
        approval: Approval::Never,
        destructive: false,
        untrusted: false,
        version: "1".into(),
    }
}

fn plan(in_order: bool, local: Local) -> Plan {
    let id = |name: &str| StepId::new(name).expect("a letter is an id");
    let step = |name: &str, depends_on: Vec<StepId>, is_pure: bool| Step {
        id: id(name),
        title: String::new(),
        description: format!("do {name}"),
        depends_on,
        action: Action::Tool {
            tool: ToolName::new("echo").expect("a word is a name"),
            args: json!({}),
            binding: binding(is_pure),
        },
    };
    let before_b = if in_order { vec![id("a")] } else { Vec::new() };
    let steps = vec![
        step("a", Vec::new(), local != Local::Nothing),
        step("b", before_b, local == Local::All),
    ];
    Plan { title: "the plan".into(), steps, ..Plan::default() }
}

fn signaled(signal: Signal) -> Fact {
    Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None })
}

/// Returns the position of the record with index `n`.
fn seq(n: usize) -> Seq {
    Seq(u64::try_from(n + 1).expect("the log is short"))
}

/// Returns the name of a unit of work in another generation.
fn in_generation(work: &WorkId, generation: Generation) -> WorkId {
    let (_, name) = work.as_str().split_once('.').expect("a unit of work names its generation");
    WorkId::new(format!("g{generation}.{name}")).expect("another number leaves it an id")
}

/// Time of the submission.
const START: Timestamp = Timestamp::constant(1_000_000_000, 0);

fn entry(at: usize, time: Timestamp, job: &JobId, family: Family, record: Record) -> Entry {
    let trace = Some(TraceContext::new(1, 1, false));
    let seq = Seq(u64::try_from(at).expect("the log is short"));
    Entry { seq, time, job: job.clone(), family, record: Ok(record), trace }
}
