//! Families of jobs. No member is removed while another is open: members append facts to each
//! other's logs, and such a fact would create a removed log again.

use std::collections::{BTreeMap, BTreeSet};

use broker::Broker;
use proto::id::JobId;

use super::{Ended, Looked, PurgeError, Stays, Terms, looks};

/// The verdicts on families that were read.
pub(super) struct Families<'a> {
    broker: &'a Broker,
    pub(super) terms: &'a Terms,
    /// Verdict on the family of each job.
    known: BTreeMap<JobId, Result<(), Stays>>,
}

impl<'a> Families<'a> {
    pub(super) fn new(broker: &'a Broker, terms: &'a Terms) -> Self {
        Self { broker, terms, known: BTreeMap::new() }
    }

    /// Returns the job, or the reason for which its family must be kept.
    pub(super) async fn stays_with(&mut self, looked: Looked) -> Result<Looked, PurgeError> {
        let Ok(ended) = looked else { return Ok(looked) };
        if ended.relatives.is_empty() {
            return Ok(Ok(ended));
        }
        let verdict = match self.known.get(&ended.job) {
            Some(verdict) => *verdict,
            None => self.family(&ended).await?,
        };
        Ok(verdict.map(|()| ended))
    }

    /// Returns the verdict on all jobs that are related to a job, directly or not. Removed jobs
    /// have no relatives.
    async fn family(&mut self, ended: &Ended) -> Result<Result<(), Stays>, PurgeError> {
        let mut seen = BTreeSet::from([ended.job.clone()]);
        let mut next = ended.relatives.clone();
        let mut verdict = Ok(());
        while !next.is_empty() {
            next.retain(|job| seen.insert(job.clone()));
            let mut further = Vec::new();
            for (_, looked) in looks(self.broker, self.terms, std::mem::take(&mut next)).await? {
                match looked {
                    Ok(ended) => further.extend(ended.relatives),
                    Err(Stays::Open | Stays::Family | Stays::Lost) => {
                        verdict = Err(Stays::Family);
                    }
                    Err(Stays::Recent) if verdict.is_ok() => verdict = Err(Stays::Recent),
                    Err(Stays::Recent | Stays::Absent) => {}
                }
            }
            if verdict == Err(Stays::Family) {
                break;
            }
            next = further;
        }
        self.known.extend(seen.into_iter().map(|job| (job, verdict)));
        Ok(verdict)
    }
}
