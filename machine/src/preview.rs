//! The effect of a signal or a fork, computed before it is sent. The fold takes the signal after the
//! records of the log, so the rules that say what happens are the ones that make it happen.

use proto::{
    decision::{Decision, Note},
    door::{EffectDone, StepAgain},
    entry::Entry,
    fact::{Fact, Signal, Signaled, Source},
    headline,
    id::{JobId, Seq, StepId},
    plan::Step,
    record::{Known, Record, Unreadable},
    subject::Family,
};

use super::{
    at::At,
    effects::Effects,
    replay::Replay,
    state::{Job, Stage},
    step::StepRun,
    timeline,
};

/// Largest number of decisions that are followed after a signal.
const FOLLOWED: usize = 1_000;

/// A record with its position and subject.
pub(crate) type Stored = (At, Family, Result<Known, Unreadable>);

/// The effect of a signal or a fork.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Foresight {
    /// Number of records that no longer count, or that a fork does not take along.
    pub records: u64,
    /// Steps that began and run again, in plan order.
    pub steps: Vec<StepAgain>,
    /// `true` if the planner makes the plan again.
    pub plans: bool,
    /// Effects outside that stay, although the calls no longer count.
    pub effects: Vec<EffectDone>,
    /// Children that end. Their own children are not included.
    pub ends: Vec<JobId>,
    /// Children whose work no longer counts; each may have had effects outside.
    pub children: Vec<JobId>,
}

/// Returns what a signal would do as the next record of a job's whole log.
#[must_use]
pub fn of_signal(job: &JobId, entries: &[Entry], signal: &Signal) -> Foresight {
    signal_after(job, &stored(entries), signal)
}

/// Returns what a fork from a record would do, in the new job.
#[must_use]
pub fn of_fork(job: &JobId, entries: &[Entry], at: Seq) -> Foresight {
    fork_after(job, &stored(entries), at)
}

fn stored(entries: &[Entry]) -> Vec<Stored> {
    let stored = |entry: &Entry| {
        let known = entry.record.as_ref().map_err(Clone::clone).and_then(Record::known);
        (At::of(entry), entry.family.clone(), known)
    };
    entries.iter().map(stored).collect()
}

pub(crate) fn signal_after(job: &JobId, log: &[Stored], signal: &Signal) -> Foresight {
    let said = Signaled { signal: signal.clone(), reason: None, by: None, parent_seq: None };
    let known = Known::Fact(Box::new(Fact::Signaled(said)));
    let family = Family::In(Source::Door);
    let target = timeline::wanted(&family, &known);
    let before = fold(job, log, target);
    let mut replay = before.clone();
    replay.apply(after(before.job()), &family, Ok(&known));
    let gone = before.timeline().seqs().iter().filter(|seq| !replay.timeline().has(**seq));
    let records = u64::try_from(gone.count()).unwrap_or(u64::MAX);
    let mut next = replay.into_job();
    let goes_back = next.generation() > before.job().generation();
    let mut foresight = match target.filter(|_| goes_back) {
        Some(to) => Foresight { records, ..left_behind(job, log, &before, (to, &next)) },
        None => Foresight::default(),
    };
    let decisions = follow(&mut next);
    foresight.ends = ends(&next, &decisions);
    if *signal == Signal::Retry {
        let sent: Vec<&StepId> = decisions.iter().filter_map(step_of).collect();
        let steps = next.open.iter().flat_map(|open| open.execution.all());
        let again = steps.filter(|run| sent.contains(&run.id()) && has_begun(before.job(), run));
        foresight.steps = again.map(|run| named(&run.step)).collect();
        foresight.plans = decisions.iter().any(|decision| matches!(decision, Decision::Plan(_)));
    }
    foresight
}

pub(crate) fn fork_after(job: &JobId, log: &[Stored], at: Seq) -> Foresight {
    let before = fold(job, log, None);
    let forked = fold(job, until(log, at), None).into_job().into_fork();
    let later = before.timeline().seqs().iter().filter(|seq| **seq > at).count();
    let records = u64::try_from(later).unwrap_or(u64::MAX);
    Foresight { records, ..left_behind(job, log, &before, (at, &forked)) }
}

