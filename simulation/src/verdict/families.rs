//! The claims about parents and children, by the logs of both.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Job, Replay};
use proto::{
    decision::{Closed, Decision, Note, SpawnWork},
    entry::Entry,
    fact::Fact,
    family::{ChildSaid, News},
    id::{Attempt, JobId, WorkId},
    job::Outcome,
    message::Usage,
    record::Known,
};

use super::{Logs, known};

/// Returns the children that a job has started, by its log.
pub(crate) fn begun_by(entries: &[Entry]) -> Vec<JobId> {
    let spawns = entries.iter().filter(|entry| kind_is(entry, "spawn"));
    let children = spawns.filter_map(|entry| match known(entry)? {
        Known::Decision(decision) => match *decision {
            Decision::Spawn(spawn) => Some(spawn.child),
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Note(_)
            | Decision::Finish(_) => None,
        },
        Known::Fact(_) => None,
    });
    children.collect()
}

/// Returns whether a record notes a message to another job of the family, or a question closed by the
/// end of the job. One activation may append several such notes and the finish, and none of them
/// includes a fact that arrives meanwhile.
pub(super) fn is_note_of_an_end(entry: &Entry) -> bool {
    let Some(Known::Decision(decision)) = known(entry) else { return false };
    matches!(
        *decision,
        Decision::Note(
            Note::Spawned { .. }
                | Note::ChildTold { .. }
                | Note::ParentTold { .. }
                | Note::QuestionClosed { because: Closed::JobEnded, .. }
        )
    )
}

/// Returns all violations, as sentences.
pub(super) fn wrong(logs: &Logs) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, entries) in logs {
        if !entries.iter().any(|entry| kind_is(entry, "spawn")) {
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
    spawns: BTreeMap<(WorkId, Attempt), SpawnWork>,
    /// The children that the parent has noted as created.
    there: BTreeSet<(WorkId, Attempt)>,
    /// The outcome and cost of each child whose end the parent has counted.
    ended: BTreeMap<(WorkId, Attempt), (Outcome, Usage)>,
    /// The counted cost of the parent's own model calls.
    own: Usage,
    /// The cost in the parent's last decision, and the sums that are correct for it.
    costs: Option<(Usage, Vec<Usage>)>,
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
        // Facts that arrived while an end was decided may be missing in it, so several sums are
        // correct.
        let mut since_decision = Vec::new();
        for entry in entries {
            let ignored = replay.job().ignored();
            replay.take(entry);
            let counted = replay.job().ignored() == ignored;
            match known(entry) {
                Some(Known::Fact(fact)) => {
                    read.hear(*fact, counted);
                    since_decision.push(read.cost());
                }
                Some(Known::Decision(decision)) => {
                    if let Decision::Finish(finish) = &*decision {
                        since_decision.push(read.cost());
                        read.costs = Some((finish.usage, std::mem::take(&mut since_decision)));
                    }
                    if !is_note_of_an_end(entry) {
                        since_decision = vec![read.cost()];
                    }
                    read.note(*decision);
                }
                None => {}
            }
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

    fn hear(&mut self, fact: Fact, counted: bool) {
        match fact {
            Fact::Planned(planned) if counted => self.own += planned.usage,
            Fact::Turned(turned) if counted => self.own += turned.usage,
            Fact::Child(ChildSaid { work, attempt, news, .. }) if counted => {
                if let News::Ended { outcome, usage, .. } = news {
                    self.ended.insert((work, attempt), (outcome, usage));
                }
            }
            Fact::Child(_)
            | Fact::Planned(_)
            | Fact::Turned(_)
            | Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Started(_)
            | Fact::Called(_)
            | Fact::Answered(_)
            | Fact::Fired(_) => {}
        }
    }

    fn note(&mut self, decision: Decision) {
        match decision {
            Decision::Spawn(spawn) => {
                self.spawns.insert((spawn.work.clone(), spawn.attempt), *spawn);
            }
            Decision::Note(Note::Spawned { work, attempt, .. }) => {
                self.there.insert((work, attempt));
            }
            Decision::Note(_)
            | Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Finish(_) => {}
        }
    }
}

/// Checks one child against its parent.
fn about(id: &JobId, parent: &Read, spawn: &SpawnWork, entries: &[Entry]) -> Vec<String> {
    let SpawnWork { work, attempt, child, .. } = spawn;
    let unit = (work.clone(), *attempt);
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
    let ends = entries.iter().filter(|entry| kind_is(entry, "finish"));
    let usages = ends.filter_map(|entry| match known(entry)? {
        Known::Decision(decision) => match *decision {
            Decision::Finish(finish) => Some(finish.usage),
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_) => None,
        },
        Known::Fact(_) => None,
    });
    usages.collect()
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
    (is_plain && !counted.contains(said))
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
            let Some(Known::Decision(decision)) = known(entry) else { return None };
            let Decision::Spawn(spawn) = *decision else { return None };
            (spawn.child == *id).then_some(entry.time)
        });
        let begun = entries.first().map(|entry| entry.time);
        if decided.is_none_or(|decided| begun < Some(decided)) {
            wrong.push(format!("{id}: begun before {} wanted it", parent.job));
        }
    }
    wrong
}

fn kind_is(entry: &Entry, kind: &str) -> bool {
    entry.record.as_ref().is_ok_and(|record| record.kind == kind)
}
