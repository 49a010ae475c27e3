//! One run of a case, in a world of its own: without faults, or with those of a seed.

use std::{sync::Arc, time::Duration};

use broker::{Broker, kv::Bucket};
use proto::id::{JobId, WorkerId};
use tokio::time::Instant;

use super::{
    Case,
    cast::{Cast, Missed, Scripted, Troupe},
    people::Audience,
};
use crate::{
    chance::Chance,
    disruption::{self, Disruptions},
    door_client::Counter,
    environment::Environment,
    process::Role,
    process_slot::ProcessSlot,
    story::{Counts, Line, Story},
    verdict::{self, Evidence},
    wire::{self, Wire},
    world,
};

/// The time in which the worker announces its tools.
const STARTS_WITHIN: Duration = Duration::from_secs(120);
/// The interval between looks at the announced tools.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The shortest and the longest time in which faults occur, in milliseconds. Most cases take as long.
const ROUGH_MS: std::ops::RangeInclusive<u64> = 1_000..=20_000;

/// A finished run.
pub(super) struct Played {
    /// The logs of the job and its descendants, and the runs of their tools. Absent if the world
    /// exceeded its bound of messages.
    pub(super) evidence: Option<Evidence>,
    /// The broken promises of Callboard, as sentences.
    pub(super) broken: Vec<String>,
    /// The reason why the front door refused the submission.
    pub(super) refused: Option<String>,
    /// The requests that the file has no answer to.
    pub(super) missed: Missed,
    /// The faults that the file scripts.
    pub(super) scripted: Scripted,
    /// The questions that nobody answered.
    pub(super) unanswered: Vec<String>,
    /// The answers that the front door refused.
    pub(super) refused_answers: Vec<String>,
    /// The events of the world, counted by name.
    pub(super) counts: Counts,
    /// The story of the world; empty unless it was wanted.
    pub(super) story: Vec<Line>,
}

/// Returns the id of the job of every case.
pub(super) fn job() -> JobId {
    JobId::new("case").expect("a plain word is an id")
}

/// Runs a case in a runtime of its own, whose clock moves only when every task waits.
pub(super) fn play(case: &Case, seed: Option<u64>, with_story: bool) -> Played {
    fastrand::seed(seed.unwrap_or_default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing from the machine");
    runtime.block_on(run(case, seed, with_story))
}

async fn run(case: &Case, seed: Option<u64>, with_story: bool) -> Played {
    let begin = Instant::now();
    let cast = Arc::new(Cast::new(case.parts.clone(), case.agents.clone()));
    let troupe = Arc::new(Troupe(Arc::clone(&cast)));
    let story = Story::begin(with_story);
    let environment =
        Arc::new(Environment::cast(seed, case.model.rewound(), troupe, story.clone()));
    let posts = match seed {
        Some(seed) => {
            let [world, roles] = ["world", "roles"].map(|purpose| Chance::new(seed, purpose));
            world::posts(&environment, &world, &roles)
        }
        None => vec![
            ProcessSlot::open(&environment, "s1".to_owned(), Role::Supervisor),
            ProcessSlot::open(&environment, "w1".to_owned(), Role::Worker),
        ],
    };
    let witness = world::witness(&environment);
    tools_are_announced(&witness, case).await;
    let audience = Audience::new(counter(&environment), Arc::clone(&case.answers));
    tokio::spawn(audience.clone().look_into_the_inbox());
    let rough = match seed {
        Some(seed) => {
            let rough = Chance::new(seed, "case").millis(ROUGH_MS);
            let drawn = Disruptions::draw(&Chance::new(seed, "troubles"), rough, posts.len());
            let drawn = drawn.after(story.now());
            tokio::spawn(drawn.inject(Arc::clone(&environment), posts.clone()));
            rough
        }
        None => Duration::ZERO,
    };
    let job = job();
    let life = async {
        // Faults end even if the submission is refused or late.
        let submitted = tokio::join!(audience.submit(&job, &case.body), async {
            tokio::time::sleep(rough).await;
            disruption::end_all(&environment, &posts);
        });
        let told = || audience.told();
        let (broken, evidence) =
            world::until_it_rests(&environment, std::slice::from_ref(&job), &told, begin).await;
        (submitted.0, broken, evidence)
    };
    let (refused, broken, evidence) = tokio::select! {
        biased;
        too_many = environment.bound.reached() => (None, vec![too_many], None),
        (submitted, broken, evidence) = life => (submitted.err(), broken, Some(evidence)),
    };
    let story_lines = match (&evidence, with_story) {
        (Some(evidence), true) => world::merged(&environment, &evidence.logs, story.lines()),
        (None, true) => story.lines(),
        (_, false) => Vec::new(),
    };
    if let Some(evidence) = &evidence {
        verdict::tally(evidence, &story);
    }
    let ignored = audience.told().ignored;
    Played {
        // A job whose question nobody answers rests, also while a timer of it runs.
        broken: broken
            .into_iter()
            .filter(|what| ignored.is_empty() || !what.ends_with(world::RESTLESS))
            .collect(),
        evidence,
        refused,
        missed: cast.missed(),
        scripted: cast.scripted(),
        unanswered: audience.unanswered(),
        refused_answers: audience.refused(),
        counts: story.counts(),
        story: story_lines,
    }
}

/// Waits until the registry has every tool: a planner knows only announced ones.
async fn tools_are_announced(witness: &Broker, case: &Case) {
    let until = Instant::now() + STARTS_WITHIN;
    while Instant::now() < until {
        let announced = witness.kv.list(Bucket::Tools, "").await.unwrap_or_default();
        if announced.len() >= case.parts.len() {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    // Every process hears of them.
    tokio::time::sleep(LOOK_EVERY).await;
}

/// Creates the connection of the people, without faults of its own.
fn counter(environment: &Environment) -> Counter {
    let wire = Wire {
        name: WorkerId::new("people").expect("a plain word is an id"),
        link: Arc::new(environment.link()),
        chance: environment.wires.clone(),
        fault_rates: environment.fault_rates.clone(),
        mutation: None,
        decides: false,
        props: None,
    };
    Counter { broker: wire::behind(&wire, environment.memory.connect(wire.name.clone())) }
}
