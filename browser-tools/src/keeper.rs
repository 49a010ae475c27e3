//! The browser of this process as the keeper of sessions that other processes ask for.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use proto::{id::JobId, session::SessionKind};
use runtime::sessions::{Keeper, KeeperError, OpenError};
use tokio_util::sync::CancellationToken;

use crate::{
    browser::Browser,
    errand::{Answer, Errand, fitted, read},
};

/// Keeps the browser sessions of jobs. A page that is opened begins the session proper, so an entry
/// of a host costs a place and no memory.
#[derive(Debug)]
pub(crate) struct BrowserKeeper(pub(crate) Arc<Browser>);

#[async_trait]
impl Keeper for BrowserKeeper {
    fn kind(&self) -> SessionKind {
        SessionKind::Browser
    }

    async fn open(&self, job: &JobId) -> Result<(), OpenError> {
        if self.0.has_room_for(job) { Ok(()) } else { Err(OpenError::Full) }
    }

    async fn carry_out(
        &self,
        job: &JobId,
        body: Bytes,
        canceled: CancellationToken,
    ) -> Result<Bytes, KeeperError> {
        let errand = read(&body).map_err(|error| KeeperError::Refused(error.to_string()))?;
        let Errand { hosts, request } = errand;
        let asked = self.0.ask(job, hosts.as_ref(), request);
        let asked = canceled.run_until_cancelled(asked).await.ok_or(KeeperError::Canceled)?;
        fitted(&Answer(asked)).map_err(KeeperError::Lost)
    }

    async fn close(&self, job: &JobId) {
        self.0.close(job).await;
    }
}
