//! The authorization of plans and calls: a worker's claims are compared with the job's agent and
//! with the registry.
//!
//! Workers resolve names against the same tools and sub-agents. A fact is only a claim, however: a
//! worker that may publish results can claim anything about any job. The agent is part of the
//! submission, so the fold refuses plans and calls beyond it. The registry is in no log, so the
//! supervisor compares a call with it before the call is stored, and the stored call carries the
//! verdict: a replay needs no registry.

use agents::toolbox::NoTool;
use proto::{
    decision::CallWork,
    fact::{CallTarget, TurnCall, TurnReply},
    family,
    id::ToolName,
    limits,
    plan::{Action, Plan, Step},
    policy::PlanProtocol,
    strict::is_deep,
    tool::{Approval, Binding, ToolSpec},
    work_error::{ErrorClass, WorkError},
};
use serde_json::Value;

use super::{excerpt, kin_text, state::ActiveJob, step::StepRun, text::Text, turn::Turn};

/// Length to which a refusal cuts a claimed value, in characters.
const CLAIM_CHARS: usize = 60;

/// Returns the reason for which the supervisor must not send a call, given its tool's registry
/// entry, or `None` if the call may be sent.
///
/// A missing entry is a transient error, because the tool may be announced later. An entry that
/// contradicts the call is permanent.
#[must_use]
pub fn registry_refusal(call: &CallWork, registered: Option<&ToolSpec>) -> Option<WorkError> {
    let (language, tool) = (call.language, &call.tool);
    let Some(spec) = registered else {
        return Some(WorkError::new(
            Text::NotRegistered { tool }.text(language),
            ErrorClass::Transient,
        ));
    };
    // A tool that is no longer destructive needs no further confirmation.
    let destroys = spec.destructive && !call.destructive;
    let fields = [
        ("pool", spec.pool.as_str(), call.pool.as_str()),
        ("effect", spec.effect.as_str(), call.effect.as_str()),
        ("version", spec.version.as_str(), call.version.as_str()),
        ("destructive", "true", if destroys { "false" } else { "true" }),
    ];
    let differs = fields.into_iter().find(|(_, registered, claimed)| registered != claimed);
    if let Some((field, registered, claimed)) = &differs {
        let claimed = &excerpt::line(claimed, CLAIM_CHARS);
        let why = Text::RegisteredOtherwise { tool, field, registered, claimed };
        return Some(WorkError::new(why.text(language), ErrorClass::Permanent));
    }
    match (spec.approval, &call.approved) {
        (Approval::Always, None) => Some(WorkError::new(
            Text::ApprovalMissing { tool }.text(language),
            ErrorClass::Permanent,
        )),
        (Approval::Always, Some(_)) | (Approval::Never, _) => None,
    }
}

fn is_call(step: &Step) -> bool {
    matches!(step.action, Action::Tool { .. })
}

impl ActiveJob {
    /// Returns the first field of a plan that exceeds the agent, and the reason.
    pub(super) fn beyond_agent(&self, plan: &Plan) -> Option<String> {
        plan.steps.iter().enumerate().find_map(|(n, step)| {
            let Action::Tool { tool, args, binding } = &step.action else { return None };
            let (field, why) = self.not_granted(tool, binding, args)?;
            Some(format!("steps[{n}].{field}: {why}"))
        })
    }

    /// Returns the reason for which a plan does not have the shape of the agent's plan protocol.
    pub(super) fn misshapen(&self, plan: &Plan) -> Option<String> {
        let language = self.language();
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

    /// Returns the calls of a turn. A call that the model was not offered becomes a refusal, which
    /// the model is told.
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
        let language = self.language();
        match &call.target {
            CallTarget::Refused { .. } => None,
            CallTarget::Tool { .. } | CallTarget::Person { .. } | CallTarget::Outline { .. }
                if turn.number >= self.brief.agent.step.max_turns =>
            {
                Some(Text::NoMoreCalls.text(language))
            }
            CallTarget::Tool { tool, .. } if !step.may_call(tool) => {
                Some(NoTool::not_allowed(tool.as_str(), self.tool_names()).text(language))
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

    /// Returns the field of a call that the agent does not permit, and the reason.
    pub(super) fn not_granted(
        &self,
        tool: &ToolName,
        binding: &Binding,
        args: &Value,
    ) -> Option<(&'static str, String)> {
        let language = self.language();
        if family::is_agent(binding) {
            if self.family.callee(&self.brief.agent, tool.as_str()).is_none() {
                let why = kin_text::no_such_agent(language, &self.brief.agent, tool.as_str());
                return Some(("tool", why));
            }
        } else if self.brief.agent.tools.as_ref().is_some_and(|tools| !tools.contains(tool)) {
            let why = NoTool::not_allowed(tool.as_str(), self.tool_names());
            return Some(("tool", why.text(language)));
        }
        // Presets can be merged only into objects.
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
