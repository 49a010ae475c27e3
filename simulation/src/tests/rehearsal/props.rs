//! The tools of a recorded job, which return their recorded results, and the fault of a replay.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use broker::{
    Broker,
    kv::{Bucket, KvError},
};
use proto::{
    decision::{CallWork, Decision, pools},
    fact::{Called, Fact, PlanReply, Planned, TurnReply, Turned},
    id::{Attempt, JobId, ToolName, WorkId, WorkerId},
    record::Known,
    tool::{Approval, Effect, Fault, ToolResult, ToolSpec},
    work_error::{ErrorClass, WorkError},
};
use runtime::registry::Announcement;
use serde_json::{Value, json};
use tokio::time::Instant;
use tool_actors::{CallContext, InvalidToolset, Tool, ToolFault, Toolset};

use super::Recording;
use crate::{ledger::Run, props::Props, tools::Bench};

/// The duration of a call whose end was not recorded.
const NEVER_ENDED: Duration = Duration::from_secs(600);

/// The fault of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// No fault.
    None,
    /// Every message is delivered twice at once, and a repeated message is stored twice.
    Twice,
    /// Acknowledgements are lost, so that messages are redelivered.
    Unacknowledged,
    /// The first attempt at this unit of work fails with a transient fault.
    FailsFirst(WorkId),
    /// The worker that has carried out this unit of work dies before it reports the result.
    DiesBeforeReporting(WorkId),
}

/// The fault, and whether it has happened.
#[derive(Debug)]
pub(crate) struct Trick {
    mishap: Mishap,
    played: AtomicBool,
}

impl Trick {
    pub(super) fn new(mishap: &Mishap) -> Self {
        Self { mishap: mishap.clone(), played: AtomicBool::new(false) }
    }

    fn fails(&self, of: &WorkId, attempt: Attempt) -> bool {
        self.mishap == Mishap::FailsFirst(of.clone()) && attempt == Attempt::FIRST
    }

    fn report(&self, fact: &Fact) -> Option<Fact> {
        let error = || WorkError::new("the rehearsal has it fail", ErrorClass::Transient);
        let work = match fact {
            Fact::Planned(Planned { work, attempt, .. }) if self.fails(work, *attempt) => {
                let Fact::Planned(said) = fact.clone() else { return None };
                let reply = PlanReply::Failed { error: error() };
                return Some(Fact::Planned(Planned { reply, ..said }));
            }
            Fact::Turned(Turned { work, attempt, .. }) if self.fails(work, *attempt) => {
                let Fact::Turned(said) = fact.clone() else { return None };
                let reply = TurnReply::Failed { error: error() };
                return Some(Fact::Turned(Turned { reply, ..said }));
            }
            Fact::Planned(Planned { work, .. })
            | Fact::Turned(Turned { work, .. })
            | Fact::Called(Called { work, .. }) => work,
            Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Started(_)
            | Fact::Answered(_)
            | Fact::Child(_)
            | Fact::Fired(_) => return Some(fact.clone()),
        };
        let dies = self.mishap == Mishap::DiesBeforeReporting(work.clone());
        if dies && !self.played.swap(true, Ordering::Relaxed) {
            return None;
        }
        Some(fact.clone())
    }
}

/// The replacements of the outside in a replay.
#[derive(Debug)]
pub(crate) struct Stage {
    calls: Vec<(JobId, CallWork, Option<Called>)>,
    trick: Trick,
}

impl Stage {
    pub(super) fn of(recording: &Recording, trick: Trick) -> Self {
        let mut calls: Vec<(JobId, CallWork, Option<Called>)> = Vec::new();
        for (n, known) in recording.known() {
            let job = &recording.entries()[n].job;
            match known {
                Known::Decision(decision) => {
                    if let Decision::Call(call) = *decision {
                        calls.push((job.clone(), call, None));
                    }
                }
                Known::Fact(fact) => {
                    if let Fact::Called(called) = *fact {
                        let of = calls.iter_mut().find(|(of, call, _)| {
                            of == job && call.work == called.work && call.attempt == called.attempt
                        });
                        if let Some((_, _, end)) = of {
                            *end = Some(called);
                        }
                    }
                }
            }
        }
        Self { calls, trick }
    }

