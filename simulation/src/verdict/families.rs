//! The claims about parents and children, by the logs of both.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Job, Replay};
use proto::{
    decision::{Decision, DecisionKind, DoneUnit, Note, SpawnWork},
    entry::Entry,
    fact::{Fact, Planned, Turned},
    family::{ChildSaid, News},
    id::{JobId, Unit},
    job::Outcome,
    message::Usage,
    record::Known,
    subject::Family,
};

use super::{Logs, facts_before};

/// Returns the children that a job has started, by its log.
pub(crate) fn begun_by(entries: &[Entry]) -> Vec<JobId> {
    let spawns = of_kind(entries, DecisionKind::Spawn).filter_map(Entry::decision);
    spawns.filter_map(Decision::into_spawn).map(|spawn| spawn.child).collect()
}

/// Returns all violations, as sentences.
pub(super) fn wrong(logs: &Logs) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, entries) in logs {
        if of_kind(entries, DecisionKind::Spawn).next().is_none() {
            continue;
        }
        let read = Read::of(id, entries);
        for spawn in read.spawns.values() {
            let child = logs.get(&spawn.child).map_or(&[][..], Vec::as_slice);
            wrong.extend(about(id, &read, spawn, child));
        }
        wrong.extend(miscounted(id, &read));
    }
    wrong.extend(unwanted(logs));
    wrong
}

/// The family of a parent, by the parent's log.
struct Read {
    job: Job,
    spawns: BTreeMap<Unit, SpawnWork>,
    /// The children that the parent has noted as created.
    there: BTreeSet<Unit>,
    /// The outcome and cost of each child whose end the parent has counted.
    ended: BTreeMap<Unit, (Outcome, Usage)>,
    /// The counted cost of the parent's own model calls.
    own: Usage,
    /// The cost in the parent's last decision, and the sum that is correct for it.
    costs: Option<(Usage, Usage)>,
}

impl Read {
    fn of(id: &JobId, entries: &[Entry]) -> Self {
        let mut replay = Replay::of(id, entries);
        let mut read = Self {
            job: Job::new(id.clone()),
            spawns: BTreeMap::new(),
            there: BTreeSet::new(),
            ended: BTreeMap::new(),
            own: Usage::default(),
            costs: None,
        };
        // The cost of the facts up to each record, and of the work in all decisions.
        let mut sums = vec![Usage::default()];
        // The position at which the account of a child was settled.
        let mut settled = None;
        for (at, entry) in entries.iter().enumerate() {
            let ignored = replay.job().ignored();
            replay.take(entry);
            let counted = replay.job().ignored() == ignored;
            let ignored = replay.job().ignored().saturating_sub(ignored);
            match entry.known() {
                Some(Known::Fact(fact)) if counted => read.hear(*fact),
                Some(Known::Decision(decision)) => {
                    if let Decision::Done(done) = &*decision {
                        // The last units are those that could not follow.
                        let ignored = usize::try_from(ignored).unwrap_or(usize::MAX);
                        let counted = done.units().count().saturating_sub(ignored);
                        for result in done.units().take(counted).map(DoneUnit::result) {
                            sums.iter_mut().for_each(|sum| *sum += used(&result));
                            read.hear(result);
                        }
                    }
                    if let Decision::Note(Note::Concluded { .. }) = &*decision {
                        settled = Some(at);
                    }
                    if let Decision::Finish(finish) = &*decision {
                        let facts = settled.or_else(|| facts_before(id, &entries[..at], finish));
                        read.costs = facts.map(|facts| (finish.usage, sums[facts]));
                    }
                    read.note(*decision);
                }
                Some(Known::Fact(_)) | None => {}
            }
            sums.push(read.cost());
        }
        read.job = replay.into_job();
        read
    }

    fn cost(&self) -> Usage {
        self.ended.values().fold(self.own, |mut all, (_, usage)| {
            all += *usage;
            all
        })
    }

    fn hear(&mut self, fact: Fact) {
        self.own += used(&fact);
        if let Fact::Child(ChildSaid { work, attempt, news, .. }) = fact
            && let News::Ended { outcome, usage, .. } = news
        {
            self.ended.insert(Unit { work, attempt }, (outcome, usage));
        }
    }

    fn note(&mut self, decision: Decision) {
        if let Some(unit) = decision.unit()
            && let Some(spawn) = decision.clone().into_spawn()
        {
            self.spawns.insert(unit, spawn);
        } else if let Decision::Note(Note::Spawned { work, attempt, .. }) = decision {
            self.there.insert(Unit { work, attempt });
        }
    }
}

/// Returns the tokens that a result used.
fn used(result: &Fact) -> Usage {
    if let Fact::Planned(Planned { usage, .. }) | Fact::Turned(Turned { usage, .. }) = result {
        *usage
    } else {
        Usage::default()
    }
}

