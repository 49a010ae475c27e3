//! Sessions of jobs that live in one process, such as browsers, and requests to them from any other
//! process.
//!
//! Any worker takes a call, so it must reach the process that has the job's session: the *host*. A
//! worker asks through [`Sessions`]; a host serves its [`Keeper`] as a [`child`] of its
//! actor tree. The bucket `sessions` names the host of each session.
//!
//! * A job has at most one session of a kind that requests reach. The host enters itself by
//!   compare-and-set before it opens the session, so the loser of a race has opened nothing, and a
//!   host that dies while it opens one leaves no session without an entry.
//! * An asker looks for a host with room and asks that host by name. A queue group would hand the
//!   request to any member, also to a full one.
//! * A host reports every second that it still works. An asker takes a host that is silent for
//!   [`SILENCE`] for dead, so work may last long and a death is noticed soon.
//! * While an attempt at a unit of work runs, a second request for the attempt gets the same result.
//!   Afterwards the host has forgotten the attempt: the worker's own protocol (the intent of a `once`
//!   tool) keeps a redelivered command from a second effect.
//!
//! A session is a cache: what must last belongs elsewhere.

mod client;
mod entries;
mod host;
mod slot;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use proto::{id::JobId, session::SessionKind};
use tokio_util::sync::CancellationToken;

pub use self::{
    client::{Ask, AskError, Sessions},
    host::{HostArgs, HostLimits, child},
};

/// Interval at which a host reports that it still works.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// Time without an answer after which a host counts as dead.
pub const SILENCE: Duration = Duration::from_secs(5);
/// Time that canceled work has to stop by itself.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// Keeps the sessions of one kind in this process, at most one for each job.
#[async_trait]
pub trait Keeper: Send + Sync + 'static {
    /// Returns the kind of its sessions.
    fn kind(&self) -> SessionKind;

    /// Opens the session of a job, which has none here.
    ///
    /// # Errors
    /// The reason why there is no session now.
    async fn open(&self, job: &JobId) -> Result<(), OpenError>;

    /// Carries out one request in the open session of a job. Requests of one job may overlap; a
    /// keeper that cannot do so puts them in order itself.
    ///
    /// `canceled` is canceled when the caller no longer wants the result, when its time is over,
    /// and when the session closes. The future is dropped if it does not end two seconds later.
    ///
    /// # Errors
    /// The reason why there is no result.
    async fn carry_out(
        &self,
        job: &JobId,
        body: Bytes,
        canceled: CancellationToken,
    ) -> Result<Bytes, KeeperError>;

    /// Closes the session of a job. No request runs there any more.
    async fn close(&self, job: &JobId);
}

/// The reason why a keeper opened no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The keeper has no room. Another host may have.
    #[error("the host is full")]
    Full,
    /// The session cannot be opened.
    #[error("{0}")]
    Failed(String),
}

/// The reason why a keeper has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeeperError {
    /// The request failed or is not permitted. The session continues.
    #[error("{0}")]
    Refused(String),
    /// The request was canceled. The session continues.
    #[error("canceled")]
    Canceled,
    /// The session ended, for example because its browser crashed. The host closes it.
    #[error("{0}")]
    Lost(String),
}

#[cfg(test)]
mod tests;
