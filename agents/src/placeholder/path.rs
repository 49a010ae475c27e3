//! A single placeholder: a step, and the path into its result.

use proto::id::StepId;
use serde_json::Value;

use super::{Missing, Unresolved};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placeholder<'a> {
    pub(super) step: StepId,
    /// Parts of the path between the dots.
    segments: Vec<&'a str>,
    text: &'a str,
}

impl<'a> Placeholder<'a> {
    /// Parses `{{step.path}}`. Returns `None` for any other text.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let inner = text.strip_prefix("{{")?.strip_suffix("}}")?.trim();
        let (step, rest) = inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()));
        let step = StepId::new(step).ok()?;
        let segments: Vec<_> = match rest.strip_prefix('.') {
            Some(rest) => rest.split('.').collect(),
            None if rest.is_empty() => Vec::new(),
            // In `{{step1[0].id}}` the result itself is a list.
            None => rest.split('.').collect(),
        };
        let begins_well = !rest.starts_with('[') || segments.first().is_some_and(|s| indexed(s));
        let plain =
            |s: &&str| !s.is_empty() && !s.contains(['{', '}']) && !s.contains(char::is_whitespace);
        (begins_well && segments.iter().all(plain)).then_some(Self { step, segments, text })
    }

    /// Returns the value at the path.
    pub(super) fn value(
        &self,
        lookup: &impl Fn(&StepId) -> Option<Value>,
    ) -> Result<Value, Unresolved> {
        let fail = |missing| Unresolved { placeholder: self.text.to_owned(), missing };
        let none = || fail(Missing::Result { step: self.step.clone() });
        let mut at = lookup(&self.step).ok_or_else(none)?;
        let mut walked = self.step.to_string();
        for segment in &self.segments {
            // A field's name may contain brackets, so the literal name is looked up first.
            if is_field(&at, segment) || !indexed(segment) {
                at = enter(at, segment, &mut walked).map_err(fail)?;
                continue;
            }
            let (name, items) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
            if !name.is_empty() {
                at = enter(at, name, &mut walked).map_err(fail)?;
            }
            for item in items.split('[').skip(1) {
                at = enter(at, item.trim_end_matches(']'), &mut walked).map_err(fail)?;
            }
        }
        Ok(at)
    }
}

/// Returns whether the text is the escape for two braces: `{{"{{"}}`, or a variant with other
/// quotes or spaces.
pub(super) fn is_braces(text: &str) -> bool {
    let inner = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| matches!(inner.trim(), r#""{{""# | "'{{'"))
}

/// Returns the parts of a literal text that start like a placeholder: a name and a dot or bracket,
/// up to the closing braces.
pub(super) fn malformed(literal: &str) -> Vec<(StepId, String)> {
    let begun = literal.match_indices("{{").filter_map(|(at, _)| {
        let rest = literal.get(at + 2..)?;
        let inner = rest.get(..rest.find("}}")?)?;
        let name = inner.trim_start();
        let step = StepId::new(name.get(..name.find(['.', '['])?)?).ok()?;
        Some((step, format!("{{{{{inner}}}}}")))
    });
    begun.collect()
}

/// Returns whether the segment ends in numbers in brackets: `tags[0]`, `[1][2]`.
fn indexed(segment: &str) -> bool {
    let Some(from) = segment.find('[') else { return false };
    let number = |item: &str| {
        let digits = item.strip_suffix(']').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    segment.get(from..).unwrap_or_default().split('[').skip(1).all(number)
}

fn is_field(value: &Value, name: &str) -> bool {
    matches!(value, Value::Object(fields) if fields.contains_key(name))
}

/// Returns the value of one name in `value`, and appends the name to `walked`.
fn enter(mut value: Value, name: &str, walked: &mut String) -> Result<Value, Missing> {
    let next = match &mut value {
        Value::Object(fields) => fields.get_mut(name).map(Value::take),
        Value::Array(items) => {
            name.parse::<usize>().ok().and_then(|n| items.get_mut(n)).map(Value::take)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    let Some(next) = next else { return Err(Missing::inside(walked, name, &value)) };
    walked.push('.');
    walked.push_str(name);
    Ok(next)
}
