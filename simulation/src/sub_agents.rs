//! Agents that hand tasks to other agents, and those others. The script of the model says what each
//! of them does with a goal.

use agents::conflicts;
use proto::agent::Agent;
use serde_json::{Value, json};

use crate::{agents::Agents, chance::Chance, workload::Workload};

/// Tools that stand in tasks that are handed on.
const TOOLS: &[&str] = &["note", "put", "put", "pay", "wire", "flaky"];

/// The agents that tasks are handed to, beside those that come with the program.
pub(crate) fn helpers() -> Vec<Agent> {
    let all = json!([
        // Plans and does what it is told.
        { "name": "porter" },
        // Asks, when it may.
        { "name": "clerk", "ask": { "limit": 2 } },
        // Carries its task out in one loop, and has little time for it.
        { "name": "page", "plan": { "when": "never" }, "deadline_ms": 20_000,
          "budget": { "turns": 3 } },
        // Hands everything on, also to itself: only its depth ends it.
        { "name": "chief", "agents": ["porter", "chief"], "budget": { "depth": 2 } },
    ]);
    serde_json::from_value(all).expect("the helpers are agents, as every test with kin shows")
}

/// Makes a workload one that is handed on, at least in part.
pub(crate) fn hand_on(chance: &Chance, agents: &Agents, workload: &mut Workload) {
    let who = *chance.pick(&["porter", "porter", "clerk", "page", "chief"]);
    let shape = *chance.pick(match who {
        "clerk" => &["query", "form", "mixed", "chain"],
        "page" => &["loops", "again", "failing", "one"],
        "chief" => &["deep"],
        _ => &["chain", "loops", "failing", "doomed", "one", "wide"],
    });
    let (how, tool) = (*chance.pick(&["hands", "hands", "gives"]), chance.pick(TOOLS));
    let mut agent = agents.draw_in_full(chance);
    agent["agents"] =
        json!(["porter", { "name": "clerk", "interactive": chance.percent(70) }, "page", "chief"]);
    bound(chance, &mut agent);
    let read = serde_json::from_value::<Agent>(agent.clone());
    if !read.is_ok_and(|read| conflicts::check(&read).is_ok()) {
        // What was drawn does not go with others to hand tasks to.
        agent = json!({ "name": "errands", "agents": ["porter", "clerk", "page", "chief"] });
    }
    workload.body["goal"] = json!(format!("errand: {how} {who} {shape} {tool}"));
    workload.body["agent"] = agent;
}

/// What the family may come to.
fn bound(chance: &Chance, agent: &mut Value) {
    if chance.percent(20) {
        agent["budget"]["depth"] = json!(chance.number(0..=3));
    }
    if chance.percent(30) {
        agent["budget"]["fan_out"] =
            json!({ "total": chance.number(1..=6), "alive": chance.number(1..=2) });
    }
    if chance.percent(20) {
        agent["budget"]["tokens"] = json!(chance.number(1_000..=20_000));
    }
    if chance.percent(20) {
        agent["budget"]["turns"] = json!(chance.number(1..=10));
    }
    if chance.percent(15) {
        agent["deadline_ms"] = json!(chance.number(3_000..=60_000));
    }
    if chance.percent(30) {
        agent["step"]["retry"] = json!({ "initial_interval_ms": 500, "max_attempts": 2 });
    }
}
