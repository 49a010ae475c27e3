//! The stages of a job's time, by the times at which the server stored its records. Between a fact
//! and the decision after it, the supervisor receives the fact, decides and writes. Between a
//! command and its result, a worker receives the command, runs it and writes. Both contain the
//! broker's time, whose minimum `raw.rs` measures separately. Work without the queue has no record of
//! its beginning: its duration in whole milliseconds is `work`, and the rest, with the write, `decide`.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use broker::Broker;
use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    decision::{Decision, DoneUnit, Period},
    entry::Entry,
    fact::Fact,
    id::{JobId, Seq, WorkId},
    record::Known,
};
use serde::Serialize;

use crate::{
    Failed,
    figures::{ms, percentile},
    load::Done,
};

/// The number of logs that are read concurrently.
const READERS: usize = 16;

/// The part that produces a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Stage {
    /// The front door: from the submitter's request to the stored submission.
    Door,
    /// A supervisor: from a fact to the decision that follows.
    Decide,
    /// A worker: from a command to its result.
    Work,
    /// The listener: from the stored end to its arrival at the submitter.
    Heard,
}

impl Stage {
    /// All stages, in the order of a job's life.
    pub(crate) const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the stage's name for tables.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A transition of the diamond: the record that it leads to, the records that it waits for, and its
/// stage.
type Edge = (&'static str, &'static [&'static str], Stage);

/// All transitions except the first and the last, which only the submitter observes.
const EDGES: [Edge; 11] = [
    ("plan", &["submitted"], Stage::Decide),
    ("planned", &["plan"], Stage::Work),
    ("call s1", &["planned"], Stage::Decide),
    ("called s1", &["call s1"], Stage::Work),
    ("call s2", &["called s1"], Stage::Decide),
    ("call s3", &["called s1"], Stage::Decide),
    ("called s2", &["call s2"], Stage::Work),
    ("called s3", &["call s3"], Stage::Work),
    ("call s4", &["called s2", "called s3"], Stage::Decide),
    ("called s4", &["call s4"], Stage::Work),
    ("finish", &["called s4"], Stage::Decide),
];

/// One transition over many jobs, in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Transition {
    /// The causes and the record, for tables.
    pub(crate) name: String,
    pub(crate) stage: Stage,
    /// The median.
    pub(crate) p50_ms: f64,
    /// The 90th percentile.
    pub(crate) p90_ms: f64,
    /// The 99th percentile.
    pub(crate) p99_ms: f64,
}

/// The stages of many jobs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Stages {
    /// Every transition, in the order of a job's life.
    pub(crate) transitions: Vec<Transition>,
    /// Mean time of a job on the critical path through the diamond, by stage, in milliseconds.
    pub(crate) mean_ms: BTreeMap<Stage, f64>,
    /// The number of jobs.
    pub(crate) n: usize,
}

/// Analyses jobs whose submission and end were observed.
pub(crate) async fn of_done(broker: &Broker, done: &[Done]) -> Result<Stages, Failed> {
    let jobs = done.iter().map(|done| &done.job).cloned().collect::<Vec<_>>();
    let mut samples = Samples::default();
    for (times, done) in read(broker, &jobs).await?.iter().zip(done) {
        let heard = done.submitted + done.took;
        samples.take(times, Some((done.submitted, heard)))?;
    }
    Ok(samples.stages())
}

/// Analyses jobs by their logs alone.
pub(crate) async fn of_logs(broker: &Broker, jobs: &[JobId]) -> Result<Stages, Failed> {
    let mut samples = Samples::default();
    for times in read(broker, jobs).await? {
        samples.take(&times, None)?;
    }
    Ok(samples.stages())
}

/// Describes the slowest transition of one job.
pub(crate) async fn slowest(broker: &Broker, job: &JobId) -> Result<String, Failed> {
    let mut times = read(broker, std::slice::from_ref(job)).await?;
    let times = times.pop().unwrap_or_default();
    let gaps = EDGES.iter().filter_map(|(name, causes, stage)| {
        let from = causes.iter().filter_map(|cause| times.get(*cause)).max()?;
        let gap = times.get(*name)?.duration_since(*from).ok()?;
        let to = causes.join(", ");
        Some((gap, format!("{to} → {name} ({}) took {gap:.2?} in {job}", stage.as_str())))
    });
    Ok(gaps.max().map_or_else(|| format!("{job} has no records"), |(_, words)| words))
}

/// The time at which each record of a job was stored.
type Times = BTreeMap<String, SystemTime>;

async fn read(broker: &Broker, jobs: &[JobId]) -> Result<Vec<Times>, Failed> {
    let logs = stream::iter(jobs).map(|job| async move {
        let entries = broker.log.read(job, Seq(0)).await?;
        Ok::<Times, Failed>(entries.iter().flat_map(named).collect())
    });
    logs.buffered(READERS).try_collect().await
}

/// Returns the names and times of a record. A record with commands and their results counts as all of
/// them: a command at the beginning of its work.
fn named(entry: &Entry) -> Vec<(String, SystemTime)> {
    let at = entry.time.into();
    let known = entry.record.as_ref().ok().and_then(|record| record.known().ok());
    match known {
        Some(Known::Fact(fact)) => of_fact(&fact).map(|name| (name, at)).into_iter().collect(),
        Some(Known::Decision(decision)) => match decision.clone().into_done() {
            Some(done) => done.timed(entry.time).flat_map(of_unit).collect(),
            None => vec![(of_command(&decision), at)],
        },
        None => Vec::new(),
    }
}

fn of_unit((unit, period): (&DoneUnit, Period)) -> Vec<(String, SystemTime)> {
    let command = (of_command(&unit.command()), period.began.into());
    let result = of_fact(&unit.result()).map(|name| (name, period.ended.into()));
    std::iter::once(command).chain(result).collect()
}

fn of_fact(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Submitted(_) => Some("submitted".to_owned()),
        Fact::Planned(_) => Some("planned".to_owned()),
        Fact::Called(called) => Some(format!("called {}", step(&called.work))),
        Fact::Signaled(_)
        | Fact::Turned(_)
        | Fact::Started(_)
        | Fact::Answered(_)
        | Fact::Fired(_)
        | Fact::Child(_) => None,
    }
}

