//! Authorization of plans and calls: what a worker names is held against the job's agent and against
//! the registry.
//!
//! Workers resolve names against the same tools and sub-agents. A fact is only a claim, however:
//! every worker with the right to write results may claim anything about any job. The agent stands
//! in the submission, so the fold refuses what reaches beyond it. The registry stands in no log, so
//! the supervisor compares a call with it before it stores the call, and the stored call says what
//! it found: a replay needs no registry.

use proto::{
    decision::CallWork,
    fact::{CallTarget, TurnCall, TurnReply, WorkError},
    family,
    id::ToolName,
    limits,
    plan::{Action, Plan, Step},
    policy::PlanProtocol,
    strict::is_deep,
    tool::{Approval, Binding, Effect, ToolSpec},
    toolbox::NoTool,
};
use serde_json::Value;

use super::{excerpt, kin_text, state::Open, step::StepRun, text::Text, turn::Turn};

/// Most characters of a claimed value that a refusal quotes.
const CLAIM_CHARS: usize = 60;

/// Why the supervisor does not send a call, given what the registry says of its tool.
///
/// A tool without an entry may be announced later, so another attempt may follow. An entry that
/// contradicts the call ends the call.
#[must_use]
pub fn registry_refusal(call: &CallWork, registered: Option<&ToolSpec>) -> Option<WorkError> {
    let refused = |message, transient| WorkError { message, transient, retry_after_ms: None };
    let (language, tool) = (call.language, &call.tool);
    let Some(spec) = registered else {
        return Some(refused(Text::NotRegistered { tool }.text(language), true));
    };
    let fields = [
        ("pool", spec.pool.as_str(), call.pool.as_str()),
        ("effect", effect_word(spec.effect), effect_word(call.effect)),
        ("version", spec.version.as_str(), call.version.as_str()),
    ];
    let differs = fields.into_iter().find(|(_, registered, claimed)| registered != claimed);
    if let Some((field, registered, claimed)) = &differs {
        let claimed = &excerpt::line(claimed, CLAIM_CHARS);
        let why = Text::RegisteredOtherwise { tool, field, registered, claimed };
        return Some(refused(why.text(language), false));
    }
    match (spec.approval, &call.approved) {
        (Approval::Always, None) => {
            Some(refused(Text::ApprovalMissing { tool }.text(language), false))
        }
        (Approval::Always, Some(_)) | (Approval::Never, _) => None,
    }
}

fn effect_word(effect: Effect) -> &'static str {
    match effect {
        Effect::Pure => "pure",
        Effect::Idempotent => "idempotent",
        Effect::Once => "once",
    }
}

fn is_call(step: &Step) -> bool {
    matches!(step.action, Action::Tool { .. })
}

impl Open {
    /// The first field of a plan that reaches beyond the agent, and why.
    pub(super) fn beyond_agent(&self, plan: &Plan) -> Option<String> {
        plan.steps.iter().enumerate().find_map(|(n, step)| {
            let Action::Tool { tool, args, binding } = &step.action else { return None };
            let (field, why) = self.not_granted(tool, binding, args)?;
            Some(format!("steps[{n}].{field}: {why}"))
        })
    }

    /// Why a planner's plan is not of the shape that the agent plans in.
    pub(super) fn misshapen(&self, plan: &Plan) -> Option<String> {
        let language = self.brief.language;
        let mut steps = plan.steps.iter();
        match self.brief.agent.plan.protocol {
            PlanProtocol::Steps | PlanProtocol::InlineTools => None,
            PlanProtocol::TaskSteps | PlanProtocol::TitleSteps => {
                let step = steps.find(|step| is_call(step))?;
                Some(Text::MustNotNameATool { step: &step.id }.text(language))
            }
            PlanProtocol::Decision | PlanProtocol::Phased if plan.steps.len() > 1 => {
                Some(Text::OneAction.text(language))
            }
            PlanProtocol::ActionSteps | PlanProtocol::Decision | PlanProtocol::Phased => {
                let step = steps.find(|step| !is_call(step))?;
                Some(Text::MustNameATool { step: &step.id }.text(language))
            }
        }
    }

    /// The calls of a turn. A call that the model was not offered becomes a refusal, which the model
    /// is told.
    pub(super) fn granted_calls(
        &self,
        reply: &TurnReply,
        turn: &Turn,
        step: &StepRun,
    ) -> Vec<TurnCall> {
        let TurnReply::Calls { calls, .. } = reply else { return Vec::new() };
        let mut calls = calls.clone();
        for call in &mut calls {
            if let Some(error) = self.call_refusal(call, turn, step) {
                call.target = CallTarget::Refused { error };
            }
        }
        calls
    }

    fn call_refusal(&self, call: &TurnCall, turn: &Turn, step: &StepRun) -> Option<String> {
        let language = self.brief.language;
        match &call.target {
            CallTarget::Refused { .. } => None,
            CallTarget::Tool { .. } | CallTarget::Person { .. } | CallTarget::Outline { .. }
                if turn.number >= self.brief.agent.step.max_turns =>
            {
                Some(Text::NoMoreCalls.text(language))
            }
            CallTarget::Tool { tool, binding } => {
                self.not_granted(tool, binding, &call.args).map(|(_, why)| why)
            }
            CallTarget::Outline { .. } if step.outline.is_none() => {
                let name = excerpt::line(&call.name, CLAIM_CHARS);
                Some(NoTool::unknown(&name, self.tool_names()).text(language))
            }
            CallTarget::Person { .. } | CallTarget::Outline { .. } => None,
        }
    }

    /// The field of a call that the agent may not have so, and why.
    fn not_granted(
        &self,
        tool: &ToolName,
        binding: &Binding,
        args: &Value,
    ) -> Option<(&'static str, String)> {
        let language = self.brief.language;
        if family::is_agent(binding) {
            if self.family.callee(&self.brief.agent, tool.as_str()).is_none() {
                let why = kin_text::no_such_agent(language, &self.brief.agent, tool.as_str());
                return Some(("tool", why));
            }
        } else if self.brief.agent.tools.as_ref().is_some_and(|tools| !tools.contains(tool)) {
            let why = NoTool::not_allowed(tool.as_str(), self.tool_names());
            return Some(("tool", why.text(language)));
        }
        // Presets are put into objects alone.
        if !args.is_object() {
            return Some(("args", Text::ArgsNoObject.text(language)));
        }
        let max = &limits::JSON_DEPTH_MAX;
        is_deep(args).then(|| ("args", Text::ArgsTooDeep { max }.text(language)))
    }

    fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.brief.agent.tools.iter().flatten().map(ToolName::as_str)
    }
}
