//! The log of one job: its records at once, or in parts.

use std::pin::pin;

use futures::{Stream, StreamExt};
use proto::{
    entry::Entry,
    id::{JobId, Seq},
};

use super::{
    log::NatsLog,
    read::{self, Stored},
};
use crate::log::LogError;

impl NatsLog {
    /// Reads the records of a job after a position.
    pub(super) async fn records_of(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError> {
        let (stream, filter) = (self.stream_of(job), self.subjects.everything_of(job));
        match read::all(&self.link, &stream, &filter, after, self.options.replicas).await {
            Ok(found) => self.entries(found).await,
            Err(error) => Err(self.unread(&stream, error).await),
        }
    }

    async fn entries(&self, found: Vec<Stored>) -> Result<Vec<Entry>, LogError> {
        let mut entries = Vec::with_capacity(found.len());
        for message in found {
            entries.extend(self.entry(message).await?);
        }
        Ok(entries)
    }

    /// Streams all records of a job. The next part is on its way while its receiver works on one.
    pub(super) fn parts_of<'a>(
        &'a self,
        job: &'a JobId,
    ) -> impl Stream<Item = Result<Vec<Entry>, LogError>> + Send + 'a {
        async_stream::try_stream! {
            let (stream, filter) = (self.stream_of(job), self.subjects.everything_of(job));
            let replicas = self.options.replicas;
            let mut parts = pin!(read::parts(&self.link, &stream, &filter, replicas));
            while let Some(part) = parts.next().await {
                match part {
                    Ok(part) => yield self.entries(part).await?,
                    Err(error) => Err(self.unread(&stream, error).await)?,
                }
            }
        }
    }
}
