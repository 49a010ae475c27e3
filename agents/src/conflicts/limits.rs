//! The conflicts of policies about questions and spending.

use proto::{
    agent::StepExec,
    asking::AskKind,
    policy::{AskLimit, AskWhen},
};

use super::rule::{Clash, always, contradict, exec, idle, never_asks, turn_by_turn};

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
        "has no effect where agents may not ask",
        "ask: {limit: 0, repeat_limit: 2}",
        never_asks,
    ),
    idle(
        ["ask.prefix", "ask.limit"],
        "has no effect where agents may not ask",
        "ask: {limit: 0, prefix: true}",
        never_asks,
    ),
    idle(
        ["ask.kinds", "ask.limit"],
        "has no effect where agents may not ask",
        "ask: {limit: 0, kinds: [query]}",
        never_asks,
    ),
    idle(
        ["ask.when", "ask.limit"],
        "has no effect where agents may not ask",
        "ask: {limit: 0, when: steps}",
        never_asks,
    ),
    contradict(
        ["ask.when", "plan.when"],
        "lets no agent ask, because nothing plans; write ask.limit: 0",
        "plan: {when: never}\nask: {when: planning}",
        |a| !a.has_planner() && a.ask.when == AskWhen::Planning && !never_asks(a),
    ),
    contradict(
        ["ask.when", "step.exec"],
        "lets no agent ask, because every step is one tool call; write ask.limit: 0",
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
        "lets a planner ask nothing: one that plans action by action asks in words alone (query)",
        "plan: {protocol: decision}\nask: {kinds: [select]}",
        |a| {
            turn_by_turn(a)
                && a.has_planner()
                && a.ask.when.in_planning()
                && !a.ask.kinds.has(AskKind::Query)
                && !never_asks(a)
        },
    ),
    // Spending.
    idle(
        ["budget.counts", "budget.steps"],
        "has no effect without budget.steps",
        "budget: {counts: [tool]}",
        |a| a.budget.steps.is_none(),
    ),
    idle(
        ["budget.price", "budget.money"],
        "has no effect without budget.money",
        "budget: {price: {input_per_million: 1.0, output_per_million: 2.0}}",
        |a| a.budget.money.is_none(),
    ),
    idle(
        ["budget.prices", "budget.money"],
        "has no effect without budget.money",
        "budget: {prices: [{model: m, input_per_million: 1.0, output_per_million: 2.0}]}",
        |a| a.budget.money.is_none(),
    ),
    idle(
        ["budget.at_limit", "budget"],
        "has no effect without a limit",
        "budget: {at_limit: abandon}",
        |a| a.budget.is_unlimited() && a.agents.is_empty(),
    ),
    idle(
        ["budget.depth", "agents"],
        "has no effect without agents to hand tasks to",
        "budget: {depth: 2}",
        |a| a.agents.is_empty(),
    ),
    idle(
        ["budget.fan_out", "agents"],
        "has no effect without agents to hand tasks to",
        "budget: {fan_out: {total: 2}}",
        |a| a.agents.is_empty(),
    ),
    idle(
        ["budget.warn_at", "budget"],
        "has no effect without a limit or a deadline_ms",
        "budget: {warn_at: 0.5}",
        |a| a.budget.is_unlimited() && a.deadline_ms.is_none() && a.agents.is_empty(),
    ),
];