/// Checks one child against its parent.
fn about(id: &JobId, parent: &Read, spawn: &SpawnWork, entries: &[Entry]) -> Vec<String> {
    let SpawnWork { work, attempt, child, .. } = spawn;
    let unit = Unit { work: work.clone(), attempt: *attempt };
    let mut wrong = Vec::new();
    if entries.is_empty() {
        if parent.there.contains(&unit) {
            wrong.push(format!("{id}: says that {child} is there, and it has no log"));
        }
        if parent.job.waits().children.contains(child) {
            wrong.push(format!("{id}: waits for {child}, which was never made"));
        }
        return wrong;
    }
    let job = machine::replay(child, entries);
    let is_its = job.view().and_then(|view| view.parent).is_some_and(|parent| {
        parent.job == *id && parent.work == *work && parent.attempt == *attempt
    });
    if !is_its {
        wrong.push(format!("{child}: does not know that it works for {id}"));
    }
    if parent.job.has_ended() && !job.has_ended() {
        wrong.push(format!("{child}: lives, and {id}, for which it works, has ended"));
    }
    if work.generation() < parent.job.generation() && !job.has_ended() {
        wrong.push(format!("{child}: lives, and {id} went back to before it"));
    }
    if !parent.job.has_ended() && job.has_ended() && parent.job.waits().children.contains(child) {
        wrong.push(format!("{id}: waits for {child}, which has ended"));
    }
    if let (Some((outcome, usage)), Some(view)) = (parent.ended.get(&unit), job.view()) {
        if view.outcome.as_ref() != Some(outcome) {
            wrong.push(format!("{child}: ended otherwise than {id} was told"));
        }
        // After the end of a child, its descendants may still spend tokens. Those count for the
        // child and are not reported.
        if !finished(entries).contains(usage) {
            wrong.push(format!("{child}: cost {:?}, and {id} was told {usage:?}", view.usage));
        }
    }
    wrong.extend(unseen(id, &parent.job, &job));
    wrong
}

/// Returns the cost of a job at each of its ends. A job that was rolled back has several.
fn finished(entries: &[Entry]) -> Vec<Usage> {
    let ends = of_kind(entries, DecisionKind::Finish).filter_map(Entry::decision);
    ends.filter_map(Decision::into_finish).map(|finish| finish.usage).collect()
}

/// Checks that a parent shows exactly the open questions of a child.
fn unseen(id: &JobId, parent: &Job, child: &Job) -> Vec<String> {
    let (Some(above), Some(below)) = (parent.view(), child.view()) else { return Vec::new() };
    if parent.has_ended() {
        return Vec::new();
    }
    let shown = above.children.iter().filter(|view| view.job == *child.id());
    let shown: BTreeSet<_> = shown
        .flat_map(|view| &view.questions)
        .map(|asked| (asked.job.clone(), asked.question.id.clone()))
        .collect();
    let own = below.questions.iter().map(|question| (child.id().clone(), question.id.clone()));
    let further = below.children.iter().flat_map(|view| &view.questions);
    let asked: BTreeSet<_> = own
        .chain(further.map(|asked| (asked.job.clone(), asked.question.id.clone())))
        .filter(|_| !child.has_ended())
        .collect();
    asked
        .symmetric_difference(&shown)
        .map(|(job, ask)| format!("{id}: does not know how it is with question {ask} of {job}"))
        .collect()
}

/// Checks the cost at the end of a job without rollbacks: its own work, and that of each child
/// once.
fn miscounted(id: &JobId, read: &Read) -> Option<String> {
    let (said, counted) = read.costs.as_ref()?;
    let is_plain = read.job.generation().is_first();
    (is_plain && counted != said)
        .then(|| format!("{id}: says that it cost {said:?}, and its records {counted:?}"))
}

/// Checks that every child was submitted after its parent's decision.
fn unwanted(logs: &Logs) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, entries) in logs {
        let parent = machine::replay(id, entries).view().and_then(|view| view.parent);
        let Some(parent) = parent else { continue };
        let above = logs.get(&parent.job).map_or(&[][..], Vec::as_slice);
        let decided = above.iter().find_map(|entry| {
            let spawn = entry.decision()?.into_spawn()?;
            (spawn.child == *id).then_some(entry.time)
        });
        let begun = entries.first().map(|entry| entry.time);
        if decided.is_none_or(|decided| begun < Some(decided)) {
            wrong.push(format!("{id}: begun before {} wanted it", parent.job));
        }
    }
    wrong
}

/// The decisions of one kind.
fn of_kind(entries: &[Entry], kind: DecisionKind) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(move |entry| matches!(entry.family, Family::Do(of, _) if of == kind))
}
