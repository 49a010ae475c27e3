//! Questions to users, and their answers.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    digest,
    id::{AskId, JobId, Seq, StepId, ToolName},
    lang::{Language, Words},
    limits,
    plan::{Plan, PlanError},
    refusal::Text,
};

mod form;
mod remembered;

use form::select_schema;
pub use form::{Choice, Field, Input};
pub use remembered::{AskedBy, Remember, Remembered};

/// A question in the form of the job's log and of the inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Id of the question, unique within the job.
    pub id: AskId,
    /// Text of the question, in the job's language.
    pub prompt: String,
    /// Kind of answer that the question takes.
    #[serde(flatten)]
    pub kind: QuestionKind,
    /// Step that asks; absent for questions about the whole job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Server time at which the question expires; absent for a question that never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Answer that counts when the question expires. Without a default, the job fails then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// The kinds of question, each with its valid answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[derive(strum::EnumDiscriminants, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[strum_discriminants(name(KindOfQuestion))]
#[strum_discriminants(doc = "[`QuestionKind`] discriminant.")]
#[strum_discriminants(derive(Serialize, Deserialize, strum::IntoStaticStr, JsonSchema))]
#[strum_discriminants(serde(rename_all = "snake_case"))]
#[strum_discriminants(strum(serialize_all = "snake_case"))]
pub enum QuestionKind {
    /// The confirmation of a plan: `approve` runs it, `respond` with a text requests a revision,
    /// `edit` replaces it, and `reject` cancels the job.
    PlanCheck {
        /// Plan that would run.
        plan: Plan,
        /// Number of plans before this one.
        revision: u32,
        /// Digest that an approval refers to.
        digest: String,
        /// Completed steps of earlier plans. Steps of an edited plan may depend on them and must
        /// not reuse their ids.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        completed: Vec<StepId>,
        /// The newest finished steps, which are shown above the plan.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        finished: Vec<FinishedStep>,
    },
    /// A free text.
    Question,
    /// A choice of one option, or of several.
    Choice {
        /// Options of the choice.
        options: Vec<Choice>,
        /// `true` if the answer may have several options.
        #[serde(default)]
        multiple: bool,
    },
    /// A form.
    Form {
        /// Fields of the form, in order.
        fields: Vec<Field>,
    },
    /// The approval of a tool call. `approve` runs the call, and `reject` returns a refusal to the
    /// model.
    ToolApproval {
        /// Tool that would be called.
        tool: ToolName,
        /// Version of the tool.
        version: String,
        /// Complete arguments of the call.
        args: Value,
        /// Digest that an approval refers to.
        digest: String,
        /// Policies that make a person approve the call. Empty in questions of older versions,
        /// whose approval cannot be remembered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asked_by: Vec<AskedBy>,
        /// Tool whose content from outside the job had seen when it asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<ToolName>,
        /// Position of the newest of that content in the job's own log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen_seq: Option<Seq>,
    },
}

impl QuestionKind {
    /// Returns the word on screens and in filters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// The steps that are completed already, when it asks about a plan.
    #[must_use]
    pub fn completed(&self) -> &[StepId] {
        if let Self::PlanCheck { completed, .. } = self { completed } else { &[] }
    }
}

impl KindOfQuestion {
    /// Returns the word on screens and in filters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A step that finished before a plan is confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinishedStep {
    /// Id of the step.
    pub id: StepId,
    /// Title or description, truncated.
    pub label: String,
}

/// The decision in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Verdict {
    /// Agreement to the plan or the call.
    Approve,
    /// Refusal of the plan or the call.
    Reject,
    /// A value for the question, or a text with the requested change of a plan.
    Respond,
    /// Another plan in place of the proposed one. It needs a confirmation of its own before it
    /// runs.
    Edit,
}

