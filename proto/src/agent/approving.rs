//! The policy of approvals, and the rules that narrow the tools of an agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checked::{Checked, refuse};
use crate::{
    bounds::Text,
    id::ToolName,
    limits,
    strict::is_deep,
    tool::{Binding, Effect},
};

/// The policy of approvals: of plans before they run, and of tool calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Approving {
    /// `true` if another person than the submitter must approve. The submitter may still reject or
    /// change. It binds the jobs that an agent delegates, too. Without people, nobody is known to
    /// be another person, so nobody can approve.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub four_eyes: bool,
    /// Rules for calls, in order. The first one that covers a call decides about it. Rules only
    /// narrow: an approval that the tool itself requires stays required.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CallRule>,
    /// Policy for calls after the job has seen content from outside; no narrowing when absent. It
    /// binds the jobs that an agent delegates, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<UntrustedPolicy>,
    /// Rules and policies of the jobs above, the nearest one first; the strictest verdict counts.
    /// Callboard sets them for the jobs that an agent delegates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inherited: Vec<Inherited>,
    /// Tool whose content from outside a job has seen before its start. Callboard sets it for the
    /// jobs that an agent delegates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<ToolName>,
}

/// The rules and the policy of a job above.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Inherited {
    /// Rules for calls, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CallRule>,
    /// Policy for calls after the job has seen content from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<UntrustedPolicy>,
}

/// A rule for the calls of some tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallRule {
    /// Name of a tool or sub-agent, or its beginning and `*`; `*` alone covers all.
    pub tool: String,
    /// JSON Schema of the arguments that the rule covers; all arguments when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// Condition on the job; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    /// Consequence for a call that the rule covers.
    pub then: Consequence,
    /// Reason, for the model and for the person who is asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A condition of a rule on the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// The job has seen content from outside.
    Untrusted,
}

/// The consequence of a rule for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// No later rule and no policy narrows the call.
    Allow,
    /// A person approves the call.
    Ask,
    /// The call is refused, and the model is told.
    Deny,
}

/// The narrowing of calls after content from outside.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Narrowing {
    /// A person approves the call.
    Ask,
    /// The call is refused, and the model is told.
    Deny,
}

/// The policy for calls after a job has seen content from outside. It covers every call that may
/// have an effect or carry data out: all but those of pure tools without content from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UntrustedPolicy {
    /// Consequence for a covered call.
    pub then: Narrowing,
    /// Tools that the policy leaves alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<ToolName>,
}

impl CallRule {
    /// Returns `true` if the rule covers a tool, whatever its arguments.
    #[must_use]
    pub fn names(&self, tool: &ToolName) -> bool {
        match self.tool.strip_suffix('*') {
            Some(beginning) => tool.as_str().starts_with(beginning),
            None => self.tool == tool.as_str(),
        }
    }

    fn check(&self) -> Result<(), (&'static str, Text<'static>)> {
        let name = self.tool.strip_suffix('*').unwrap_or(&self.tool);
        let is_all = name.is_empty() && self.tool == "*";
        if !is_all && ToolName::new(name).is_err() {
            return Err(("tool", Text::RuleTool));
        }
        let fits = |args: &Value| {
            let bytes = args.to_string().len();
            args.is_object() && !is_deep(args) && bytes <= limits::RULE_ARGS_BYTES_MAX
        };
        if !self.args.as_ref().is_none_or(fits) {
            return Err(("args", Text::RuleArgs { max: &limits::RULE_ARGS_BYTES_MAX }));
        }
        if self.why.len() > limits::RULE_WHY_BYTES_MAX {
            return Err(("why", Text::RuleWhy { max: &limits::RULE_WHY_BYTES_MAX }));
        }
        Ok(())
    }
}

impl UntrustedPolicy {
    /// Returns `true` if the policy covers the calls of a tool.
    #[must_use]
    pub fn covers(&self, tool: &ToolName, binding: &Binding) -> bool {
        let is_harmless = binding.effect == Effect::Pure && !binding.untrusted;
        !is_harmless && !self.except.contains(tool)
    }
}

impl Approving {
    /// Returns the policy of a job that this agent delegates to another one, which has its own rules
    /// and those of all jobs above. `marked` is the tool whose content the delegating job has seen.
    #[must_use]
    pub fn passed_on(&self, to: &Self, marked: Option<&ToolName>) -> Self {
        let own = Inherited { rules: self.rules.clone(), untrusted: self.untrusted.clone() };
        let levels = std::iter::once(own).chain(self.inherited.iter().cloned());
        // A sub-workflow has the policies of its job, which need to be there once.
        let is_new = |level: &Inherited| {
            *level != Inherited::default()
                && (level.rules != to.rules || level.untrusted != to.untrusted)
        };
        let mut inherited: Vec<Inherited> = Vec::new();
        for level in levels.filter(is_new) {
            if !inherited.contains(&level) {
                inherited.push(level);
            }
        }
        let marked = marked.or(to.marked.as_ref()).cloned();
        Self { inherited, marked, ..to.clone() }
    }

    pub(super) fn check(&self) -> Checked {
        let max = &limits::RULES_MAX;
        if self.rules.len() > limits::RULES_MAX {
            return refuse("approval.rules", Text::Rules { max });
        }
        let above = limits::INHERITED_MAX;
        if self.inherited.len() > above {
            return refuse("approval.inherited", Text::Inherited { max: &above });
        }
        for (n, rule) in self.rules.iter().enumerate() {
            if let Err((field, why)) = rule.check() {
                return refuse(&format!("approval.rules[{n}].{field}"), why);
            }
        }
        for (n, rule) in self.inherited.iter().flat_map(|level| level.rules.iter().enumerate()) {
            if let Err((field, why)) = rule.check() {
                return refuse(&format!("approval.inherited[0].rules[{n}].{field}"), why);
            }
        }
        let excepted = self.untrusted.as_ref().map_or(0, |policy| policy.except.len());
        if excepted > limits::EXCEPT_MAX {
            return refuse("approval.untrusted.except", Text::Except { max: &limits::EXCEPT_MAX });
        }
        Ok(())
    }
}
