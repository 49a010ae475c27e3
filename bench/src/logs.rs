//! The logs of measured jobs: how many records they have, and which parts received them.

use broker::Broker;
use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    decision::{Decision, DecisionKind, Note, pools},
    entry::Entry,
    id::{JobId, Seq},
    record::Known,
    subject::Family,
    workflow::Move,
};
use serde::Serialize;

use crate::Failed;

/// Number of logs that are read concurrently.
const READERS: usize = 32;

/// The means of some logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Logs {
    /// Number of logs.
    pub(crate) jobs: usize,
    /// Records of a job, the submission and the end included.
    pub(crate) records: f64,
    /// Records of a job that a consumer received: facts, and commands for workers.
    pub(crate) delivered: f64,
    /// Records of a job that hold commands and their results.
    pub(crate) joined: f64,
    /// Visits of nodes of a workflow, those of branches and parallel nodes included.
    pub(crate) visits: f64,
}

impl Logs {
    /// Reads the logs of jobs.
    pub(crate) async fn read(broker: &Broker, jobs: &[JobId]) -> Result<Self, Failed> {
        let read = stream::iter(jobs).map(|job| async move {
            let entries = broker.log.read(job, Seq(0)).await?;
            Ok::<_, Failed>(Self::of(&entries))
        });
        let each: Vec<Self> = read.buffered(READERS).try_collect().await?;
        #[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
        let mean =
            |of: fn(&Self) -> f64| each.iter().map(of).sum::<f64>() / each.len().max(1) as f64;
        Ok(Self {
            jobs: each.len(),
            records: mean(|logs| logs.records),
            delivered: mean(|logs| logs.delivered),
            joined: mean(|logs| logs.joined),
            visits: mean(|logs| logs.visits),
        })
    }

    /// Counts the log of one job.
    #[expect(clippy::cast_precision_loss, reason = "numbers of records")]
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let count =
            |is: fn(&Entry) -> bool| entries.iter().filter(|entry| is(entry)).count() as f64;
        Self {
            jobs: 1,
            records: entries.len() as f64,
            delivered: count(is_delivered),
            joined: count(is_joined),
            visits: entries.iter().map(visits).sum::<usize>() as f64,
        }
    }

    /// Returns the records for each visit of a node; zero without a visit.
    pub(crate) fn records_per_visit(&self) -> f64 {
        if self.visits > 0.0 { self.records / self.visits } else { 0.0 }
    }
}

fn is_delivered(entry: &Entry) -> bool {
    match &entry.family {
        Family::In(_) | Family::UnknownIn(_) | Family::At(_) => true,
        Family::Do(_, pool) => *pool != pools::nobody(),
        Family::UnknownDo(_) => false,
    }
}

/// Returns whether a record holds commands and their results.
pub(crate) fn is_joined(entry: &Entry) -> bool {
    matches!(entry.family, Family::Do(DecisionKind::Done, _))
}

/// Returns the number of nodes that a record enters.
fn visits(entry: &Entry) -> usize {
    moves(entry, |one| matches!(one, Move::Enter { .. }))
}

/// Returns the number of moves of a record that are of a kind.
pub(crate) fn moves(entry: &Entry, is: impl Fn(&Move) -> bool) -> usize {
    let known = entry.record.as_ref().ok().and_then(|record| record.known().ok());
    let Some(Known::Decision(decision)) = known else { return 0 };
    let Decision::Note(Note::Advanced(advance)) = *decision else { return 0 };
    advance.moves.iter().filter(|one| is(one)).count()
}
