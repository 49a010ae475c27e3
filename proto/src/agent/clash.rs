//! The table of policies that do not go together, each with its reason and a file that has it. What
//! is not in the table is legal.
//!
//! There are two kinds. A *contradiction* is refused wherever it comes from. A setting that is
//! *idle*, because another one leaves it nothing to decide, is refused where somebody wrote it down:
//! inherited from another agent it does no harm.

use serde_json::Value;

use super::{Agent, InvalidAgent, OnBlocked, OnFailure, PlanWhen, ReplanWhen, StepExec};
use crate::{
    asking::AskKind,
    policy::{AskLimit, AskWhen, Detector, PlanProtocol},
};

/// Two policies that do not go together.
#[derive(Debug, Clone, Copy)]
pub struct Clash {
    /// The fields, dotted; the first is the one that is refused.
    pub fields: [&'static str; 2],
    /// Why.
    pub why: &'static str,
    /// An agent that has it, and nothing else that is wrong.
    pub example: &'static str,
    /// Whether it is refused only where the first field was written down.
    pub idle: bool,
    holds: fn(&Agent) -> bool,
}

const fn contradict(
    fields: [&'static str; 2],
    why: &'static str,
    example: &'static str,
    holds: fn(&Agent) -> bool,
) -> Clash {
    Clash { fields, why, example, idle: false, holds }
}

const fn idle(
    fields: [&'static str; 2],
    why: &'static str,
    example: &'static str,
    holds: fn(&Agent) -> bool,
) -> Clash {
    Clash { fields, why, example, idle: true, holds }
}

fn never(a: &Agent) -> bool {
    a.plan.when == PlanWhen::Never
}

fn always(a: &Agent) -> bool {
    a.plan.when == PlanWhen::Always
}

fn inline(a: &Agent) -> bool {
    a.plan.protocol == PlanProtocol::InlineTools
}

fn turn_by_turn(a: &Agent) -> bool {
    a.plan.protocol.is_turn_by_turn()
}

/// Whether plans are made of steps that are there from the beginning.
fn ahead(a: &Agent) -> bool {
    !turn_by_turn(a) && !inline(a)
}

/// Whether every step of a plan is one tool call, whatever a planner says.
fn calls_alone(a: &Agent) -> bool {
    turn_by_turn(a) || a.plan.protocol == PlanProtocol::ActionSteps
}

/// Whether somebody wrote down when to replan, other than never.
fn replans(a: &Agent) -> bool {
    a.replan.when.is_some_and(|when| when != ReplanWhen::Never)
}

fn on_failure(a: &Agent, word: OnFailure) -> bool {
    a.step.on_failure == word
}

fn exec(a: &Agent, word: StepExec) -> bool {
    a.step.exec == word
}

fn never_asks(a: &Agent) -> bool {
    a.ask.limit == AskLimit::AtMost(0)
}

/// Everything that does not go together.
pub const CLASHES: &[Clash] = &[
    // Whether there is a planner.
    contradict(
        ["plan.when", "plan.protocol"],
        "must be always with inline_tools, which has no planner",
        "plan: {when: auto, protocol: inline_tools}",
        |a| inline(a) && !always(a),
    ),
    contradict(
        ["step.on_failure", "plan.protocol"],
        "must not be replan with inline_tools, which has no planner",
        "plan: {protocol: inline_tools}\nstep: {on_failure: replan}",
        |a| inline(a) && on_failure(a, OnFailure::Replan),
    ),
    contradict(
        ["step.on_failure", "plan.when"],
        "must not be replan where plan.when is never: there is no planner",
        "plan: {when: never}\nstep: {on_failure: replan}",
        |a| never(a) && on_failure(a, OnFailure::Replan),
    ),
    contradict(
        ["replan.when", "plan.protocol"],
        "must not be set with inline_tools, which has no planner",
        "plan: {protocol: inline_tools}\nreplan: {when: after_each_step}",
        |a| inline(a) && replans(a),
    ),
    contradict(
        ["replan.when", "plan.when"],
        "must not be set where plan.when is never: there is no planner",
        "plan: {when: never}\nreplan: {when: after_each_step}",
        |a| never(a) && replans(a),
    ),
    contradict(
        ["step.exec", "plan.protocol"],
        "must be as_planned or master_loop with inline_tools: the goal is one loop",
        "plan: {protocol: inline_tools}\nstep: {exec: single_action}",
        |a| inline(a) && (exec(a, StepExec::SingleAction) || exec(a, StepExec::DirectTool)),
    ),
    contradict(
        ["step.exec", "plan.when"],
        "must not be direct_tool where plan.when is never: the goal is one loop",
        "plan: {when: never}\nstep: {exec: direct_tool}",
        |a| never(a) && exec(a, StepExec::DirectTool),
    ),
    // How plans are written and how their steps are carried out.
    contradict(
        ["step.exec", "plan.protocol"],
        "must not be master_loop with this protocol, whose steps are tool calls",
        "plan: {protocol: action_steps}\nstep: {exec: master_loop}",
        |a| {
            exec(a, StepExec::MasterLoop)
                && (turn_by_turn(a) || a.plan.protocol == PlanProtocol::ActionSteps)
        },
    ),
    contradict(
        ["step.exec", "plan.protocol"],
        "must not be direct_tool with this protocol, whose steps are tasks in words",
        "plan: {protocol: task_steps}\nstep: {exec: direct_tool}",
        |a| {
            exec(a, StepExec::DirectTool)
                && matches!(a.plan.protocol, PlanProtocol::TaskSteps | PlanProtocol::TitleSteps)
        },
    ),
    idle(
        ["step.max_calls", "step.exec"],
        "says nothing with single_action, which is one call",
        "step: {exec: single_action, max_calls: 4}",
        |a| exec(a, StepExec::SingleAction),
    ),
    idle(
        ["step.max_turns", "step.exec"],
        "says nothing where every step is one tool call",
        "step: {exec: direct_tool, max_turns: 10}",
        |a| always(a) && exec(a, StepExec::DirectTool),
    ),
    idle(
        ["step.on_unsuccessful", "step.exec"],
        "says nothing where every step is one tool call",
        "step: {exec: direct_tool, on_unsuccessful: complete}",
        |a| always(a) && exec(a, StepExec::DirectTool),
    ),
    idle(
        ["step.max_calls", "step.exec"],
        "says nothing where every step is one tool call",
        "step: {exec: direct_tool, max_calls: 4}",
        |a| always(a) && exec(a, StepExec::DirectTool),
    ),
    idle(
        ["step.max_turns", "plan.protocol"],
        "says nothing with this protocol, whose steps are tool calls",
        "plan: {protocol: action_steps}\nstep: {max_turns: 10}",
        |a| always(a) && calls_alone(a),
    ),
    idle(
        ["step.max_calls", "plan.protocol"],
        "says nothing with this protocol, whose steps are tool calls",
        "plan: {protocol: decision}\nstep: {max_calls: 4}",
        |a| always(a) && calls_alone(a),
    ),
    idle(
        ["observe.summarise", "step.exec"],
        "says nothing where no step is a loop of turns",
        "step: {exec: direct_tool}\nobserve: {summarise: exchanges}",
        |a| {
            a.observe.summarises() && always(a) && (exec(a, StepExec::DirectTool) || calls_alone(a))
        },
    ),
    // When the plan is made anew.
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
        "says nothing unless replan.when is after_listed",
        "replan: {listed: all}",
        |a| a.replan.when != Some(ReplanWhen::AfterListed),
    ),
    idle(
        ["replan.max", "replan.when"],
        "says nothing where replan.when is never",
        "replan: {when: never, max: 5}",
        |a| a.replan.when == Some(ReplanWhen::Never),
    ),
    idle(
        ["replan.apply", "replan.when"],
        "says nothing where replan.when is never",
        "replan: {when: never, apply: append}",
        |a| a.replan.when == Some(ReplanWhen::Never),
    ),
    idle(
        ["replan.max", "plan.protocol"],
        "says nothing with this protocol, which decides one action at a time; limit budget.steps",
        "plan: {protocol: decision}\nreplan: {max: 5}",
        turn_by_turn,
    ),
    contradict(
        ["replan.apply", "plan.protocol"],
        "must not be append with this protocol: a plan of one action leaves nothing to add to",
        "plan: {protocol: phased}\nreplan: {apply: append}",
        |a| turn_by_turn(a) && a.replan.apply == super::ReplanApply::Append,
    ),
    // What a failed step means.
    contradict(
        ["step.on_blocked", "step.on_failure"],
        "skip needs step.on_failure: continue; otherwise the job does not go on",
        "step: {on_blocked: skip}",
        |a| a.step.on_blocked == OnBlocked::Skip && !on_failure(a, OnFailure::Continue),
    ),
    // The order of steps where there is one step.
    idle(
        ["dispatch", "plan.when"],
        "says nothing where plan.when is never: there is one step",
        "plan: {when: never}\ndispatch: sequential",
        never,
    ),
    idle(
        ["dispatch", "plan.protocol"],
        "says nothing with this protocol: there is one step at a time",
        "plan: {protocol: decision}\ndispatch: levels",
        |a| turn_by_turn(a) || inline(a),
    ),
    // What is said of plans where there are none.
    idle(
        ["confirm", "plan.when"],
        "says nothing where plan.when is never: there is no plan to confirm",
        "confirm: true\nplan: {when: never}",
        |a| never(a) && a.confirm,
    ),
    idle(
        ["confirm", "plan.protocol"],
        "says nothing with inline_tools: there is no plan before the work begins",
        "confirm: true\nplan: {protocol: inline_tools}",
        |a| inline(a) && a.confirm,
    ),
    idle(
        ["plan.protocol", "plan.when"],
        "says nothing where plan.when is never",
        "plan: {when: never, protocol: task_steps}",
        never,
    ),
    idle(
        ["plan.output", "plan.when"],
        "says nothing where no planner makes a plan",
        "plan: {when: never, output: tool}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.model", "plan.when"],
        "says nothing where no planner makes a plan",
        "plan: {when: never, model: m}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.temperature", "plan.when"],
        "says nothing where no planner makes a plan",
        "plan: {when: never, temperature: 0.1}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.top_p", "plan.when"],
        "says nothing where no planner makes a plan",
        "plan: {when: never, top_p: 0.5}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.attempts", "plan.when"],
        "says nothing where no planner makes a plan",
        "plan: {protocol: inline_tools, attempts: 2}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.on_unparseable", "plan.when"],
        "says nothing where no planner makes a plan",
        "plan: {when: never, on_unparseable: ask}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.allow_empty", "plan.when"],
        "says nothing where no planner makes a plan",
        "plan: {when: never, allow_empty: true}",
        |a| !a.has_planner(),
    ),
    idle(
        ["plan.allow_empty", "plan.protocol"],
        "says nothing with this protocol, which says that the goal is reached instead",
        "plan: {protocol: phased, allow_empty: true}",
        turn_by_turn,
    ),
    contradict(
        ["plan.detect", "plan.when"],
        "is looked at only where plan.when is auto",
        "plan: {detect: model}",
        |a| a.plan.detect == Detector::Model && a.plan.when != PlanWhen::Auto,
    ),
    contradict(
        ["plan.detect_model", "plan.detect"],
        "is asked only where plan.detect is model",
        "plan: {when: auto, detect_model: small}",
        |a| a.plan.detect_model.is_some() && a.plan.detect != Detector::Model,
    ),
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

