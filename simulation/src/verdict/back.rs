//! The claims about jobs that were rolled back, and about forks: by their logs, the effects of
//! tools, and the replies to people.

use std::collections::BTreeMap;

use machine::timeline::{Timeline, Turn};
use machine::{Job, Replay, replay};
use proto::{
    entry::Entry,
    fact::{Called, Fact, Planned, Signal, Turned},
    fork::Forked,
    id::{JobId, Seq},
    tool::Effect,
    view::{JobView, StepView},
};

use super::Logs;
use crate::{ledger::Run, people::Told};

/// Returns all violations, as sentences.
pub(super) fn wrong(logs: &Logs, runs: &[Run], told: &Told) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, entries) in logs {
        let backs = backs(entries);
        for back in &backs {
            wrong.extend(kept(id, entries, back));
        }
        if !backs.is_empty() {
            wrong.extend(old_results(id, entries));
        }
        if backs.iter().all(|back| !back.again) {
            wrong.extend(repeated(id, runs));
        }
        if let Some(forked) = forked(entries) {
            wrong.extend(other_than_its_origin(id, entries, &forked, logs));
        }
        let promised = told.went_back.keys().filter(|(job, _)| job == id);
        for (_, seq) in promised.filter(|(_, seq)| !backs.iter().any(|back| back.at == *seq)) {
            wrong.push(format!("{id}: was to have gone back in record {seq}, and did not"));
        }
    }
    wrong
}

/// A rollback that counts.
struct Back {
    at: Seq,
    to: Seq,
    again: bool,
}

/// Returns whether a record requests a rollback that lets tools run again.
pub(super) fn may_run_again(entry: &Entry) -> bool {
    let said = entry.signal().map(|said| said.signal);
    matches!(said, Some(Signal::RollBack { again: true, .. }))
}

fn backs(entries: &[Entry]) -> Vec<Back> {
    let mut timeline = Timeline::default();
    let mut backs = Vec::new();
    for entry in entries {
        if let Turn::Back(to) = timeline.take_entry(entry) {
            backs.push(Back { at: entry.seq, to, again: may_run_again(entry) });
        }
    }
    backs
}

/// Returns the records up to and including a position.
fn until(entries: &[Entry], seq: Seq) -> &[Entry] {
    entries.split_at(entries.partition_point(|entry| entry.seq <= seq)).0
}

/// Checks that a rollback restored the state at its target.
fn kept(id: &JobId, entries: &[Entry], back: &Back) -> Vec<String> {
    let there = replay(id, until(entries, back.to));
    let since = replay(id, until(entries, back.at));
    let mut wrong = differ(&there, &since);
    if since.generation() <= there.generation() {
        wrong.push("it is in no later generation".to_owned());
    }
    if since.has_ended() {
        wrong.push("it has ended".to_owned());
    }
    let (at, to) = (back.at, back.to);
    wrong
        .into_iter()
        .map(|what| format!("{id}: went back to {to} in record {at}: {what}"))
        .collect()
}

/// Returns the differences of two jobs in everything that a rollback or a fork must preserve.
fn differ(one: &Job, other: &Job) -> Vec<String> {
    let (Some(one), Some(other)) = (one.view(), other.view()) else {
        return vec!["one of them was never submitted".to_owned()];
    };
    let ended = |step: &StepView| {
        step.state.is_terminal().then(|| (step.id.clone(), step.state, step.response.clone()))
    };
    let plan = |view: &JobView| {
        let plan = view.plan.as_ref()?;
        let steps: Vec<_> = plan.steps.iter().map(ended).collect();
        Some((plan.title.clone(), plan.revision, plan.confirmed, steps))
    };
    let mut wrong = Vec::new();
    if plan(&one) != plan(&other) {
        wrong.push(format!("its plan was {:?} and is {:?}", plan(&one), plan(&other)));
    }
    if one.usage != other.usage {
        wrong.push(format!("it had cost {:?} and has {:?}", one.usage, other.usage));
    }
    if (&one.goal, &one.agent, one.language) != (&other.goal, &other.agent, other.language) {
        wrong.push("it is to reach something else, or by another agent".to_owned());
    }
    if !other.questions.is_empty() {
        wrong.push("a question is open of before".to_owned());
    }
    wrong
}

/// Checks that no result of work of an earlier generation counts.
fn old_results(id: &JobId, entries: &[Entry]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut replay = Replay::of(id, entries);
    for entry in entries {
        let (ignored, now) = (replay.job().ignored(), replay.job().generation());
        replay.take(entry);
        if replay.job().ignored() > ignored {
            continue;
        }
        // A job below ends whenever it does, and costs what it did.
        for fact in entry.results() {
            let (Fact::Planned(Planned { work, .. })
            | Fact::Turned(Turned { work, .. })
            | Fact::Called(Called { work, .. })) = fact
            else {
                continue;
            };
            if work.generation() != now {
                let seq = entry.seq;
                wrong.push(format!("{id}: record {seq} counts for {work} in generation {now}"));
            }
        }
    }
    wrong
}

/// Checks that `once` tools had their effect once over all generations. Applies to jobs without
/// permission to repeat.
fn repeated(id: &JobId, runs: &[Run]) -> Vec<String> {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    let had = |run: &&Run| run.job == *id && run.effect == Effect::Once && run.effect_at.is_some();
    for run in runs.iter().filter(had) {
        *times.entry(run.work.unit().to_owned()).or_default() += 1;
    }
    let twice = times.into_iter().filter(|(_, times)| *times > 1);
    twice
        .map(|(name, n)| format!("{id}: {name} had its effect {n} times over roll-backs"))
        .collect()
}

/// Returns the origin of a fork; `None` when the job is no fork.
pub(super) fn forked(entries: &[Entry]) -> Option<Forked> {
    entries.first()?.submission()?.forked.map(|forked| *forked)
}

/// Checks that a fork equals its original job at the position of the fork.
fn other_than_its_origin(
    id: &JobId,
    entries: &[Entry],
    forked: &Forked,
    logs: &Logs,
) -> Vec<String> {
    let of = |what: String| format!("{id}: forked from {} at {}: {what}", forked.job, forked.seq);
    let Some(origin) = logs.get(&forked.job) else {
        return vec![of("there is no such job".to_owned())];
    };
    let origin = until(origin, forked.seq);
    let record = |entry: &Entry| {
        let written = entry.record.as_ref().ok()?.to_vec();
        serde_json::from_slice::<serde_json::Value>(&written).ok()
    };
    let there: Vec<_> = origin.iter().map(|entry| (entry.seq, record(entry))).collect();
    let along: Vec<_> =
        forked.records.iter().map(|along| (along.seq, Some(along.record.clone()))).collect();
    let mut wrong = Vec::new();
    if there != along {
        wrong.push(of("its records are others".to_owned()));
    }
    let was = replay(&forked.job, origin);
    let is = replay(id, entries.split_at(1).0);
    wrong.extend(differ(&was, &is).into_iter().map(of));
    if let Some(view) = is.view().filter(|view| view.parent.is_some() || !view.children.is_empty())
    {
        wrong.push(of(format!("it has a family: {:?}", view.children)));
    }
    wrong
}
