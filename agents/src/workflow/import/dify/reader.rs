//! The references of Dify's texts and selectors, as expressions.

use std::collections::BTreeMap;

use proto::lang::Words;
use serde_json::Value;

use super::super::{
    draft::{Text, list, text_of},
    names::Names,
};

/// The names under which the values of nodes are known, and the inputs.
pub(super) struct Reader<'a> {
    pub(super) names: &'a Names,
    /// Key of the state of each node that has a value.
    pub(super) keys: BTreeMap<String, String>,
    /// Key of the state with the answers to the person.
    pub(super) answer: String,
    pub(super) start: String,
    /// `true` if a node reads the words of the user of a chat.
    pub(super) reads_query: bool,
}

impl Reader<'_> {
    /// Returns the expression that a selector names: `[node, variable, …]`.
    pub(super) fn selected(&mut self, selector: &Value) -> Result<String, Words> {
        let parts: Vec<&str> = list(selector).iter().filter_map(Value::as_str).collect();
        self.variable(&parts)
    }

    fn variable(&mut self, parts: &[&str]) -> Result<String, Words> {
        match parts {
            ["sys", "query"] => {
                self.reads_query = true;
                Ok("input.query".to_owned())
            }
            [node, variable] if *node == self.start => Ok(format!("input.{variable}")),
            // Only the state has values of a node that failed, and it has no error.
            [_, "error_message" | "error_type", ..] => {
                Err(Text::NoVariable { variable: &parts.join(".") }.into())
            }
            [node, rest @ ..] if self.keys.contains_key(*node) => {
                let key = self.keys.get(*node).cloned().unwrap_or_default();
                // The text of a model and the class of a classifier are the whole value of the node.
                let fields = match rest {
                    ["text" | "output" | "class_name" | "json" | "result"] | [] => &[],
                    fields => fields,
                };
                let path = fields.iter().map(|field| format!(".{field}")).collect::<String>();
                Ok(format!("state.{key}{path}"))
            }
            other => {
                let variable = &other.join(".");
                Err(Text::NoVariable { variable }.into())
            }
        }
    }

    /// Converts a text with references such as `{{#node.text#}}`, and returns the expression too if
    /// the text is one reference.
    pub(super) fn template(&mut self, text: &str) -> Result<(String, Option<String>), Words> {
        let (mut out, mut rest, mut only) = (String::new(), text, None);
        while let Some((before, after)) = rest.split_once("{{#") {
            let Some((name, after)) = after.split_once("#}}") else { break };
            let parts: Vec<&str> = name.split('.').collect();
            let expression = self.variable(&parts)?;
            out.push_str(&escaped(before));
            out.push_str(&format!("{{{{ {expression} }}}}"));
            let is_all = before.is_empty() && after.is_empty() && only.is_none();
            only = (is_all && rest.len() == text.len()).then_some(expression);
            rest = after;
        }
        out.push_str(&escaped(rest));
        Ok((out, only))
    }

    /// Converts the template of a template node, whose variables have names of their own.
    pub(super) fn jinja(&mut self, data: &Value) -> Result<String, Words> {
        let text = text_of(data, "template");
        if text.contains("{%") || text.contains("{#") {
            return Err(Text::Code.into());
        }
        let mut names = BTreeMap::new();
        for variable in list(&data["variables"]) {
            let from = self.selected(&variable["value_selector"])?;
            names.insert(text_of(variable, "variable"), from);
        }
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inner, after)) = after.split_once("}}") else { break };
            let from = names.get(inner.trim()).ok_or_else(|| Words::from(Text::Code))?;
            out.push_str(before);
            out.push_str(&format!("{{{{ {from} }}}}"));
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Writes braces that begin an expression here, and only text there, as a text.
fn escaped(text: &str) -> String {
    text.replace("{{", "{{ '{{' }}")
}
