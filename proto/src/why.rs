//! The reasons why a job does not move: codes with typed parameters for programs, and sentences for
//! users.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    budget::Gauge,
    decision::DecisionKind,
    id::{AgentName, AskId, Attempt, JobId, Pool, Seq, Shard, StepId, ToolName, WorkId},
    job::FailReason,
    lang::Language,
    workflow::EventName,
};

messages::texts!(why);

/// A reason why a job does not move, or the work that it waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Why {
    /// Code of the reason, with its parameters.
    #[serde(flatten)]
    pub reason: Reason,
    /// Server time since which the reason holds.
    pub since: Timestamp,
    /// Server time at which the reason ends by itself; absent if only an event ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// A command that is queued or with a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OpenCommand {
    /// Unit of work.
    pub work: WorkId,
    /// Attempt at the unit.
    pub attempt: Attempt,
    /// Kind of the command.
    pub kind: DecisionKind,
    /// Pool whose workers take the command.
    pub pool: Pool,
    /// Step that the work belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Tool of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// Question whose remembered approval covers the call; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<AskId>,
}

/// The codes of the reasons. A job with several reasons lists them in the order of the variants.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantNames,
    strum::EnumDiscriminants,
    schemars::JsonSchema,
)]
#[serde(tag = "code", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[strum_discriminants(
    name(ReasonCode),
    derive(PartialOrd, Ord),
    doc = "A reason without its parameters."
)]
pub enum Reason {
    /// A record of the log cannot be read, so nothing is decided.
    Unreadable {
        /// Position of the record.
        record: Seq,
        /// Description of the fault.
        error: String,
    },
    /// An operator paused the job.
    Paused {
        /// Name of the operator; absent when it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Reason in the operator's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// No live supervisor owns the job's shard.
    NoSupervisor {
        /// Shard of the job.
        shard: Shard,
    },
    /// No live worker announces the pool of a command.
    NoWorker {
        /// Command that waits.
        #[serde(flatten)]
        command: OpenCommand,
    },
    /// A question waits for a person.
    Question {
        /// Job under which the question is answered: this job or a descendant.
        job: JobId,
        /// Path to the descendant that asks; absent if this job asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Id of the question.
        ask: AskId,
        /// Text of the question, truncated.
        prompt: String,
    },
    /// Work has no attempt left and waits for an operator: a dead letter.
    GivenUp {
        /// Unit of work.
        work: WorkId,
        /// Last attempt.
        attempt: Attempt,
        /// Error of the last attempt.
        error: String,
    },
    /// The service of a model or a tool cannot be reached.
    Outage {
        /// Unit of work that waits for the service.
        work: WorkId,
        /// Next attempt, or the one that runs.
        attempt: Attempt,
        /// Error of the last attempt.
        error: String,
    },
    /// An attempt failed, and the next one follows after a wait.
    Retry {
        /// Unit of work.
        work: WorkId,
        /// Next attempt.
        attempt: Attempt,
        /// Number of the last attempt that the policy allows.
        max_attempts: u32,
        /// Error of the last attempt.
        error: String,
    },
    /// A workflow pauses until a time that it chose.
    Pausing {
        /// Step of the pause.
        step: StepId,
    },
    /// A workflow waits for an event from outside.
    Event {
        /// Step of the wait.
        step: StepId,
        /// Name of the event.
        event: EventName,
    },
    /// A child job has not ended.
    Child {
        /// Id of the child.
        job: JobId,
        /// Path to the child, for users.
        path: String,
        /// Agent of the child.
        agent: AgentName,
        /// First reason why the child does not move; absent when the child's log was not read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Box<Why>>,
    },
    /// A command waits in its queue.
    Queued {
        /// Command that waits.
        #[serde(flatten)]
        command: OpenCommand,
        /// Number of commands that wait in this queue of the job's shard, this one included.
        waiting: u64,
    },
    /// A command was sent, and it is not known whether a worker has taken it.
    Sent {
        /// Command.
        #[serde(flatten)]
        command: OpenCommand,
    },
    /// A worker carries out a command.
    Running {
        /// Command.
        #[serde(flatten)]
        command: OpenCommand,
    },
    /// A limit of the budget is used up. The job fails as soon as running work has ended.
    BudgetUsed {
        /// Limit, with its figures.
        #[serde(flatten)]
        gauge: Gauge,
    },
    /// The job fails as soon as running work has ended.
    Ending {
        /// Reason of the failure.
        failure: FailReason,
    },
    /// The supervisor is about to take the next decision.
    Deciding,
}

impl Reason {
    /// All codes, in the order of the variants.
    pub const CODES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;