impl Verdict {
    /// Returns the word in requests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Decision of the user.
    pub decision: Verdict,
    /// Value for a question, choice or form; the complete plan for an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Requested change of the plan, or reason of a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Digest of the approved plan or call, as the user saw it. Required for approvals of tool
    /// calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Scope for which the approval of a tool call is remembered; this call alone when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Remember>,
}

impl Answer {
    /// Creates an approval of the plan or call with this digest.
    #[must_use]
    pub fn approve(digest: Option<String>) -> Self {
        Self { digest, ..Self::of(Verdict::Approve) }
    }

    /// Creates an answer to a question, choice or form.
    #[must_use]
    pub fn respond(value: Value) -> Self {
        Self { value: Some(value), ..Self::of(Verdict::Respond) }
    }

    /// Creates an answer that is a decision alone.
    #[must_use]
    pub const fn of(decision: Verdict) -> Self {
        Self { decision, value: None, text: None, digest: None, remember: None }
    }
}

/// An answer that does not fit its question, apart from the schema of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// The kind of question does not take this decision.
    Verdict {
        /// Kind of the question.
        kind: &'static str,
        /// Decision that the kind takes, apart from a rejection.
        allowed: Verdict,
        /// Decision of the answer.
        got: Verdict,
    },
    /// The text of a requested revision is missing.
    NoText,
    /// The value is missing.
    NoValue,
    /// The plan of an edit is invalid.
    Plan(Words),
    /// The digest belongs to another plan or call than the one that would run.
    Stale,
    /// The text exceeds [`limits::ANSWER_BYTES_MAX`].
    TooLong,
    /// The answer is to be remembered, and is no approval of a tool call.
    NotRemembered,
}

impl Misfit {
    /// Returns the reason of the refusal.
    #[must_use]
    pub fn words(&self) -> Words {
        let text = match self {
            Self::Verdict { kind, allowed, got } => {
                let (allowed, got) = (&allowed.as_str(), &got.as_str());
                return Text::OtherVerdict { kind, allowed, got }.into();
            }
            Self::NoText => Text::NoRevision,
            Self::NoValue => Text::NoValue,
            Self::NotRemembered => Text::NotRemembered,
            Self::Stale => Text::StaleDigest,
            Self::TooLong => Text::TextTooLong { max: &limits::ANSWER_BYTES_MAX },
            Self::Plan(why) => return why.clone(),
        };
        text.into()
    }
}

