//! Questions to people and their answers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    digest,
    id::{AskId, JobId, StepId, ToolName},
    limits,
    plan::{Plan, PlanError},
};

/// A question, as it is stored in the job's log and shown in the inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Unique within the job.
    pub id: AskId,
    /// What is asked, in the job's language.
    pub prompt: String,
    /// What kind of answer is wanted.
    #[serde(flatten)]
    pub kind: QuestionKind,
    /// The step that asks, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// When the question closes by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The value that counts as the answer when the deadline passes; without one the job fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What kind of answer is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QuestionKind {
    /// Is this plan right? `approve` runs it, `respond` with text has it revised, `edit` with another
    /// plan puts that in its place, `reject` cancels.
    PlanCheck {
        /// The plan as it would run.
        plan: Plan,
        /// How many plans there have been before.
        revision: u32,
        /// What an approval binds.
        digest: String,
        /// Steps of earlier plans that have completed: steps may depend on them, and none may take
        /// its id.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        completed: Vec<StepId>,
    },
    /// Free text.
    Question,
    /// One of several options, or several.
    Choice {
        /// What can be chosen.
        options: Vec<Choice>,
        /// Whether more than one may be chosen.
        #[serde(default)]
        multiple: bool,
    },
    /// A form.
    Form {
        /// Its fields, in order.
        fields: Vec<Field>,
    },
    /// May this tool call run? `approve` runs it, `reject` tells the model no.
    ToolApproval {
        /// The tool.
        tool: ToolName,
        /// Its version.
        version: String,
        /// The arguments it would be called with, whole.
        args: Value,
        /// What an approval binds.
        digest: String,
    },
}

impl QuestionKind {
    /// The word on screens and in filters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::PlanCheck { .. } => "plan_check",
            Self::Question => "question",
            Self::Choice { .. } => "choice",
            Self::Form { .. } => "form",
            Self::ToolApproval { .. } => "tool_approval",
        }
    }

    /// The steps that are completed already, when it asks about a plan.
    #[must_use]
    pub fn completed(&self) -> &[StepId] {
        if let Self::PlanCheck { completed, .. } = self { completed } else { &[] }
    }
}

/// An option of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What an answer names.
    pub value: String,
    /// What people read; the value when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its key in the answer.
    pub key: String,
    /// What people read.
    pub label: String,
    /// What it takes.
    #[serde(flatten)]
    pub input: Input,
    /// Whether it must be filled in.
    #[serde(default)]
    pub required: bool,
    /// More words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is filled in already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Input {
    /// Text.
    Text {
        /// Most characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u32>,
        /// Fewest characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u32>,
        /// Whether a large box is shown.
        #[serde(default)]
        multiline: bool,
    },
    /// A number.
    Number {
        /// Least value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<f64>,
        /// Greatest value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<f64>,
        /// Whether only whole numbers are taken.
        #[serde(default)]
        integer: bool,
    },
    /// Yes or no.
    Boolean,
    /// One of several options, or several.
    Select {
        /// What can be chosen.
        options: Vec<Choice>,
        /// Whether more than one may be chosen.
        #[serde(default)]
        multiple: bool,
    },
}

/// What a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Approve,
    /// No.
    Reject,
    /// An answer: the value asked for, or words that change a plan.
    Respond,
    /// Another plan in place of the one that is shown. It is shown in turn: nothing runs yet.
    Edit,
}

impl Verdict {
    /// The word that is sent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Respond => "respond",
            Self::Edit => "edit",
        }
    }
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What was decided.
    pub decision: Verdict,
    /// The answer to a question, choice or form; for an edit the plan, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Words: how the plan is to change, or why it was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For approvals: the digest of what was seen. Required for tool approvals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Answer {
    /// A yes, bound to what was seen.
    #[must_use]
    pub fn approve(digest: Option<String>) -> Self {
        Self { decision: Verdict::Approve, value: None, text: None, digest }
    }

    /// An answer to a question, choice or form.
    #[must_use]
    pub fn respond(value: Value) -> Self {
        Self { decision: Verdict::Respond, value: Some(value), text: None, digest: None }
    }
}

/// An answer that does not fit its question, before any schema is looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// This kind of question cannot be answered so.
    #[error("a {kind} is answered with {allowed}, not {}", .got.as_str())]
    Verdict {
        /// The kind of question.
        kind: &'static str,
        /// What it takes.
        allowed: &'static str,
        /// What came.
        got: Verdict,
    },
    /// The words that a revision needs are missing.
    #[error("`text` must say how the plan is to change")]
    NoText,
    /// A value is missing.
    #[error("`value` is missing")]
    NoValue,
    /// The plan of an edit cannot run.
    #[error("{0}")]
    Plan(String),
    /// The approval is for something else than what would run.
    #[error("the digest is not that of what would run; look at the question again")]
    Stale,
    /// A text is too long.
    #[error("`text` is longer than {} bytes", limits::ANSWER_BYTES_MAX)]
    TooLong,
}

impl Question {
    /// Checks everything about an answer but the value against its schema.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, answer: &Answer) -> Result<(), Misfit> {
        use Verdict::{Approve, Edit, Reject, Respond};
        if answer.text.as_ref().is_some_and(|t| t.len() > limits::ANSWER_BYTES_MAX) {
            return Err(Misfit::TooLong);
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
            (QuestionKind::ToolApproval { .. }, Respond | Edit) => {
                Err(verdict("approve or reject"))
            }
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
            ) => Err(verdict("respond or reject")),
        }
    }

    /// JSON Schema (2020-12) of the answer's `value`, for kinds that have one.
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

