//! The names of units of work and timers. Derived, never invented: the same state gives the same
//! name in every process and on every replay.

use proto::id::{AskId, Generation, StepId, TimerName, WorkId};

fn work(text: String) -> WorkId {
    WorkId::new(text).expect("a step id and four numbers fit a work id")
}

fn timer(text: String) -> TimerName {
    TimerName::new(text).expect("a word and a number fit a timer name")
}

/// A round of planning.
pub(super) fn plan(generation: Generation, round: u32) -> WorkId {
    work(format!("g{generation}.p{round}"))
}

/// A question that a round of planning led to.
pub(super) fn plan_question(generation: Generation, round: u32) -> WorkId {
    work(format!("g{generation}.p{round}.ask"))
}

/// A step of the plan of a revision: also the one tool call of a step that is one.
pub(super) fn step(generation: Generation, revision: u32, id: &StepId) -> WorkId {
    work(format!("g{generation}.r{revision}.{id}"))
}

/// A turn of a run of a step.
pub(super) fn turn(
    generation: Generation,
    revision: u32,
    id: &StepId,
    run: u32,
    turn: u32,
) -> WorkId {
    work(format!("g{generation}.r{revision}.{id}.n{run}.t{turn}"))
}

/// The same turn once more, when what there was no room for had to be summarised first.
pub(super) fn summarised(turn: &WorkId) -> WorkId {
    work(format!("{turn}.s"))
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

/// Which question of its job it is, of those that were asked here.
pub(super) fn ask_number(ask: &AskId) -> u32 {
    ask.as_str().strip_prefix('q').and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The deadline of a question.
pub(super) fn ask_timer(ask: &AskId) -> TimerName {
    timer(format!("ask-{ask}"))
}

/// The `n`th wait of a job.
pub(super) fn retry_timer(generation: Generation, n: u32) -> TimerName {
    of_generation(generation, "retry", &format!("-{n}"))
}

/// The job's deadline.
pub(super) fn deadline_timer(generation: Generation) -> TimerName {
    of_generation(generation, "deadline", "")
}

/// A timer of an earlier generation may still fire: it must not be taken for one of this.
fn of_generation(generation: Generation, what: &str, rest: &str) -> TimerName {
    if generation.is_first() {
        timer(format!("{what}{rest}"))
    } else {
        timer(format!("{what}-g{generation}{rest}"))
    }
}

/// A number that is the same for the same job and unit of work: spreads retries without chance.
pub(super) fn seed(job: &str, work: &WorkId) -> u64 {
    job.bytes()
        .chain(work.as_str().bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}