impl Question {
    /// Checks an answer, except for its value against the schema.
    ///
    /// # Errors
    /// Returns the first misfit.
    pub fn check(&self, answer: &Answer) -> Result<(), Misfit> {
        use Verdict::{Approve, Edit, Reject, Respond};
        if answer.text.as_ref().is_some_and(|t| t.len() > limits::ANSWER_BYTES_MAX) {
            return Err(Misfit::TooLong);
        }
        if answer.remember.is_some() && !self.can_be_remembered(answer.decision) {
            return Err(Misfit::NotRemembered);
        }
        let verdict =
            |allowed| Misfit::Verdict { kind: self.kind.name(), allowed, got: answer.decision };
        match (&self.kind, answer.decision) {
            (QuestionKind::PlanCheck { digest, .. }, Approve) => {
                let fits = answer.digest.as_ref().is_none_or(|seen| seen == digest);
                if fits { Ok(()) } else { Err(Misfit::Stale) }
            }
            (QuestionKind::PlanCheck { .. }, Respond) => {
                let words = answer.text.as_ref().is_some_and(|t| !t.trim().is_empty());
                if words { Ok(()) } else { Err(Misfit::NoText) }
            }
            (QuestionKind::PlanCheck { digest, completed, .. }, Edit) => {
                if answer.digest.as_ref().is_some_and(|seen| seen != digest) {
                    return Err(Misfit::Stale);
                }
                edited(answer, completed).map(|_| ())
            }
            (QuestionKind::ToolApproval { digest, .. }, Approve) => {
                if answer.digest.as_ref() == Some(digest) { Ok(()) } else { Err(Misfit::Stale) }
            }
            (QuestionKind::PlanCheck { .. } | QuestionKind::ToolApproval { .. }, Reject) => Ok(()),
            (QuestionKind::ToolApproval { .. }, Respond | Edit) => Err(verdict(Approve)),
            (
                QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. },
                Respond,
            ) => answer.value.as_ref().map(|_| ()).ok_or(Misfit::NoValue),
            (
                QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. },
                Reject,
            ) => Ok(()),
            (
                QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. },
                Approve | Edit,
            ) => Err(verdict(Respond)),
        }
    }

    /// Returns `true` if an answer with this decision can count for later calls.
    #[must_use]
    pub fn can_be_remembered(&self, decision: Verdict) -> bool {
        match (&self.kind, decision) {
            (QuestionKind::ToolApproval { asked_by, .. }, Verdict::Approve) => !asked_by.is_empty(),
            (
                QuestionKind::ToolApproval { .. }
                | QuestionKind::PlanCheck { .. }
                | QuestionKind::Question
                | QuestionKind::Choice { .. }
                | QuestionKind::Form { .. },
                Verdict::Approve | Verdict::Reject | Verdict::Respond | Verdict::Edit,
            ) => false,
        }
    }

    /// Returns the JSON Schema (2020-12) of the answer's `value`, or `None` for a kind whose answer
    /// has no value of a fixed form.
    #[must_use]
    pub fn value_schema(&self) -> Option<Value> {
        match &self.kind {
            QuestionKind::PlanCheck { .. } | QuestionKind::ToolApproval { .. } => None,
            QuestionKind::Question => Some(
                json!({"type": "string", "minLength": 1, "maxLength": limits::ANSWER_BYTES_MAX}),
            ),
            QuestionKind::Choice { options, multiple } => Some(select_schema(options, *multiple)),
            QuestionKind::Form { fields } => {
                let properties: serde_json::Map<_, _> =
                    fields.iter().map(|f| (f.key.clone(), f.input.schema(f.required))).collect();
                let required: Vec<_> =
                    fields.iter().filter(|f| f.required).map(|f| f.key.as_str()).collect();
                Some(json!({
                    "type": "object",
                    "properties": properties,
                    "required": required,
                    "additionalProperties": false,
                }))
            }
        }
    }
}

/// Returns the plan of an edit, which must have at least one step.
///
/// # Errors
/// Returns the error of the plan, in words for its editor.
pub fn edited(answer: &Answer, completed: &[StepId]) -> Result<Plan, Misfit> {
    let value = answer.value.clone().ok_or(Misfit::NoValue)?;
    let plan: Plan =
        serde_json::from_value(value).map_err(|e| Misfit::Plan(e.to_string().into()))?;
    if plan.steps.is_empty() {
        return Err(Misfit::Plan(Words::new(empty_plan)));
    }
    let completed = completed.iter().cloned().collect();
    let wrong = |error: PlanError| Misfit::Plan(Words::new(|language| error.text(language)));
    plan.check(&completed).map_err(wrong)?;
    Ok(plan)
}

/// Returns the reason why an edit must have a step.
#[must_use]
pub fn empty_plan(language: Language) -> String {
    Text::EmptyPlan { why: &PlanError::Empty.text(language) }.text(language)
}

/// Returns the digest that an approval of a tool call refers to: it binds the approval to exactly
/// this call of this job.
#[must_use]
pub fn approval_digest(
    job: &JobId,
    work: &str,
    tool: &ToolName,
    version: &str,
    args: &Value,
) -> String {
    digest::of_json(
        &json!({"job": job, "work": work, "tool": tool, "version": version, "args": args}),
    )
}

/// Returns the digest that the confirmation of a plan refers to.
#[must_use]
pub fn plan_digest(job: &JobId, plan: &Plan) -> String {
    digest::of_json(&json!({"job": job, "plan": plan}))
}

#[cfg(test)]
mod tests;