    /// Returns the recorded result of a call with these arguments, preferably that of the same unit
    /// of work.
    fn called(&self, job: &JobId, work: &WorkId, tool: &ToolName, args: &Value) -> Option<Called> {
        let same = |call: &CallWork| call.tool == *tool && call.args == *args;
        let mut like = self.calls.iter().filter(|(_, call, _)| same(call));
        let mut all = self.calls.iter();
        let found = all
            .find(|(of, call, end)| of == job && call.work == *work && same(call) && end.is_some());
        found.or_else(|| like.find(|(_, _, end)| end.is_some()))?.2.clone()
    }
}

/// A tool that returns its recorded results.
struct Prop {
    spec: ToolSpec,
    bench: Bench,
    stage: Arc<Stage>,
}

/// The tools that recorded jobs call: name, effect class and approval.
const TOOLS: [(&str, Effect, Approval); 6] = [
    ("echo", Effect::Pure, Approval::Never),
    ("sleep", Effect::Pure, Approval::Never),
    ("http_get", Effect::Pure, Approval::Never),
    ("create_task", Effect::Idempotent, Approval::Never),
    ("complete_task", Effect::Idempotent, Approval::Never),
    ("http_post", Effect::Once, Approval::Always),
];

fn spec((name, effect, approval): (&str, Effect, Approval)) -> ToolSpec {
    ToolSpec {
        commands: Vec::new(),
        translations: BTreeMap::new(),
        name: ToolName::new(name).expect("plain words are names of tools"),
        description: "Answers as it did.".to_owned(),
        schema: json!({ "type": "object" }),
        effect,
        pool: pools::builtin(),
        timeout_ms: 1_000_000,
        concurrency: 16,
        approval,
        destructive: false,
        untrusted: false,
        version: "1".to_owned(),
    }
}

/// Announces the tools as the worker of the recording's first part announced them.
///
/// The registry outlives its workers, so the supervisor that takes over finds the tools.
pub(super) async fn announce(broker: &Broker) -> Result<(), KvError> {
    let by = WorkerId::new("before-the-cut").expect("letters and dashes are an id");
    for spec in TOOLS.map(spec) {
        let name = spec.name.clone();
        let announcement = serde_json::to_vec(&Announcement { spec, by: by.clone() })
            .expect("an announcement of plain words is JSON");
        broker.kv.update(Bucket::Tools, name.as_str(), announcement.into(), 0).await?;
    }
    Ok(())
}

impl Props for Stage {
    fn toolset(self: Arc<Self>, bench: &Bench) -> Result<Toolset, InvalidToolset> {
        let tools = TOOLS.map(|tool| {
            let (bench, stage) = (bench.clone(), Arc::clone(&self));
            Arc::new(Prop { spec: spec(tool), bench, stage }) as Arc<dyn Tool>
        });
        Toolset::new(pools::builtin(), tools.to_vec())
    }

    fn report(&self, fact: &Fact) -> Option<Fact> {
        self.trick.report(fact)
    }
}

#[async_trait]
impl Tool for Prop {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Bench { link, ledger, .. } = &self.bench;
        let CallContext { job, work, attempt, idempotency_key, .. } = &context;
        let tool = self.spec.name.clone();
        if self.stage.trick.fails(work, *attempt) {
            return Err(ToolFault::unavailable("the rehearsal has it fail"));
        }
        let running = ledger.begin(Run {
            job: job.clone(),
            work: work.clone(),
            attempt: *attempt,
            tool: tool.clone(),
            effect: self.spec.effect,
            key: idempotency_key.clone(),
            link: Arc::clone(link),
            began: Instant::now(),
            up_since: link.up_since(),
            effect_at: None,
            over: None,
        });
        let Some(called) = self.stage.called(job, work, &tool, &args) else {
            tokio::time::sleep(NEVER_ENDED).await;
            return Err(ToolFault::new(Fault::Internal, format!("{tool} {args} was not recorded")));
        };
        tokio::time::sleep(Duration::from_millis(called.duration_ms)).await;
        running.hand().effect();
        match called.fault {
            None => Ok(called.result),
            Some(fault) => Err(ToolFault::new(fault, called.result.error.unwrap_or_default())),
        }
    }
}
