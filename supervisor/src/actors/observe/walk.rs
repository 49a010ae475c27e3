//! A walk through the jobs of a shard, from the newest submission to the oldest, while they change.
//!
//! A job is read at one moment and activated at others, and an activation is counted a little after
//! its decisions are stored. The jobs of the current page and of the page before are therefore kept
//! by id, each with its latest report, and added up only when a further page has been read.

use std::collections::{HashMap, hash_map::Entry};

use machine::{Job, JobStatus};
use proto::id::{JobId, Seq};

use super::{Labels, figures::Figures};

/// A walk in progress.
#[derive(Debug)]
pub(super) struct Walk {
    figures: Figures,
    /// Jobs that are not added up yet, by id.
    recent: HashMap<JobId, WalkedJob>,
    /// Jobs submitted at or after this position are added up; only changes are applied to them.
    settled: Seq,
    /// Oldest submission of the page before the current one.
    before: Seq,
    /// Oldest submission of the current page. Older jobs follow later.
    page: Seq,
}

#[derive(Debug)]
struct WalkedJob {
    first: Seq,
    /// Last record that the reporter knew.
    seq: Seq,
    standing: JobStatus,
}

impl Walk {
    /// Creates a walk that has read nothing. Reports are kept until the first page.
    pub(super) fn new() -> Self {
        let newest = Seq(u64::MAX);
        Self {
            figures: Figures::default(),
            recent: HashMap::new(),
            settled: newest,
            before: newest,
            page: Seq(0),
        }
    }

    /// Starts the page of jobs submitted from `oldest` to `newest`.
    pub(super) fn turn(&mut self, newest: Seq, oldest: Seq, labels: &Labels) {
        if self.page == Seq(0) {
            // Jobs newer than the first page are counted by their activations.
            self.figures = Figures::walked(newest);
            self.before = Seq(newest.0.saturating_add(1));
            self.page = self.before;
        }
        self.settled = self.before;
        self.before = self.page;
        self.page = oldest;
        self.add_up(labels);
        self.recent.retain(|_, seen| seen.first >= oldest);
    }

    fn add_up(&mut self, labels: &Labels) {
        let settled = self.settled;
        for (job, seen) in self.recent.extract_if(|_, seen| seen.first >= settled) {
            self.figures.stands(&job, &seen.standing, labels);
        }
    }

    /// Takes a job that the walk has read.
    pub(super) fn passed(&mut self, job: &Job) {
        if let Some(standing) = job.standing() {
            self.saw(job, &standing);
        }
    }

    /// Takes an activation's change of a job.
    pub(super) fn moved(
        &mut self,
        job: &Job,
        before: Option<&JobStatus>,
        now: &JobStatus,
        labels: &Labels,
    ) {
        if job.first() >= self.settled {
            self.figures.moves(job.id(), job.first(), before, now, labels);
        } else if job.first() >= self.page {
            self.saw(job, now);
        }
    }

    fn saw(&mut self, job: &Job, standing: &JobStatus) {
        let seen = || WalkedJob { first: job.first(), seq: job.seq(), standing: standing.clone() };
        match self.recent.entry(job.id().clone()) {
            Entry::Vacant(place) => {
                place.insert(seen());
            }
            Entry::Occupied(mut known) if known.get().seq <= job.seq() => {
                known.insert(seen());
            }
            Entry::Occupied(_) => {}
        }
    }

    /// Ends the walk and returns the figures of the whole shard.
    pub(super) fn finish(mut self, labels: &Labels) -> Figures {
        self.settled = Seq(0);
        self.add_up(labels);
        self.figures
    }
}
