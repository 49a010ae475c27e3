//! The files that came with a job, for the tools that read them. What there is stands in the job's
//! first record; it is looked up when a tool asks, so that no other call pays for it.

use std::fmt;

use broker::{Broker, objects::ObjectError};
use proto::{
    entry::Entry,
    file::{File, Piece},
    id::{JobId, Seq},
};

use crate::tool::ToolFault;

/// The files of one job; none outside of a job. Cheap to clone.
#[derive(Clone, Default)]
pub struct JobFiles(Option<(Broker, JobId)>);

impl fmt::Debug for JobFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobFiles").field(&self.0.as_ref().map(|(_, job)| job)).finish()
    }
}

impl JobFiles {
    /// The files of a job.
    #[must_use]
    pub fn of(broker: &Broker, job: &JobId) -> Self {
        Self(Some((broker.clone(), job.clone())))
    }

    /// What there is, in the order of the submission: models call them by number, from 1.
    ///
    /// # Errors
    /// When the job's first record cannot be read.
    pub async fn list(&self) -> Result<Vec<File>, ToolFault> {
        let Some((broker, job)) = &self.0 else { return Ok(Vec::new()) };
        let read = broker.log.read(job, Seq(0)).await;
        let entries = read
            .map_err(|e| ToolFault::unavailable(format!("the job's log could not be read: {e}")))?;
        let submitted = entries.first().and_then(Entry::submission).ok_or_else(|| {
            ToolFault::internal("the job's first record is not a submission that can be read")
        })?;
        Ok(submitted.files)
    }

    /// What is in a file.
    ///
    /// # Errors
    /// When a piece is missing, or the object store cannot be reached.
    pub async fn read(&self, pieces: &[Piece]) -> Result<Vec<u8>, ToolFault> {
        let Some((broker, _)) = &self.0 else { return Ok(Vec::new()) };
        let mut content = Vec::new();
        for piece in pieces {
            let bytes = broker.objects.get(&piece.sha256).await.map_err(|error| match error {
                ObjectError::Missing(_) => ToolFault::internal(error.to_string()),
                ObjectError::Unavailable(_) | ObjectError::Full(_) => {
                    ToolFault::unavailable(error.to_string())
                }
            })?;
            content.extend_from_slice(&bytes);
        }
        Ok(content)
    }
}
