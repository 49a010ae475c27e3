//! Jobs that work for jobs: none of a family is removed while another one of it is open. What a job tells
//! another is written into that one's log, and a log that is gone would begin again with it.

use std::collections::{BTreeMap, BTreeSet};

use broker::Broker;
use proto::id::JobId;

use super::{Ended, Looked, PurgeError, Stays, Terms, looks};

/// Looks at the families of jobs, and remembers those that hold the others.
pub(super) struct Kin<'a> {
    broker: &'a Broker,
    pub(super) terms: &'a Terms,
    /// Families that were looked at: of each of its jobs whether all of them may go.
    known: BTreeMap<JobId, Result<(), Stays>>,
}

impl<'a> Kin<'a> {
    pub(super) fn new(broker: &'a Broker, terms: &'a Terms) -> Self {
        Self { broker, terms, known: BTreeMap::new() }
    }

    /// The same of a job that may go by itself, unless its family has one that must stay.
    pub(super) async fn stays_with(&mut self, looked: Looked) -> Result<Looked, PurgeError> {
        let Ok(ended) = looked else { return Ok(looked) };
        if ended.kin.is_empty() {
            return Ok(Ok(ended));
        }
        let verdict = match self.known.get(&ended.job) {
            Some(verdict) => *verdict,
            None => self.family(&ended).await?,
        };
        Ok(verdict.map(|()| ended))
    }

    /// Everybody that can be reached from a job, up and down. One that is gone leads nowhere.
    async fn family(&mut self, ended: &Ended) -> Result<Result<(), Stays>, PurgeError> {
        let mut seen = BTreeSet::from([ended.job.clone()]);
        let mut next = ended.kin.clone();
        let mut verdict = Ok(());
        while !next.is_empty() {
            next.retain(|job| seen.insert(job.clone()));
            let mut further = Vec::new();
            for (_, looked) in looks(self.broker, self.terms, std::mem::take(&mut next)).await? {
                match looked {
                    Ok(ended) => further.extend(ended.kin),
                    Err(Stays::Open | Stays::Family) => verdict = Err(Stays::Family),
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
