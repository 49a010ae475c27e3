//! The conflicts of policies about running plans, replanning, failed steps and order, and of
//! policies about running workflows.

use proto::{
    agent::{OnBlocked, OnFailure, ReplanApply, ReplanWhen},
    policy::PlanProtocol,
};

use super::rule::{
    Clash, Text, ahead, contradict, idle, inline, never, on_failure, replans, turn_by_turn,
};

pub(super) const CLASHES: &[Clash] = &[
    // Replanning.
    contradict(
        ["replan.when", "step.on_failure"],
        Text::NeverReplan,
        "step: {on_failure: replan}\nreplan: {when: never}",
        |a| a.replan.when == Some(ReplanWhen::Never) && on_failure(a, OnFailure::Replan),
    ),
    contradict(
        ["replan.when", "step.on_failure"],
        Text::OnFailure,
        "replan: {when: on_failure}",
        |a| a.replan.when == Some(ReplanWhen::OnFailure) && !on_failure(a, OnFailure::Replan),
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        Text::AfterListed,
        "replan: {when: after_listed}",
        |a| {
            a.replan.when == Some(ReplanWhen::AfterListed)
                && ahead(a)
                && a.plan.protocol != PlanProtocol::TaskSteps
        },
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        Text::AfterEachItem,
        "replan: {when: after_each_item}",
        |a| a.replan.when == Some(ReplanWhen::AfterEachItem) && ahead(a),
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        Text::EveryTurn,
        "replan: {when: every_turn}",
        |a| a.replan.when == Some(ReplanWhen::EveryTurn) && ahead(a),
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        Text::DecisionTurns,
        "plan: {protocol: decision}\nreplan: {when: after_each_step}",
        |a| {
            a.plan.protocol == PlanProtocol::Decision
                && a.replan.when.is_some_and(|when| when != ReplanWhen::EveryTurn)
        },
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        Text::PhasedItems,
        "plan: {protocol: phased}\nreplan: {when: after_each_step}",
        |a| {
            a.plan.protocol == PlanProtocol::Phased
                && a.replan.when.is_some_and(|when| when != ReplanWhen::AfterEachItem)
        },
    ),
    contradict(
        ["replan.max", "replan.when"],
        Text::ReplansNone,
        "replan: {when: after_each_step, max: 0}",
        |a| a.replan.max == 0 && replans(a) && ahead(a),
    ),
    contradict(
        ["replan.max", "step.on_failure"],
        Text::ReplansNoFailure,
        "step: {on_failure: replan}\nreplan: {max: 0}",
        |a| a.replan.max == 0 && on_failure(a, OnFailure::Replan) && ahead(a),
    ),
    idle(["replan.listed", "replan.when"], Text::IdleListed, "replan: {listed: all}", |a| {
        a.replan.when != Some(ReplanWhen::AfterListed)
    }),
    idle(["replan.max", "replan.when"], Text::IdleReplan, "replan: {when: never, max: 5}", |a| {
        a.replan.when == Some(ReplanWhen::Never)
    }),
    idle(
        ["replan.apply", "replan.when"],
        Text::IdleReplan,
        "replan: {when: never, apply: append}",
        |a| a.replan.when == Some(ReplanWhen::Never),
    ),
    idle(
        ["replan.max", "plan.protocol"],
        Text::IdleReplanMax,
        "plan: {protocol: decision}\nreplan: {max: 5}",
        turn_by_turn,
    ),
    contradict(
        ["replan.apply", "plan.protocol"],
        Text::AppendOne,
        "plan: {protocol: phased}\nreplan: {apply: append}",
        |a| turn_by_turn(a) && a.replan.apply == ReplanApply::Append,
    ),
    // Consequences of a failed step.
    contradict(
        ["step.on_blocked", "step.on_failure"],
        Text::SkipNeeds,
        "step: {on_blocked: skip}",
        |a| a.step.on_blocked == OnBlocked::Skip && !on_failure(a, OnFailure::Continue),
    ),
    // The order of the steps of a job with a single step.
    idle(
        ["dispatch", "plan.when"],
        Text::IdleOneStep,
        "plan: {when: never}\ndispatch: sequential",
        never,
    ),
    idle(
        ["dispatch", "plan.protocol"],
        Text::IdleStepByStep,
        "plan: {protocol: decision}\ndispatch: levels",
        |a| turn_by_turn(a) || inline(a),
    ),
    // Workflows.
    idle(
        ["output", "workflow"],
        Text::IdleOutput,
        "workflow: ticket\noutput: {type: object}",
        |a| a.workflow.is_some() && a.output.is_some(),
    ),
];
