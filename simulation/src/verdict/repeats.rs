//! The claims about `once` tools over several jobs that do the same work: the children of a job
//! that was rolled back, and forks. [`super::back`] has the claims within one job.

use std::collections::BTreeSet;

use machine::timeline::Timeline;
use proto::{
    entry::Entry,
    fact::{Fact, Signal},
    family::News,
    fork::Forked,
    id::{JobId, Seq},
    tool::Effect,
};
use tokio::time::Instant;

use super::{
    Logs,
    back::{forked, may_run_again},
};
use crate::{ledger::Run, people::Told};

/// Returns all violations, as sentences.
pub(super) fn wrong(logs: &Logs, runs: &[Run], told: &Told) -> Vec<String> {
    // A permission to repeat may concern any effect, so worlds with one are not checked.
    let has_said_so = |entries: &Vec<Entry>| entries.iter().any(may_run_again);
    if logs.values().any(has_said_so) || !told.forked_again.is_empty() {
        return Vec::new();
    }
    let world = World { logs, runs };
    let mut wrong = Vec::new();
    for ((job, at), asked) in &told.went_back {
        let Some(entries) = logs.get(job) else { continue };
        let Some(to) = goes_back_to(entries, *at) else { continue };
        let (until, since) = entries.split_at(entries.partition_point(|entry| entry.seq < *at));
        let before = world.below(until, to, Some(*asked));
        let since = world.below(since, Seq(0), None);
        let twice = before.intersection(&since);
        wrong.extend(twice.map(|unit| {
            format!("{job}: below it {unit} had its effect before and after it went back in {at}")
        }));
    }
    for (fork, asked) in &told.forked {
        let Some((entries, forked)) = logs.get(fork).and_then(|e| Some((e, forked(e)?))) else {
            continue;
        };
        let Forked { job, seq, .. } = forked;
        let Some(origin) = logs.get(&job) else { continue };
        let mut before = world.own(&job, Some(*asked));
        before.extend(world.below(origin, seq, Some(*asked)));
        let mut since = world.own(fork, None);
        since.extend(world.below(entries, Seq(0), None));
        let twice = before.intersection(&since);
        wrong.extend(twice.map(|unit| {
            format!("{fork}: {unit} has its effect, and had it in {job} before the fork at {seq}")
        }));
    }
    wrong
}

/// The evidence of one world.
struct World<'a> {
    logs: &'a Logs,
    runs: &'a [Run],
}

impl World<'_> {
    /// Returns the units of work of a job that had a `once` effect, of runs that began before
    /// `until`.
    fn own(&self, job: &JobId, until: Option<Instant>) -> BTreeSet<String> {
        let had = |run: &&Run| {
            run.job == *job
                && run.effect == Effect::Once
                && run.effect_at.is_some()
                && until.is_none_or(|until| run.began < until)
        };
        self.runs.iter().filter(had).map(|run| run.work.unit().to_owned()).collect()
    }

    /// Returns the same for the children that count at the end of `entries`, and for their
    /// descendants. Children whose end was recorded up to `heard` are excluded.
    fn below(&self, entries: &[Entry], heard: Seq, until: Option<Instant>) -> BTreeSet<String> {
        let mut timeline = Timeline::default();
        for entry in entries {
            timeline.take_entry(entry);
        }
        let ended: BTreeSet<_> =
            entries.iter().filter(|entry| entry.seq <= heard).filter_map(ended).collect();
        let counting = entries.iter().filter(|entry| timeline.has(entry.seq));
        let spawns = counting.filter_map(|entry| entry.decision()?.into_spawn());
        let spawns = spawns.filter(|spawn| !ended.contains(&spawn.child));
        let mut units = BTreeSet::new();
        for spawn in spawns {
            let mut below = self.own(&spawn.child, until);
            if let Some(entries) = self.logs.get(&spawn.child) {
                below.extend(self.below(entries, Seq(0), until));
            }
            let unit = spawn.work.unit();
            units.extend(below.into_iter().map(|below| format!("{unit}/{below}")));
        }
        units
    }
}

/// Returns the target of the rollback at a position.
fn goes_back_to(entries: &[Entry], at: Seq) -> Option<Seq> {
    let said = entries.iter().find(|entry| entry.seq == at)?.signal()?;
    if let Signal::RollBack { to, .. } = said.signal { Some(to) } else { None }
}

/// Returns the child whose end a record reports.
fn ended(entry: &Entry) -> Option<JobId> {
    let Fact::Child(said) = entry.fact()? else { return None };
    matches!(said.news, News::Ended { .. }).then_some(said.child)
}
