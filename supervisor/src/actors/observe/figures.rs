//! Figures about the jobs of a shard, in bounded memory: jobs by state, open questions, and the age
//! of the oldest ones.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use machine::JobStatus;
use opentelemetry::StringValue;
use proto::{
    id::{JobId, Seq},
    job::JobState,
};

use super::{Labels, label};

/// Limit on jobs whose question age is kept. Beyond it only the oldest are kept.
const AGES_MAX: usize = 1_000;

/// Labels of a count: agent, state and sub-status.
type Group = (StringValue, &'static str, &'static str);

/// The figures that are exported for a shard.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) jobs: HashMap<Group, i64>,
    pub(super) questions: i64,
    ages: Ages,
    /// Newest submission that the walk counted, whether or not its job had been activated by then.
    walked: Seq,
}

impl Figures {
    /// Creates the figures of a walk that starts with this submission.
    pub(super) fn walked(newest: Seq) -> Self {
        Self { walked: newest, ..Self::default() }
    }

    /// Applies a change of status. If no supervisor had activated the job before, it was counted as
    /// submitted only if a walk has counted it.
    pub(super) fn moves(
        &mut self,
        job: &JobId,
        first: Seq,
        before: Option<&JobStatus>,
        now: &JobStatus,
        labels: &Labels,
    ) {
        match before.filter(|standing| !is_untouched(standing)) {
            Some(before) => self.change(before, labels, -1),
            None if first <= self.walked => {
                self.add((labels.agent(&now.agent), JobState::Submitted.as_str(), ""), -1);
            }
            None => {}
        }
        self.stands(job, now, labels);
    }

    /// Adds a job that is not counted yet.
    pub(super) fn stands(&mut self, job: &JobId, now: &JobStatus, labels: &Labels) {
        self.change(now, labels, 1);
        self.ages.set(job, now.asked.filter(|_| !now.state.is_terminal()));
    }

    /// Returns the time at which the oldest open question was asked.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.ages.oldest.first().map(|(since, _)| *since)
    }

    fn change(&mut self, standing: &JobStatus, labels: &Labels, by: i64) {
        if standing.state.is_terminal() {
            return;
        }
        let agent = labels.agent(&standing.agent);
        self.add((agent, standing.state.as_str(), label::status(standing.sub_status)), by);
        let questions = i64::try_from(standing.questions).unwrap_or(i64::MAX);
        self.questions = self.questions.saturating_add(questions.saturating_mul(by));
    }

    fn add(&mut self, group: Group, by: i64) {
        *self.jobs.entry(group).or_default() += by;
    }
}

/// Returns `true` if no supervisor has activated the job yet.
pub(super) fn is_untouched(standing: &JobStatus) -> bool {
    standing.state == JobState::Submitted && standing.sub_status.is_none()
}

/// The jobs that have waited longest for an answer, with the time of their oldest question.
#[derive(Debug, Default)]
struct Ages {
    since: HashMap<JobId, Timestamp>,
    oldest: BTreeSet<(Timestamp, JobId)>,
}

impl Ages {
    /// Sets the time since which a job waits, or removes it. The old time is looked up by job,
    /// because an earlier read may have reported another one.
    fn set(&mut self, job: &JobId, asked: Option<Timestamp>) {
        if let Some((job, since)) = self.since.remove_entry(job) {
            self.oldest.remove(&(since, job));
        }
        let Some(asked) = asked else { return };
        self.since.insert(job.clone(), asked);
        self.oldest.insert((asked, job.clone()));
        if self.oldest.len() > AGES_MAX
            && let Some((_, newest)) = self.oldest.pop_last()
        {
            self.since.remove(&newest);
        }
    }
}