/// The plan of an edit: whole, and with a step at least.
///
/// # Errors
/// What is missing or wrong with it, for its editor.
pub fn edited(answer: &Answer, completed: &[StepId]) -> Result<Plan, Misfit> {
    let value = answer.value.clone().ok_or(Misfit::NoValue)?;
    let plan: Plan = serde_json::from_value(value).map_err(|e| Misfit::Plan(e.to_string()))?;
    if plan.steps.is_empty() {
        return Err(Misfit::Plan(format!("{}; reject it to end the job", PlanError::Empty)));
    }
    let completed = completed.iter().cloned().collect();
    plan.check(&completed).map_err(|e| Misfit::Plan(e.to_string()))?;
    Ok(plan)
}

impl Input {
    /// Whether a value is one that the field takes, as the schema of its form says it.
    #[must_use]
    pub fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text { max_length, min_length, .. }, Value::String(text)) => {
                let length = text.chars().count();
                let within = |bound: &u32| usize::try_from(*bound).is_ok_and(|b| length <= b);
                let most = max_length.as_ref().map_or(length <= limits::ANSWER_BYTES_MAX, within);
                most && min_length.is_none_or(|least| u64::from(least) <= length as u64)
            }
            (Self::Number { min, max, integer }, Value::Number(number)) => {
                number.as_f64().is_some_and(|n| {
                    min.is_none_or(|min| min <= n)
                        && max.is_none_or(|max| n <= max)
                        && (!integer || n.fract() == 0.0)
                })
            }
            (Self::Boolean, Value::Bool(_)) => true,
            (Self::Select { options, multiple: false }, Value::String(chosen)) => {
                options.iter().any(|option| option.value == *chosen)
            }
            (Self::Select { options, multiple: true }, Value::Array(chosen)) => {
                let offered = |value: &Value| options.iter().any(|o| *value == *o.value);
                let twice = |(n, value): (usize, &Value)| chosen.iter().take(n).any(|v| v == value);
                !chosen.is_empty()
                    && chosen.iter().all(offered)
                    && !chosen.iter().enumerate().any(twice)
            }
            (
                Self::Text { .. } | Self::Number { .. } | Self::Boolean | Self::Select { .. },
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_),
            ) => false,
        }
    }

    fn schema(&self, required: bool) -> Value {
        match self {
            Self::Text { max_length, min_length, .. } => {
                let least = min_length.unwrap_or(0).max(u32::from(required));
                let bound = u32::try_from(limits::ANSWER_BYTES_MAX).unwrap_or(u32::MAX);
                json!({"type": "string", "minLength": least, "maxLength": max_length.unwrap_or(bound)})
            }
            Self::Number { min, max, integer } => {
                let mut schema = json!({"type": if *integer { "integer" } else { "number" }});
                if let Some(min) = min {
                    schema["minimum"] = json!(min);
                }
                if let Some(max) = max {
                    schema["maximum"] = json!(max);
                }
                schema
            }
            Self::Boolean => json!({"type": "boolean"}),
            Self::Select { options, multiple } => select_schema(options, *multiple),
        }
    }
}

fn select_schema(options: &[Choice], multiple: bool) -> Value {
    let values: Vec<_> = options.iter().map(|o| o.value.as_str()).collect();
    if multiple {
        json!({"type": "array", "items": {"enum": values}, "uniqueItems": true, "minItems": 1})
    } else {
        json!({"enum": values})
    }
}

/// What an approval of a tool call binds: exactly this call, of this job, and no other.
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

/// What the confirmation of a plan binds.
#[must_use]
pub fn plan_digest(job: &JobId, plan: &Plan) -> String {
    digest::of_json(&json!({"job": job, "plan": plan}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: QuestionKind) -> Question {
        let id = AskId::new("q1").unwrap();
        Question { id, prompt: "?".into(), kind, step: None, deadline: None, default: None }
    }

    #[test]
    fn an_approval_binds_what_was_seen() {
        let tool = ToolName::new("send_mail").unwrap();
        let q = question(QuestionKind::ToolApproval {
            tool,
            version: "1".into(),
            args: json!({}),
            digest: "abc".into(),
        });
        assert_eq!(q.check(&Answer::approve(Some("abc".into()))), Ok(()));
        assert_eq!(q.check(&Answer::approve(Some("old".into()))), Err(Misfit::Stale));
        assert_eq!(q.check(&Answer::approve(None)), Err(Misfit::Stale));
        assert!(matches!(q.check(&Answer::respond(json!(1))), Err(Misfit::Verdict { .. })));
    }

    #[test]
    fn approvals_of_equal_calls_in_two_jobs_differ() {
        let tool = ToolName::new("t").unwrap();
        let of = |job: &str| {
            approval_digest(&JobId::new(job).unwrap(), "g0.s1", &tool, "1", &json!({"a": 1}))
        };
        assert_ne!(of("a"), of("b"));
        assert_eq!(of("a"), of("a"));
    }

    #[test]
    fn the_schema_of_a_form_says_what_each_field_takes() {
        let q = question(QuestionKind::Form {
            fields: serde_json::from_value(json!([
                {"key": "name", "label": "Name", "type": "text", "required": true, "max_length": 5},
                {"key": "n", "label": "N", "type": "number", "min": 1.0, "integer": true},
                {"key": "c", "label": "C", "type": "select", "options": [{"value": "x"}], "multiple": true},
            ]))
            .unwrap(),
        });
        assert_eq!(
            q.value_schema().unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": 5},
                    "n": {"type": "integer", "minimum": 1.0},
                    "c": {"type": "array", "items": {"enum": ["x"]}, "uniqueItems": true, "minItems": 1},
                },
                "required": ["name"],
                "additionalProperties": false,
            })
        );
    }
}
