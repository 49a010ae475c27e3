//! Recorded logs of real runs: they fold as they did when they were recorded, a log that is cut
//! anywhere leads to the same end, and recordings are only ever added.

mod done;
mod events;
mod file;
mod go_back;
mod go_on;
mod watched;

use std::collections::BTreeSet;

use machine::{
    At, Job, check, replay, rollback_target,
    testing::{label, state, states},
};
use proto::{
    decision::{Decision, Done, Note},
    digest,
    entry::Entry,
    id::Attempt,
    record::Known,
};
use serde_json::{Value, json};

use self::{
    file::History,
    go_back::GoBack,
    go_on::{GoOn, known},
};

/// Recordings that must exist, so that none is removed from the index.
const AT_LEAST: &[&str] = &[
    "agent-loop",
    "auto-simple",
    "budget-abandon",
    "budget-stop",
    "cancel",
    "cancel-running",
    "confirm-edit",
    "deadline",
    "diamond",
    "edited",
    "family",
    "family-child-1",
    "family-child-2",
    "given-up",
    "guarded",
    "levels",
    "local",
    "no-progress",
    "pause",
    "post-once",
    "preset-default",
    "preset-direct",
    "preset-fastgpt",
    "preset-inline-tools",
    "preset-loop",
    "preset-loop-phased",
    "preset-manus",
    "preset-plan-then-execute",
    "preset-react",
    "preset-unattended",
    "question-expired",
    "queued",
    "rejected",
    "replan",
    "restarted",
    "retry",
    "rolled-back",
    "skipped",
    "steered",
    "talk-first",
    "talk-second",
    "window",
    "zh-tasks",
    "workflow-loop",
    "workflow-parallel",
    "workflow-join-fails",
    "workflow-human",
    "workflow-wait",
    "workflow-agent",
    "workflow-event",
];