/// Returns what becomes of the work after a record, if `next` continues from there.
fn left_behind(job: &JobId, log: &[Stored], before: &Replay, (to, next): (Seq, &Job)) -> Foresight {
    let there = fold(job, until(log, to), None).into_job();
    let mut effects = Effects::default();
    log.iter().for_each(|(at, family, known)| effects.apply(at.seq, family, known.as_ref()));
    let open = next.open.iter();
    let unfinished = open.clone().flat_map(|open| open.execution.steps());
    let unfinished = unfinished.filter(|run| !run.state.is_terminal());
    let again = unfinished.filter(|run| has_begun(before.job(), run)).map(|run| &*run.step);
    // The steps of a plan that is asked about again run once it is confirmed.
    let asked = open.flat_map(|open| {
        let revision = open.execution.revision();
        let plan = open.planning.stage().proposed();
        plan.into_iter().flat_map(|plan| &plan.steps).map(move |step| (step, revision))
    });
    let asked = asked.filter(|(step, revision)| had_begun(before.job(), &step.id, *revision));
    Foresight {
        steps: again.chain(asked.map(|(step, _)| step)).map(named).collect(),
        plans: next.open.as_ref().is_some_and(|open| match open.planning.stage() {
            Stage::Plan { .. } => true,
            Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. }
            | Stage::Execute
            | Stage::Failing { .. }
            | Stage::Rejected { .. } => false,
        }),
        effects: effects.outside(to, &there),
        children: effects.repeated(to, &there).children,
        ..Foresight::default()
    }
}

/// Folds a log, and keeps the state at `target`.
fn fold(job: &JobId, log: &[Stored], target: Option<Seq>) -> Replay {
    let wanted =
        log.iter().filter_map(|(_, family, known)| timeline::wanted(family, known.as_ref().ok()?));
    let mut replay = Replay::new(job.clone(), wanted.chain(target).collect());
    log.iter().for_each(|(at, family, known)| replay.apply(*at, family, known.as_ref()));
    replay
}

fn until(log: &[Stored], seq: Seq) -> &[Stored] {
    let end = log.partition_point(|(at, _, _)| at.seq <= seq);
    log.get(..end).unwrap_or_default()
}

/// Returns the position of a record that follows at once.
fn after(job: &Job) -> At {
    At { seq: Seq(job.seq().0.saturating_add(1)), time: job.updated() }
}

/// Applies the decisions that follow from a state.
fn follow(job: &mut Job) -> Vec<Decision> {
    let mut decisions = Vec::new();
    while decisions.len() < FOLLOWED
        && let Some(next) = job.decide()
    {
        let family = Family::Do(next.decision.kind(), next.decision.pool());
        let known = Known::Decision(Box::new(next.decision.clone()));
        job.apply(after(job), &family, Ok(&known));
        decisions.push(next.decision);
    }
    decisions
}

/// Returns the children that the decisions cancel.
fn ends(job: &Job, decisions: &[Decision]) -> Vec<JobId> {
    let canceled = decisions.iter().filter_map(|decision| {
        let Decision::Note(Note::ChildTold { work, attempt, signal: Signal::Cancel, .. }) =
            decision
        else {
            return None;
        };
        Some(job.open.as_ref()?.family.child(work, *attempt)?.spawn.child.clone())
    });
    canceled.collect()
}

/// Returns `true` if the step had begun before the signal, or has begun in the state itself.
fn has_begun(before: &Job, run: &StepRun) -> bool {
    run.started.is_some() || had_begun(before, run.id(), run.revision)
}

fn had_begun(before: &Job, step: &StepId, revision: u32) -> bool {
    let mut steps = before.open.iter().flat_map(|open| open.execution.all());
    steps.any(|run| run.id() == step && run.revision == revision && run.started.is_some())
}

fn named(step: &Step) -> StepAgain {
    let title = if step.title.is_empty() { step.description.as_str() } else { &step.title };
    StepAgain { id: step.id.clone(), title: headline::goal(title) }
}

fn step_of(decision: &Decision) -> Option<&StepId> {
    match decision {
        Decision::Turn(work) => Some(&work.step),
        Decision::Call(work) => Some(&work.step),
        Decision::Spawn(work) => Some(&work.step),
        Decision::Ask(work) => work.question.step.as_ref(),
        Decision::Plan(_)
        | Decision::Wait(_)
        | Decision::Note(_)
        | Decision::Done(_)
        | Decision::Finish(_) => None,
    }
}
