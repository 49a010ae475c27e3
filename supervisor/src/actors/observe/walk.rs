//! One walk through the jobs of a shard, from the newest submission back, while they move.
//!
//! A job is read at one moment and looked at in others, and a look is counted a little after its
//! decisions are stored. So the jobs of the page that is being read, and of the one before, are kept
//! by name, each by its latest report; only then are they added up. Reads nothing itself.

use std::collections::{HashMap, hash_map::Entry};

use machine::{Job, Standing};
use proto::id::{JobId, Seq};

use super::{Labels, figures::Figures};

/// A walk that is under way.
#[derive(Debug)]
pub(super) struct Walk {
    figures: Figures,
    /// Jobs that are not added up yet, by name.
    recent: HashMap<JobId, Seen>,
    /// Jobs submitted at or after this one are added up, and from then on only what moves them is.
    settled: Seq,
    /// Where the page before the one that is being read begins.
    before: Seq,
    /// Where the page that is being read begins. Older jobs are still to come.
    page: Seq,
}

#[derive(Debug)]
struct Seen {
    first: Seq,
    /// The last record that the reporter knew.
    seq: Seq,
    standing: Standing,
}

impl Walk {
    /// Nothing is read yet: everything that moves meanwhile is kept.
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

    /// The jobs submitted from `oldest` to `newest` are read next.
    pub(super) fn turn(&mut self, newest: Seq, oldest: Seq, labels: &Labels) {
        if self.page == Seq(0) {
            // What is newer than the first page was submitted since: it is counted as it moves.
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

    /// The walk came by a job.
    pub(super) fn passed(&mut self, job: &Job) {
        if let Some(standing) = job.standing() {
            self.saw(job, &standing);
        }
    }

    /// A look at a job was counted.
    pub(super) fn moved(
        &mut self,
        job: &Job,
        before: Option<&Standing>,
        now: &Standing,
        labels: &Labels,
    ) {
        if job.first() >= self.settled {
            self.figures.moves(job.id(), job.first(), before, now, labels);
        } else if job.first() >= self.page {
            self.saw(job, now);
        }
    }

    fn saw(&mut self, job: &Job, standing: &Standing) {
        let seen = || Seen { first: job.first(), seq: job.seq(), standing: standing.clone() };
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

    /// There is nothing older: the figures of the whole shard.
    pub(super) fn finish(mut self, labels: &Labels) -> Figures {
        self.settled = Seq(0);
        self.add_up(labels);
        self.figures
    }
}
