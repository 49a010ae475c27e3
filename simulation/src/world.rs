//! One world, from its beginning to its verdict: all processes in one thread, on a clock that moves
//! only when every task waits.

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
    disruption::{self, Disruptions},
    door_client::Counter,
    environment::Environment,
    fault_rates::{FaultRates, Rough},
    link::{Link, Pace},
    mutation::Mutation,
    operator_actions,
    people::{People, Told},
    process::Role,
    process_slot::ProcessSlot,
    quiescence,
    story::{Counts, Line, Story},
    verdict::{self, Evidence, Logs},
    wire::{self, Wire},
    workflows,
    workload::Workload,
};

/// The time that a world has to come to rest after the last fault.
const REST_WITHIN: Duration = Duration::from_secs(30 * 60);
/// The same with a planted bug, which most worlds show by a job that does not come to rest.
const MUTATED_REST_WITHIN: Duration = Duration::from_secs(5 * 60);
/// The time for which a world is observed after it came to rest, so that late messages arrive.
const AFTER_REST: Duration = Duration::from_secs(30);
/// The interval between checks whether the world rests.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Returns the replies to people so far.
pub(crate) type ToldSoFar<'a> = &'a (dyn Fn() -> Told + Sync);

/// The end of the sentence about a job that does not come to rest.
pub(crate) const RESTLESS: &str = "does not come to rest";

/// The result of a world.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// The violations.
    pub(crate) wrong: Vec<String>,
    /// One line for each record and each run of a tool.
    pub(crate) transcript: Vec<String>,
    /// The duration of the world on its own clock.
    pub(crate) time: Duration,
    /// The events of the world, counted by name.
    pub(crate) counts: Counts,
    /// The story; empty unless it was requested.
    pub(crate) story: Vec<Line>,
}

/// Runs the world of a seed. Must be called in a runtime whose time is paused while tasks are busy.
pub(crate) async fn run(seed: u64, mutation: Option<Mutation>, with_story: bool) -> Outcome {
    let begin = Instant::now();
    let story = Story::begin(with_story);
    let environment = Arc::new(Environment::lay(seed, mutation, story.clone()));
    let chance = Chance::new(seed, "world");
    let rough = chance.millis(5_000..=60_000);
    let posts = posts(&environment, &chance, &Chance::new(seed, "roles"));
    let mut workloads = Workload::draw(&Chance::new(seed, "errands"), rough);
    operator_actions::add(seed, &mut workloads);
    workflows::add(seed, &mut workloads);
    let jobs: Vec<JobId> = workloads.iter().map(|workload| workload.job.clone()).collect();
    let people = people(&environment, seed, workloads);
    let disruptions = Disruptions::draw(&Chance::new(seed, "troubles"), rough, posts.len());
    tokio::spawn(disruptions.inject(Arc::clone(&environment), posts.clone()));
    let life = async {
        tokio::time::sleep(rough).await;
        disruption::end_all(&environment, &posts);
        until_it_rests(&environment, &jobs, &|| people.told(), begin).await
    };
    let (wrong, evidence) = tokio::select! {
        biased;
        too_many = environment.bound.reached() => return endless(&environment, too_many, begin),
        seen = life => seen,
    };
    story.add("messages", environment.bound.sent());
    verdict::tally(&evidence, &story);
    let Evidence { logs, runs, .. } = &evidence;
    Outcome {
        transcript: verdict::transcript(logs, runs, begin),
        time: begin.elapsed(),
        counts: story.counts(),
        story: if story.is_wanted() {
            merged(&environment, logs, story.lines())
        } else {
            Vec::new()
        },
        wrong,
    }
}

/// Returns the result of a world that exceeded its bound of messages.
fn endless(environment: &Environment, too_many: String, begin: Instant) -> Outcome {
    Outcome {
        wrong: vec![too_many],
        transcript: Vec::new(),
        time: begin.elapsed(),
        counts: environment.story.counts(),
        story: environment.story.lines(),
    }
}

/// Waits until a world without faults has come to rest and late messages have arrived. Returns the
/// violations and the evidence.
pub(crate) async fn until_it_rests(
    environment: &Environment,
    jobs: &[JobId],
    told: ToldSoFar<'_>,
    begin: Instant,
) -> (Vec<String>, Evidence) {
    let witness = witness(environment);
    let mut wrong = Vec::new();
    let rest_within =
        if environment.mutation.is_some() { MUTATED_REST_WITHIN } else { REST_WITHIN };
    let until = Instant::now() + rest_within;
    let evidence = loop {
        if let Err(moving) = come_to_rest(&witness, jobs, told, until).await {
            wrong.extend(moving.into_iter().map(|job| format!("{job}: {RESTLESS}")));
        }
        tokio::time::sleep(AFTER_REST).await;
        let evidence = evidence(environment, &witness, jobs, &told(), begin).await;
        // A late message may have continued a job that rested.
        let moving = quiescence::moving(&evidence.logs, &evidence.told);
        if !wrong.is_empty() || moving.is_empty() {
            break evidence;
        }
    };
    wrong.extend(verdict::wrong(&evidence));
    (wrong, evidence)
}

