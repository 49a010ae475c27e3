//! Recorded logs in which commands that are followed by their results are `done` records, of one unit
//! or of several: they lead to the same states, events and transcripts.

use std::collections::BTreeSet;

use machine::{Replay, check, events::Projection, rollback_target, testing::state, transcript};
use proto::{
    decision::{Decision, DecisionKind, Done, DoneUnit, pools},
    entry::Entry,
    event::{Event, Happened},
    fact::{Fact, Signal, Signaled, Source},
    file::{Content, File, FileName, Piece},
    id::{JobId, Seq, WorkerId},
    record::{Known, Record},
    subject::Family,
};
use serde_json::Value;

use super::file::{self, History};

/// Returns the log with a `done` record in the place of each command and its result, where the
/// result follows at once and no rollback names the command. The positions are those of the results.
fn joined(entries: &[Entry]) -> Vec<Entry> {
    let named: BTreeSet<Seq> = entries.iter().filter_map(rollback_target).collect();
    let mut joined = Vec::new();
    let mut rest = entries;
    while let [entry, later @ ..] = rest {
        let done = later.first().filter(|_| !named.contains(&entry.seq));
        match done.and_then(|result| done_of(entry, result)) {
            Some(done) => {
                joined.push(done);
                rest = &later[1..];
            }
            None => {
                joined.push(entry.clone());
                rest = later;
            }
        }
    }
    joined
}

fn done_of(command: &Entry, result: &Entry) -> Option<Entry> {
    let (Some(Known::Decision(decision)), Some(Known::Fact(fact))) =
        (command.known(), result.known())
    else {
        return None;
    };
    let unit = DoneUnit::of(*decision, *fact, 1).ok()?;
    Some(stored(Done::from(unit), result))
}

/// Returns the record in the place of an entry.
fn stored(done: Done, place: &Entry) -> Entry {
    let by = WorkerId::new("all-1").unwrap();
    let record = Ok(Record::of_decision(&Decision::Done(Box::new(done)), "id", &by).unwrap());
    let family = Family::Do(DecisionKind::Done, pools::nobody());
    Entry { family, record, ..place.clone() }
}

/// Returns the log with one record in the place of consecutive `done` records, up to the next turn.
/// The position is that of the first, because later turns name the positions of turns.
fn batched(entries: &[Entry]) -> Vec<Entry> {
    let named: BTreeSet<Seq> = entries.iter().filter_map(rollback_target).collect();
    let mut batched: Vec<Entry> = Vec::new();
    for entry in entries {
        let before = batched.last().filter(|last| !named.contains(&last.seq)).and_then(done);
        match (before, done(entry)) {
            (Some(mut before), Some(further))
                if may_join(&further) && !named.contains(&entry.seq) =>
            {
                before.then.extend(further.into_units());
                let place = batched.last_mut().unwrap();
                *place = stored(before, place);
            }
            (_, _) => batched.push(entry.clone()),
        }
    }
    batched
}

fn may_join(further: &Done) -> bool {
    !matches!(further.first, DoneUnit::Turn(_))
}

/// Returns the stable parts of each state after a position of both logs.
fn states(job: &JobId, entries: &[Entry], at: &BTreeSet<Seq>) -> Vec<Value> {
    let mut replay = Replay::of(job, entries);
    let mut states = Vec::new();
    for entry in entries {
        replay.take(entry);
        assert!(replay.job().poison().is_none(), "{}: {:?}", entry.seq, replay.job().poison());
        if at.contains(&entry.seq) {
            let mut state = state(replay.job());
            // A `done` is one record, and its time is that of its result.
            state["job"].as_object_mut().map(|job| job.shift_remove("records"));
            state["next"].as_object_mut().map(|next| next.shift_remove("arm"));
            states.push(state);
        }
    }
    states
}

fn happened(job: &JobId, entries: &[Entry]) -> Vec<String> {
    let (mut replay, mut projection) = (Replay::of(job, entries), Projection::default());
    let mut events: Vec<Event> = Vec::new();
    for entry in entries {
        let new = projection.replay(&mut replay, entry);
        let ids: BTreeSet<_> = new.iter().map(|event| event.id).collect();
        assert_eq!(ids.len(), new.len(), "each event has an id of its own");
        assert!(new.iter().all(|event| event.id.seq == entry.seq && event.time <= entry.time));
        events.extend(new);
    }
    events.iter().map(|event| format!("{:?}", event.happened)).collect()
}

