//! The misreading of correct records by a supervisor with a planted bug, as by a faulty job
//! machine.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use proto::{
    decision::Decision,
    entry::Entry,
    id::{Attempt, JobId, WorkId},
    record::Record,
};
use serde_json::{Value, json};

use crate::mutation::Mutation;

/// The latest attempts and generations that a process knows, for a planted bug.
#[derive(Debug, Default)]
pub(super) struct Misreading {
    latest: Mutex<BTreeMap<(JobId, String), u32>>,
    /// The latest generation of each job that has a decision.
    generations: Mutex<BTreeMap<JobId, u32>>,
}

impl Misreading {
    /// Records the attempt and the generation of a decision.
    pub(super) fn note(&self, job: &JobId, decision: &Decision) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let of = generations.entry(job.clone()).or_default();
        *of = (*of).max(decision.generation().0);
        drop(generations);
        let (work, attempt): (&WorkId, Attempt) = match decision {
            Decision::Plan(plan) => (&plan.work, plan.attempt),
            Decision::Turn(turn) => (&turn.work, turn.attempt),
            Decision::Call(call) => (&call.work, call.attempt),
            Decision::Done(done) => {
                done.units().for_each(|unit| self.note(job, &unit.command()));
                return;
            }
            Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Finish(_) => {
                return;
            }
        };
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let of = latest.entry((job.clone(), work.to_string())).or_default();
        *of = (*of).max(attempt.0);
    }

    /// Returns an entry as the process with the bug understands it.
    pub(super) fn of(&self, mutation: Option<Mutation>, mut entry: Entry) -> Entry {
        let Some(
            mutation @ (Mutation::AcceptAnyResult
            | Mutation::CountTwice
            | Mutation::CountOldResults),
        ) = mutation
        else {
            return entry;
        };
        let Ok(record) = &entry.record else { return entry };
        let reports = ["planned", "turned", "called"].contains(&record.kind.as_str());
        if mutation != Mutation::CountTwice
            && let Ok(proto::record::Known::Decision(decision)) = record.known()
        {
            self.note(&entry.job, &decision);
        }
        if !reports {
            return entry;
        }
        let Ok(mut written) = serde_json::from_slice::<Value>(&record.to_vec()) else {
            return entry;
        };
        let body = &mut written["body"];
        if mutation == Mutation::AcceptAnyResult {
            let work = body["work"].as_str().unwrap_or_default().to_owned();
            let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(attempt) = latest.get(&(entry.job.clone(), work)) {
                body["attempt"] = json!(attempt);
            }
        } else if mutation == Mutation::CountOldResults {
            let work = body["work"].as_str().unwrap_or_default().to_owned();
            let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
            let latest = generations.get(&entry.job).filter(|generation| **generation > 0);
            if let (Some(latest), Some((_, name))) = (latest, work.split_once('.')) {
                body["work"] = json!(format!("g{latest}.{name}"));
            }
        } else {
            for tokens in ["input_tokens", "output_tokens"] {
                if let Some(used) = body["usage"][tokens].as_u64() {
                    body["usage"][tokens] = json!(2 * used);
                }
            }
        }
        entry.record = Record::from_slice(written.to_string().as_bytes());
        entry
    }
}
