//! Recorded logs of a job and its descendants. The first records of a recording can be stored with
//! their original content and times, and with the timers that were armed.

use std::collections::{BTreeMap, BTreeSet};

use broker::{Broker, memory::Memory};
use bytes::Bytes;
use jiff::Timestamp;
use machine::{Job, Replay, replay};
use proto::{
    decision::Decision,
    entry::Entry,
    fact::Fact,
    id::{Attempt, JobId, Seq, TimerName, WorkId},
    record::{Known, Record},
    subject::{Family, Subjects},
    tool::Effect,
    trace::TraceContext,
};
use serde_json::{Value, json};

/// The maximum number of shards of a recorded installation.
const SHARDS_MAX: u16 = 256;

/// The recorded log of a job, or the logs of a family merged by time.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    entries: Vec<Entry>,
    /// The records as JSON, in the same order.
    bodies: Vec<Value>,
}

impl Recording {
    /// Parses a recording, which has one record per line.
    ///
    /// # Panics
    /// Panics if the text is no recording.
    #[must_use]
    pub(crate) fn read(text: &str) -> Self {
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
        let subject = |line: &Value| line["subject"].as_str().unwrap_or_default().to_owned();
        let subjects = (1..=SHARDS_MAX)
            .filter_map(|shards| Subjects::new("cb", shards).ok())
            .find(|subjects| lines.iter().all(|line| subjects.parse(&subject(line)).is_ok()))
            .expect("the subjects are those of one installation");
        let entries = lines.iter().map(|line| {
            let place = subjects.parse(&subject(line)).expect("it was parsed before");
            let time: Timestamp =
                serde_json::from_value(line["time"].clone()).expect("a line has its time");
            let record = Record::from_slice(line["record"].to_string().as_bytes());
            let seq = Seq(line["seq"].as_u64().expect("a line has its position"));
            Entry { seq, time, job: place.job, family: place.family, record, trace: None }
        });
        Self {
            entries: entries.collect(),
            bodies: lines.iter().map(|line| line["record"].clone()).collect(),
        }
    }

    /// Merges this recording with those of the job's descendants.
    #[must_use]
    pub(crate) fn with(self, others: Vec<Self>) -> Self {
        let all = std::iter::once(self).chain(others);
        let mut both: Vec<(Entry, Value)> =
            all.flat_map(|one| one.entries.into_iter().zip(one.bodies)).collect();
        // The sort is stable: the records of each job stay in order.
        both.sort_by_key(|(entry, _)| entry.time);
        let (entries, bodies) = both.into_iter().unzip();
        Self { entries, bodies }
    }

    /// Returns the number of records.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the id of the job, or of the root of the family.
    #[must_use]
    pub(crate) fn job(&self) -> &JobId {
        &self.entries[0].job
    }

    /// Returns the job at its recorded end.
    #[must_use]
    pub(crate) fn whole(&self) -> Job {
        replay(self.job(), &self.of(self.job()))
    }

    /// Returns the ids of all jobs in the recording.
    pub(super) fn jobs(&self) -> BTreeSet<JobId> {
        self.entries.iter().map(|entry| entry.job.clone()).collect()
    }

    /// Returns the records of one job.
    pub(super) fn of(&self, job: &JobId) -> Vec<Entry> {
        self.entries.iter().filter(|entry| entry.job == *job).cloned().collect()
    }

    /// Returns the recording with a retry policy of five attempts for tools.
    #[must_use]
    pub(crate) fn patient(&self) -> Self {
        let mut patient = self.clone();
        let retry = json!({ "initial_interval_ms": 50, "max_attempts": 5 });
        let submitted = &mut patient.bodies[0]["body"];
        submitted["agent"]["tool"]["retry"] = retry.clone();
        for callee in submitted
            .get_mut("agents")
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(|all| all.values_mut())
        {
            callee["agent"]["tool"]["retry"] = retry.clone();
        }
        let record = Record::from_slice(patient.bodies[0].to_string().as_bytes());
        patient.entries[0].record = record;
        patient
    }

    /// Returns whether a `once` call was in progress after the first `cut` records. Its outcome is
    /// unknown then.
    #[must_use]
    pub(crate) fn is_unclear_at(&self, cut: usize) -> bool {
        let (mut begun, mut ended) = (0, 0);
        for (n, known) in self.known() {
            if let (true, Known::Fact(fact)) = (n < cut, known) {
                begun += usize::from(matches!(*fact, Fact::Started(_)));
                let is_of_once = begun > 0 && matches!(*fact, Fact::Called(_));
                ended += usize::from(is_of_once);
            }
        }
        begun > ended
    }

