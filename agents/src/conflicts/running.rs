//! The conflicts of policies about running plans: replanning, failed steps and order.

use proto::{
    agent::{OnBlocked, OnFailure, ReplanApply, ReplanWhen},
    policy::PlanProtocol,
};

use super::rule::{
    Clash, ahead, contradict, idle, inline, never, on_failure, replans, turn_by_turn,
};

pub(super) const CLASHES: &[Clash] = &[
    // Replanning.
    contradict(
        ["replan.when", "step.on_failure"],
        "must not be never where step.on_failure is replan",
        "step: {on_failure: replan}\nreplan: {when: never}",
        |a| a.replan.when == Some(ReplanWhen::Never) && on_failure(a, OnFailure::Replan),
    ),
    contradict(
        ["replan.when", "step.on_failure"],
        "on_failure needs step.on_failure: replan",
        "replan: {when: on_failure}",
        |a| a.replan.when == Some(ReplanWhen::OnFailure) && !on_failure(a, OnFailure::Replan),
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        "after_listed needs plan.protocol: task_steps, whose plans list steps",
        "replan: {when: after_listed}",
        |a| {
            a.replan.when == Some(ReplanWhen::AfterListed)
                && ahead(a)
                && a.plan.protocol != PlanProtocol::TaskSteps
        },
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        "after_each_item needs plan.protocol: phased",
        "replan: {when: after_each_item}",
        |a| a.replan.when == Some(ReplanWhen::AfterEachItem) && ahead(a),
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        "every_turn needs plan.protocol: decision",
        "replan: {when: every_turn}",
        |a| a.replan.when == Some(ReplanWhen::EveryTurn) && ahead(a),
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        "must be every_turn with decision, which decides one action at a time",
        "plan: {protocol: decision}\nreplan: {when: after_each_step}",
        |a| {
            a.plan.protocol == PlanProtocol::Decision
                && a.replan.when.is_some_and(|when| when != ReplanWhen::EveryTurn)
        },
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        "must be after_each_item with phased, which plans item by item",
        "plan: {protocol: phased}\nreplan: {when: after_each_step}",
        |a| {
            a.plan.protocol == PlanProtocol::Phased
                && a.replan.when.is_some_and(|when| when != ReplanWhen::AfterEachItem)
        },
    ),
    contradict(
        ["replan.max", "replan.when"],
        "must be above 0 where replan.when asks for replans",
        "replan: {when: after_each_step, max: 0}",
        |a| a.replan.max == 0 && replans(a) && ahead(a),
    ),
    contradict(
        ["replan.max", "step.on_failure"],
        "must be above 0 where step.on_failure is replan",
        "step: {on_failure: replan}\nreplan: {max: 0}",
        |a| a.replan.max == 0 && on_failure(a, OnFailure::Replan) && ahead(a),
    ),
    idle(
        ["replan.listed", "replan.when"],
        "has no effect unless replan.when is after_listed",
        "replan: {listed: all}",
        |a| a.replan.when != Some(ReplanWhen::AfterListed),
    ),
    idle(
        ["replan.max", "replan.when"],
        "has no effect where replan.when is never",
        "replan: {when: never, max: 5}",
        |a| a.replan.when == Some(ReplanWhen::Never),
    ),
    idle(
        ["replan.apply", "replan.when"],
        "has no effect where replan.when is never",
        "replan: {when: never, apply: append}",
        |a| a.replan.when == Some(ReplanWhen::Never),
    ),
    idle(
        ["replan.max", "plan.protocol"],
        "has no effect with this protocol, which decides one action at a time; limit budget.steps",
        "plan: {protocol: decision}\nreplan: {max: 5}",
        turn_by_turn,
    ),
    contradict(
        ["replan.apply", "plan.protocol"],
        "must not be append with this protocol: a plan of one action leaves nothing to add to",
        "plan: {protocol: phased}\nreplan: {apply: append}",
        |a| turn_by_turn(a) && a.replan.apply == ReplanApply::Append,
    ),
    // Consequences of a failed step.
    contradict(
        ["step.on_blocked", "step.on_failure"],
        "skip needs step.on_failure: continue; otherwise the job does not go on",
        "step: {on_blocked: skip}",
        |a| a.step.on_blocked == OnBlocked::Skip && !on_failure(a, OnFailure::Continue),
    ),
    // The order of the steps of a job with a single step.
    idle(
        ["dispatch", "plan.when"],
        "has no effect where plan.when is never: there is one step",
        "plan: {when: never}\ndispatch: sequential",
        never,
    ),
    idle(
        ["dispatch", "plan.protocol"],
        "has no effect with this protocol: there is one step at a time",
        "plan: {protocol: decision}\ndispatch: levels",
        |a| turn_by_turn(a) || inline(a),
    ),
];
