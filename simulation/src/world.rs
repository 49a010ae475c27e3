//! One world, from its beginning to its verdict: everything in one thread, on a clock that moves
//! only when everybody waits.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use broker::{Broker, kv::Bucket};
use proto::{
    decision::Decision,
    entry::Entry,
    id::{Generation, JobId, Seq, WorkerId},
    record::Known,
};
use tokio::time::Instant;

use crate::{
    chance::Chance,
    customs,
    desk::Counter,
    errand::Errand,
    ground::Ground,
    link::{Link, Pace},
    people::{People, Told},
    plant::Plant,
    post::Post,
    process::Role,
    rest,
    story::{Counts, Line, Story},
    trouble::{self, Troubles},
    verdict::{self, Evidence, Logs},
    weather::{Rough, Weather},
    wire::{self, Wire},
};

/// How long a world may take to come to rest once nothing goes wrong any more.
const REST_WITHIN: Duration = Duration::from_secs(30 * 60);
/// The same with a planted bug, which is seen in most worlds by what does not come to rest.
const PLANTED_REST_WITHIN: Duration = Duration::from_secs(5 * 60);
/// How long it is looked at after it came to rest: what is late comes now.
const AFTER_REST: Duration = Duration::from_secs(30);
/// How often it is looked whether everything rests.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What came of a world.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// What is wrong.
    pub(crate) wrong: Vec<String>,
    /// Everything that was stored and done.
    pub(crate) transcript: Vec<String>,
    /// How long it took, in its own time.
    pub(crate) time: Duration,
    /// What happened how often.
    pub(crate) counts: Counts,
    /// What happened, when that was wanted.
    pub(crate) story: Vec<Line>,
}

/// Runs the world of a seed. Must be called where time is paused until everybody waits.
pub(crate) async fn run(seed: u64, plant: Option<Plant>, with_story: bool) -> Outcome {
    let begin = Instant::now();
    let story = Story::begin(with_story);
    let ground = Arc::new(Ground::lay(seed, plant, story.clone()));
    let chance = Chance::new(seed, "world");
    let rough = chance.millis(5_000..=60_000);
    let posts = posts(&ground, &chance);
    let mut errands = Errand::draw(&Chance::new(seed, "errands"), rough);
    customs::add(seed, &mut errands);
    let jobs: Vec<JobId> = errands.iter().map(|errand| errand.job.clone()).collect();
    let people = people(&ground, seed, errands);
    let troubles = Troubles::draw(&Chance::new(seed, "troubles"), rough, posts.len());
    tokio::spawn(troubles.happen(Arc::clone(&ground), posts.clone()));
    let life = async {
        tokio::time::sleep(rough).await;
        trouble::end_all(&ground, &posts);
        until_it_rests(&ground, &jobs, &people, begin).await
    };
    let (wrong, evidence) = tokio::select! {
        biased;
        too_many = ground.bound.reached() => return endless(&ground, too_many, begin),
        seen = life => seen,
    };
    story.add("messages", ground.bound.sent());
    verdict::tally(&evidence, &story);
    let Evidence { logs, runs, .. } = &evidence;
    Outcome {
        transcript: verdict::transcript(logs, runs, begin),
        time: begin.elapsed(),
        counts: story.counts(),
        story: if story.is_wanted() { merged(&ground, logs, story.lines()) } else { Vec::new() },
        wrong,
    }
}

/// What came of a world in which more happened than may.
fn endless(ground: &Ground, too_many: String, begin: Instant) -> Outcome {
    Outcome {
        wrong: vec![too_many],
        transcript: Vec::new(),
        time: begin.elapsed(),
        counts: ground.story.counts(),
        story: ground.story.lines(),
    }
}

/// Waits until a world in which nothing goes wrong any more has come to rest, and for what is late;
/// what is wrong then, and what shows it.
async fn until_it_rests(
    ground: &Ground,
    jobs: &[JobId],
    people: &People,
    begin: Instant,
) -> (Vec<String>, Evidence) {
    let witness = witness(ground);
    let mut wrong = Vec::new();
    let rest_within = if ground.plant.is_some() { PLANTED_REST_WITHIN } else { REST_WITHIN };
    let until = Instant::now() + rest_within;
    let evidence = loop {
        if let Err(moving) = come_to_rest(&witness, jobs, people, until).await {
            wrong.extend(moving.into_iter().map(|job| format!("{job}: does not come to rest")));
        }
        tokio::time::sleep(AFTER_REST).await;
        let evidence = evidence(ground, &witness, jobs, people, begin).await;
        // What was late may have had a job go on that had come to rest.
        let moving = rest::moving(&evidence.logs, &evidence.told);
        if !wrong.is_empty() || moving.is_empty() {
            break evidence;
        }
    };
    wrong.extend(verdict::wrong(&evidence));
    (wrong, evidence)
}

