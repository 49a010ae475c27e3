//! The conflicts of policies about planners and the forms of plans.

use proto::{
    agent::{OnFailure, PlanWhen, StepExec},
    policy::{Detector, PlanProtocol},
};

use super::rule::{
    Clash, Text, always, calls_alone, contradict, exec, idle, inline, never, on_failure, replans,
    turn_by_turn,
};

pub(super) const CLASHES: &[Clash] = &[
    // The presence of a planner.
    contradict(
        ["plan.when", "plan.protocol"],
        Text::AlwaysInline,
        "plan: {when: auto, protocol: inline_tools}",
        |a| inline(a) && !always(a),
    ),
    contradict(
        ["step.on_failure", "plan.protocol"],
        Text::ReplanInline,
        "plan: {protocol: inline_tools}\nstep: {on_failure: replan}",
        |a| inline(a) && on_failure(a, OnFailure::Replan),
    ),
    contradict(
        ["step.on_failure", "plan.when"],
        Text::ReplanUnplanned,
        "plan: {when: never}\nstep: {on_failure: replan}",
        |a| never(a) && on_failure(a, OnFailure::Replan),
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        Text::SetInline,
        "plan: {protocol: inline_tools}\nreplan: {when: after_each_step}",
        |a| inline(a) && replans(a),
    ),
    contradict(
        ["replan.when", "plan.when"],
        Text::SetUnplanned,
        "plan: {when: never}\nreplan: {when: after_each_step}",
        |a| never(a) && replans(a),
    ),
    contradict(
        ["step.exec", "plan.protocol"],
        Text::ExecInline,
        "plan: {protocol: inline_tools}\nstep: {exec: single_action}",
        |a| inline(a) && (exec(a, StepExec::SingleAction) || exec(a, StepExec::DirectTool)),
    ),
    contradict(
        ["step.exec", "plan.when"],
        Text::ExecUnplanned,
        "plan: {when: never}\nstep: {exec: direct_tool}",
        |a| never(a) && exec(a, StepExec::DirectTool),
    ),
    // The form of plans and the execution of their steps.
    contradict(
        ["step.exec", "plan.protocol"],
        Text::LoopOfCalls,
        "plan: {protocol: action_steps}\nstep: {exec: master_loop}",
        |a| {
            exec(a, StepExec::MasterLoop)
                && (turn_by_turn(a) || a.plan.protocol == PlanProtocol::ActionSteps)
        },
    ),
    contradict(
        ["step.exec", "plan.protocol"],
        Text::ToolOfTasks,
        "plan: {protocol: task_steps}\nstep: {exec: direct_tool}",
        |a| {
            exec(a, StepExec::DirectTool)
                && matches!(a.plan.protocol, PlanProtocol::TaskSteps | PlanProtocol::TitleSteps)
        },
    ),
    idle(
        ["step.max_calls", "step.exec"],
        Text::IdleSingle,
        "step: {exec: single_action, max_calls: 4}",
        |a| exec(a, StepExec::SingleAction),
    ),
    idle(
        ["step.max_turns", "step.exec"],
        Text::IdleToolSteps,
        "step: {exec: direct_tool, max_turns: 10}",
        |a| always(a) && exec(a, StepExec::DirectTool),
    ),
    idle(
        ["step.on_unsuccessful", "step.exec"],
        Text::IdleToolSteps,
        "step: {exec: direct_tool, on_unsuccessful: complete}",
        |a| always(a) && exec(a, StepExec::DirectTool),
    ),
    idle(
        ["step.max_calls", "step.exec"],
        Text::IdleToolSteps,
        "step: {exec: direct_tool, max_calls: 4}",
        |a| always(a) && exec(a, StepExec::DirectTool),
    ),
    idle(
        ["step.max_turns", "plan.protocol"],
        Text::IdleCallProtocol,
        "plan: {protocol: action_steps}\nstep: {max_turns: 10}",
        |a| always(a) && calls_alone(a),
    ),
    idle(
        ["step.max_calls", "plan.protocol"],
        Text::IdleCallProtocol,
        "plan: {protocol: decision}\nstep: {max_calls: 4}",
        |a| always(a) && calls_alone(a),
    ),
    idle(
        ["observe.summarise", "step.exec"],
        Text::IdleNoLoop,
        "step: {exec: direct_tool}\nobserve: {summarise: exchanges}",
        |a| {
            a.observe.summarises() && always(a) && (exec(a, StepExec::DirectTool) || calls_alone(a))
        },
    ),
    // Settings about plans where there are none.
    idle(["confirm", "plan.when"], Text::IdleConfirm, "confirm: true\nplan: {when: never}", |a| {
        never(a) && a.confirm
    }),
    idle(
        ["confirm", "plan.protocol"],
        Text::IdleConfirmInline,
        "confirm: true\nplan: {protocol: inline_tools}",
        |a| inline(a) && a.confirm,
    ),
    idle(
        ["plan.protocol", "plan.when"],
        Text::IdleProtocol,
        "plan: {when: never, protocol: task_steps}",
        never,
    ),
    idle(
        ["plan.output", "plan.when"],
        Text::IdleNoPlanner,
        "plan: {when: never, output: tool}",
        |a| !a.has_planner(),
    ),
    idle(["plan.model", "plan.when"], Text::IdleNoPlanner, "plan: {when: never, model: m}", |a| {
        !a.has_planner()
    }),
    idle(
        ["plan.temperature", "plan.when"],
        Text::IdleNoPlanner,
        "plan: {when: never, temperature: 0.1}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.top_p", "plan.when"],
        Text::IdleNoPlanner,
        "plan: {when: never, top_p: 0.5}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.effort", "plan.when"],
        Text::IdleNoPlanner,
        "plan: {when: never, effort: low}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.attempts", "plan.when"],
        Text::IdleNoPlanner,
        "plan: {protocol: inline_tools, attempts: 2}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.rounds", "plan.when"],
        Text::IdleNoPlanner,
        "plan: {when: never, rounds: 2}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.on_unparseable", "plan.when"],
        Text::IdleNoPlanner,
        "plan: {when: never, on_unparseable: ask}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.allow_empty", "plan.when"],
        Text::IdleNoPlanner,
        "plan: {when: never, allow_empty: true}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.allow_empty", "plan.protocol"],
        Text::IdleAllowEmpty,
        "plan: {protocol: phased, allow_empty: true}",
        turn_by_turn,
    ),
    contradict(["plan.detect", "plan.when"], Text::OnlyAuto, "plan: {detect: model}", |a| {
        a.plan.detect == Detector::Model && a.plan.when != PlanWhen::Auto
    }),
    contradict(
        ["plan.detect_model", "plan.detect"],
        Text::OnlyModel,
        "plan: {when: auto, detect_model: small}",
        |a| a.plan.detect_model.is_some() && a.plan.detect != Detector::Model,
    ),
];
