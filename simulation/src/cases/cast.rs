//! The substitutes for the world outside a tested agent: its tools with their results, and its model.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agents::catalogue::Catalogue;
use async_trait::async_trait;
use model::{Model, script::ScriptModel};
use proto::{
    fact::Fact,
    id::{Attempt, JobId, ToolName, WorkId},
    tool::{Fault, ToolResult, ToolSpec},
};
use serde_json::Value;
use tool_actors::{
    CallContext, InvalidToolset, Tool, ToolFault, Toolset,
    tools::{Echo, Sleep},
};

use super::{fit::includes, model::Performer};
use crate::{
    props::Props,
    tools::{Act, Bench},
};

/// A tool of a case.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) spec: ToolSpec,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// The tool itself. It has no effect outside the process.
    BuiltIn(BuiltIn),
    /// Results from the file.
    Scripted {
        /// `true` if every run has an effect, also one with the key of an earlier run.
        careless: bool,
        lines: Vec<Line>,
    },
}

/// The built-in tools that need nothing outside the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltIn {
    Echo,
    Sleep,
}

impl BuiltIn {
    pub(super) const ALL: [(&'static str, Self); 2] =
        [("echo", Self::Echo), ("sleep", Self::Sleep)];

    fn tool(self) -> Arc<dyn Tool> {
        match self {
            Self::Echo => Arc::new(Echo),
            Self::Sleep => Arc::new(Sleep),
        }
    }

    pub(super) fn spec(self) -> ToolSpec {
        self.tool().spec()
    }
}

/// A result of a tool, and the calls that it answers.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Arguments that a call must include.
    pub(super) when: Option<Value>,
    /// Number of calls that it answers; all when absent.
    pub(super) times: Option<u32>,
    pub(super) delay: Duration,
    /// Payment that the result reports, in US dollars.
    pub(super) cost: Option<f64>,
    pub(super) says: Says,
}

#[derive(Debug, Clone)]
pub(super) enum Says {
    Ok(Value),
    Failed(String),
    Fault(Fault),
}

/// The substitutes of one world.
#[derive(Debug)]
pub(super) struct Cast {
    parts: Vec<Part>,
    agents: Catalogue,
    played: Mutex<Played>,
}

/// The lines that were used, and the words for which there was none.
#[derive(Debug, Default)]
struct Played {
    /// The line of each call, by tool and idempotency key: another attempt gets the same line.
    lines: BTreeMap<(ToolName, String), Option<usize>>,
    /// The number of calls that each line answered.
    times: BTreeMap<(ToolName, usize), u32>,
    missed: Missed,
    scripted: Scripted,
}

/// An attempt at a call.
pub(super) type Attempted = (JobId, WorkId, Attempt);

/// The faults that the file scripts, which are none of the world.
#[derive(Debug, Clone, Default)]
pub(super) struct Scripted {
    /// Attempts at calls. A world has few, within its bound of messages.
    pub(super) faults: BTreeSet<Attempted>,
    /// Errors of the model, each text once.
    pub(super) errors: BTreeSet<String>,
}

/// The requests that the file has no answer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Missed {
    /// Last messages of model calls.
    pub(super) replies: Vec<String>,
    /// Tools with their arguments.
    pub(super) calls: Vec<String>,
}

/// Bound of the requests without an answer that a report lists.
const MISSED_MAX: usize = 10;

impl Cast {
    pub(super) fn new(parts: Vec<Part>, agents: Catalogue) -> Self {
        Self { parts, agents, played: Mutex::default() }
    }

    /// Returns the requests without an answer so far.
    pub(super) fn missed(&self) -> Missed {
        self.lock().missed.clone()
    }

    /// Returns the faults of the file that happened so far.
    pub(super) fn scripted(&self) -> Scripted {
        self.lock().scripted.clone()
    }

    /// Records an error of the script.
    pub(super) fn add_error(&self, error: String) {
        self.lock().scripted.errors.insert(error);
    }

    /// Records a fault of the file.
    fn add_fault(&self, context: &CallContext) {
        let CallContext { job, work, attempt, .. } = context;
        self.lock().scripted.faults.insert((job.clone(), work.clone(), *attempt));
    }

