//! Placeholders in tool arguments: `{{step1.id}}` stands for the `id` in step1's result.
//!
//! A string that is one placeholder takes the value with its type; placeholders inside a longer
//! string are written into it. Values that come out are data: they are never looked through again,
//! so a result that contains `{{…}}` stays what it is. Text in braces that is not of the form
//! `{{id.path}}` is literal.

use serde_json::Value;

use crate::id::StepId;

/// A placeholder that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{placeholder}: {why}")]
pub struct Unresolved {
    /// The placeholder as it was written.
    pub placeholder: String,
    /// What was missing.
    pub why: String,
}

/// One placeholder: a step and the way into its result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Placeholder<'a> {
    step: StepId,
    path: Vec<&'a str>,
    text: &'a str,
}

/// The steps that arguments refer to, each once, in order of appearance.
#[must_use]
pub fn references(args: &Value) -> Vec<StepId> {
    let mut found = Vec::new();
    visit(args, &mut |text| {
        for part in split(text) {
            if let Part::Placeholder(p) = part
                && !found.contains(&p.step)
            {
                found.push(p.step);
            }
        }
    });
    found
}

/// How much of a text is not known before its placeholders are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Nothing: it holds no placeholder.
    Nothing,
    /// What it says, but it will be a text.
    Words,
    /// Everything, its type included: it is one placeholder.
    Everything,
}

/// How much of a text is not known before its placeholders are resolved.
#[must_use]
pub fn unknown(text: &str) -> Unknown {
    let parts = split(text);
    if matches!(parts.as_slice(), [Part::Placeholder(_)]) {
        return Unknown::Everything;
    }
    let some = parts.iter().any(|part| matches!(part, Part::Placeholder(_)));
    if some { Unknown::Words } else { Unknown::Nothing }
}

/// Puts values in the place of placeholders. `lookup` gives the result of a completed step.
///
/// # Errors
/// The first placeholder that names a step without a result, or a path that is not in it.
pub fn resolve(
    args: &Value,
    lookup: &impl Fn(&StepId) -> Option<Value>,
) -> Result<Value, Unresolved> {
    match args {
        Value::String(text) => resolve_text(text, lookup),
        Value::Array(items) => items.iter().map(|item| resolve(item, lookup)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| Ok((name.clone(), resolve(value, lookup)?))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(args.clone()),
    }
}

fn resolve_text(
    text: &str,
    lookup: &impl Fn(&StepId) -> Option<Value>,
) -> Result<Value, Unresolved> {
    let parts = split(text);
    if let [Part::Placeholder(only)] = parts.as_slice() {
        return only.value(lookup);
    }
    let mut out = String::with_capacity(text.len());
    for part in parts {
        match part {
            Part::Text(literal) => out.push_str(literal),
            Part::Placeholder(p) => match p.value(lookup)? {
                Value::String(s) => out.push_str(&s),
                value @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_)) => out.push_str(&value.to_string()),
            },
        }
    }
    Ok(Value::String(out))
}

impl Placeholder<'_> {
    fn value(&self, lookup: &impl Fn(&StepId) -> Option<Value>) -> Result<Value, Unresolved> {
        let fail = |why: String| Unresolved { placeholder: self.text.to_owned(), why };
        let mut at =
            lookup(&self.step).ok_or_else(|| fail(format!("step {} has no result", self.step)))?;
        for segment in &self.path {
            let next = match &mut at {
                Value::Object(fields) => fields.get_mut(*segment).map(Value::take),
                Value::Array(items) => {
                    segment.parse::<usize>().ok().and_then(|n| items.get_mut(n)).map(Value::take)
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            at = next
                .ok_or_else(|| fail(format!("the result of {} has no {segment:?}", self.step)))?;
        }
        Ok(at)
    }
}

enum Part<'a> {
    Text(&'a str),
    Placeholder(Placeholder<'a>),
}

fn split(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut literal_from, mut search_from) = (0, 0);
    while let Some(open) =
        text.get(search_from..).and_then(|t| t.find("{{")).map(|n| n + search_from)
    {
        let Some(close) = text.get(open..).and_then(|t| t.find("}}")).map(|n| n + open + 2) else {
            break;
        };
        let whole = text.get(open..close).unwrap_or_default();
        if let Some(found) = parse(whole) {
            if literal_from < open {
                parts.push(Part::Text(text.get(literal_from..open).unwrap_or_default()));
            }
            parts.push(Part::Placeholder(found));
            (literal_from, search_from) = (close, close);
        } else {
            search_from = open + 1;
        }
    }
    if literal_from < text.len() {
        parts.push(Part::Text(text.get(literal_from..).unwrap_or_default()));
    }
    parts
}

fn parse(text: &str) -> Option<Placeholder<'_>> {
    let inner = text.strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let mut segments = inner.split('.');
    let step = StepId::new(segments.next()?).ok()?;
    let path: Vec<_> = segments.collect();
    let plain =
        |s: &&str| !s.is_empty() && !s.contains(['{', '}']) && !s.contains(char::is_whitespace);
    path.iter().all(plain).then_some(Placeholder { step, path, text })
}