fn transcripts(entries: &[Entry]) -> Vec<String> {
    let turns = entries.iter().filter_map(Entry::decision).flat_map(Decision::into_turns);
    let turns = turns.filter(transcript::needs_log);
    turns.map(|turn| format!("{:?}", transcript::read(&turn, entries))).collect()
}

#[test]
fn a_log_whose_work_was_done_by_the_supervisors_process_means_the_same() {
    let (mut done, mut further) = (0, 0);
    for history in file::all() {
        let joined = joined(&history.entries);
        let batched = batched(&joined);
        done += history.entries.len() - joined.len();
        further += joined.len() - batched.len();
        means_the_same(&history, &joined);
        means_the_same(&history, &batched);
    }
    assert!(done > 100, "only {done} commands are followed by their results");
    assert!(further > 50, "only {further} units are further ones of a record");
}

#[test]
fn each_file_of_a_record_with_several_results_is_published_once() {
    let History { job, mut entries, .. } =
        file::all().into_iter().find(|history| history.name == "local").unwrap();
    let place = entries.iter().position(|entry| done(entry).is_some()).unwrap();
    let mut several = done(&entries[place]).unwrap();
    let mut names = Vec::new();
    for unit in std::iter::once(&mut several.first).chain(&mut several.then) {
        let DoneUnit::Call(call) = unit else { continue };
        names.push(format!("{}.md", call.command.work));
        let name = FileName::new(names.last().unwrap().as_str()).unwrap();
        let content = Content::Pieces(vec![Piece { sha256: "0".repeat(64), bytes: 1 }]);
        call.result.files = vec![File { name, media_type: None, content }];
    }
    assert!(names.len() > 1, "{names:?}");
    entries[place] = stored(several, &entries[place]);
    let (mut replay, mut projection) = (Replay::of(&job, &entries), Projection::default());
    let events = entries.iter().flat_map(|entry| projection.replay(&mut replay, entry));
    let published = events.filter_map(|event| {
        let Happened::Artifact(artifact) = event.happened else { return None };
        Some(artifact.file.name.to_string())
    });
    assert_eq!(published.collect::<Vec<_>>(), names);
}

fn means_the_same(History { name, job, entries, .. }: &History, joined: &[Entry]) {
    // In between, a record of several units is ahead.
    let is_single = |entry: &&Entry| done(entry).is_none_or(|done| done.then.is_empty());
    let kept = joined.iter().filter(is_single).map(|entry| entry.seq).collect();
    let (short, whole) = (states(job, joined, &kept), states(job, entries, &kept));
    for (n, (short, whole)) in short.iter().zip(&whole).enumerate() {
        assert_eq!(short, whole, "{name}, state {n}");
    }
    assert_eq!(short.len(), whole.len(), "{name}");
    assert_eq!(happened(job, joined), happened(job, entries), "{name}");
    assert_eq!(transcripts(joined), transcripts(entries), "{name}");
    let (whole, short) = (check::check(job, entries), check::check(job, joined));
    assert_eq!(short.findings, whole.findings, "{name}");
    assert_eq!((short.commands, short.results), (whole.commands, whole.results), "{name}");
    assert_eq!(short.outcome, whole.outcome, "{name}");
}

#[test]
fn a_recorded_job_had_its_work_done_without_the_queue() {
    let local = file::all().into_iter().find(|history| history.name == "local").unwrap();
    let done: Vec<Done> = local.entries.iter().filter_map(done).collect();
    assert!(done.iter().flat_map(Done::units).count() >= 3);
    assert!(done.iter().any(|done| !done.then.is_empty()), "no record has several units");
}

#[test]
fn work_that_a_rollback_took_out_has_the_events_of_its_two_records() {
    let History { job, entries, .. } =
        file::all().into_iter().find(|history| history.name == "diamond").unwrap();
    let mut joined = joined(&entries);
    let place = joined.iter().position(|entry| done(entry).is_some()).unwrap();
    let late = joined.remove(place);
    joined.truncate(place);
    let last = joined.last().unwrap();
    let signal = Signal::RollBack { to: last.seq, seen: last.seq, again: false };
    let signaled = Signaled { signal, reason: None, by: None, parent_seq: None };
    let door = WorkerId::new("door").unwrap();
    let record = Ok(Record::of_fact(&Fact::Signaled(signaled), "back", &door).unwrap());
    let seq = Seq(last.seq.0 + 1);
    joined.push(Entry { seq, family: Family::In(Source::Door), record, ..last.clone() });
    let unit = Some(done(&late).unwrap().first.unit());
    let is_of_unit = |entry: &&Entry| {
        entry.decision().map_or_else(|| entry.fact()?.result_of(), |one| one.unit()) == unit
    };
    let two = entries.iter().filter(is_of_unit).zip(1..);
    let two = two.map(|(entry, n)| Entry { seq: Seq(seq.0 + n), ..entry.clone() });
    let apart: Vec<_> = joined.iter().cloned().chain(two).collect();
    assert_eq!(apart.len(), joined.len() + 2);
    joined.push(Entry { seq: Seq(seq.0 + 2), ..late });
    assert_eq!(happened(&job, &joined), happened(&job, &apart));
}

