//! The jobs of the presets, unchanged, and of single policies.

use agents::catalogue::Catalogue;
use proto::{
    agent::{Agent, Dispatch, OnBlocked, OnFailure, PlanWhen},
    budget::AtLimit,
    id::AgentName,
    job::SubStatus,
    observe::Summarise,
    point::Order,
};

use super::{Act, NOTHING, Scenario};

fn preset(agent: &mut Agent, name: &str) {
    let name = AgentName::new(name).unwrap();
    *agent = Agent::clone(Catalogue::presets().get(&name).unwrap().as_ref().unwrap());
}

const fn of(name: &'static str, goal: &'static str, agent: fn(&mut Agent)) -> Scenario {
    Scenario { name, goal, agent, acts: &[], conversation: None }
}

fn alone(agent: &mut Agent) {
    preset(agent, "direct");
}

pub(super) const PRESETS: &[Scenario] = &[
    Scenario {
        acts: &[Act::Approve],
        ..of("preset-default", "tour of default", |agent| preset(agent, "default"))
    },
    of("preset-direct", "tour of direct", alone),
    Scenario {
        acts: &[Act::Answer("north"), Act::Approve, Act::Approve],
        ..of("preset-fastgpt", "tour of fastgpt", |agent| preset(agent, "fastgpt"))
    },
    of("preset-inline-tools", "tour inline", |agent| preset(agent, "inline-tools")),
    Scenario {
        acts: &[Act::Answer("north")],
        ..of("preset-loop", "tour of the loop", |agent| {
            preset(agent, "loop");
            agent.tool.retry.max_attempts = 1;
        })
    },
    of("preset-loop-phased", "tour in phases", |agent| preset(agent, "loop-phased")),
    of("preset-manus", "tour of manus", |agent| preset(agent, "manus")),
    of("no-progress", "tour of nothing", |agent| {
        preset(agent, "manus");
        agent.guard.no_progress_stop = 3;
    }),
    Scenario {
        acts: &[Act::Approve],
        ..of("preset-plan-then-execute", "first make a task, then finish it", |agent| {
            preset(agent, "plan-then-execute");
        })
    },
    of("preset-react", "tour of react", |agent| preset(agent, "react")),
    of("preset-unattended", "tour of unattended", |agent| preset(agent, "unattended")),
    of("levels", "diamond", |agent| {
        agent.confirm = false;
        agent.dispatch = Dispatch::Levels;
    }),
    Scenario {
        acts: &[Act::Steer("say it in metres"), Act::Answer("this one")],
        ..of("steered", "how high is it", alone)
    },
    Scenario {
        acts: &[
            Act::Edit(
                r#"{"title": "mine", "steps": [
                    {"id": "b", "description": "b", "tool": "echo", "args": {"value": 2}},
                    {"id": "a", "description": "a", "tool": "echo", "args": {"value": "{{b}}"}, "depends_on": ["b"]}
                ]}"#,
            ),
            Act::Approve,
        ],
        ..of("edited", "confirm", |_| {})
    },
    Scenario { acts: &[Act::Reject], ..of("rejected", "confirm", |_| {}) },
    of("answer-alone", "tour of direct", alone),
    Scenario {
        acts: &[Act::Answer("north"), Act::Approve, Act::Approve],
        ..of("finished-in-sight", "tour of fastgpt", |agent| preset(agent, "fastgpt"))
    },
    of("numbers-kept", "tour of manus", |agent| preset(agent, "manus")),
    of("budget-stop", "again and again", |agent| {
        alone(agent);
        agent.budget.turns = Some(2);
    }),
    of("budget-abandon", "two naps", |agent| {
        agent.confirm = false;
        agent.budget.steps = Some(2);
        agent.budget.at_limit = AtLimit::Abandon;
    }),
    of("guarded", "again and again", alone),
    of("window", "much to read", |agent| {
        alone(agent);
        agent.observe.keep = 1;
        agent.observe.head = 10;
        agent.observe.tail = 10;
        agent.observe.context_tokens = Some(4000);
    }),
    of("summarised", "much to read in short", |agent| {
        alone(agent);
        agent.observe.keep = 2;
        agent.observe.summarise = Summarise::Exchanges;
    }),
    of("skipped", "tour of the blocked", |agent| {
        agent.confirm = false;
        agent.step.on_failure = OnFailure::Continue;
        agent.step.on_blocked = OnBlocked::Skip;
    }),
    Scenario { conversation: Some("trip"), ..of("talk-first", "where shall we go", alone) },
    Scenario { conversation: Some("trip"), ..of("talk-second", "and then", alone) },
    Scenario {
        acts: &[Act::Signal(Order::Cancel, Some(SubStatus::Executing))],
        ..of("cancel-running", "nap", NOTHING)
    },
    of("auto-simple", "echo", |agent| agent.plan.when = PlanWhen::Auto),
];