async fn evidence(
    ground: &Ground,
    witness: &Broker,
    jobs: &[JobId],
    people: &People,
    begin: Instant,
) -> Evidence {
    let logs = logs(witness, jobs, &people.told()).await;
    let inbox = witness.kv.list(Bucket::Inbox, "").await.unwrap_or_default();
    let since = |entry: &Entry| {
        begin + Duration::try_from(entry.time.duration_since(ground.origin)).unwrap_or_default()
    };
    Evidence {
        ends: ends(&logs, since),
        logs,
        runs: ground.ledger.runs(),
        told: people.told(),
        inbox: inbox.into_iter().map(|value| value.key).collect(),
        ack_wait: witness.log.ack_wait(),
        travel: ground.travel(),
        handed_out_twice: ["duplicate deliveries", "redeliveries"]
            .iter()
            .any(|trouble| ground.story.counts().contains_key(trouble)),
    }
}

/// Since when nobody wants what was decided in a generation of a job: its end, or what was decided
/// first in a later one.
fn ends(logs: &Logs, time: impl Fn(&Entry) -> Instant) -> BTreeMap<(JobId, Generation), Instant> {
    let mut ends = BTreeMap::new();
    for (job, entries) in logs {
        let mut latest = Generation::FIRST;
        for entry in entries {
            let known = entry.record.as_ref().ok().and_then(|record| record.known().ok());
            let Some(Known::Decision(decision)) = known else { continue };
            let generation = decision.generation();
            let mut over = |generation| {
                ends.entry((job.clone(), generation)).or_insert_with(|| time(entry));
            };
            (latest.0..generation.0).for_each(|earlier| over(Generation(earlier)));
            latest = latest.max(generation);
            if matches!(*decision, Decision::Finish(_)) {
                over(generation);
            }
        }
    }
    ends
}

fn posts(ground: &Arc<Ground>, chance: &Chance) -> Vec<Arc<Post>> {
    let supervisors = chance.number(1..=3);
    let workers = chance.number(1..=3);
    let supervisors =
        (1..=supervisors).map(|n| Post::open(ground, format!("s{n}"), Role::Supervisor));
    let mut posts: Vec<_> = supervisors.collect();
    posts.extend((1..=workers).map(|n| Post::open(ground, format!("w{n}"), Role::Worker)));
    posts
}

fn people(ground: &Ground, seed: u64, errands: Vec<Errand>) -> People {
    let chance = Chance::new(seed, "people");
    let wire = Wire {
        name: WorkerId::new("people").expect("a plain word is an id"),
        link: Arc::new(ground.link()),
        chance: ground.wires.clone(),
        weather: ground.weather.clone(),
        plant: None,
        decides: false,
        stage: None,
    };
    let broker = wire::behind(&wire, ground.memory.connect(wire.name.clone()));
    People::begin(Counter { broker }, chance, ground.story.clone(), errands)
}

/// A connection of somebody who only looks, and whom nothing keeps from it.
pub(crate) fn witness(ground: &Ground) -> Broker {
    let pace = Pace { usual_ms: 0, slow_percent: 0, slow_ms: 0 };
    let chance = Chance::new(0, "witness");
    let wire = Wire {
        name: WorkerId::new("witness").expect("a plain word is an id"),
        link: Arc::new(Link::new(chance.clone(), pace, ground.bound.clone())),
        chance,
        weather: Weather::new(Rough::default()),
        plant: None,
        decides: false,
        stage: None,
    };
    wire::behind(&wire, ground.memory.connect(wire.name.clone()))
}

/// Waits until every job rests; else those that do not.
async fn come_to_rest(
    witness: &Broker,
    jobs: &[JobId],
    people: &People,
    until: Instant,
) -> Result<(), Vec<JobId>> {
    // Jobs that have ended for good, as far as anybody will say: they are not read again.
    let mut over = Logs::new();
    loop {
        let told = people.told();
        let mut logs = std::mem::take(&mut over);
        read_all(witness, jobs, &told, &mut logs).await;
        let moving = rest::moving(&logs, &told);
        if moving.is_empty() && told.busy == 0 {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(moving);
        }
        if told.busy == 0 {
            over = logs;
            over.retain(|_, entries| rest::is_over(entries));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn logs(witness: &Broker, jobs: &[JobId], told: &Told) -> Logs {
    let mut logs = Logs::new();
    read_all(witness, jobs, told, &mut logs).await;
    logs
}

/// Reads the logs that are not there yet: of the jobs that were submitted, and of those that they
/// were told work for them.
async fn read_all(witness: &Broker, jobs: &[JobId], told: &Told, logs: &mut Logs) {
    let mut wanted: Vec<JobId> = jobs.iter().chain(&told.accepted).cloned().collect();
    let mut seen = BTreeSet::new();
    while let Some(job) = wanted.pop() {
        if !seen.insert(job.clone()) {
            continue;
        }
        let entries = match logs.remove(&job) {
            Some(entries) => entries,
            None => witness.log.read(&job, Seq(0)).await.unwrap_or_default(),
        };
        wanted.extend(verdict::kin::begun_by(&entries));
        logs.insert(job, entries);
    }
}

/// The story with the records of all logs in between.
fn merged(ground: &Ground, logs: &Logs, mut lines: Vec<Line>) -> Vec<Line> {
    for (job, entries) in logs {
        lines.extend(entries.iter().map(|entry| Line {
            at: Duration::try_from(entry.time.duration_since(ground.origin)).unwrap_or_default(),
            who: job.to_string(),
            what: verdict::line(entry),
        }));
    }
    lines.sort_by_key(|line| line.at);
    lines
}