/// The first contradiction of an agent.
#[must_use]
pub fn contradiction(agent: &Agent) -> Option<&'static Clash> {
    CLASHES.iter().find(|clash| !clash.idle && (clash.holds)(agent))
}

/// The first setting that was written down and decides nothing. `written` is what was written, as
/// JSON of an agent.
#[must_use]
pub fn idle_setting(agent: &Agent, written: &Value) -> Option<&'static Clash> {
    let is_written = |field: &str| {
        field.split('.').try_fold(written, |at, name| at.get(name)).is_some_and(|v| !v.is_null())
    };
    CLASHES.iter().find(|clash| clash.idle && is_written(clash.fields[0]) && (clash.holds)(agent))
}

/// Everything of an agent that does not go together, and every setting that was written down and
/// decides nothing; of each field the first.
pub(super) fn all(agent: &Agent, written: &Value) -> Vec<&'static Clash> {
    let is_written = |field: &str| {
        field.split('.').try_fold(written, |at, name| at.get(name)).is_some_and(|v| !v.is_null())
    };
    let contradictions = CLASHES.iter().filter(|clash| !clash.idle);
    let idle = CLASHES.iter().filter(|clash| clash.idle && is_written(clash.fields[0]));
    let mut found: Vec<&'static Clash> = Vec::new();
    for clash in contradictions.chain(idle).filter(|clash| (clash.holds)(agent)) {
        if found.iter().all(|known| known.fields[0] != clash.fields[0]) {
            found.push(clash);
        }
    }
    found
}

impl Agent {
    /// Checks everything of an agent that somebody wrote down: bounds, contradictions, and settings
    /// that decide nothing. `written` is what was written, as JSON of an agent.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check_written(&self, written: &Value) -> Result<(), InvalidAgent> {
        self.check()?;
        let clash = idle_setting(self, written);
        clash.map_or(Ok(()), |clash| super::refuse(clash.fields[0], clash.why))
    }
}

#[cfg(test)]
mod tests;
