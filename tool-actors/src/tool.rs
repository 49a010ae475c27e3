//! What a tool is, to Rust code: a specification and one asynchronous function.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use broker::Broker;
use proto::{
    cost::Cost,
    decision::CallWork,
    id::{Attempt, JobId, StepId, WorkId},
    lang::Language,
    message::Usage,
    tool::{Fault, ToolResult, ToolSpec},
    trace::TraceContext,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::files::JobFiles;

/// A tool. What it needs (a store, a client, a directory) is given to it when it is made.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// How it is announced. Must be the same at every call.
    fn spec(&self) -> ToolSpec;

    /// Carries out one call. The arguments fit the specification's schema. The future may be
    /// dropped at any await: when the time is over, or when the job does not want the call any more.
    ///
    /// # Errors
    /// When the tool could not give an answer of its own. A "no" that a model or a person can act
    /// upon is not an error but [`ToolResult::failed`].
    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault>;
}

/// What a tool is told of the call beside its arguments.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The job.
    pub job: JobId,
    /// The unit of work, the same over all attempts.
    pub work: WorkId,
    /// The step it is for.
    pub step: StepId,
    /// The try.
    pub attempt: Attempt,
    /// The same over all attempts of the call and never that of another call: hand it to whatever
    /// has an effect.
    pub idempotency_key: String,
    /// The language of the texts the tool answers with.
    pub language: Language,
    /// The span of the call, for requests on its behalf.
    pub trace: TraceContext,
    /// Canceled when the answer is not wanted any more. Work on other threads must look at it.
    pub canceled: CancellationToken,
    /// Where the tool says what the call costs.
    pub meter: Meter,
    /// The files that came with the job.
    pub files: JobFiles,
}

impl CallContext {
    /// The context of a command.
    #[must_use]
    pub fn of(
        job: &JobId,
        call: &CallWork,
        trace: TraceContext,
        canceled: CancellationToken,
    ) -> Self {
        Self {
            job: job.clone(),
            work: call.work.clone(),
            step: call.step.clone(),
            attempt: call.attempt,
            idempotency_key: call.idempotency_key.clone(),
            language: call.language,
            trace,
            canceled,
            meter: Meter::default(),
            files: JobFiles::default(),
        }
    }

    /// The same, for a tool that may read the files of the job.
    #[must_use]
    pub fn with_files(self, broker: &Broker) -> Self {
        Self { files: JobFiles::of(broker, &self.job), ..self }
    }
}

/// What a call costs, as its tool says it while it goes on: what was spent before a call broke was
/// spent all the same.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<Cost>>);

impl Meter {
    /// A model was asked.
    pub fn spend(&self, usage: Usage) {
        self.change(|cost| cost.usage += usage);
    }

    /// Money was paid, in US dollars: for all of the call, the tokens it spent included.
    pub fn pay(&self, dollars: f64) {
        self.change(|cost| cost.money = Some(cost.money.unwrap_or_default() + dollars));
    }

    /// What it has come to.
    #[must_use]
    pub fn read(&self) -> Cost {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Cost)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Why a call gave no answer of the tool's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFault {
    /// The kind, by which the job machine decides about another attempt.
    pub fault: Fault,
    /// What happened, for people and models.
    pub message: String,
}

impl ToolFault {
    /// A fault of a kind, with its reason.
    #[must_use]
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into() }
    }

    /// Something the tool needs is not there; nothing was done, and later it may be.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Fault::Unavailable, message)
    }

    /// The tool broke.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Fault::Internal, message)
    }

    /// The arguments pass the schema but make no sense; the message names the field.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Fault::InvalidArguments, message)
    }
}
