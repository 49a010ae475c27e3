//! The events of recorded logs: they never change, keep their ids, and are complete from any
//! position.
//!
//! `CALLBOARD_WRITE_EVENTS=1` writes the files of logs that have none yet.

use std::{collections::BTreeSet, path::PathBuf};

use machine::Replay;
use machine::events::Projection;
use proto::{
    entry::Entry,
    event::{Event, Happened, InteractionEvent, StepPhase, Stream, ToolPhase},
};

use super::file::{self, History};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/events")
}

pub(super) fn events(job: &proto::id::JobId, entries: &[Entry]) -> Vec<Event> {
    let (mut live, mut projection) = (Replay::of(job, entries), Projection::default());
    let mut events = Vec::new();
    for entry in entries {
        events.extend(projection.replay(&mut live, entry));
    }
    events
}

fn written(events: &[Event]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

#[test]
fn the_events_of_a_recorded_log_stay_what_they_were() {
    let write = std::env::var_os("CALLBOARD_WRITE_EVENTS").is_some();
    for History { name, job, entries, .. } in file::all() {
        let (path, now) =
            (directory().join(format!("{name}.jsonl")), written(&events(&job, &entries)));
        if write && !path.exists() {
            std::fs::write(&path, &now).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (n, (kept, now)) in kept.lines().zip(now.lines()).enumerate() {
            assert_eq!(kept, now, "{name}, line {}", n + 1);
        }
        assert_eq!(kept.lines().count(), now.lines().count(), "{name}");
        for line in kept.lines() {
            let event: Event = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&event).unwrap(), line, "{name}");
        }
    }
}

#[test]
fn a_log_that_is_cut_anywhere_has_the_first_of_the_same_events() {
    for History { name, job, entries, .. } in file::all() {
        let whole = events(&job, &entries);
        for cut in 0..entries.len() {
            let some = events(&job, &entries[..cut]);
            assert_eq!(some, whole[..some.len()], "{name}, {cut} records");
            let last = entries.get(cut).map(|entry| entry.seq);
            assert!(whole.get(some.len()).is_none_or(|next| Some(next.id.seq) >= last));
        }
    }
}

/// docs/events.md promises the goal in the first `job` event, which need not be the first event.
#[test]
fn the_first_event_about_the_job_has_its_goal_and_only_that_one() {
    let mut begins_otherwise = 0;
    for History { name, job, entries, .. } in file::all() {
        let events = events(&job, &entries);
        let about_job = |event: &Event| match &event.happened {
            Happened::Job(job) => Some(job.goal.is_some()),
            Happened::Plan(_)
            | Happened::Step(_)
            | Happened::Tool(_)
            | Happened::Message(_)
            | Happened::Interaction(_)
            | Happened::Usage(_)
            | Happened::Notice(_)
            | Happened::Turn(_)
            | Happened::Node(_)
            | Happened::Artifact(_)
            | Happened::Error(_) => None,
        };
        begins_otherwise += usize::from(events.first().is_some_and(|e| about_job(e).is_none()));
        let goals: Vec<bool> = events.iter().filter_map(about_job).collect();
        let (first, others) = goals.split_first().unwrap();
        assert!(*first && others.iter().all(|goal| !goal), "{name}: {goals:?}");
        let first = events.iter().find(|event| about_job(event).is_some()).unwrap();
        assert_eq!(first.id.seq, entries[0].seq, "{name}: it belongs to the submission");
    }
    assert!(begins_otherwise > 0, "a recorded log begins with its plan");
}

/// Properties of the events of every job that has ended.
#[test]
fn events_tell_a_story_without_gaps() {
    for History { name, job, entries, .. } in file::all() {
        let events = events(&job, &entries);
        assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id), "{name}: ids grow");
        let (mut calling, mut open, mut running) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut answer = 0;
        for Event { id, happened, .. } in &events {
            match happened {
                Happened::Tool(tool) => {
                    let key = (tool.work.clone(), tool.attempt);
                    match tool.phase {
                        ToolPhase::Calling { .. } => assert!(calling.insert(key), "{name} {id}"),
                        ToolPhase::Called { .. } => assert!(calling.remove(&key), "{name} {id}"),
                    }
                }
                Happened::Interaction(InteractionEvent::Asked { question, below }) => {
                    let whose = below.as_ref().map(|below| below.job.clone());
                    assert!(open.insert((whose, question.id.clone())), "{name} {id}");
                }
                Happened::Interaction(
                    InteractionEvent::Answered { ask, .. } | InteractionEvent::Closed { ask, .. },
                ) => assert!(open.remove(&(None, ask.clone())), "{name} {id}"),
                Happened::Interaction(InteractionEvent::Settled { ask, below }) => {
                    let whose = (Some(below.job.clone()), ask.clone());
                    assert!(open.remove(&whose), "{name} {id}");
                }
                Happened::Step(step) => match step.phase {
                    StepPhase::Started => assert!(running.insert(step.step.clone()), "{name} {id}"),
                    StepPhase::Completed | StepPhase::Canceled | StepPhase::Skipped => {
                        running.remove(&step.step);
                    }
                    StepPhase::Failed
                    | StepPhase::Retried
                    | StepPhase::Waiting
                    | StepPhase::Resumed
                    | StepPhase::Blocked => {}
                },
                Happened::Message(said) if said.stream == Stream::Result && said.work.is_none() => {
                    answer += 1;
                }
                // A rollback removes the earlier outcome, and the job gets a new one.
                Happened::Interaction(InteractionEvent::Signaled { signal, .. })
                    if signal == "roll_back" =>
                {
                    (answer, running) = (0, BTreeSet::new());
                }
                Happened::Message(_)
                | Happened::Interaction(_)
                | Happened::Error(_)
                | Happened::Usage(_)
                | Happened::Notice(_)
                | Happened::Turn(_)
                | Happened::Node(_)
                | Happened::Artifact(_)
                | Happened::Plan(_)
                | Happened::Job(_) => {}
            }
        }
        assert!(open.is_empty(), "{name}: {open:?} neither answered nor closed");
        let Some(Happened::Job(last)) = events.last().map(|event| &event.happened) else {
            panic!("{name}: the last event is the end of the job")
        };
        assert!(last.state.is_terminal(), "{name}");
        let completed = last.state == proto::job::JobState::Completed;
        assert_eq!(answer, usize::from(completed), "{name}: one final answer");
    }
}
