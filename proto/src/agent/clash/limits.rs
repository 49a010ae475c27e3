//! Policies that do not go together about what people are asked, and what may be spent.

use super::{Clash, always, contradict, exec, idle, never_asks, turn_by_turn};
use crate::{
    agent::StepExec,
    asking::AskKind,
    policy::{AskLimit, AskWhen},
};

pub(super) const CLASHES: &[Clash] = &[
    // Questions.
    contradict(
        ["ask.rounds", "ask.limit"],
        "must be below ask.limit, at which agents cannot ask any more",
        "ask: {limit: 3, rounds: 3}",
        |a| match (a.ask.rounds, a.ask.limit) {
            (Some(rounds), AskLimit::AtMost(limit)) => rounds >= limit,
            (Some(_), AskLimit::Unlimited) | (None, _) => false,
        },
    ),
    idle(
        ["ask.repeat_limit", "ask.limit"],
        "says nothing where agents may not ask",
        "ask: {limit: 0, repeat_limit: 2}",
        never_asks,
    ),
    idle(
        ["ask.prefix", "ask.limit"],
        "says nothing where agents may not ask",
        "ask: {limit: 0, prefix: true}",
        never_asks,
    ),
    idle(
        ["ask.kinds", "ask.limit"],
        "says nothing where agents may not ask",
        "ask: {limit: 0, kinds: [query]}",
        never_asks,
    ),
    idle(
        ["ask.when", "ask.limit"],
        "says nothing where agents may not ask",
        "ask: {limit: 0, when: steps}",
        never_asks,
    ),
    contradict(
        ["ask.when", "plan.when"],
        "leaves nobody who may ask: nothing plans; ask.limit: 0 says so",
        "plan: {when: never}\nask: {when: planning}",
        |a| !a.has_planner() && a.ask.when == AskWhen::Planning && !never_asks(a),
    ),
    contradict(
        ["ask.when", "step.exec"],
        "leaves nobody who may ask: every step is one tool call; ask.limit: 0 says so",
        "step: {exec: direct_tool}\nask: {when: steps}",
        |a| {
            always(a)
                && exec(a, StepExec::DirectTool)
                && a.ask.when == AskWhen::Steps
                && !never_asks(a)
        },
    ),
    contradict(
        ["ask.kinds", "plan.protocol"],
        "leaves a planner nothing to ask with: one that plans action by action asks in words alone (query)",
        "plan: {protocol: decision}\nask: {kinds: [select]}",
        |a| {
            turn_by_turn(a)
                && a.has_planner()
                && a.ask.when.in_planning()
                && !a.ask.kinds.has(AskKind::Query)
                && !never_asks(a)
        },
    ),
    // What may be spent.
    idle(
        ["budget.counts", "budget.steps"],
        "says nothing without budget.steps",
        "budget: {counts: [tool]}",
        |a| a.budget.steps.is_none(),
    ),
    idle(
        ["budget.price", "budget.money"],
        "says nothing without budget.money",
        "budget: {price: {input_per_million: 1.0, output_per_million: 2.0}}",
        |a| a.budget.money.is_none(),
    ),
    idle(
        ["budget.prices", "budget.money"],
        "says nothing without budget.money",
        "budget: {prices: [{model: m, input_per_million: 1.0, output_per_million: 2.0}]}",
        |a| a.budget.money.is_none(),
    ),
    idle(
        ["budget.at_limit", "budget"],
        "says nothing without a limit",
        "budget: {at_limit: abandon}",
        |a| a.budget.is_unlimited() && a.agents.is_empty(),
    ),
    idle(
        ["budget.depth", "agents"],
        "says nothing without agents to hand tasks to",
        "budget: {depth: 2}",
        |a| a.agents.is_empty(),
    ),
    idle(
        ["budget.fan_out", "agents"],
        "says nothing without agents to hand tasks to",
        "budget: {fan_out: {total: 2}}",
        |a| a.agents.is_empty(),
    ),
    idle(
        ["budget.warn_at", "budget"],
        "says nothing without a limit or a deadline_ms",
        "budget: {warn_at: 0.5}",
        |a| a.budget.is_unlimited() && a.deadline_ms.is_none() && a.agents.is_empty(),
    ),
];