fn visit(value: &Value, on_text: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => on_text(text),
        Value::Array(items) => items.iter().for_each(|item| visit(item, on_text)),
        Value::Object(fields) => fields.values().for_each(|item| visit(item, on_text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn results(step: &StepId) -> Option<Value> {
        match step.as_str() {
            "step1" => Some(
                json!({"id": 7, "tags": ["a", "b"], "who": {"name": "Li"}, "evil": "{{step1.id}}"}),
            ),
            "step2" => Some(json!("done")),
            _ => None,
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it reads better at the call")]
    fn check(args: Value, expected: Result<Value, &str>) {
        let got = resolve(&args, &results).map_err(|e| e.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{args}");
    }

    #[test]
    fn a_whole_placeholder_keeps_the_type_of_its_value() {
        check(json!({"id": "{{step1.id}}"}), Ok(json!({"id": 7})));
        check(json!("{{ step1.tags }}"), Ok(json!(["a", "b"])));
        check(json!("{{step1.tags.1}}"), Ok(json!("b")));
        check(json!("{{step2}}"), Ok(json!("done")));
    }

    #[test]
    fn a_placeholder_in_a_text_is_written_into_it() {
        check(json!("task {{step1.id}} of {{step1.who.name}}!"), Ok(json!("task 7 of Li!")));
        check(
            json!([1, {"deep": ["x{{step1.tags}}"]}]),
            Ok(json!([1, {"deep": ["x[\"a\",\"b\"]"]}])),
        );
    }

    #[test]
    fn what_is_not_a_placeholder_stays_as_it_is() {
        for literal in
            ["{{ }}", "${HOME} $(id)", "{{a b}}", "{{", "}}", "{{x..y}}", "{ {step1.id} }"]
        {
            check(json!(literal), Ok(json!(literal)));
        }
    }

    #[test]
    fn a_value_is_never_looked_through_again() {
        check(json!("{{step1.evil}}"), Ok(json!("{{step1.id}}")));
    }

    #[test]
    fn what_is_missing_is_named() {
        check(json!("{{step9.id}}"), Err("{{step9.id}}: step step9 has no result"));
        check(json!("{{step1.nope}}"), Err("{{step1.nope}}: the result of step1 has no \"nope\""));
        check(json!("{{step2.id}}"), Err("{{step2.id}}: the result of step2 has no \"id\""));
    }

    #[test]
    fn a_text_says_how_much_of_it_is_not_known_yet() {
        assert_eq!(unknown("{{ step1.id }}"), Unknown::Everything);
        assert_eq!(unknown("task {{step1.id}}"), Unknown::Words);
        assert_eq!(unknown("{{step1.id}}{{step1.id}}"), Unknown::Words);
        for literal in ["", "plain", "{{a b}}", "{{", "${x}"] {
            assert_eq!(unknown(literal), Unknown::Nothing, "{literal}");
        }
    }

    #[test]
    fn references_are_found_wherever_they_stand() {
        let args = json!({"a": "{{s1.x}} and {{s2}}", "b": ["{{s1.y}}", {"c": "{{s3.z.0}}"}]});
        let found: Vec<_> = references(&args).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["s1", "s2", "s3"]);
    }
}
