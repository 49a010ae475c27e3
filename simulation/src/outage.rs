//! A world whose model cannot be reached at first, with many jobs of nine presets and no other
//! fault.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proto::{
    door::Verb,
    id::{JobId, Seq},
    job::JobState,
};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    agents,
    door_client::{Counter, DoorReply},
    environment::Environment,
    process::Role,
    process_slot::ProcessSlot,
    story::Story,
    world,
};

/// Interval between two looks at the jobs.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The preset that the script does not play.
const PHASED: &str = "loop-phased";
/// Longest time that the jobs have after the outage.
const ENDS_WITHIN: Duration = Duration::from_secs(30 * 60);

/// The result of an outage.
#[derive(Debug, Clone)]
pub struct Outlasted {
    /// Number of jobs by state, when every job has ended or its time is over.
    pub states: BTreeMap<String, usize>,
    /// Jobs that did not complete, each with its agent and its message.
    pub wrong: Vec<String>,
    /// Number of jobs whose reason was the outage, when half of it was over.
    pub held: usize,
}

/// Submits `jobs` jobs of nine presets in turn to an installation whose model cannot be reached for
/// `outage` from the start.
#[must_use]
pub fn outlast(jobs: usize, outage: Duration) -> Outlasted {
    fastrand::seed(0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing from the machine");
    runtime.block_on(run(jobs, outage))
}

async fn run(jobs: usize, outage: Duration) -> Outlasted {
    let begin = Instant::now();
    let environment = Arc::new(Environment::dark(outage, Story::begin(false)));
    let _supervisor = ProcessSlot::open(&environment, "s1".to_owned(), Role::Supervisor);
    let _workers =
        ["w1", "w2"].map(|name| ProcessSlot::open(&environment, name.to_owned(), Role::Worker));
    let witness = world::witness(&environment);
    let door = Counter { broker: witness.clone() };
    // The script answers a phased planner as one that decides action by action, so such jobs fail
    // without an outage too.
    let presets = agents::presets().into_iter().map(|(name, _)| name);
    let presets: Vec<_> = presets.filter(|name| name.as_str() != PHASED).collect();
    let mut agents_of = BTreeMap::new();
    for (n, preset) in (0..jobs).zip(presets.iter().cycle()) {
        let job = JobId::new(format!("job-{n}")).expect("a word and a number are an id");
        let body = json!({
            "id": job, "goal": "errand: one note", "agent": preset, "confirm": false, "language": "en",
        });
        while door.ask(Verb::Submit, &body).await == DoorReply::Nothing {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        agents_of.insert(job, preset);
    }
    tokio::time::sleep_until(begin + outage / 2).await;
    let mut held = 0;
    for job in agents_of.keys() {
        let reply = door.ask(Verb::Get, &json!({ "job": job })).await;
        let is_held =
            matches!(&reply, DoorReply::Reply(view) if view["why"][0]["code"] == "outage");
        held += usize::from(is_held);
    }
    let until = begin + outage + ENDS_WITHIN;
    loop {
        let (mut states, mut wrong, mut open) = (BTreeMap::new(), Vec::new(), false);
        for (job, agent) in &agents_of {
            let entries = witness.log.read(job, Seq(0)).await.unwrap_or_default();
            let Some(view) = machine::replay(job, &entries).view() else { continue };
            *states.entry(view.state.to_string()).or_default() += 1;
            open |= !view.state.is_terminal();
            if view.state != JobState::Completed {
                wrong.push(format!("{job} ({agent}): {:?}", view.outcome));
            }
        }
        if !open || Instant::now() >= until {
            return Outlasted { states, wrong, held };
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
