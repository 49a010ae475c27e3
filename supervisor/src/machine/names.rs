//! The names of units of work and timers. Derived, never invented: the same state gives the same
//! name in every process and on every replay.

use proto::id::{AskId, StepId, TimerName, WorkId};

fn work(text: String) -> WorkId {
    WorkId::new(text).expect("a step id and four numbers fit a work id")
}

fn timer(text: String) -> TimerName {
    TimerName::new(text).expect("a word and a number fit a timer name")
}

/// A round of planning.
pub(super) fn plan(round: u32) -> WorkId {
    work(format!("g0.p{round}"))
}

/// A question that a round of planning led to.
pub(super) fn plan_question(round: u32) -> WorkId {
    work(format!("g0.p{round}.ask"))
}

/// A step of the plan of a revision: also the one tool call of a step that is one.
pub(super) fn step(revision: u32, id: &StepId) -> WorkId {
    work(format!("g0.r{revision}.{id}"))
}

/// A turn of a run of a step.
pub(super) fn turn(revision: u32, id: &StepId, run: u32, turn: u32) -> WorkId {
    work(format!("g0.r{revision}.{id}.n{run}.t{turn}"))
}

/// A call of a turn.
pub(super) fn call(turn: &WorkId, index: usize) -> WorkId {
    work(format!("{turn}.c{index}"))
}

/// The question whether a call may run.
pub(super) fn approval(call: &WorkId) -> WorkId {
    work(format!("{call}.approve"))
}

/// The `n`th question of a job.
pub(super) fn ask(n: u32) -> AskId {
    AskId::new(format!("q{n}")).expect("a letter and a number are an id")
}

/// The deadline of a question.
pub(super) fn ask_timer(ask: &AskId) -> TimerName {
    timer(format!("ask-{ask}"))
}

/// The `n`th wait of a job.
pub(super) fn retry_timer(n: u32) -> TimerName {
    timer(format!("retry-{n}"))
}

/// The job's deadline.
pub(super) fn deadline_timer() -> TimerName {
    timer("deadline".to_owned())
}

/// A number that is the same for the same job and unit of work: spreads retries without chance.
pub(super) fn seed(job: &str, work: &WorkId) -> u64 {
    job.bytes()
        .chain(work.as_str().bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}
