//! The answer that a sent form has.

use proto::{
    interaction::{Answer, Input, Question, QuestionKind, Verdict},
    lang::Language,
};
use serde_json::{Map, Number, Value};

use super::{shown::TYPED_DIGITS, words::Text};

/// Names of the form's fields.
pub(super) const VALUE: &str = "value";
pub(super) const TEXT: &str = "text";
pub(super) const TYPED: &str = "typed";
const DECISION: &str = "decision";
const OF: &str = "of";
/// The decision to say no.
pub(super) const DECLINE: &str = "reject";

/// Returns the name of a field of a question's own form.
pub(super) fn field_name(n: usize) -> String {
    format!("field{n}")
}

/// The fields of a sent form.
#[derive(Debug)]
pub(super) struct Fields(Vec<(String, String)>);

/// The reason why a form has no answer.
#[derive(Debug, PartialEq)]
pub(super) enum Wrong {
    /// Nothing was chosen.
    NoDecision,
    /// The digits of the digest are missing or others.
    NotTheDigest,
    /// A field must be a number.
    NoNumber(String),
}

impl Wrong {
    pub(super) fn text(&self, language: Language) -> String {
        match self {
            Self::NoDecision => Text::Choose.text(language),
            Self::NotTheDigest => Text::NotTheDigest.text(language),
            Self::NoNumber(label) => Text::Number { label }.text(language),
        }
    }
}

impl Fields {
    /// Reads a sent form.
    pub(super) fn of(body: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(body);
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let of = self.0.iter().filter(move |(of, _)| of == name);
        of.map(|(_, value)| value.as_str()).filter(|value| !value.trim().is_empty())
    }

    fn one(&self, name: &str) -> Option<String> {
        // A browser sends the lines of a text with CR LF.
        self.all(name).next().map(|value| value.replace("\r\n", "\n"))
    }

    /// Returns the digest of the question that was shown.
    pub(super) fn digest(&self) -> Option<String> {
        self.one(OF)
    }

    /// Returns the answer to a question. The front door checks it.
    pub(super) fn answer(&self, question: &Question, once: bool) -> Result<Answer, Wrong> {
        let decision = match self.one(DECISION).as_deref() {
            Some("approve") => Verdict::Approve,
            Some("respond") => Verdict::Respond,
            Some(DECLINE) => Verdict::Reject,
            Some(_) | None => return Err(Wrong::NoDecision),
        };
        let digest = match &question.kind {
            QuestionKind::PlanCheck { digest, .. } | QuestionKind::ToolApproval { digest, .. } => {
                Some(digest.clone())
            }
            QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {
                None
            }
        };
        if once && decision == Verdict::Approve {
            let typed = self.one(TYPED).unwrap_or_default().to_ascii_lowercase();
            let expected = digest.as_ref().and_then(|digest| digest.get(..TYPED_DIGITS));
            if expected != Some(typed.trim()) {
                return Err(Wrong::NotTheDigest);
            }
        }
        let value = if decision == Verdict::Respond { self.value(question)? } else { None };
        let digest = digest.filter(|_| decision == Verdict::Approve);
        Ok(Answer { decision, value, text: self.one(TEXT), digest, remember: None })
    }

    fn value(&self, question: &Question) -> Result<Option<Value>, Wrong> {
        Ok(match &question.kind {
            QuestionKind::PlanCheck { .. } | QuestionKind::ToolApproval { .. } => None,
            QuestionKind::Question | QuestionKind::Choice { multiple: false, .. } => {
                self.one(VALUE).map(Value::from)
            }
            QuestionKind::Choice { multiple: true, .. } => Some(self.list(VALUE)),
            QuestionKind::Form { fields } => {
                let mut object = Map::new();
                for (n, field) in fields.iter().enumerate() {
                    if let Some(value) = self.field(&field_name(n), &field.label, &field.input)? {
                        object.insert(field.key.clone(), value);
                    }
                }
                Some(Value::Object(object))
            }
        })
    }

    fn list(&self, name: &str) -> Value {
        self.all(name).collect()
    }

    /// Returns the value of a field; `None` if it was left empty.
    fn field(&self, name: &str, label: &str, input: &Input) -> Result<Option<Value>, Wrong> {
        let Some(text) = self.one(name) else { return Ok(None) };
        Ok(Some(match input {
            Input::Text { .. } | Input::Select { multiple: false, .. } => text.into(),
            Input::Number { .. } => {
                let whole = text.trim().parse::<i64>().map(Number::from).ok();
                let number = || Number::from_f64(text.trim().parse().ok()?);
                let number = whole.or_else(number);
                number.map(Value::from).ok_or_else(|| Wrong::NoNumber(label.to_owned()))?
            }
            Input::Boolean => Value::from(text == "true"),
            Input::Select { multiple: true, .. } => self.list(name),
        }))
    }
}
