//! The names of units of work and timers. They are derived from the state alone, so every process
//! and every replay computes the same name.

use proto::id::{AskId, Generation, StepId, TimerName, WorkId};

fn work(text: String) -> WorkId {
    WorkId::new(text).expect("a step id and four numbers fit a work id")
}

fn timer(text: String) -> TimerName {
    TimerName::new(text).expect("a word and a number fit a timer name")
}

/// Returns the unit of work of a planning round.
pub(super) fn plan(generation: Generation, round: u32) -> WorkId {
    work(format!("g{generation}.p{round}"))
}

/// Returns the unit of work of the question that a planning round raised.
pub(super) fn plan_question(generation: Generation, round: u32) -> WorkId {
    work(format!("g{generation}.p{round}.ask"))
}

/// Returns the unit of work of a step, which is also the unit of the tool call of a one-call step.
pub(super) fn step(generation: Generation, revision: u32, id: &StepId) -> WorkId {
    work(format!("g{generation}.r{revision}.{id}"))
}

/// Returns the unit of work of a model turn in a run of a step.
pub(super) fn turn(
    generation: Generation,
    revision: u32,
    id: &StepId,
    run: u32,
    turn: u32,
) -> WorkId {
    work(format!("g{generation}.r{revision}.{id}.n{run}.t{turn}"))
}

/// Returns the unit of work under which a turn is sent again after older turns were summarised.
pub(super) fn summarised(turn: &WorkId) -> WorkId {
    work(format!("{turn}.s"))
}

/// Returns the unit of work of a call, by its index among the calls of the turn.
pub(super) fn call(turn: &WorkId, index: usize) -> WorkId {
    work(format!("{turn}.c{index}"))
}

/// Returns the unit of work of the approval question of a call.
pub(super) fn approval(call: &WorkId) -> WorkId {
    work(format!("{call}.approve"))
}

/// Returns the id of the job's `n`th question.
pub(super) fn ask(n: u32) -> AskId {
    AskId::new(format!("q{n}")).expect("a letter and a number are an id")
}

/// Returns the number in a question's id, or 0 if the id was not derived by [`ask`].
pub(super) fn ask_number(ask: &AskId) -> u32 {
    ask.as_str().strip_prefix('q').and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Returns the timer of a question's deadline.
pub(super) fn ask_timer(ask: &AskId) -> TimerName {
    timer(format!("ask-{ask}"))
}

/// Returns the timer of the `n`th wait of a job.
pub(super) fn retry_timer(generation: Generation, n: u32) -> TimerName {
    of_generation(generation, "retry", &format!("-{n}"))
}

/// Returns the timer of the job's deadline.
pub(super) fn deadline_timer(generation: Generation) -> TimerName {
    of_generation(generation, "deadline", "")
}

/// Derives a timer's name. The generation is part of it because a timer of an earlier generation
/// may still fire.
fn of_generation(generation: Generation, what: &str, rest: &str) -> TimerName {
    if generation.is_first() {
        timer(format!("{what}{rest}"))
    } else {
        timer(format!("{what}-g{generation}{rest}"))
    }
}

/// Returns a seed that depends on the job and the unit of work alone (FNV-1a). It gives retries a
/// deterministic jitter.
pub(super) fn seed(job: &str, work: &WorkId) -> u64 {
    job.bytes()
        .chain(work.as_str().bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}