    /// Returns the units of work of all commands, and whether each is a call of a `once` tool.
    #[must_use]
    pub(crate) fn commands(&self) -> Vec<(WorkId, bool)> {
        let commands = self.known().filter_map(|(_, known)| match known {
            Known::Decision(decision) => match *decision {
                Decision::Plan(plan) if plan.attempt == Attempt::FIRST => Some((plan.work, false)),
                Decision::Turn(turn) if turn.attempt == Attempt::FIRST => Some((turn.work, false)),
                Decision::Call(call) if call.attempt == Attempt::FIRST => {
                    Some((call.work, call.effect == Effect::Once))
                }
                Decision::Plan(_)
                | Decision::Turn(_)
                | Decision::Call(_)
                | Decision::Ask(_)
                | Decision::Wait(_)
                | Decision::Spawn(_)
                | Decision::Note(_)
                | Decision::Done(_)
                | Decision::Finish(_) => None,
            },
            Known::Fact(_) => None,
        });
        let mut seen = BTreeSet::new();
        commands.filter(|(work, _)| seen.insert(work.clone())).collect()
    }

    pub(super) fn begin(&self) -> Timestamp {
        self.entries[0].time
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Iterates over the readable records and their indices. Work that is done is commands and their
    /// results.
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, Known)> {
        self.entries.iter().enumerate().flat_map(|(n, entry)| {
            let known: Vec<Known> = match entry.known() {
                Some(Known::Decision(decision)) => match decision.clone().into_done() {
                    Some(done) => done
                        .units()
                        .flat_map(|unit| [unit.command().into(), unit.result().into()])
                        .collect(),
                    None => vec![Known::Decision(decision)],
                },
                fact => fact.into_iter().collect(),
            };
            known.into_iter().map(move |known| (n, known))
        })
    }

    /// Counts the effects of `once` tools before the cut, by idempotency key. Only calls with a
    /// result count, because the effect of a call in progress is unknown.
    pub(super) fn effects(&self, cut: usize) -> BTreeMap<String, u32> {
        let mut keys = BTreeMap::new();
        let mut effects = BTreeMap::new();
        for (n, known) in self.known() {
            match known {
                Known::Decision(decision) => {
                    if let Decision::Call(call) = *decision
                        && call.effect == Effect::Once
                    {
                        keys.insert((&self.entries[n].job, call.work), call.idempotency_key);
                    }
                }
                Known::Fact(fact) => {
                    if let Fact::Called(called) = *fact
                        && called.fault.is_none()
                        && n < cut
                        && let Some(key) = keys.get(&(&self.entries[n].job, called.work))
                    {
                        *effects.entry(key.clone()).or_default() += 1;
                    }
                }
            }
        }
        effects
    }

    /// Stores the first `cut` records, each at its time, and arms the timers that were armed then.
    pub(super) async fn store(&self, memory: &Memory, witness: &Broker, cut: usize) {
        let subjects = witness.log.subjects().clone();
        let mut stored: BTreeMap<(&JobId, u64), u64> = BTreeMap::new();
        let mut armed: BTreeMap<(&JobId, TimerName), Timestamp> = BTreeMap::new();
        let mut jobs: BTreeMap<&JobId, Replay> = BTreeMap::new();
        let mut now = self.begin();
        for (entry, body) in self.entries.iter().zip(&self.bodies).take(cut) {
            let wait = entry.time.duration_since(now);
            tokio::time::sleep(wait.try_into().unwrap_or_default()).await;
            now = now.max(entry.time);
            let (job, mut body) = (&entry.job, body.clone());
            // Records refer to others by position, and positions differ in the new log.
            let there = |seq: u64| stored.get(&(job, seq)).copied().unwrap_or(seq);
            for after in ["/body/after", "/body/command/after"] {
                if let Some(after) = body.pointer_mut(after) {
                    *after = json!(after.as_u64().map(there));
                }
            }
            if let Some(back) = body.pointer_mut("/body/signal/roll_back") {
                for named in ["to", "seen"] {
                    back[named] = json!(there(back[named].as_u64().unwrap_or_default()));
                }
            }
            let subject = match &entry.family {
                Family::In(source) => subjects.fact(job, source),
                Family::Do(kind, pool) => subjects.decision(job, *kind, pool),
                Family::At(_) | Family::UnknownIn(_) | Family::UnknownDo(_) => continue,
            };
            let seq = memory.store_raw(&subject, Bytes::from(body.to_string()));
            stored.insert((job, entry.seq.0), seq.expect("the subject was built here").0);
            let folded = jobs.entry(job).or_insert_with(|| Replay::of(job, &self.of(job)));
            folded.take(entry);
            let next = folded.job().decide();
            let arms = next.iter().flat_map(|next| &next.arm);
            armed.extend(arms.map(|arm| ((job, arm.timer.clone()), arm.at)));
            if let Ok(Ok(Known::Fact(fact))) = entry.record.as_ref().map(Record::known)
                && let Fact::Fired(fired) = *fact
            {
                armed.remove(&(job, fired.timer));
            }
        }
        for ((job, timer), at) in armed {
            let trace = TraceContext::new(1, 1, false);
            let _ = witness.log.arm(job, &timer, at, trace).await;
        }
    }
}
