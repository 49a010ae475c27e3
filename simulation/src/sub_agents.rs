//! The sub-agents of a world, and the agents that give them tasks. The script of the model defines
//! the behaviour of each for a goal.

use agents::conflicts;
use proto::agent::Agent;
use serde_json::{Value, json};

use crate::{agents::Agents, chance::Chance, workload::Workload};

/// The tools in tasks of sub-agents.
const TOOLS: &[&str] = &["note", "put", "put", "pay", "wire", "flaky"];

/// Returns the sub-agents beside the presets.
pub(crate) fn helpers() -> Vec<Agent> {
    let all = json!([
        // Plans, and carries its plan out.
        { "name": "porter" },
        // Asks questions, when it may.
        { "name": "clerk", "ask": { "limit": 2 } },
        // Carries out its task in one loop, under a short deadline.
        { "name": "page", "plan": { "when": "never" }, "deadline_ms": 20_000,
          "budget": { "turns": 3 } },
        // Gives every task to a sub-agent, also to itself. Only the depth limit ends it.
        { "name": "chief", "agents": ["porter", "chief"], "budget": { "depth": 2 } },
    ]);
    serde_json::from_value(all).expect("the helpers are agents, as every test with kin shows")
}

/// Gives a workload an agent with sub-agents, and a goal that uses them.
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
        // The drawn agent does not allow sub-agents.
        agent = json!({ "name": "errands", "agents": ["porter", "clerk", "page", "chief"] });
    }
    workload.body["goal"] = json!(format!("errand: {how} {who} {shape} {tool}"));
    workload.body["agent"] = agent;
}

/// Draws limits for the family.
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
