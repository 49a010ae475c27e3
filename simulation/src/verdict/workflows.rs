//! The claim that a workflow takes the way of the interpreter of tests, which shares no code with the
//! job machine. The log says which visits ended, in which order and how; the interpreter says which
//! routes, writes and output follow from that.

use std::collections::{BTreeMap, BTreeSet};

use agents::workflow::testing::{self, Ended, Failure, Ready, Script, run};
use machine::{Job, Replay, replay};
use proto::{
    decision::{Decision, Note},
    entry::Entry,
    fact::{Fact, TurnReply},
    id::{Generation, JobId},
    job::FailReason,
    workflow::{Move, Path, Visit, Work, Workflow, WorkflowEnd},
};
use serde_json::{Value, json};

use crate::people::Told;

/// Name of the workflows that the simulation draws.
const DRAWN: &str = "drawn";

/// The end of the work of a visit.
struct Ending {
    visit: testing::Visit,
    outcome: Result<Value, Failure>,
}

/// Returns the difference between a job's workflow and the interpreter, if there is one.
pub(super) fn wrong(id: &JobId, entries: &[Entry]) -> Option<String> {
    compared(id, entries)?.err().map(|why| format!("{id}: its workflow {why}"))
}

/// Returns the edits that are not in force although people were told so.
pub(super) fn not_edited(id: &JobId, entries: &[Entry], told: &Told) -> Vec<String> {
    let revision = |job: &Job| job.workflow().map_or(0, |(_, revision)| revision);
    let (mut replay, mut in_force) = (Replay::of(id, entries), BTreeSet::new());
    for entry in entries {
        let before = revision(replay.job());
        replay.take(entry);
        let Some(Decision::Note(Note::GraphEdited { signal, .. })) = entry.decision() else {
            continue;
        };
        if revision(replay.job()) > before {
            in_force.insert(signal);
        }
    }
    let told = told.edited.iter().filter(|(job, seq)| job == id && !in_force.contains(seq));
    told.map(|(_, seq)| format!("{id}: the edit of record {seq} is not in force")).collect()
}

/// Compares the workflow of a job with the interpreter. Returns `None` for a job without a workflow,
/// for a workflow that did not come to its own end, and after a rollback, which takes moves out of
/// the log. The interpreter does not know edits of the graph.
pub(super) fn compared(id: &JobId, entries: &[Entry]) -> Option<Result<(), String>> {
    let submitted = entries.first()?.submission()?;
    // The script of the interpreter has the values that drawn workflows read, and no others.
    let workflow = submitted.workflow.filter(|run| run.definition.name.as_str() == DRAWN)?;
    let job = replay(id, entries);
    let is_edited = job.workflow().is_none_or(|(_, revision)| revision > 0);
    if submitted.forked.is_some() || job.generation() != Generation::FIRST || is_edited {
        return None;
    }
    let moves: Vec<Move> = entries.iter().filter_map(moves_of).flatten().collect();
    let Some(Move::End { end }) = moves.last() else { return None };
    let definition = &workflow.definition;
    let mut log =
        Log { endings: endings(definition, &moves, &values(id, entries)), at: 0, stray: None };
    let expected = run(definition, &workflow.input, &mut log);
    Some(log.followed().and_then(|()| same_end(&expected.ended, end)))
}

fn moves_of(entry: &Entry) -> Option<Vec<Move>> {
    let Some(Decision::Note(Note::Advanced(advance))) = entry.decision() else { return None };
    Some(advance.moves)
}

/// Returns the values of the model turns that counted, by the text of their visit. A turn that was
/// carried out once more may answer after another attempt has taken its place.
fn values(id: &JobId, entries: &[Entry]) -> BTreeMap<String, Value> {
    let (mut replay, mut values) = (Replay::of(id, entries), BTreeMap::new());
    for entry in entries {
        let ignored = replay.job().ignored();
        replay.take(entry);
        let ignored = usize::try_from(replay.job().ignored() - ignored).unwrap_or(usize::MAX);
        let results = entry.results();
        let counted = results.len().saturating_sub(ignored);
        for fact in results.into_iter().take(counted) {
            let Fact::Turned(turned) = fact else { continue };
            let TurnReply::Done { value, .. } = turned.reply else { continue };
            if let Some(visit) = turned.work.as_str().split('.').nth(2) {
                values.entry(visit.to_owned()).or_insert(value);
            }
        }
    }
    values
}