#[test]
fn a_done_record_whose_result_answers_another_command_parks_the_job() {
    let History { job, entries, .. } =
        file::all().into_iter().find(|history| history.name == "diamond").unwrap();
    let mut joined = joined(&entries);
    let place = joined.iter().position(|entry| done(entry).is_some()).unwrap();
    let mut wrong = done(&joined[place]).unwrap();
    name_another_attempt(&mut wrong.first);
    joined[place] = stored(wrong, &joined[place].clone());
    let folded = machine::replay(&job, &joined[..=place]);
    assert_eq!(folded.poison().map(|poison| poison.seq), Some(joined[place].seq));
}

#[test]
fn a_fact_that_answers_another_command_makes_no_done_record() {
    let histories = file::all();
    let commands = histories.iter().flat_map(|history| &history.entries);
    let commands: Vec<Decision> = commands.filter_map(Entry::decision).collect();
    let facts = histories.iter().flat_map(|history| &history.entries);
    let facts: Vec<Fact> = facts.filter_map(Entry::fact).collect();
    for command in commands.iter().take(200) {
        for fact in facts.iter().take(200) {
            let answers = command.unit().is_some() && command.unit() == fact.result_of();
            let is_work = matches!(
                command.kind(),
                DecisionKind::Plan | DecisionKind::Turn | DecisionKind::Call
            );
            let done = DoneUnit::of(command.clone(), fact.clone(), 0);
            assert_eq!(done.is_ok(), answers && is_work, "{command:?} {fact:?}");
        }
    }
}

/// The last step of the diamond waits for the others, so it cannot follow the plan.
#[test]
fn units_that_cannot_follow_count_for_nothing() {
    let History { job, entries, .. } =
        file::all().into_iter().find(|history| history.name == "diamond").unwrap();
    let mut joined = joined(&entries);
    let units: Vec<DoneUnit> = joined.iter().filter_map(done).flat_map(Done::into_units).collect();
    let place = joined.iter().position(|entry| done(entry).is_some()).unwrap();
    joined.truncate(place + 1);
    let [plan, a, .., d] = &units[..] else { panic!("{units:?}") };
    let wrong = Done { first: plan.clone(), then: vec![d.clone(), a.clone()] };
    let mut with = joined.clone();
    with[place] = stored(wrong, &joined[place]);
    let (with_all, alone) = (machine::replay(&job, &with), machine::replay(&job, &joined));
    assert!(with_all.poison().is_none(), "{:?}", with_all.poison());
    assert_eq!(happened(&job, &with), happened(&job, &joined));
    assert_eq!(with_all.ignored(), alone.ignored() + 2);
    assert_eq!(label_of_next(&with_all), label_of_next(&alone));
    assert_eq!(check::check(&job, &with).commands, 1);
}

fn label_of_next(job: &machine::Job) -> Option<String> {
    job.decide().map(|next| machine::testing::label(&next.decision))
}

#[test]
fn a_unit_with_a_wrong_result_counts_for_nothing() {
    let History { job, entries, .. } =
        file::all().into_iter().find(|history| history.name == "diamond").unwrap();
    let mut batched = batched(&joined(&entries));
    let place = batched.iter().position(|entry| done(entry).is_some()).unwrap();
    let mut wrong = done(&batched[place]).unwrap();
    name_another_attempt(&mut wrong.then[0]);
    batched[place] = stored(wrong, &batched[place].clone());
    batched.truncate(place + 1);
    let folded = machine::replay(&job, &batched);
    assert!(folded.poison().is_none(), "{:?}", folded.poison());
    assert_eq!(check::check(&job, &batched).commands, 1);
}

fn name_another_attempt(unit: &mut DoneUnit) {
    match unit {
        DoneUnit::Plan(ran) => ran.result.attempt = ran.result.attempt.next(),
        DoneUnit::Turn(ran) => ran.result.attempt = ran.result.attempt.next(),
        DoneUnit::Call(ran) => ran.result.attempt = ran.result.attempt.next(),
    }
}

fn done(entry: &Entry) -> Option<Done> {
    entry.decision()?.into_done()
}
