//! An index of the commands in a log, by attempt or question.

use std::collections::BTreeMap;

use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    id::{AskId, JobId, Pool, Seq, Unit},
    subject::Family,
};

/// A command in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Position of the command.
    pub seq: Seq,
    /// Kind of the decision, which together with the pool names its queue.
    pub kind: DecisionKind,
    /// Pool of workers that takes it.
    pub pool: Pool,
}

/// All commands of a log that workers take, those before a rollback included.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    units: BTreeMap<Unit, Sent>,
    questions: BTreeMap<AskId, Sent>,
}

impl Commands {
    /// Indexes the commands of a log. The last one for an attempt wins.
    #[must_use]
    pub fn of(entries: &[Entry]) -> Self {
        let mut commands = Self::default();
        for entry in entries {
            let Family::Do(kind, pool) = &entry.family else { continue };
            let Some(decision) = entry.decision() else { continue };
            let sent = Sent { seq: entry.seq, kind: *kind, pool: pool.clone() };
            match decision {
                Decision::Plan(_) | Decision::Turn(_) | Decision::Call(_) => {
                    commands.units.extend(decision.unit().map(|unit| (unit, sent)));
                }
                Decision::Ask(work) => drop(commands.questions.insert(work.question.id, sent)),
                Decision::Wait(_)
                | Decision::Spawn(_)
                | Decision::Note(_)
                | Decision::Done(_)
                | Decision::Finish(_) => {}
            }
        }
        commands
    }

    /// Returns the command of an attempt.
    #[must_use]
    pub fn of_unit(&self, unit: &Unit) -> Option<&Sent> {
        self.units.get(unit)
    }

    /// Returns the command that asks a question.
    #[must_use]
    pub fn of_question(&self, ask: &AskId) -> Option<&Sent> {
        self.questions.get(ask)
    }
}

/// Returns the parent of a job and all its children so far, those before a rollback included.
#[must_use]
pub fn relatives(entries: &[Entry]) -> Vec<JobId> {
    let parent = entries.first().and_then(Entry::submission).and_then(|first| first.parent);
    let child = |entry: &Entry| {
        // The kind is compared first so that large bodies are not parsed in vain.
        let record = entry.record.as_ref().ok().filter(|record| record.kind == "spawn")?;
        Some(record.decision()?.into_spawn()?.child)
    };
    let parent = parent.into_iter().map(|parent| parent.job);
    parent.chain(entries.iter().filter_map(child)).collect()
}