    /// Records a model call that the script has no reply to, by its last message.
    pub(super) fn miss_a_reply(&self, last: String) {
        keep(&mut self.lock().missed.replies, last);
    }

    /// Chooses the line for a call; `None` if no line answers it.
    fn line(&self, part: &Part, key: &str, args: &Value) -> Option<Line> {
        let Kind::Scripted { lines, .. } = &part.kind else { return None };
        let tool = &part.spec.name;
        let mut played = self.lock();
        let call = (tool.clone(), key.to_owned());
        if let Some(known) = played.lines.get(&call) {
            return known.and_then(|n| lines.get(n).cloned());
        }
        let left = |n: usize, line: &Line| {
            let used = played.times.get(&(tool.clone(), n)).copied().unwrap_or_default();
            line.times.is_none_or(|times| used < times)
        };
        let fits = |line: &Line| line.when.as_ref().is_none_or(|when| includes(args, when));
        let found =
            lines.iter().enumerate().find(|(n, line)| fits(line) && left(*n, line)).map(|(n, _)| n);
        played.lines.insert(call, found);
        match found {
            Some(n) => *played.times.entry((tool.clone(), n)).or_default() += 1,
            None => keep(&mut played.missed.calls, format!("{tool} {args}")),
        }
        found.and_then(|n| lines.get(n).cloned())
    }

    fn lock(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keep(list: &mut Vec<String>, text: String) {
    if list.len() < MISSED_MAX && !list.contains(&text) {
        list.push(text);
    }
}

/// The substitutes as a process of the world has them.
#[derive(Debug, Clone)]
pub(super) struct Troupe(pub(super) Arc<Cast>);

impl Props for Troupe {
    fn toolset(self: Arc<Self>, bench: &Bench) -> Result<Toolset, InvalidToolset> {
        let tools = self.0.parts.iter().map(|part| match part.kind {
            Kind::BuiltIn(tool) => tool.tool(),
            Kind::Scripted { .. } => {
                let (part, bench, cast) = (part.clone(), bench.clone(), Arc::clone(&self.0));
                Arc::new(ScriptedTool { part, bench, cast }) as Arc<dyn Tool>
            }
        });
        Toolset::new(proto::decision::pools::builtin(), tools.collect())
    }

    fn report(&self, fact: &Fact) -> Option<Fact> {
        Some(fact.clone())
    }

    fn model(&self, script: ScriptModel, bench: &Bench) -> Arc<dyn Model> {
        let (bench, cast) = (bench.clone(), Arc::clone(&self.0));
        Arc::new(Performer { script, bench, cast })
    }

    fn agents(&self) -> Option<Catalogue> {
        Some(self.0.agents.clone())
    }
}

/// A tool whose results are in the file.
struct ScriptedTool {
    part: Part,
    bench: Bench,
    cast: Arc<Cast>,
}

#[async_trait]
impl Tool for ScriptedTool {
    fn spec(&self) -> ToolSpec {
        self.part.spec.clone()
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let ToolSpec { name, effect, .. } = &self.part.spec;
        let line = self.cast.line(&self.part, &context.idempotency_key, &args);
        let Some(line) = line else {
            return Ok(ToolResult::failed(format!("the test has no result of {name} for {args}")));
        };
        let is_too_slow = line.delay >= Duration::from_millis(self.part.spec.timeout_ms);
        if is_too_slow || matches!(line.says, Says::Fault(_)) {
            self.cast.add_fault(&context);
        }
        if !line.delay.is_zero() {
            tokio::time::sleep(line.delay).await;
        }
        let meter = context.meter.clone();
        match line.says {
            // A refusal and a fault come before the effect.
            Says::Failed(why) => Ok(ToolResult::failed(why)),
            Says::Fault(fault) => Err(ToolFault::new(fault, "the test has it fail")),
            Says::Ok(value) => {
                let act = Act { name: name.as_str(), effect: *effect, is_flaky: false };
                self.bench.carry_out(&act, context).await?;
                if let Some(dollars) = line.cost {
                    meter.pay(dollars);
                }
                Ok(ToolResult::ok(value))
            }
        }
    }
}