    /// Returns the code, as in JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Returns `true` if the job does not move until a person or an operator acts, an event arrives
    /// or a service returns.
    #[must_use]
    pub fn is_hold(&self) -> bool {
        match self {
            Self::Unreadable { .. }
            | Self::Paused { .. }
            | Self::NoSupervisor { .. }
            | Self::NoWorker { .. }
            | Self::Question { .. }
            | Self::GivenUp { .. }
            | Self::Outage { .. }
            | Self::Retry { .. }
            | Self::Event { .. } => true,
            Self::Child { why, .. } => why.as_ref().is_some_and(|why| why.reason.is_hold()),
            Self::Pausing { .. }
            | Self::Queued { .. }
            | Self::Sent { .. }
            | Self::Running { .. }
            | Self::BudgetUsed { .. }
            | Self::Ending { .. }
            | Self::Deciding => false,
        }
    }

    /// Returns `true` if the installation, and not the job's agents or users, holds the job.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Unreadable { .. }
            | Self::NoSupervisor { .. }
            | Self::NoWorker { .. }
            | Self::GivenUp { .. }
            | Self::Outage { .. } => true,
            Self::Child { why, .. } => why.as_ref().is_some_and(|why| why.reason.is_fault()),
            Self::Paused { .. }
            | Self::Question { .. }
            | Self::Retry { .. }
            | Self::Event { .. }
            | Self::Pausing { .. }
            | Self::Queued { .. }
            | Self::Sent { .. }
            | Self::Running { .. }
            | Self::BudgetUsed { .. }
            | Self::Ending { .. }
            | Self::Deciding => false,
        }
    }

    /// Returns the reason as a sentence, without a full stop.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Unreadable { record, error } => Text::Unreadable { record, error },
            Self::Paused { by, note } => return paused(by.as_deref(), note.as_deref(), language),
            Self::NoSupervisor { shard } => Text::NoSupervisor { shard },
            Self::NoWorker { command: OpenCommand { kind, pool, .. } } => {
                Text::NoWorker { kind, pool }
            }
            Self::Question { path: None, ask, prompt, .. } => Text::Question { ask, prompt },
            Self::Question { path: Some(path), ask, prompt, .. } => {
                Text::QuestionBelow { path, ask, prompt }
            }
            Self::GivenUp { work, attempt, error } => Text::GivenUp { work, attempt, error },
            Self::Outage { work, attempt, error } => Text::Outage { work, attempt, error },
            Self::Retry { work, attempt, max_attempts: max, error } => {
                Text::Retry { work, attempt, max, error }
            }
            Self::Pausing { step } => Text::Pausing { step },
            Self::Event { step, event } => Text::Event { step, event },
            Self::Child { path, why: None, .. } => Text::Child { path },
            Self::Child { path, why: Some(why), .. } => {
                Text::ChildBecause { path, why: &why.reason.text(language) }
            }
            Self::Queued { command: OpenCommand { kind, pool, .. }, waiting } => {
                Text::Queued { kind, pool, waiting }
            }
            Self::Sent { command: OpenCommand { kind, pool, .. } } => Text::Sent { kind, pool },
            Self::Running { command } => return running(command, language),
            Self::BudgetUsed { gauge } => Text::BudgetUsed { figures: &gauge.text(language) },
            Self::Ending { failure } => Text::Ending { failure: &failure.as_str() },
            Self::Deciding => Text::Deciding,
        };
        text.text(language)
    }

    /// Returns the action that unblocks `job`, whose reason this is, or `None` if the job continues by itself.
    #[must_use]
    pub fn unblock(&self, job: &JobId, language: Language) -> Option<String> {
        let text = match self {
            Self::Unreadable { .. } => Text::UnreadableNext { job },
            Self::Paused { .. } => Text::PausedNext { job },
            Self::NoSupervisor { .. } => Text::NoSupervisorNext,
            Self::NoWorker { command } => return Some(no_worker_next(command, language)),
            Self::Question { job, ask, .. } => Text::QuestionNext { job, ask },
            Self::GivenUp { .. } => Text::GivenUpNext { job },
            Self::Outage { .. } => Text::OutageNext { job },
            Self::Retry { .. } => Text::RetryNext { job },
            Self::Event { event, .. } => Text::EventNext { job, event },
            Self::Child { job, why, .. } => return why.as_ref()?.reason.unblock(job, language),
            Self::Queued { command: OpenCommand { kind, pool, .. }, .. } => {
                Text::QueuedNext { kind, pool }
            }
            Self::Pausing { .. }
            | Self::Sent { .. }
            | Self::Running { .. }
            | Self::BudgetUsed { .. }
            | Self::Ending { .. }
            | Self::Deciding => return None,
        };
        Some(text.text(language))
    }
}

