//! The replay of a recorded job with the real actors, from any of its records on. Commands may be
//! delivered twice, fail at first, or lose the worker that carried them out. Only the outside comes
//! from the recording: the model's script, the results of tools, and the acts of people.

mod acts;
mod props;
mod recording;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use broker::Broker;
use futures::{StreamExt, future::join_all};
use machine::{Job, check, replay, testing};
use model::script::{Script, ScriptModel};
use proto::{
    entry::Entry,
    id::{JobId, Seq},
    tool::Effect,
};
use serde_json::{Value, json};

use self::{
    acts::Acts,
    props::{Stage, Trick},
};
pub(crate) use self::{props::Mishap, recording::Recording};
use crate::{
    environment::Environment, link::LinkState, process::Role, process_slot::ProcessSlot,
    story::Story, world::witness,
};

/// Time without a new record after which a job counts as resting.
const STILL: Duration = Duration::from_secs(15 * 60);
/// Time for which a job is observed after its end, so that late messages arrive.
const AFTER_END: Duration = Duration::from_secs(60);
/// A number of faults larger than the number of messages of any recording.
const ALL_OF_THEM: usize = 1_000;

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Played {
    /// Its state, its outcome, its steps and what should follow.
    pub(crate) end: Value,
    /// The number of effects of each call of a `once` tool, before and after the cut, by
    /// idempotency key.
    pub(crate) effects: BTreeMap<String, u32>,
    /// The violations in the logs.
    pub(crate) wrong: Vec<String>,
    /// The records of all jobs, one line each, for debugging.
    pub(crate) story: Vec<String>,
}

/// Returns the part of a job's state that must be equal in every replay.
#[must_use]
pub(crate) fn end(job: &Job) -> Value {
    let seen = testing::state(job);
    let steps = seen["job"]["steps"].as_array().cloned().unwrap_or_default();
    let steps: Vec<Value> =
        steps.iter().map(|step| json!([step["id"], step["state"], step["response"]])).collect();
    json!([seen["job"]["state"], seen["job"]["outcome"], steps, seen["next"]])
}

/// Replays a recording after its first `cut` records, with a script for the model.
///
/// # Panics
/// Panics if the script cannot be parsed.
#[must_use]
pub(crate) fn play(recording: &Recording, script: &str, cut: usize, mishap: &Mishap) -> Played {
    fastrand::seed(0);
    let script = Script::parse(script).expect("the recordings' script can be read");
    let mind = ScriptModel::new(script, "scripted", model::Timeouts::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing from the machine");
    runtime.block_on(run(recording, mind, cut, mishap))
}

async fn run(recording: &Recording, mind: ScriptModel, cut: usize, mishap: &Mishap) -> Played {
    let stage = Arc::new(Stage::of(recording, Trick::new(mishap)));
    let environment =
        Arc::new(Environment::stage(recording.begin(), mind, stage, Story::begin(false)));
    let witness = witness(&environment);
    recording.store(&environment.memory, &witness, cut).await;
    props::announce(&witness).await.expect("the memory's buckets can be written");
    match mishap {
        Mishap::Twice => {
            environment.faults.duplicate_deliveries(ALL_OF_THEM);
            environment.faults.set_forgetful(true);
        }
        Mishap::Unacknowledged => environment.faults.lose_acks(2 * recording.len()),
        Mishap::None | Mishap::FailsFirst(_) | Mishap::DiesBeforeReporting(_) => {}
    }
    let posts = [
        ProcessSlot::open(&environment, "s1".to_owned(), Role::Supervisor),
        ProcessSlot::open(&environment, "w1".to_owned(), Role::Worker),
        ProcessSlot::open(&environment, "w2".to_owned(), Role::Worker),
    ];
    let jobs = recording.jobs();
    join_all(jobs.iter().map(|job| follow(&witness, recording, job, cut))).await;
    tokio::time::sleep(AFTER_END).await;
    for post in posts {
        post.link().set(LinkState::Gone);
    }
    let mut effects = recording.effects(cut);
    let runs = environment.ledger.runs();
    for run in runs.iter().filter(|run| run.effect == Effect::Once && run.effect_at.is_some()) {
        *effects.entry(run.key.clone()).or_default() += 1;
    }
    let mut played = Played { end: Value::Null, effects, wrong: Vec::new(), story: Vec::new() };
    for id in &jobs {
        let entries = witness.log.read(id, Seq(0)).await.unwrap_or_default();
        if id == recording.job() {
            played.end = end(&replay(id, &entries));
        }
        let findings = check::check(id, &entries).findings;
        played.wrong.extend(findings.iter().map(|finding| format!("{id}: {finding}")));
        let lines = entries.iter().map(crate::verdict::line);
        played.story.extend(lines.map(|line| format!("{id} {line}")));
    }
    played
}

/// Follows a job to its end, and repeats the acts of people.
async fn follow(witness: &Broker, recording: &Recording, id: &JobId, cut: usize) {
    let Ok(mut entries) = witness.log.watch(id, Seq(0)).await else { return };
    let mut acts = Acts::after(recording, id, cut);
    let mut job = Job::new(id.clone());
    let mut heard: Vec<Entry> = Vec::new();
    while let Ok(Some(Ok(entry))) = tokio::time::timeout(STILL, entries.next()).await {
        job.take(&entry);
        heard.push(entry);
        if job.must_be_refolded() {
            job = replay(id, &heard);
        }
        if job.has_ended() && acts.are_done() {
            return;
        }
        acts.next(witness, &job, &heard).await;
    }
}
