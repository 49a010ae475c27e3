//! The play: which job it is, and what those outside say, word for word. Nothing here decides when.

use jiff::{SignedDuration, Timestamp};
use machine::golden;
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

use super::memory::{LogNode, Memory, Written};

/// A record, as short as it can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Saying {
    Submitted,
    Cancel,
    /// The job is taken back to where it had its plan.
    Back,
    /// The first question that is open is answered with yes.
    Approve,
    Fired {
        timer: u8,
    },
    /// What came of the command there.
    Result {
        command: u8,
        reply: Reply,
        says: Attempt,
        /// Whether it names the job's generation instead of its own.
        renamed: bool,
    },
    /// A decision, written by somebody who saw the one before `after`.
    Decision {
        next: u32,
        after: u8,
    },
}

/// What a worker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reply {
    Done,
    /// It broke, and may be tried again.
    Broke,
}

/// The job that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Script {
    /// Whether the second step waits for the first.
    pub(super) in_order: bool,
    /// Whether a person confirms the plan.
    pub(super) confirm: bool,
    /// Whether the job has a deadline.
    pub(super) deadline: bool,
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
    /// The record, where it stands.
    pub(super) fn write(
        self,
        job: &JobId,
        before: &LogNode,
        saying: Saying,
        memory: &Memory,
    ) -> Written {
        let at = before.written.len() + 1;
        let writer = WorkerId::new("somebody").expect("a word is an id");
        let id = format!("r{at}");
        let mut time = before.written.last().map_or(START, |last| last.entry.time);
        let mut attempt = None;
        let fact = match saying {
            Saying::Decision { next, .. } => {
                let decision = &memory.nexts[next as usize].decision;
                let record = Record::of_decision(decision, id, &writer).expect("it has no floats");
                let family = Family::Do(decision.kind(), decision.pool());
                let entry = self::entry(at, time, job, family, record);
                let attempt = decision.unit();
                let label = Some(golden::label(decision));
                let generation = Some(decision.generation());
                return Written { saying, entry, attempt, label, generation, fired: None };
            }
            Saying::Submitted => Fact::Submitted(self.submitted()),
            Saying::Cancel => signaled(Signal::Cancel),
            Saying::Back => {
                let to = seq(before.planned.expect("it goes back to its plan"));
                signaled(Signal::RollBack { to, seen: seq(before.written.len() - 1), again: false })
            }
            Saying::Approve => {
                let view = before.job.view().expect("it was submitted");
                let ask = view.questions.first().expect("it asks").id.clone();
                Fact::Answered(Answered { ask, answer: Answer::approve(None), by: "ann".into() })
            }
            Saying::Fired { timer } => {
                time = time.checked_add(SignedDuration::from_mins(1)).expect("it is not late");
                Fact::Fired(Fired { timer: memory.timer_name(timer).clone() })
            }
            Saying::Result { command, reply, says, renamed } => {
                let sent = before.written.get(usize::from(command)).and_then(|c| c.attempt.clone());
                let mut work = sent.expect("a result is one of a command").work;
                if renamed {
                    work = in_generation(&work, before.job.generation());
                }
                attempt = Some(Unit { work: work.clone(), attempt: says });
                self.result(work, says, reply)
            }
        };
        let record = Record::of_fact(&fact, id, &writer).expect("it has no floats");
        let entry = self::entry(at, time, job, Family::In(fact.source()), record);
        let fired = match &fact {
            Fact::Fired(fired) => Some(fired.timer.clone()),
            Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Planned(_)
            | Fact::Turned(_)
            | Fact::Started(_)
            | Fact::Called(_)
            | Fact::Child(_)
            | Fact::Answered(_) => None,
        };
        Written { saying, entry, attempt, label: None, generation: None, fired }
    }

    fn submitted(self) -> Submitted {
        let mut agent = Agent { confirm: self.confirm, ..Agent::default() };
        agent.tool.retry = RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
        agent.deadline_ms = self.deadline.then_some(3_600_000);
        Submitted {
            goal: "reach the goal".into(),
            agent,
            language: Language::En,
            digest: "d".into(),
            by: None,
            conversation: None,
            parent: None,
            agents: Default::default(),
            forked: None,
            plan: None,
            files: Vec::new(),
            rules: proto::rules::Rules::NOW,
        }
    }

    fn result(self, work: WorkId, attempt: Attempt, reply: Reply) -> Fact {
        if work.as_str().split('.').nth(1).is_some_and(|part| part.starts_with('p')) {
            let reply = match reply {
                Reply::Done => PlanReply::Plan { plan: self.plan() },
                Reply::Broke => PlanReply::Unparseable { text: "?".into(), error: "?".into() },
            };
            let usage = Usage::default();
            let (detected, outline) = (None, Vec::new());
            return Fact::Planned(Planned { work, attempt, reply, usage, detected, outline });
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
            duration_ms: 1,
            cost: Default::default(),
        })
    }

    fn plan(self) -> Plan {
        let id = |name: &str| StepId::new(name).expect("a letter is an id");
        let step = |name: &str, depends_on: Vec<StepId>| Step {
            id: id(name),
            title: String::new(),
            description: format!("do {name}"),
            depends_on,
            action: Action::Tool {
                tool: ToolName::new("echo").expect("a word is a name"),
                args: json!({}),
                binding: Binding {
                    pool: Pool::new("builtin").expect("a word is a name"),
                    effect: Effect::Idempotent,
                    approval: Approval::Never,
                    version: "1".into(),
                },
            },
        };
        let before_b = if self.in_order { vec![id("a")] } else { Vec::new() };
        let steps = vec![step("a", Vec::new()), step("b", before_b)];
        Plan { title: "the plan".into(), steps, replan: Vec::new() }
    }
}

fn signaled(signal: Signal) -> Fact {
    Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None })
}

/// The position of the n-th record.
fn seq(n: usize) -> Seq {
    Seq(u64::try_from(n + 1).expect("the log is short"))
}

/// A unit of work by its name in another generation.
fn in_generation(work: &WorkId, generation: Generation) -> WorkId {
    let (_, name) = work.as_str().split_once('.').expect("a unit of work names its generation");
    WorkId::new(format!("g{generation}.{name}")).expect("another number leaves it an id")
}

/// When the job was submitted.
const START: Timestamp = Timestamp::constant(1_000_000_000, 0);

fn entry(at: usize, time: Timestamp, job: &JobId, family: Family, record: Record) -> Entry {
    let trace = Some(TraceContext::new(1, 1, false));
    let seq = Seq(u64::try_from(at).expect("the log is short"));
    Entry { seq, time, job: job.clone(), family, record: Ok(record), trace }
}
