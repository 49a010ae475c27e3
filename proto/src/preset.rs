//! Fixed arguments of tools, set by an agent. Models do not see them, a call cannot change them,
//! and every call of the tool has them.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    bounds::Text,
    id::ToolName,
    lang::{Language, Words},
    limits,
    tool::ToolSpec,
};

/// The fixed arguments, by tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Presets(BTreeMap<ToolName, Map<String, Value>>);

impl Presets {
    /// Returns whether no argument is fixed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops the arguments of all other tools.
    pub fn keep(&mut self, tools: &[ToolName]) {
        self.0.retain(|tool, _| tools.contains(tool));
    }

    /// Returns the tools with fixed arguments, and these arguments.
    pub fn iter(&self) -> impl Iterator<Item = (&ToolName, &Map<String, Value>)> {
        self.0.iter()
    }

    /// Returns the tool as models and users call it: without the fixed arguments.
    #[must_use]
    pub fn without<'a>(&self, tool: &'a ToolSpec) -> Cow<'a, ToolSpec> {
        self.left(Cow::Borrowed(tool))
    }

    /// Returns the tool as the models of a job in this language are offered it: with the texts of
    /// the language, and without the fixed arguments.
    #[must_use]
    pub fn offered<'a>(&self, tool: &'a ToolSpec, language: Language) -> Cow<'a, ToolSpec> {
        self.left(tool.in_language(language))
    }

    fn left<'a>(&self, mut tool: Cow<'a, ToolSpec>) -> Cow<'a, ToolSpec> {
        let Some(fixed) = self.0.get(&tool.name) else { return tool };
        let open = tool.to_mut();
        if let Some(properties) = open.schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !fixed.contains_key(name));
        }
        if let Some(required) = open.schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name.as_str().is_none_or(|name| !fixed.contains_key(name)));
        }
        tool
    }

    /// Returns the arguments of a call with the fixed ones added, which take precedence.
    #[must_use]
    pub fn fill(&self, tool: &ToolName, mut args: Value) -> Value {
        if let (Some(fixed), Some(args)) = (self.0.get(tool), args.as_object_mut()) {
            args.extend(fixed.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        args
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// Returns the first wrong tool, or `None` when the tools together exceed a bound, and the
    /// requirement.
    pub(crate) fn check(&self) -> Result<(), (Option<&ToolName>, Words)> {
        if self.0.len() > limits::PRESETS_MAX {
            return Err((None, Text::Presets { max: &limits::PRESETS_MAX }.into()));
        }
        for (tool, fixed) in &self.0 {
            if fixed.values().any(|value| depth(value) > DEPTH_MAX) {
                return Err((Some(tool), Text::PresetDepth { max: &DEPTH_MAX }.into()));
            }
        }
        let bytes = serde_json::to_string(self).map_or(usize::MAX, |json| json.len());
        if bytes > limits::PRESET_BYTES_MAX {
            return Err((None, Text::PresetBytes.into()));
        }
        Ok(())
    }
}

/// Maximum nesting of a fixed argument.
const DEPTH_MAX: usize = 16;

fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + inner.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {"url": {"type": "string"}, "headers": {"type": "object"}},
            "required": ["url", "headers"],
        });
        let spec = json!({"name": "get", "description": "", "schema": schema, "effect": "pure", "pool": "p"});
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn a_model_is_offered_a_tool_in_the_language_of_its_job_as_far_as_the_tool_has_it() {
        let mut whole = tool();
        let texts = json!({
            "zh": {"description": "取", "arguments": {"url": "网址", "headers": "头", "x": "无"}},
            "xx": {"description": "?"},
        });
        whole.translations = serde_json::from_value(texts).unwrap();
        let fixed = presets(json!({"get": {"headers": {}}}));
        let url = json!({"type": "string", "description": "网址"});
        let zh = fixed.offered(&whole, Language::Zh).into_owned();
        assert_eq!(
            (zh.description.as_str(), &zh.schema["properties"]),
            ("取", &json!({"url": url}))
        );
        assert_eq!(zh.binding(), whole.binding());
        let en = presets(json!({})).offered(&whole, Language::En).into_owned();
        assert_eq!(en, whole);
        let again: ToolSpec = serde_json::from_value(json!(whole)).unwrap();
        assert_eq!(again, whole, "a code without texts is kept");
    }

    fn presets(json: Value) -> Presets {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn what_is_fixed_is_not_shown_and_stands_in_every_call() {
        let fixed = presets(json!({"get": {"headers": {"accept": "text/plain"}}}));
        let whole = tool();
        let shown = fixed.without(&whole);
        assert_eq!(
            shown.schema,
            json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]})
        );
        let filled = fixed.fill(&tool().name, json!({"url": "x", "headers": {"accept": "*"}}));
        assert_eq!(filled, json!({"url": "x", "headers": {"accept": "text/plain"}}));
        let other = presets(json!({"other": {"a": 1}}));
        assert!(matches!(other.without(&whole), Cow::Borrowed(_)));
        assert_eq!(other.fill(&tool().name, json!({"url": "x"})), json!({"url": "x"}));
    }

    #[test]
    fn what_is_fixed_is_bounded() {
        let many: Map<String, Value> =
            (0..65).map(|n| (format!("t{n}"), json!({"a": 1}))).collect();
        let at_most: Words = Text::Presets { max: &64 }.into();
        assert_eq!(presets(Value::Object(many)).check().unwrap_err().1, at_most);
        let long = presets(json!({"get": {"a": "x".repeat(20_000)}}));
        assert_eq!(long.check().unwrap_err(), (None, Text::PresetBytes.into()));
        let mut deep = json!(1);
        for _ in 0..17 {
            deep = json!([deep]);
        }
        assert!(presets(json!({"get": {"a": deep}})).check().unwrap_err().0.is_some());
        assert!(presets(json!({"get": {"a": [[1]]}})).check().is_ok());
        assert!(serde_json::from_value::<Presets>(json!({"get": 7})).is_err());
        assert!(serde_json::from_value::<Presets>(json!({"g t": {}})).is_err());
    }
}
