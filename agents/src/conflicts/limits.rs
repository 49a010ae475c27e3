//! The conflicts of policies about questions and spending.

use proto::{
    agent::StepExec,
    asking::AskKind,
    policy::{AskLimit, AskWhen},
};

use super::rule::{Clash, Text, always, contradict, exec, idle, never_asks, turn_by_turn};

pub(super) const CLASHES: &[Clash] = &[
    // Questions.
    contradict(["ask.rounds", "ask.limit"], Text::RoundsLimit, "ask: {limit: 3, rounds: 3}", |a| {
        match (a.ask.rounds, a.ask.limit) {
            (Some(rounds), AskLimit::AtMost(limit)) => rounds >= limit,
            (Some(_), AskLimit::Unlimited) | (None, _) => false,
        }
    }),
    idle(
        ["ask.repeat_limit", "ask.limit"],
        Text::IdleAsksNot,
        "ask: {limit: 0, repeat_limit: 2}",
        never_asks,
    ),
    idle(
        ["ask.prefix", "ask.limit"],
        Text::IdleAsksNot,
        "ask: {limit: 0, prefix: true}",
        never_asks,
    ),
    idle(
        ["ask.kinds", "ask.limit"],
        Text::IdleAsksNot,
        "ask: {limit: 0, kinds: [query]}",
        never_asks,
    ),
    idle(["ask.when", "ask.limit"], Text::IdleAsksNot, "ask: {limit: 0, when: steps}", never_asks),
    contradict(
        ["ask.when", "plan.when"],
        Text::AsksUnplanned,
        "plan: {when: never}\nask: {when: planning}",
        |a| !a.has_planner() && a.ask.when == AskWhen::Planning && !never_asks(a),
    ),
    contradict(
        ["ask.when", "step.exec"],
        Text::AsksToolSteps,
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
        Text::AsksNoQuery,
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
    idle(["budget.counts", "budget.steps"], Text::IdleNoSteps, "budget: {counts: [tool]}", |a| {
        a.budget.steps.is_none()
    }),
    idle(
        ["budget.price", "budget.money"],
        Text::IdleNoMoney,
        "budget: {price: {input_per_million: 1.0, output_per_million: 2.0}}",
        |a| a.budget.money.is_none(),
    ),
    idle(
        ["budget.prices", "budget.money"],
        Text::IdleNoMoney,
        "budget: {prices: [{model: m, input_per_million: 1.0, output_per_million: 2.0}]}",
        |a| a.budget.money.is_none(),
    ),
    idle(["budget.at_limit", "budget"], Text::IdleNoLimit, "budget: {at_limit: abandon}", |a| {
        a.budget.is_unlimited() && a.agents.is_empty()
    }),
    idle(["budget.depth", "agents"], Text::IdleNoAgents, "budget: {depth: 2}", |a| {
        a.agents.is_empty()
    }),
    idle(["budget.fan_out", "agents"], Text::IdleNoAgents, "budget: {fan_out: {total: 2}}", |a| {
        a.agents.is_empty()
    }),
    idle(["budget.warn_at", "budget"], Text::IdleNoDeadline, "budget: {warn_at: 0.5}", |a| {
        a.budget.is_unlimited() && a.deadline_ms.is_none() && a.agents.is_empty()
    }),
];
