//! Matching of rules against a conversation. Pure.

use proto::effort::Effort;
use regex::Regex;
use serde_json::{Map, Value};

use super::{conversation::Conversation, format::RoleDoc};
use crate::provider::effort_level;

/// The conditions of a rule, all of which must hold.
#[derive(Debug, Default)]
pub(super) struct When {
    pub(super) role: Option<RoleDoc>,
    pub(super) system: Option<Regex>,
    pub(super) last: Option<Regex>,
    pub(super) any: Option<Regex>,
    pub(super) tool_result: Option<ToolResultWhen>,
    pub(super) turn: Option<u32>,
    pub(super) offers: Option<String>,
    pub(super) model: Option<Regex>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) effort: Option<Effort>,
}

/// A tool result somewhere in the conversation.
#[derive(Debug)]
pub(super) struct ToolResultWhen {
    pub(super) tool: String,
    pub(super) content: Option<Regex>,
}

/// The named groups of all patterns that matched.
pub(super) type Captures = Map<String, Value>;

impl When {
    /// Returns the captures if all conditions hold. Cheap conditions are checked first.
    pub(super) fn matches(&self, talk: &Conversation) -> Option<Captures> {
        let holds = self.role.is_none_or(|role| talk.last_role() == Some(role))
            && self.turn.is_none_or(|turn| talk.turn() == turn)
            && self.temperature.is_none_or(|wanted| is(talk.temperature, wanted))
            && self.top_p.is_none_or(|wanted| is(talk.top_p, wanted))
            && self
                .effort
                .is_none_or(|wanted| talk.effort.as_deref() == Some(effort_level(wanted)))
            && self.offers.as_ref().is_none_or(|tool| talk.tools.contains(tool));
        if !holds {
            return None;
        }
        let mut captures = Captures::new();
        find(self.model.as_ref(), std::iter::once(talk.model.as_str()), &mut captures)?;
        find(self.last.as_ref(), talk.last_text().into_iter(), &mut captures)?;
        find(self.system.as_ref(), talk.texts(Some(RoleDoc::System)), &mut captures)?;
        find(self.any.as_ref(), talk.texts(None), &mut captures)?;
        if let Some(wanted) = &self.tool_result {
            // The latest result counts first, as tests usually mean that one.
            let mut results =
                talk.results().rev().filter(|(tool, _)| *tool == wanted.tool).map(|(_, text)| text);
            match &wanted.content {
                Some(pattern) => find(Some(pattern), results, &mut captures)?,
                None => results.next().map(|_| ())?,
            }
        }
        Some(captures)
    }
}

/// `true` if a number of a request equals the expected one, within rounding.
fn is(number: Option<f64>, wanted: f64) -> bool {
    number.is_some_and(|number| (number - wanted).abs() < 1e-9)
}

/// Searches texts for a pattern and keeps the named groups of the first match. Without a pattern it
/// always succeeds.
fn find<'a>(
    pattern: Option<&Regex>,
    mut texts: impl Iterator<Item = &'a str>,
    captures: &mut Captures,
) -> Option<()> {
    let Some(pattern) = pattern else { return Some(()) };
    let found = texts.find_map(|text| pattern.captures(text))?;
    for name in pattern.capture_names().flatten() {
        let value = found.name(name).map_or(Value::Null, |group| Value::from(group.as_str()));
        captures.insert(name.to_owned(), value);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::script::Script;

    fn talk() -> Conversation {
        let body = json!({
            "model": "scripted-large",
            "temperature": 0.1,
            "top_p": 0.9,
            "reasoning_effort": "low",
            "messages": [
                {"role": "system", "content": "You plan."},
                {"role": "user", "content": [{"type": "text", "text": "mark task 62"}, {"type": "text", "text": " done"}]},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "list_tasks", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "{\"total\": 3}"},
            ],
            "tools": [{"type": "function", "function": {"name": "create_task"}}],
        });
        Conversation::parse(body.to_string().as_bytes()).unwrap()
    }

    fn captures(when: &str) -> Option<Value> {
        let script =
            Script::parse(&format!("rules:\n  - when: {when}\n    reply: {{text: x}}\n")).unwrap();
        script.rules[0].when.matches(&talk()).map(Value::Object)
    }

    #[rstest]
    #[case("{}", Some(json!({})))]
    #[case("{role: tool}", Some(json!({})))]
    #[case("{role: user}", None)]
    #[case("{turn: 2}", Some(json!({})))]
    #[case("{turn: 1}", None)]
    #[case("{offers: create_task}", Some(json!({})))]
    #[case("{offers: other}", None)]
    #[case("{model: large$}", Some(json!({})))]
    #[case("{model: small}", None)]
    #[case("{temperature: 0.1, top_p: 0.9}", Some(json!({})))]
    #[case("{temperature: 0.2}", None)]
    #[case("{effort: low}", Some(json!({})))]
    #[case("{effort: high}", None)]
    #[case("{top_p: 0.5}", None)]
    #[case("{system: plan}", Some(json!({})))]
    #[case("{system: mark}", None)]
    #[case(r"{any: 'task (?<id>\d+)'}", Some(json!({"id": "62"})))]
    #[case("{last: mark}", None)]
    #[case("{last: total}", Some(json!({})))]
    #[case("{tool_result: {tool: list_tasks}}", Some(json!({})))]
    #[case(r#"{tool_result: {tool: list_tasks, content: 'total": (?<n>\d+)'}}"#, Some(json!({"n": "3"})))]
    #[case("{tool_result: {tool: list_tasks, content: none}}", None)]
    #[case("{tool_result: {tool: other}}", None)]
    #[case(r"{any: 'task (?<id>\d+)', last: '(?<word>total)'}", Some(json!({"word": "total", "id": "62"})))]
    fn conditions_hold_together(#[case] when: &str, #[case] expected: Option<Value>) {
        assert_eq!(captures(when), expected);
    }
}
