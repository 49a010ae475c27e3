//! Figures about the jobs of a shard, in a fixed amount of memory: how many stand where, how many
//! questions are open, and since when the oldest wait. Counts what it is told; reads nothing.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use machine::Standing;
use opentelemetry::StringValue;
use proto::{
    id::{JobId, Seq},
    job::JobState,
};

use super::{Labels, label};

/// Jobs whose questions' age is known, at most; when there are more, the ages of the oldest are.
const AGES_MAX: usize = 1_000;

/// What is counted: the agent as a label, the state, and what it is at.
type Group = (StringValue, &'static str, &'static str);

/// What is shown of a shard.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) jobs: HashMap<Group, i64>,
    pub(super) questions: i64,
    ages: Ages,
    /// The newest submission that a walk has counted, looked at by then or not.
    walked: Seq,
}

impl Figures {
    /// Figures of a walk that begins with this submission.
    pub(super) fn walked(newest: Seq) -> Self {
        Self { walked: newest, ..Self::default() }
    }

    /// A job stands somewhere else than before. One that nobody had looked at is counted only if a
    /// walk has come by.
    pub(super) fn moves(
        &mut self,
        job: &JobId,
        first: Seq,
        before: Option<&Standing>,
        now: &Standing,
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

    /// A job that was not counted stands here.
    pub(super) fn stands(&mut self, job: &JobId, now: &Standing, labels: &Labels) {
        self.change(now, labels, 1);
        self.ages.set(job, now.asked.filter(|_| !now.state.is_terminal()));
    }

    /// Since when the oldest open question has waited.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.ages.oldest.first().map(|(since, _)| *since)
    }

    fn change(&mut self, standing: &Standing, labels: &Labels, by: i64) {
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

/// Whether no supervisor has looked at the job.
pub(super) fn is_untouched(standing: &Standing) -> bool {
    standing.state == JobState::Submitted && standing.sub_status.is_none()
}

/// Since when jobs have waited for an answer: of the jobs that have waited longest.
#[derive(Debug, Default)]
struct Ages {
    since: HashMap<JobId, Timestamp>,
    oldest: BTreeSet<(Timestamp, JobId)>,
}

impl Ages {
    /// A job waits since then, or for nothing any more. By the job alone: what was read of it before
    /// may have had another time.
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
