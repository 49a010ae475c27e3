//! The agents of a world's jobs: the presets, unchanged or with some policies changed to other
//! valid values.

use agents::{catalogue::Catalogue, conflicts};
use proto::{agent::Agent, id::AgentName};
use serde_json::{Value, json};

use crate::chance::Chance;

/// The maximum number of changes to an agent.
const CHANGES_MAX: u64 = 8;

/// The agents from which those of jobs are drawn.
#[derive(Debug)]
pub(crate) struct Agents {
    presets: Vec<(AgentName, Agent)>,
}

/// Returns the presets that may use the tools of a world. The others list their tools.
pub(crate) fn presets() -> Vec<(AgentName, Agent)> {
    let catalogue = Catalogue::presets();
    let presets = catalogue.names().map(|name| {
        let agent = catalogue.get(name).and_then(|resolved| resolved.as_ref().ok());
        (name.clone(), Agent::clone(agent.expect("presets can be used, as a test shows")))
    });
    presets.filter(|(_, agent)| agent.tools.is_none()).collect()
}

impl Agents {
    pub(crate) fn new() -> Self {
        Self { presets: presets() }
    }

    /// Draws the agent of one job: the name of a preset, or all policies in full.
    pub(crate) fn draw(&self, chance: &Chance) -> Value {
        let (name, preset) = chance.pick(&self.presets);
        if chance.percent(25) {
            return json!(name);
        }
        changed(chance, preset)
    }

    /// Draws an agent with all policies in full.
    pub(crate) fn draw_in_full(&self, chance: &Chance) -> Value {
        changed(chance, &chance.pick(&self.presets).1)
    }
}

/// Returns an agent with some policies changed.
fn changed(chance: &Chance, preset: &Agent) -> Value {
    let mut agent = serde_json::to_value(preset).expect("an agent is JSON");
    for _ in 0..chance.number(1..=CHANGES_MAX) {
        let (path, value) = change(chance);
        let mut changed = agent.clone();
        set(&mut changed, path, value);
        // A value that contradicts the rest of the agent is dropped.
        let read = serde_json::from_value::<Agent>(changed.clone());
        if read.is_ok_and(|read| conflicts::check(&read).is_ok()) {
            agent = changed;
        }
    }
    agent["name"] = json!("errands");
    agent
}

/// Sets a field, given by its dotted path.
fn set(agent: &mut Value, path: &str, value: Value) {
    let place = path.split('.').fold(agent, |at, name| &mut at[name]);
    *place = value;
}

/// Draws one policy and its new value.
fn change(chance: &Chance) -> (&'static str, Value) {
    match chance.number(0..=8) {
        0 | 1 => planning(chance),
        2 | 3 => stepping(chance),
        4 | 5 => replanning(chance),
        6 => asking(chance),
        7 => spending(chance),
        _ => looking(chance),
    }
}

fn word(chance: &Chance, words: &[&str]) -> Value {
    json!(chance.pick(words))
}

fn planning(chance: &Chance) -> (&'static str, Value) {
    match chance.number(0..=6) {
        0 => ("plan.when", word(chance, &["always", "always", "never", "auto"])),
        1 => {
            let words =
                ["steps", "task_steps", "title_steps", "action_steps", "decision", "phased"];
            ("plan.protocol", word(chance, &words))
        }
        2 => ("plan.output", word(chance, &["text", "tool"])),
        3 => ("plan.attempts", json!(chance.number(1..=3))),
        4 => ("plan.on_unparseable", word(chance, &["ask", "fail"])),
        5 => ("plan.allow_empty", json!(chance.percent(50))),
        _ => ("confirm", json!(chance.percent(60))),
    }
}

fn stepping(chance: &Chance) -> (&'static str, Value) {
    match chance.number(0..=8) {
        0 => ("dispatch", word(chance, &["parallel", "sequential", "levels"])),
        1 => ("step.on_failure", word(chance, &["stop", "continue", "replan", "fail_run"])),
        2 => ("step.on_blocked", word(chance, &["error", "skip"])),
        3 => {
            let words = ["as_planned", "direct_tool", "master_loop", "single_action"];
            ("step.exec", word(chance, &words))
        }
        4 => ("step.max_turns", json!(chance.number(2..=6))),
        5 => ("step.max_calls", json!(chance.number(1..=3))),
        6 => ("step.retry", retry(chance)),
        7 => ("tool.retry", retry(chance)),
        _ => ("tool.on_given_up", word(chance, &["fail", "park"])),
    }
}

fn replanning(chance: &Chance) -> (&'static str, Value) {
    match chance.number(0..=4) {
        0..=1 => {
            let words = ["never", "on_failure", "after_listed", "after_each_step"];
            ("replan.when", word(chance, &words))
        }
        2 => ("replan.listed", word(chance, &["each", "all"])),
        3 => ("replan.apply", word(chance, &["replace_all", "replace_pending", "append"])),
        _ => ("replan.max", json!(chance.number(0..=3))),
    }
}

fn asking(chance: &Chance) -> (&'static str, Value) {
    match chance.number(0..=4) {
        0 => ("ask.limit", json!(chance.number(0..=3))),
        1 => ("ask.limit", json!("unlimited")),
        2 => ("ask.rounds", json!(chance.number(1..=2))),
        3 => ("ask.repeat_limit", json!(chance.number(1..=2))),
        _ => ("ask.deadline_ms", json!(chance.number(2_000..=60_000))),
    }
}

fn spending(chance: &Chance) -> (&'static str, Value) {
    match chance.number(0..=6) {
        0 => ("budget.steps", json!(chance.number(1..=6))),
        1 => ("budget.turns", json!(chance.number(1..=6))),
        2 => ("budget.tokens", json!(chance.number(500..=20_000))),
        3 => {
            let price = json!({ "input_per_million": 3.0, "output_per_million": 15.0 });
            ("budget", json!({ "money": 0.01, "price": price }))
        }
        4 => {
            let all = ["plan", "replan", "thought", "turn", "tool", "ask", "step"];
            let some: Vec<_> = all.into_iter().filter(|_| chance.percent(50)).collect();
            ("budget.counts", json!(some))
        }
        5 => ("budget.at_limit", word(chance, &["let_end", "abandon"])),
        _ => ("deadline_ms", json!(chance.number(5_000..=120_000))),
    }
}

fn looking(chance: &Chance) -> (&'static str, Value) {
    match chance.number(0..=5) {
        0 => ("guard", json!({ "repeat_warn": 2, "repeat_stop": 3, "no_progress_stop": 4 })),
        1 => ("guard.failing_warn", json!(chance.number(0..=2))),
        2 => {
            let summarise = word(chance, &["nothing", "exchanges", "all"]);
            let keep = chance.number(1..=3);
            let observe = json!({ "head": 40, "tail": 40, "keep": keep, "summarise": summarise });
            ("observe", observe)
        }
        3 => ("observe.context_tokens", json!(chance.number(2_000..=8_000))),
        4 => ("memory.exchanges", json!(chance.number(0..=2))),
        _ => ("memory.results", json!(chance.percent(50))),
    }
}

fn retry(chance: &Chance) -> Value {
    json!({
        "initial_interval_ms": chance.number(50..=2_000),
        "max_interval_ms": chance.number(2_000..=10_000),
        "max_attempts": chance.number(1..=5),
    })
}
