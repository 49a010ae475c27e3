//! Templates in replies: compiled once, rendered per request.
//!
//! A text without `{{`, `{%` or `{#` is not a template, so plain replies cost nothing. The
//! templates are those of the script's author; text from a conversation is data and is never
//! rendered.

use minijinja::{Environment, UndefinedBehavior, value::Serde};
use serde_json::{Map, Value};

#[derive(derive_more::Debug)]
#[debug("Templates({made})")]
pub(super) struct Templates {
    environment: Environment<'static>,
    made: usize,
}

/// A text, literal or a template.
#[derive(Debug, Clone)]
pub(super) enum Text {
    Literal(String),
    /// Name of a template in [`Templates`].
    Template(String),
}

/// A JSON value whose strings may be templates.
#[derive(Debug, Clone)]
pub(super) enum Tree {
    Literal(Value),
    Text(Text),
    /// A string that consists of one expression and keeps its type: the template yields JSON.
    Typed(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    pub(super) fn empty() -> Self {
        Self::Literal(Value::Object(Map::new()))
    }
}

impl Templates {
    pub(super) fn new() -> Self {
        let mut environment = Environment::new();
        // A misspelt name is an error, not an empty text.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_filter(TYPED, typed);
        Self { environment, made: 0 }
    }

    /// Compiles a text; with `raw` it stays literal.
    pub(super) fn text(&mut self, source: String, raw: bool) -> Result<Text, String> {
        if raw || !["{{", "{%", "{#"].iter().any(|mark| source.contains(mark)) {
            return Ok(Text::Literal(source));
        }
        self.compile(source).map(Text::Template)
    }

    /// Compiles the strings of a JSON value; with `raw` they stay literal.
    pub(super) fn tree(&mut self, source: Value, raw: bool) -> Result<Tree, String> {
        if raw {
            return Ok(Tree::Literal(source));
        }
        Ok(match source {
            Value::String(text) => match expression(&text) {
                Some(expression) => {
                    Tree::Typed(self.compile(format!("{{{{ ({expression})|{TYPED} }}}}"))?)
                }
                None => Tree::Text(self.text(text, false)?),
            },
            Value::Array(items) => Tree::List(
                items.into_iter().map(|item| self.tree(item, false)).collect::<Result<_, _>>()?,
            ),
            Value::Object(fields) => Tree::Map(
                fields
                    .into_iter()
                    .map(|(key, value)| Ok((key, self.tree(value, false)?)))
                    .collect::<Result<_, String>>()?,
            ),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => Tree::Literal(plain),
        })
    }

    fn compile(&mut self, source: String) -> Result<String, String> {
        self.made += 1;
        let name = format!("template {}", self.made);
        match self.environment.add_template_owned(name.clone(), source) {
            Ok(()) => Ok(name),
            Err(error) => Err(format!("the template cannot be compiled: {}", reason(&error))),
        }
    }

    pub(super) fn render(&self, text: &Text, context: &Context<'_>) -> Result<String, String> {
        match text {
            Text::Literal(text) => Ok(text.clone()),
            Text::Template(name) => self.render_named(name, context),
        }
    }

    pub(super) fn render_tree(&self, tree: &Tree, context: &Context<'_>) -> Result<Value, String> {
        Ok(match tree {
            Tree::Literal(value) => value.clone(),
            Tree::Text(text) => Value::String(self.render(text, context)?),
            Tree::Typed(name) => serde_json::from_str(&self.render_named(name, context)?)
                .map_err(|error| format!("the template does not yield a value: {error}"))?,
            Tree::List(items) => Value::Array(
                items
                    .iter()
                    .map(|item| self.render_tree(item, context))
                    .collect::<Result<_, _>>()?,
            ),
            Tree::Map(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, tree)| Ok((key.clone(), self.render_tree(tree, context)?)))
                    .collect::<Result<Map<_, _>, String>>()?,
            ),
        })
    }

    fn render_named(&self, name: &str, context: &Context<'_>) -> Result<String, String> {
        let template = self.environment.get_template(name).map_err(|error| reason(&error))?;
        template.render(context.value()).map_err(|error| reason(&error))
    }
}

/// The variables of templates, built for the first template of a reply, because most replies have
/// none.
pub(super) struct Context<'a> {
    build: &'a dyn Fn() -> Value,
    built: std::cell::OnceCell<minijinja::Value>,
}

impl<'a> Context<'a> {
    pub(super) fn new(build: &'a dyn Fn() -> Value) -> Self {
        Self { build, built: std::cell::OnceCell::new() }
    }

    fn value(&self) -> minijinja::Value {
        self.built.get_or_init(|| minijinja::Value::from(Serde((self.build)()))).clone()
    }
}

/// Name of the filter that writes JSON. The engine's own filter accepts undefined values.
const TYPED: &str = "callboard_json";

fn typed(value: &minijinja::Value) -> Result<String, minijinja::Error> {
    use minijinja::ErrorKind;
    if value.is_undefined() {
        return Err(minijinja::Error::from(ErrorKind::UndefinedError));
    }
    serde_json::to_string(value).map_err(|_| {
        minijinja::Error::new(ErrorKind::BadSerialization, "the value cannot be written as JSON")
    })
}

/// Returns the expression of a string that consists of one `{{ … }}`.
fn expression(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let plain = !inside.contains("{{")
        && !inside.contains("}}")
        && !inside.starts_with('-')
        && !inside.ends_with('-');
    plain.then(|| inside.trim())
}

/// Formats a template error without the engine's drawing.
fn reason(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn rendered(source: Value, raw: bool) -> Result<Value, String> {
        let mut templates = Templates::new();
        let tree = templates.tree(source, raw)?;
        let build =
            || json!({"n": 3, "word": "a <b> 'c'", "list": [1, {"x": null}], "evil": "{{ n }}"});
        templates.render_tree(&tree, &Context::new(&build))
    }

    #[rstest]
    #[case(json!("{{ n }}"), json!(3))]
    #[case(json!("{{ word }}"), json!("a <b> 'c'"))]
    #[case(json!("{{ list }}"), json!([1, {"x": null}]))]
    #[case(json!("n is {{ n }}"), json!("n is 3"))]
    #[case(json!({"a": ["{{ n + 1 }}", true], "b": "{{ word|upper }}!"}), json!({"a": [4, true], "b": "A <B> 'C'!"}))]
    #[case(json!("plain"), json!("plain"))]
    #[case(json!("{{ evil }}"), json!("{{ n }}"))]
    fn values_keep_their_type(#[case] source: Value, #[case] expected: Value) {
        assert_eq!(rendered(source, false), Ok(expected));
    }

    #[test]
    fn raw_values_are_taken_as_they_are() {
        assert_eq!(rendered(json!("{{step1.id}}"), true), Ok(json!("{{step1.id}}")));
    }

    #[rstest]
    #[case("{{ nobody }}")]
    #[case("{{ n")]
    #[case("{% if %}")]
    fn a_broken_template_is_an_error(#[case] source: &str) {
        rendered(json!(source), false).unwrap_err();
    }
}
