//! The jobs of a world, drawn from its seed: their goals, agents and signals.

use std::time::Duration;

use proto::{fact::Signal, id::JobId};
use serde_json::{Value, json};

use crate::{agents::Agents, chance::Chance, operator_actions::Deed};

/// The shapes of plans in the model's script.
const SHAPES: &[&str] = &[
    "chain", "diamond", "wide", "loops", "mixed", "failing", "doomed", "query", "select", "form",
    "empty", "one", "again",
];

/// The tools in those plans. Repeated names are drawn more often.
const TOOLS: &[&str] = &["note", "put", "put", "pay", "pay", "wire", "flaky"];

#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) job: JobId,
    /// The time of the submission, since the world began.
    pub(crate) at: Duration,
    pub(crate) body: Value,
    /// `true` if two people submit the job at the same time.
    pub(crate) twice: bool,
    /// The signals to the job, each with the wait before it.
    pub(crate) signals: Vec<(Duration, Signal)>,
    /// Further operations on the job, in order.
    pub(crate) deeds: Vec<Deed>,
}

impl Workload {
    /// Draws all jobs of a world whose faults end after `rough`.
    pub(crate) fn draw(chance: &Chance, rough: Duration) -> Vec<Self> {
        let agents = Agents::new();
        let most = chance.number(1..=5);
        (0..most).map(|n| Self::one(chance, &agents, n, rough)).collect()
    }

    fn one(chance: &Chance, agents: &Agents, n: u64, rough: Duration) -> Self {
        let job = JobId::new(format!("job-{n}")).expect("letters, digits and dashes are an id");
        let within = u64::try_from(rough.as_millis()).unwrap_or(u64::MAX) / 2;
        let (shape, tool) = (chance.pick(SHAPES), chance.pick(TOOLS));
        // An agent with `plan.when: auto` plans a goal that names several tasks.
        let more = if chance.percent(50) { "; first this, then that" } else { "" };
        let goal = format!("errand: {shape} {tool}{more}");
        let agent = agents.draw(chance);
        let mut body = json!({ "id": job, "goal": goal, "language": "en", "agent": agent });
        if chance.percent(30) {
            body["conversation"] = json!("talk");
        }
        Self {
            job,
            at: chance.millis(0..=within),
            body,
            twice: chance.percent(15),
            signals: signals(chance),
            deeds: Vec::new(),
        }
    }
}

fn signals(chance: &Chance) -> Vec<(Duration, Signal)> {
    let mut signals = Vec::new();
    for _ in 0..chance.number(0..=2) {
        if chance.percent(25) {
            let text = format!("mind the gap {}", chance.number(0..=9));
            signals.push((chance.millis(0..=20_000), Signal::Steer { text }));
        }
    }
    if chance.percent(10) {
        signals.push((chance.millis(0..=20_000), Signal::Pause));
        // One pause in five has no resume.
        if !chance.percent(20) {
            signals.push((chance.millis(1_000..=40_000), Signal::Resume));
        }
    }
    if chance.percent(20) {
        signals.push((chance.millis(0..=40_000), Signal::Retry));
    }
    if chance.percent(20) {
        signals.push((chance.millis(0..=40_000), Signal::Cancel));
    }
    signals
}
