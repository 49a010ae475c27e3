//! The jobs of a shard that changed since its last pulse, while somebody reads pulses.

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    id::{JobId, Shard},
    limits::PULSE_JOBS_MAX,
    wire::{Pulse, StateCount},
};

use super::figures::Figures;

/// The changes since the last pulse.
#[derive(Debug, Default)]
pub(super) struct Changed {
    jobs: BTreeSet<JobId>,
    more: bool,
    /// Figures of the last pulse.
    open: Vec<StateCount>,
    questions: u64,
}

impl Changed {
    /// Remembers a job; beyond the limit only that there was one.
    pub(super) fn add(&mut self, job: &JobId) {
        if self.jobs.len() < PULSE_JOBS_MAX {
            self.jobs.insert(job.clone());
        } else {
            self.more |= !self.jobs.contains(job);
        }
    }

    /// Returns the pulse, and forgets what it says. Returns `None` without a change, unless a pulse is
    /// due anyway.
    pub(super) fn pulse(&mut self, shard: Shard, now: &Figures, is_due: bool) -> Option<Pulse> {
        let (open, questions) = (open(now), u64::try_from(now.questions).unwrap_or_default());
        let is_new = (&open, questions) != (&self.open, self.questions);
        if self.jobs.is_empty() && !self.more && !is_new && !is_due {
            return None;
        }
        self.open.clone_from(&open);
        self.questions = questions;
        let jobs = std::mem::take(&mut self.jobs).into_iter().collect();
        let more = std::mem::take(&mut self.more);
        Some(Pulse { shard, jobs, more, open, questions })
    }
}

/// Returns the number of open jobs by state, over all agents.
fn open(figures: &Figures) -> Vec<StateCount> {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for ((_, state, _), count) in &figures.jobs {
        *sums.entry(state).or_default() += count;
    }
    let counts = sums.into_iter().filter_map(|(state, jobs)| {
        let jobs = u64::try_from(jobs).ok().filter(|jobs| *jobs > 0)?;
        Some(StateCount { state: state.parse().ok()?, jobs })
    });
    counts.collect()
}

#[cfg(test)]
mod tests {
    use proto::job::JobState;

    use super::*;

    fn job(n: usize) -> JobId {
        JobId::new(format!("j{n}")).unwrap()
    }

    #[test]
    fn a_pulse_says_what_changed_since_the_last_one_and_nothing_twice() {
        let (mut changed, mut figures) = (Changed::default(), Figures::default());
        assert_eq!(changed.pulse(Shard(1), &figures, false), None);
        assert!(changed.pulse(Shard(1), &figures, true).is_some_and(|it| it.open.is_empty()));
        for (agent, count) in [("a", 2), ("b", 1), ("c", -1)] {
            figures.jobs.insert((agent.into(), "working", "executing"), count);
        }
        changed.add(&job(1));
        changed.add(&job(1));
        let pulse = changed.pulse(Shard(1), &figures, false).unwrap();
        let working = StateCount { state: JobState::Working, jobs: 2 };
        assert_eq!((pulse.jobs, pulse.more, pulse.open), (vec![job(1)], false, vec![working]));
        assert_eq!(changed.pulse(Shard(1), &figures, false), None);
        figures.questions = 3;
        assert_eq!(changed.pulse(Shard(1), &figures, false).unwrap().questions, 3);
    }

    #[test]
    fn more_jobs_than_a_pulse_names_are_said_to_be_more() {
        let (mut changed, figures) = (Changed::default(), Figures::default());
        (0..=PULSE_JOBS_MAX).for_each(|n| changed.add(&job(n)));
        let pulse = changed.pulse(Shard(1), &figures, false).unwrap();
        assert_eq!((pulse.jobs.len(), pulse.more), (PULSE_JOBS_MAX, true));
        let bytes = proto::wire::encode(&Pulse {
            jobs: (0..PULSE_JOBS_MAX).map(|n| JobId::new(format!("{n:0>64}")).unwrap()).collect(),
            ..pulse
        });
        assert!(bytes.is_ok_and(|bytes| bytes.len() < proto::limits::WIRE_BYTES_MAX));
        assert_eq!(changed.pulse(Shard(1), &figures, false), None);
    }
}