fn of_command(decision: &Decision) -> String {
    match decision {
        Decision::Call(call) => format!("call {}", step(&call.work)),
        other @ (Decision::Plan(_)
        | Decision::Turn(_)
        | Decision::Ask(_)
        | Decision::Wait(_)
        | Decision::Spawn(_)
        | Decision::Note(_)
        | Decision::Done(_)
        | Decision::Finish(_)) => other.kind().as_str().to_owned(),
    }
}

/// Returns the last part of a unit's name, which is the step.
fn step(work: &WorkId) -> String {
    let work = work.to_string();
    work.rsplit('.').next().unwrap_or_default().to_owned()
}

/// The observed times of many jobs, in milliseconds.
#[derive(Default)]
struct Samples {
    gaps: BTreeMap<&'static str, Vec<f64>>,
    sums: BTreeMap<Stage, f64>,
    jobs: usize,
}

/// The names of the two transitions that only the submitter observes.
const SUBMITTED: &str = "submitted";
const HEARD: &str = "heard";

impl Samples {
    fn take(
        &mut self,
        times: &Times,
        seen: Option<(SystemTime, SystemTime)>,
    ) -> Result<(), Failed> {
        let at = |name: &str| {
            times.get(name).copied().ok_or_else(|| format!("a job has no record `{name}`"))
        };
        let gap = |from: SystemTime, to: SystemTime| {
            ms(to.duration_since(from).unwrap_or(Duration::ZERO))
        };
        // Of the two steps in the middle, only the later one is on the critical path.
        let aside = if at("called s2")? > at("called s3")? { "s3" } else { "s2" };
        for (name, causes, stage) in EDGES {
            let causes: Vec<_> = causes.iter().map(|cause| at(cause)).collect::<Result<_, _>>()?;
            let from = causes.into_iter().max().ok_or("a transition without a cause")?;
            let gap = gap(from, at(name)?);
            self.gaps.entry(name).or_default().push(gap);
            if !name.ends_with(aside) {
                *self.sums.entry(stage).or_default() += gap;
            }
        }
        if let Some((submitted, heard)) = seen {
            let seen = [
                (SUBMITTED, Stage::Door, gap(submitted, at("submitted")?)),
                (HEARD, Stage::Heard, gap(at("finish")?, heard)),
            ];
            for (name, stage, gap) in seen {
                self.gaps.entry(name).or_default().push(gap);
                *self.sums.entry(stage).or_default() += gap;
            }
        }
        self.jobs += 1;
        Ok(())
    }

    fn stages(mut self) -> Stages {
        let first: Edge = (SUBMITTED, &["request"], Stage::Door);
        let last: Edge = (HEARD, &["finish"], Stage::Heard);
        let edges = std::iter::once(first).chain(EDGES).chain([last]);
        let transitions = edges.filter_map(|(name, causes, stage)| {
            let gaps = self.gaps.get_mut(name)?;
            Some(Transition {
                name: format!("{} → {name}", causes.join(", ")),
                stage,
                p50_ms: percentile(gaps, 0.5),
                p90_ms: percentile(gaps, 0.9),
                p99_ms: percentile(gaps, 0.99),
            })
        });
        let transitions = transitions.collect();
        #[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
        let mean = |sum: &f64| sum / self.jobs.max(1) as f64;
        let mean_ms = self.sums.iter().map(|(stage, sum)| (*stage, mean(sum))).collect();
        Stages { transitions, mean_ms, n: self.jobs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> Times {
        let names = [
            "submitted",
            "plan",
            "planned",
            "call s1",
            "called s1",
            "call s2",
            "call s3",
            "called s2",
            "called s3",
            "call s4",
            "called s4",
            "finish",
        ];
        let mut at = SystemTime::UNIX_EPOCH;
        let mut times = Times::new();
        for name in names {
            at += Duration::from_millis(1);
            times.insert(name.to_owned(), at);
        }
        times
    }

    #[test]
    fn the_stages_of_a_job_add_up_to_its_life() {
        let times = super::tests::times();
        let mut samples = Samples::default();
        let (submitted, heard) = (times["submitted"], times["finish"]);
        samples.take(&times, Some((submitted, heard))).unwrap();
        let stages = samples.stages();
        let sum: f64 = stages.mean_ms.values().sum();
        assert!((sum - ms(heard.duration_since(submitted).unwrap())).abs() < 0.001, "{sum}");
        assert_eq!(stages.transitions.len(), 13);
        assert_eq!(stages.transitions[0].name, "request → submitted");
    }

    #[test]
    fn a_job_without_one_of_its_records_is_refused() {
        let mut times = super::tests::times();
        times.remove("called s3");
        let error = Samples::default().take(&times, None).unwrap_err().to_string();
        assert_eq!(error, "a job has no record `called s3`");
    }
}
