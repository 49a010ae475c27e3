//! The port between the tools and the browser of their job, which may be in another process.

use async_trait::async_trait;
use proto::{
    agent::Hosts,
    id::{Attempt, JobId, WorkId},
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    refusal::Refusal,
    request::{Reply, Request},
};

/// The browser sessions of jobs.
#[async_trait]
pub trait Desk: Send + Sync + 'static {
    /// Carries out a request in the session of a job.
    ///
    /// # Errors
    /// If the request was refused, or its session is lost.
    async fn ask(&self, asking: Asking<'_>, request: Request) -> Result<Reply, AskError>;
}

/// The call that asks.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// Its job.
    pub job: &'a JobId,
    /// Its unit of work.
    pub work: &'a WorkId,
    /// Its attempt at that work.
    pub attempt: Attempt,
    /// The only hosts that its pages may reach; `None` for every host that the operator permits.
    pub hosts: Option<&'a Hosts>,
    /// Cancelled when nobody needs the reply any more.
    pub canceled: &'a CancellationToken,
}

/// The reason why a request has no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum AskError {
    /// No process offers a browser.
    #[error("no process offers a browser")]
    NoHost,
    /// The session ended with its browser.
    #[error("the browser session is lost")]
    Lost {
        /// `true` if the request may have had its effect.
        may_have_begun: bool,
    },
    /// The request did not finish, and may have had its effect. The session goes on.
    #[error("the request did not finish")]
    Unfinished,
    /// The request was refused, or the page did not permit it.
    #[error("refused: {0:?}")]
    Refused(Refusal),
}

impl From<Refusal> for AskError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