/// Returns the visits whose work ended before their path went on, in order.
fn endings(definition: &Workflow, moves: &[Move], values: &BTreeMap<String, Value>) -> Vec<Ending> {
    let mut endings = Vec::new();
    let mut at: BTreeMap<&Path, &Visit> = BTreeMap::new();
    let mut wrote = false;
    let value =
        |visit: &Visit| values.get(&visit.to_string()).cloned().unwrap_or_else(|| json!({}));
    // After the writes only the way on can fail, which the interpreter finds out by itself.
    let failed =
        |visit: &Visit, wrote: bool| if wrote { Ok(value(visit)) } else { Err(Failure::Error) };
    for one in moves {
        let (visit, outcome) = match one {
            Move::Enter { visit, path, .. } => {
                at.insert(path, visit);
                (None, Ok(Value::Null))
            }
            Move::Write { .. } => {
                wrote = true;
                continue;
            }
            Move::Leave { visit, error, .. } => {
                at.retain(|_, other| *other != visit);
                let outcome = match error {
                    Some(_) => failed(visit, wrote),
                    // Only a visit whose time was up is left without its writes.
                    None if can_time_out(definition, visit) && !wrote => Err(Failure::Timeout),
                    None => Ok(value(visit)),
                };
                (Some(visit), outcome)
            }
            Move::Arrive { path, error, .. } => {
                let visit = at.remove(path).filter(|_| error.is_some());
                (visit, visit.map_or(Err(Failure::Error), |visit| failed(visit, wrote)))
            }
            Move::End { end: WorkflowEnd::Failed { .. } } => {
                let visit = at.remove(&Path::Main);
                (visit, visit.map_or(Err(Failure::Error), |visit| failed(visit, wrote)))
            }
            Move::Receive { .. } | Move::Split { .. } | Move::Join { .. } | Move::End { .. } => {
                (None, Ok(Value::Null))
            }
        };
        wrote = false;
        if let Some(visit) = visit.filter(|visit| has_work(definition, visit)) {
            endings.push(Ending { visit: same_visit(visit), outcome });
        }
    }
    endings
}

fn same_visit(visit: &Visit) -> testing::Visit {
    let item = visit.items.last().and_then(|item| usize::try_from(*item).ok());
    testing::Visit { node: visit.node.clone(), visit: visit.number, item }
}

fn can_time_out(definition: &Workflow, visit: &Visit) -> bool {
    definition.nodes.get(&visit.node).is_some_and(|node| node.work.timeout().is_some())
}

/// Returns whether a visit has work outside of the workflow.
fn has_work(definition: &Workflow, visit: &Visit) -> bool {
    definition.nodes.get(&visit.node).is_some_and(|node| match node.work {
        Work::Model(_)
        | Work::Tool(_)
        | Work::Agent(_)
        | Work::Human(_)
        | Work::Wait(_)
        | Work::Event(_) => true,
        Work::Branch {} | Work::Parallel(_) | Work::Map(_) | Work::Set {} | Work::End(_) => false,
    })
}

/// A script that ends the visits as the log did.
struct Log {
    endings: Vec<Ending>,
    at: usize,
    /// The first visit of the log that the interpreter did not have.
    stray: Option<String>,
}

impl Script for Log {
    fn outcome(&mut self, _: &testing::Visit) -> Result<Value, Failure> {
        let ending = self.endings.get(self.at);
        self.at = self.at.saturating_add(1);
        ending.map_or(Err(Failure::Error), |ending| ending.outcome.clone())
    }

    fn pick(&mut self, ready: &[Ready]) -> usize {
        let next = self.endings.get(self.at).map(|ending| &ending.visit);
        let found = ready.iter().position(|visit| Some(visit) == next);
        if found.is_none() && self.stray.is_none() {
            self.stray = Some(format!("ends {next:?} next, and not one of {ready:?}"));
        }
        found.unwrap_or_default()
    }
}

impl Log {
    /// Fails if the interpreter ended other visits than the log.
    fn followed(&self) -> Result<(), String> {
        match (&self.stray, self.endings.get(self.at)) {
            (Some(stray), _) => Err(stray.clone()),
            (None, Some(ending)) => Err(format!("goes on after its end, with {:?}", ending.visit)),
            (None, None) => Ok(()),
        }
    }
}

fn same_end(expected: &Ended, end: &WorkflowEnd) -> Result<(), String> {
    let is_same = match (expected, end) {
        (Ended::Output(expected), WorkflowEnd::Completed { output }) => expected == output,
        (Ended::Limit, WorkflowEnd::Failed { reason, .. }) => *reason == FailReason::BudgetExceeded,
        (Ended::Error(node), WorkflowEnd::Failed { message, .. }) => {
            message.contains(node.as_str())
        }
        (Ended::Failed(reason), WorkflowEnd::Failed { message, .. }) => reason == message,
        (Ended::Expression(_), WorkflowEnd::Failed { .. }) => true,
        (Ended::Output(_), WorkflowEnd::Failed { .. })
        | (
            Ended::Limit | Ended::Error(_) | Ended::Failed(_) | Ended::Expression(_),
            WorkflowEnd::Completed { .. },
        ) => false,
    };
    let why = || format!("ends with {end:?}, and not with {expected:?}");
    is_same.then_some(()).ok_or_else(why)
}