#[test]
fn recorded_logs_are_only_ever_added() {
    let index = file::index();
    let mut wrong = Vec::new();
    for (name, listed) in &index {
        match std::fs::read(file::directory().join(format!("{name}.jsonl"))) {
            Ok(bytes) if digest::of_bytes(&bytes) == listed.sha256 => {}
            Ok(_) => wrong.push(format!("{name}.jsonl was changed")),
            Err(error) => wrong.push(format!("{name}.jsonl: {error}")),
        }
    }
    let files = std::fs::read_dir(file::directory()).unwrap().map(|file| file.unwrap().path());
    let recorded = files.filter(|path| path.extension().is_some_and(|e| e == "jsonl"));
    for path in recorded {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !index.contains_key(&name) {
            wrong.push(format!("{name}.jsonl is not in index.json"));
        }
    }
    wrong.extend(
        AT_LEAST.iter().filter(|n| !index.contains_key(**n)).map(|n| format!("{n} is gone")),
    );
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_recorded_log_folds_as_it_did_after_each_record() {
    for History { name, job, entries, listed } in file::all() {
        assert_eq!(entries.len(), listed.records, "{name}");
        let mut live = Job::new(job.clone());
        for (n, entry) in entries.iter().enumerate() {
            live.take(entry);
            if live.must_be_refolded() {
                live = replay(&job, &entries[..=n]);
            }
            assert!(live.poison().is_none(), "{name}, record {}: {:?}", entry.seq, live.poison());
            let again = replay(&job, &entries[..=n]);
            assert_eq!(format!("{again:?}"), format!("{live:?}"), "{name}, record {}", entry.seq);
        }
        let found = check::check(&job, &entries).findings;
        assert_eq!(found, [], "{name}");
        assert!(live.has_ended(), "{name}");
        assert_eq!(states(&job, &entries), listed.states, "{name} is folded differently now");
    }
}

#[test]
fn what_a_log_has_next_is_what_the_machine_decides_or_may_follow_all_the_same() {
    for History { name, job, entries, .. } in file::all() {
        let mut live = Job::new(job.clone());
        // Decisions proposed since the last stored one: facts may have been stored before it was.
        let mut proposed: Vec<(String, Value)> = Vec::new();
        for (n, entry) in entries.iter().enumerate() {
            match known(entry) {
                Some(Known::Decision(decision)) => {
                    let mut stored = body(entry);
                    // Work that is done follows from its command, and further work from that.
                    let done = decision.clone().into_done();
                    if let Some(done) = &done {
                        follows(&name, &live, entry, done);
                    }
                    let mut commands = decision.into_commands();
                    let decision = commands.swap_remove(0);
                    if let Some(command) = stored.get_mut("command") {
                        stored = command.take();
                    }
                    // The key of a first attempt is chosen once. Later attempts repeat it.
                    if decision.unit().is_some_and(|unit| unit.attempt == Attempt::FIRST)
                        && let Value::Object(fields) = &mut stored
                    {
                        fields.remove("idempotency_key");
                    }
                    let found = proposed.iter().find(|(one, _)| *one == label(&decision));
                    let Some((_, body)) = found else {
                        panic!("{name}, record {}: {} of {proposed:?}", entry.seq, label(&decision))
                    };
                    assert_eq!(missing(&stored, body), None, "{name}, record {}", entry.seq);
                    proposed.clear();
                }
                Some(Known::Fact(_)) | None => {}
            }
            live.take(entry);
            if live.must_be_refolded() {
                live = replay(&job, &entries[..=n]);
                proposed.clear();
            }
            if let Some(next) = live.decide() {
                let record = proto::record::Record::of_decision(
                    &next.decision,
                    "r",
                    &proto::id::WorkerId::new("w").unwrap(),
                );
                let record = serde_json::to_value(record.unwrap()).unwrap();
                proposed.push((label(&next.decision), record["body"].clone()));
            }
        }
    }
}

#[test]
fn a_log_cut_at_any_record_goes_on_to_the_same_end() {
    for History { name, job, entries, .. } in file::all() {
        let whole = end(&replay(&job, &entries));
        for cut in after_the_last_roll_back(&entries).max(1)..entries.len() {
            let (before, rest) = entries.split_at(cut);
            let after = GoOn::from(&job, &entries, cut).through(rest);
            let at = before.last().map(|entry| entry.seq);
            assert!(after.poison().is_none(), "{name} cut after {at:?}: {:?}", after.poison());
            assert_eq!(end(&after), whole, "{name} cut after record {at:?}");
        }
    }
}

/// Returns the records after the last rollback. Positions differ when a log is continued, so a
/// later rollback would name another record.
fn after_the_last_roll_back(entries: &[proto::entry::Entry]) -> usize {
    entries.iter().rposition(|entry| rollback_target(entry).is_some()).map_or(0, |n| n + 1)
}

/// Returns the number of records before the outcome of a child is settled.
fn until_it_is_settled(entries: &[proto::entry::Entry]) -> usize {
    let is_settled = |entry: &proto::entry::Entry| {
        matches!(known(entry), Some(Known::Decision(decision))
            if matches!(*decision, Decision::Note(Note::Concluded { .. })))
    };
    entries.iter().position(is_settled).unwrap_or(entries.len())
}

#[test]
fn a_job_taken_back_to_any_record_goes_on_to_the_same_end() {
    for History { name, job, entries, .. } in file::all() {
        let whole = end(&replay(&job, &entries));
        // A child cannot be rolled back once its parent has been told its outcome.
        let (open, _) = entries.split_at(until_it_is_settled(&entries));
        for cut in after_the_last_roll_back(open).max(1)..=open.len() {
            let (before, rest) = entries.split_at(cut);
            let after = GoBack::to(&job, open, cut).through(rest);
            let at = before.last().map(|entry| entry.seq);
            assert!(after.poison().is_none(), "{name} back to {at:?}: {:?}", after.poison());
            assert_eq!(end(&after), whole, "{name} back to record {at:?}");
        }
    }
}

/// A duplicate record changes nothing.
#[test]
fn every_fact_that_comes_twice_changes_nothing() {
    for History { name, job, entries, .. } in file::all() {
        let whole = end(&replay(&job, &entries));
        for n in after_the_last_roll_back(&entries)..entries.len() {
            if !matches!(known(&entries[n]), Some(Known::Fact(_))) {
                continue;
            }
            let mut rest = entries[n..].to_vec();
            // Each signal is a request of its own; all other facts are results or answers.
            if rest[0].record.as_ref().is_ok_and(|record| record.kind == "signaled") {
                continue;
            }
            rest.insert(1, entries[n].clone());
            let after = GoOn::from(&job, &entries, n).through(&rest);
            assert_eq!(end(&after), whole, "{name}, record {} twice", entries[n].seq);
        }
    }
}

#[test]
fn the_histories_show_what_they_are_for() {
    let kinds: BTreeSet<String> = file::all()
        .iter()
        .flat_map(|history| &history.entries)
        .map(|entry| entry.record.as_ref().unwrap().kind.clone())
        .collect();
    let decisions = proto::decision::DecisionKind::ALL.iter().map(|kind| kind.as_str());
    let all = proto::fact::Fact::KINDS.iter().copied().chain(decisions);
    let missing: Vec<&str> = all.filter(|kind| !kinds.contains(*kind)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "kinds of record that no history has");
}

/// Returns what must not depend on the interleaving of records: the outcome and the steps.
fn end(job: &Job) -> Value {
    let seen = state(job);
    let steps = seen["job"]["steps"].as_array().cloned().unwrap_or_default();
    let steps: Vec<Value> =
        steps.iter().map(|step| json!([step["id"], step["state"], step["response"]])).collect();
    json!([seen["job"]["state"], seen["job"]["outcome"], steps, seen["next"]])
}

fn body(entry: &proto::entry::Entry) -> Value {
    serde_json::to_value(entry.record.as_ref().unwrap()).unwrap()["body"].clone()
}

/// Returns the first field of a stored body that the proposed body lacks. Fields that are only in
/// the proposed body are no difference.
fn missing(stored: &Value, proposed: &Value) -> Option<String> {
    match (stored, proposed) {
        (Value::Object(stored), Value::Object(proposed)) => {
            stored.iter().find_map(|(key, value)| {
                let other = proposed.get(key).unwrap_or(&Value::Null);
                missing(value, other).map(|path| format!("{key}.{path}"))
            })
        }
        (Value::Array(stored), Value::Array(proposed)) if stored.len() == proposed.len() => stored
            .iter()
            .zip(proposed)
            .enumerate()
            .find_map(|(n, (one, other))| missing(one, other).map(|path| format!("{n}.{path}"))),
        (stored, proposed) if stored == proposed => None,
        (stored, proposed) => Some(format!(" {stored} is now {proposed}")),
    }
}

#[test]
fn a_running_job_always_has_a_reason_why_it_does_not_move() {
    for history in file::all() {
        let mut folded = machine::Replay::of(&history.job, &history.entries);
        for entry in &history.entries {
            folded.take(entry);
            let job = folded.job();
            let reasons = job.why(&machine::Surroundings::default());
            let place = format!("{} after record {}", history.name, entry.seq);
            assert_eq!(reasons.is_empty(), job.has_ended(), "{place}: {reasons:?}");
        }
    }
}

/// Asserts that each further unit of a record is what the machine decides after those before it.
fn follows(name: &str, before: &Job, entry: &Entry, done: &Done) {
    let first = Known::from(Decision::Done(Box::new(Done::from(done.first.clone()))));
    let mut job = before.clone();
    job.apply(At::of(entry), &entry.family, Ok(&first));
    for unit in &done.then {
        let next = job.decide().map(|next| label(&next.decision));
        assert_eq!(next, Some(label(&unit.command())), "{name}, record {}", entry.seq);
        assert!(job.take_further(At::of(entry), unit), "{name}, record {}", entry.seq);
    }
}
