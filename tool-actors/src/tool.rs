//! The interface of tools in Rust: a specification and one asynchronous function.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use broker::Broker;
use proto::{
    agent::Hosts,
    cost::Cost,
    decision::CallWork,
    file::File,
    id::{Attempt, JobId, StepId, WorkId},
    lang::Language,
    message::Usage,
    tool::{Fault, ToolResult, ToolSpec},
    trace::TraceContext,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::files::JobFiles;

/// A tool. Its constructor receives the resources it needs, such as a store, a client or a
/// directory.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// The specification to announce. Must return the same value at every call.
    fn spec(&self) -> ToolSpec;

    /// Carries out one call. The arguments fit the specification's schema. The future may be
    /// dropped at any await, on timeout or cancellation.
    ///
    /// # Errors
    /// If the tool could not answer. A negative answer that a model or a person can act upon is not
    /// an error but [`ToolResult::failed`].
    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault>;
}

/// The context of a call, besides its arguments.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The job that makes the call.
    pub job: JobId,
    /// The unit of work, the same for all attempts.
    pub work: WorkId,
    /// The step that the call belongs to.
    pub step: StepId,
    /// Number of this attempt, from 1.
    pub attempt: Attempt,
    /// Unique per call and the same for all attempts: pass it to every system in which the call has
    /// an effect.
    pub idempotency_key: String,
    /// The only hosts that the call may send requests to; `None` for every host that the operator
    /// permits.
    pub hosts: Option<Hosts>,
    /// Language of the texts in the tool's result.
    pub language: Language,
    /// The call's span, to propagate in requests.
    pub trace: TraceContext,
    /// Cancelled when the result is no longer needed. Work on other threads must watch it.
    pub canceled: CancellationToken,
    /// Records the cost of the call.
    pub meter: Meter,
    /// The files attached to the job; empty unless [`CallContext::with_files`] was used.
    pub files: JobFiles,
    /// Collects the files that the call publishes.
    pub artifacts: Artifacts,
}

impl CallContext {
    /// Builds the context of a command, without the job's files.
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
            hosts: call.hosts.clone(),
            language: call.language,
            trace,
            canceled,
            meter: Meter::default(),
            files: JobFiles::default(),
            artifacts: Artifacts::default(),
        }
    }

    /// Adds access to the job's files.
    #[must_use]
    pub fn with_files(self, broker: &Broker) -> Self {
        Self { files: JobFiles::of(broker, &self.job), ..self }
    }
}

/// The running cost of a call. It counts even if the call fails afterwards.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<Cost>>);

impl Meter {
    /// Adds the tokens of a model call.
    pub fn spend(&self, usage: Usage) {
        self.change(|cost| cost.usage += usage);
    }

    /// Adds an amount in US dollars. The sum must cover the whole call, including its tokens.
    pub fn pay(&self, dollars: f64) {
        self.change(|cost| cost.money = Some(cost.money.unwrap_or_default() + dollars));
    }

    /// Returns the cost so far.
    #[must_use]
    pub fn read(&self) -> Cost {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Cost)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The files that a call publishes. They count if the call succeeds.
#[derive(Debug, Clone, Default)]
pub struct Artifacts(Arc<Mutex<Vec<File>>>);

impl Artifacts {
    /// Adds a stored file.
    pub fn add(&self, file: File) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(file);
    }

    /// Returns the files so far.
    #[must_use]
    pub fn read(&self) -> Vec<File> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A call that failed without a result from the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFault {
    /// Kind of fault; the job machine uses it to decide about another attempt.
    pub fault: Fault,
    /// Explanation for people and models.
    pub message: String,
    /// `true` if the job waits for the end of an outage; only with [`Fault::Unavailable`].
    pub(crate) outage: bool,
}

impl ToolFault {
    /// Creates a fault.
    #[must_use]
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), outage: false }
    }

    /// A required resource is unavailable. Nothing was done; a later attempt may succeed.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Fault::Unavailable, message)
    }

    /// A service that every call of the tool needs cannot be reached. Nothing was done, and the job
    /// waits for the service.
    #[must_use]
    pub fn outage(message: impl Into<String>) -> Self {
        Self { outage: true, ..Self::unavailable(message) }
    }

    /// The tool has a bug or failed unexpectedly.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Fault::Internal, message)
    }

    /// The arguments fit the schema but are invalid; the message names the field.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Fault::InvalidArguments, message)
    }
}
