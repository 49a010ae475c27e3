//! The jobs of a world, as a seed draws them: what is wanted, under which policies, and what is said
//! to them while they run.

use std::time::Duration;

use proto::{fact::Signal, id::JobId};
use serde_json::{Value, json};

use crate::chance::Chance;

/// Shapes of plans that the model's script knows.
const SHAPES: &[&str] = &[
    "chain", "diamond", "wide", "loops", "mixed", "failing", "doomed", "query", "select", "form",
    "empty", "one",
];

/// Tools that stand in those plans; some more often.
const TOOLS: &[&str] = &["note", "put", "put", "pay", "pay", "wire", "flaky"];

/// A job of a world.
#[derive(Debug, Clone)]
pub(crate) struct Errand {
    /// Its id.
    pub(crate) job: JobId,
    /// When it is submitted, since the world began.
    pub(crate) at: Duration,
    /// The submission.
    pub(crate) body: Value,
    /// Whether two submit it at the same time.
    pub(crate) twice: bool,
    /// What is said to it, and how long after it was accepted.
    pub(crate) signals: Vec<(Duration, Signal)>,
}

impl Errand {
    /// Draws all jobs of a world that is rough for `rough`.
    pub(crate) fn draw(chance: &Chance, rough: Duration) -> Vec<Self> {
        let most = chance.number(1..=6);
        (0..most).map(|n| Self::one(chance, n, rough)).collect()
    }

    fn one(chance: &Chance, n: u64, rough: Duration) -> Self {
        let job = JobId::new(format!("job-{n}")).expect("letters, digits and dashes are an id");
        let within = u64::try_from(rough.as_millis()).unwrap_or(u64::MAX) / 2;
        let (shape, tool) = (chance.pick(SHAPES), chance.pick(TOOLS));
        let goal = format!("errand: {shape} {tool}");
        let body = json!({ "id": job, "goal": goal, "language": "en", "agent": agent(chance) });
        Self {
            job,
            at: chance.millis(0..=within),
            body,
            twice: chance.percent(15),
            signals: signals(chance),
        }
    }
}

fn signals(chance: &Chance) -> Vec<(Duration, Signal)> {
    let mut signals = Vec::new();
    if chance.percent(10) {
        signals.push((chance.millis(0..=20_000), Signal::Pause));
        // One in five is forgotten.
        if !chance.percent(20) {
            signals.push((chance.millis(1_000..=40_000), Signal::Resume));
        }
    }
    if chance.percent(20) {
        signals.push((chance.millis(0..=40_000), Signal::Cancel));
    }
    signals
}

/// The policies of one job.
fn agent(chance: &Chance) -> Value {
    let yes = |percent| chance.percent(percent);
    let planned = !yes(15);
    // Nobody could make a plan anew where nobody plans.
    let failing = if planned { &["stop", "continue", "replan"][..] } else { &["stop", "continue"] };
    let mut agent = json!({
        "name": "errands",
        "confirm": yes(30),
        "plan": {
            "when": if planned { "always" } else { "never" },
            "attempts": chance.number(1..=3),
            "on_unparseable": if yes(30) { "ask" } else { "fail" },
            "allow_empty": yes(70),
        },
        "ask": { "limit": chance.number(0..=3) },
        "dispatch": if yes(30) { "sequential" } else { "parallel" },
        "step": {
            "retry": retry(chance),
            "on_failure": *chance.pick(failing),
            "max_turns": chance.number(2..=6),
        },
        "tool": { "retry": retry(chance) },
        "replan": { "max": chance.number(0..=2) },
    });
    if yes(30) {
        agent["ask"]["deadline_ms"] = json!(chance.number(2_000..=60_000));
    }
    if yes(20) {
        agent["deadline_ms"] = json!(chance.number(5_000..=120_000));
    }
    agent
}

fn retry(chance: &Chance) -> Value {
    json!({
        "initial_interval_ms": chance.number(50..=2_000),
        "max_interval_ms": chance.number(2_000..=10_000),
        "max_attempts": chance.number(1..=5),
    })
}