async fn evidence(
    environment: &Environment,
    witness: &Broker,
    jobs: &[JobId],
    told: &Told,
    begin: Instant,
) -> Evidence {
    let logs = logs(witness, jobs, told).await;
    let inbox = witness.kv.list(Bucket::Inbox, "").await.unwrap_or_default();
    let since = |entry: &Entry| {
        begin
            + Duration::try_from(entry.time.duration_since(environment.origin)).unwrap_or_default()
    };
    Evidence {
        ends: ends(&logs, since),
        logs,
        runs: environment.ledger.runs(),
        told: told.clone(),
        inbox: inbox.into_iter().map(|value| value.key).collect(),
        ack_wait: witness.log.ack_wait(),
        travel: environment.travel(),
        handed_out_twice: ["duplicate deliveries", "redeliveries"]
            .iter()
            .any(|disruption| environment.story.counts().contains_key(disruption)),
    }
}

/// Returns the time from which no command of a generation of a job is needed: the end of the job,
/// or the first decision of a later generation.
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

/// Opens one to three slots of each role. Some supervisors are workers as well.
pub(crate) fn posts(
    environment: &Arc<Environment>,
    chance: &Chance,
    roles: &Chance,
) -> Vec<Arc<ProcessSlot>> {
    let supervisors = chance.number(1..=3);
    let workers = chance.number(1..=3);
    let supervisors = (1..=supervisors).map(|n| {
        let role = if roles.percent(50) { Role::All } else { Role::Supervisor };
        ProcessSlot::open(environment, format!("s{n}"), role)
    });
    let mut posts: Vec<_> = supervisors.collect();
    posts.extend(
        (1..=workers).map(|n| ProcessSlot::open(environment, format!("w{n}"), Role::Worker)),
    );
    posts
}

fn people(environment: &Environment, seed: u64, workloads: Vec<Workload>) -> People {
    let chance = Chance::new(seed, "people");
    let wire = Wire {
        name: WorkerId::new("people").expect("a plain word is an id"),
        link: Arc::new(environment.link()),
        chance: environment.wires.clone(),
        fault_rates: environment.fault_rates.clone(),
        mutation: None,
        decides: false,
        props: None,
    };
    let broker = wire::behind(&wire, environment.memory.connect(wire.name.clone()));
    People::begin(Counter { broker }, chance, environment.story.clone(), workloads)
}

/// Creates a broker connection for observation, without faults or delays.
pub(crate) fn witness(environment: &Environment) -> Broker {
    let pace = Pace { usual_ms: 0, slow_percent: 0, slow_ms: 0 };
    let chance = Chance::new(0, "witness");
    let wire = Wire {
        name: WorkerId::new("witness").expect("a plain word is an id"),
        link: Arc::new(Link::new(chance.clone(), pace, environment.bound.clone())),
        chance,
        fault_rates: FaultRates::new(Rough::default()),
        mutation: None,
        decides: false,
        props: None,
    };
    wire::behind(&wire, environment.memory.connect(wire.name.clone()))
}

/// Waits until every job rests. The error has the jobs that still move at the deadline.
async fn come_to_rest(
    witness: &Broker,
    jobs: &[JobId],
    told: ToldSoFar<'_>,
    until: Instant,
) -> Result<(), Vec<JobId>> {
    // The logs of jobs that are certain not to change any more, which are not read again.
    let mut over = Logs::new();
    loop {
        let told = told();
        let mut logs = std::mem::take(&mut over);
        read_all(witness, jobs, &told, &mut logs).await;
        let moving = quiescence::moving(&logs, &told);
        if moving.is_empty() && told.busy == 0 {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(moving);
        }
        if told.busy == 0 {
            over = logs;
            over.retain(|_, entries| quiescence::is_over(entries));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn logs(witness: &Broker, jobs: &[JobId], told: &Told) -> Logs {
    let mut logs = Logs::new();
    read_all(witness, jobs, told, &mut logs).await;
    logs
}

/// Reads the logs that are not in `logs` yet: those of the submitted jobs and of all their
/// descendants.
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
        wanted.extend(verdict::families::begun_by(&entries));
        logs.insert(job, entries);
    }
}

/// Merges the records of all logs into the story, by time.
pub(crate) fn merged(environment: &Environment, logs: &Logs, mut lines: Vec<Line>) -> Vec<Line> {
    for (job, entries) in logs {
        lines.extend(entries.iter().map(|entry| {
            Line {
                at: Duration::try_from(entry.time.duration_since(environment.origin))
                    .unwrap_or_default(),
                who: job.to_string(),
                what: verdict::line(entry),
            }
        }));
    }
    lines.sort_by_key(|line| line.at);
    lines
}