fn paused(by: Option<&str>, note: Option<&str>, language: Language) -> String {
    let head = match &by {
        Some(by) => Text::PausedBy { by }.text(language),
        None => Text::Paused.text(language),
    };
    note.map_or_else(|| head.clone(), |note| format!("{head}: {note}"))
}

fn running(command: &OpenCommand, language: Language) -> String {
    let OpenCommand { work, tool, kind, remembered, .. } = command;
    match (tool, kind) {
        (Some(tool), _) => match remembered {
            Some(ask) => Text::RunningToolRemembered { tool, ask },
            None => Text::RunningTool { tool },
        },
        (None, DecisionKind::Plan) => Text::RunningPlan,
        (None, DecisionKind::Turn) => Text::RunningTurn,
        (
            None,
            DecisionKind::Call
            | DecisionKind::Ask
            | DecisionKind::Wait
            | DecisionKind::Spawn
            | DecisionKind::Note
            | DecisionKind::Done
            | DecisionKind::Finish,
        ) => Text::Running { work },
    }
    .text(language)
}

/// Names the workers to start. Each kind of command belongs to a role, except calls of foreign
/// pools.
fn no_worker_next(OpenCommand { kind, pool, .. }: &OpenCommand, language: Language) -> String {
    let role = match kind {
        DecisionKind::Plan => "planner",
        DecisionKind::Turn => "executor",
        DecisionKind::Call if *pool == crate::decision::pools::builtin() => "tools",
        DecisionKind::Ask | DecisionKind::Note => "interaction",
        DecisionKind::Call
        | DecisionKind::Wait
        | DecisionKind::Spawn
        | DecisionKind::Done
        | DecisionKind::Finish => return Text::NoForeignWorkerNext { pool }.text(language),
    };
    Text::NoWorkerNext { role: &role }.text(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> OpenCommand {
        OpenCommand {
            work: WorkId::new("g0.r0.a").unwrap(),
            attempt: Attempt(2),
            kind: DecisionKind::Call,
            pool: Pool::new("python").unwrap(),
            step: Some(StepId::new("a").unwrap()),
            tool: Some(ToolName::new("word_count").unwrap()),
            remembered: None,
        }
    }

    /// Returns an example of every reason.
    fn all() -> Vec<Reason> {
        let (work, attempt, error) = (command().work, Attempt(3), "503".to_owned());
        let job = JobId::new("j").unwrap();
        let gauge = serde_json::from_value(
            serde_json::json!({"axis": "tokens", "used": 5.0, "limit": 5.0, "warned": true}),
        );
        let why = Why {
            reason: Reason::Outage { work: work.clone(), attempt, error: error.clone() },
            since: Timestamp::UNIX_EPOCH,
            until: Some(Timestamp::UNIX_EPOCH),
        };
        vec![
            Reason::Unreadable { record: Seq(7), error: "unknown kind".into() },
            Reason::Paused { by: Some("ann".into()), note: Some("lunch".into()) },
            Reason::NoSupervisor { shard: Shard(3) },
            Reason::NoWorker { command: command() },
            Reason::Question {
                job: job.clone(),
                path: None,
                ask: AskId::new("q1").unwrap(),
                prompt: "Which one?".into(),
            },
            Reason::GivenUp { work: work.clone(), attempt, error: error.clone() },
            Reason::Outage { work: work.clone(), attempt, error: error.clone() },
            Reason::Retry { work, attempt, max_attempts: 5, error },
            Reason::Pausing { step: StepId::new("cool--1").unwrap() },
            Reason::Event {
                step: StepId::new("paid--1").unwrap(),
                event: EventName::new("payment").unwrap(),
            },
            Reason::Child {
                job,
                path: "j/a".into(),
                agent: AgentName::new("default").unwrap(),
                why: Some(Box::new(why)),
            },
            Reason::Queued { command: command(), waiting: 41 },
            Reason::Sent { command: command() },
            Reason::Running { command: command() },
            Reason::BudgetUsed { gauge: gauge.unwrap() },
            Reason::Ending { failure: FailReason::StepFailed },
            Reason::Deciding,
        ]
    }

    #[test]
    fn every_reason_has_a_stable_code_a_form_in_json_and_a_sentence_in_each_language() {
        let codes: Vec<_> = all().iter().map(Reason::code).collect();
        assert_eq!(codes, Reason::CODES, "an example of each, in order");
        for reason in all() {
            let why = Why { reason, since: Timestamp::UNIX_EPOCH, until: None };
            let json = serde_json::to_value(&why).unwrap();
            assert_eq!(json["code"], why.reason.code());
            assert_eq!(serde_json::from_value::<Why>(json).unwrap(), why);
            let texts: Vec<_> =
                Language::ALL.iter().map(|language| why.reason.text(*language)).collect();
            assert_ne!(texts[0], texts[1], "{why:?}");
            for language in Language::ALL {
                let next = why.reason.unblock(&JobId::new("j").unwrap(), *language);
                assert!(next.is_some() || !why.reason.is_hold(), "{why:?}");
            }
        }
    }

    #[test]
    fn the_page_has_every_code_in_order_and_an_example() {
        let page = include_str!("../../docs/why.md");
        let rows = page.lines().skip_while(|line| !line.starts_with("| code |")).skip(2);
        let codes: Vec<_> =
            rows.map_while(|row| row.strip_prefix("| `")?.split('`').next()).collect();
        assert_eq!(codes, Reason::CODES);
        let (_, example) = page.split_once("```json why\n").unwrap();
        let why: Why = serde_json::from_str(example.split("```").next().unwrap()).unwrap();
        assert_eq!(why.reason.code(), "no_worker");
    }

    #[test]
    fn a_parents_reason_names_the_child_and_the_reason_of_the_child() {
        let reason = all().into_iter().find(|reason| reason.code() == "child").unwrap();
        let text = reason.text(Language::En);
        assert!(text.contains("j/a") && text.contains("503"), "{text}");
        assert!(reason.is_fault());
    }

    #[test]
    fn a_missing_worker_is_named_by_its_role_or_its_pool() {
        let next = |kind, pool: &str| {
            let pool = Pool::new(pool).unwrap();
            let command = OpenCommand { kind, pool, ..command() };
            let job = JobId::new("j").unwrap();
            Reason::NoWorker { command }.unblock(&job, Language::En).unwrap()
        };
        assert!(next(DecisionKind::Plan, "default").contains("--roles planner"));
        assert!(next(DecisionKind::Call, "builtin").contains("--roles tools"));
        assert!(next(DecisionKind::Call, "python").contains("pool python"));
    }
}
