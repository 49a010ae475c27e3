//! The tools' way to the browser of a job, which lives at one host and is asked from any worker.

use std::time::Duration;

use async_trait::async_trait;
use proto::{id::Unit, session::SessionKind};
use runtime::sessions::{self, Ask, Sessions};

use crate::{
    desk::{AskError, Asking, Desk},
    errand::{Answer, Errand, read, written},
    refusal::Refusal,
    request::{Reply, Request},
};

/// The browsers of all hosts.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) sessions: Sessions,
    /// Longest request.
    pub(crate) within: Duration,
}

#[async_trait]
impl Desk for Remote {
    async fn ask(&self, asking: Asking<'_>, request: Request) -> Result<Reply, AskError> {
        let Asking { job, work, attempt, hosts, canceled } = asking;
        let opens = matches!(request, Request::Open { .. });
        let body = written(&Errand { hosts: hosts.cloned(), request }).map_err(Refusal::Browser)?;
        let ask = Ask {
            kind: SessionKind::Browser,
            job: job.clone(),
            unit: Unit { work: work.clone(), attempt },
            body,
            within: self.within,
            opens,
        };
        let answer = self.sessions.ask(ask, canceled).await.map_err(failure)?;
        // The host carried the request out, although its answer cannot be read.
        let Answer(answer) = read(&answer).map_err(|error| {
            tracing::error!(%error, "the answer of a browser cannot be read");
            AskError::Unfinished
        })?;
        answer
    }
}

fn failure(error: sessions::AskError) -> AskError {
    match error {
        sessions::AskError::NoHost | sessions::AskError::Unavailable(_) => AskError::NoHost,
        sessions::AskError::NoSession => Refusal::NoPage.into(),
        sessions::AskError::Refused(why) => Refusal::Browser(why).into(),
        sessions::AskError::Lost { may_have_begun, why: _ } => AskError::Lost { may_have_begun },
        sessions::AskError::Canceled | sessions::AskError::Late => AskError::Unfinished,
    }
}
