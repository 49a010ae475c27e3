//! Replays of recorded jobs by the real actors: cut at every record, with every command delivered
//! twice, failing at first, or carried out by a worker that dies before it reports. The end is the
//! same, and a `once` tool has its effect once.

mod rehearsal;

use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;

use self::rehearsal::{Mishap, Played, Recording, end, play};

/// The script of the model, for all recordings.
const SCRIPT: &str = include_str!("../../../tests/tests/it/histories/script.yaml");

/// Returns all recordings, by name.
fn recordings() -> Vec<(String, Recording)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../machine/tests/histories");
    let index = std::fs::read_to_string(directory.join("index.json")).unwrap();
    let Value::Object(index) = serde_json::from_str(&index).unwrap() else {
        panic!("the list of recordings is no object")
    };
    let read = |name: &String| {
        let text = std::fs::read_to_string(directory.join(format!("{name}.jsonl"))).unwrap();
        (name.clone(), Recording::read(&text))
    };
    // A family is replayed as one recording.
    let (children, alone): (Vec<_>, Vec<_>) =
        index.keys().partition(|name| name.contains("-child-"));
    let with_children = |name: &String| {
        let own = children.iter().filter(|child| child.starts_with(&format!("{name}-child-")));
        let (name, recording) = read(name);
        (name, recording.with(own.map(|child| read(child).1).collect()))
    };
    let all: Vec<_> = alone.into_iter().map(with_children).collect();
    assert!(all.len() >= 12, "recordings are missing");
    assert!(all.iter().any(|(name, _)| name == "family"), "a family is missing");
    all
}

/// Returns the script with the address of the recorded server.
fn script(recording: &Recording) -> String {
    let whole = end(&recording.whole()).to_string();
    let url = whole.split_once("\"http://").and_then(|(_, rest)| rest.split_once("/post"));
    match url {
        Some((address, _)) => SCRIPT.replace("@url@", &format!("http://{address}")),
        None => SCRIPT.to_owned(),
    }
}

/// One replay of a recording, and its expected end.
struct Case {
    what: String,
    recording: Recording,
    cut: usize,
    mishap: Mishap,
    /// The expected end; `None` when it is not determined.
    end: Option<Value>,
}

impl Case {
    fn wrong(&self) -> Option<String> {
        let played = play(&self.recording, &script(&self.recording), self.cut, &self.mishap);
        let Played { end, effects, wrong, story } = played;
        let mut all = wrong;
        if let Some(expected) = self.end.as_ref().filter(|expected| **expected != end) {
            all.push(format!("it ended with {end}\n    and not with {expected}"));
        }
        for (key, times) in effects {
            if times > 1 {
                all.push(format!("{key} had its effect {times} times"));
            }
        }
        let said =
            || format!("{}:\n    {}\n    {}", self.what, all.join("\n    "), story.join("\n    "));
        (!all.is_empty()).then(said)
    }
}

/// Runs all cases, over all processors.
fn check(cases: &[Case]) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(words) = case.wrong() {
                        wrong.lock().unwrap().push(words);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(!cases.is_empty());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

/// Recordings of the first rules in which a plan replaces steps that never began. Planners now use
/// the ids of such steps again, so later steps have other ids than in the recording.
const RENUMBERED: [&str; 2] = ["no-progress", "preset-manus"];

#[test]
fn a_job_cut_at_any_record_goes_on_to_the_same_end() {
    let cases = recordings().into_iter().flat_map(|(name, recording)| {
        let whole = end(&recording.whole());
        let is_renumbered = RENUMBERED.contains(&name.as_str());
        (1..=recording.len()).map(move |cut| Case {
            what: format!("{name} cut after record {cut}"),
            recording: recording.clone(),
            cut,
            mishap: Mishap::None,
            end: (!recording.is_unclear_at(cut) && !is_renumbered).then(|| whole.clone()),
        })
    });
    check(&cases.collect::<Vec<_>>());
}

#[test]
fn commands_that_are_delivered_twice_change_nothing() {
    let cases = recordings().into_iter().flat_map(|(name, recording)| {
        let whole = end(&recording.whole());
        let once = recording.commands().iter().any(|(_, once)| *once);
        let is_renumbered = RENUMBERED.contains(&name.as_str());
        [Mishap::Twice, Mishap::Unacknowledged].map(|mishap| Case {
            what: format!("{name}, {mishap:?}"),
            recording: recording.clone(),
            cut: 1,
            // A worker that receives a `once` call while another runs it cannot know the outcome,
            // and reports the call as unknown. Both ends are correct, and the effect happens once.
            end: (!is_renumbered && (!once || mishap != Mishap::Twice)).then(|| whole.clone()),
            mishap,
        })
    });
    check(&cases.collect::<Vec<_>>());
}

/// Returns one case for each command of each job, with a retry policy for tools.
///
/// After a death the end is not determined for a `once` call, which is reported unknown, or for a
/// job with a deadline, which passes before the broker redelivers the dead worker's command.
fn each_command(mishap: fn(proto::id::WorkId) -> Mishap, is_death: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    // A family is left out, because several of its jobs use the same names of work.
    for (name, recording) in recordings().into_iter().filter(|(name, _)| name != "family") {
        let patient = recording.patient();
        let usual = play(&patient, &script(&recording), 1, &Mishap::None);
        assert_eq!(usual.wrong, Vec::<String>::new(), "{name}");
        let is_bounded = usual.end.to_string().contains("deadline_exceeded");
        for (work, once) in patient.commands() {
            cases.push(Case {
                what: format!("{name}, {:?}", mishap(work.clone())),
                recording: patient.clone(),
                cut: 1,
                mishap: mishap(work),
                end: (!(is_death && (once || is_bounded))).then(|| usual.end.clone()),
            });
        }
    }
    cases
}

#[test]
fn a_command_whose_first_attempt_fails_is_tried_again_to_the_same_end() {
    check(&each_command(Mishap::FailsFirst, false));
}

#[test]
fn a_worker_that_dies_when_it_has_done_its_work_changes_nothing() {
    check(&each_command(Mishap::DiesBeforeReporting, true));
}
