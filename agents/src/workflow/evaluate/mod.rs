//! The evaluator of expressions and templates, on minijinja.
//!
//! It has no clock, no randomness, no files and no environment variables; an expression sees its
//! [`Scope`] alone. Time is bounded by fuel, memory by the bounds of sources and outputs, and by the
//! lack of operators that repeat texts. Equal scopes give equal values in one release. Decisions
//! record the values, so a fold never evaluates.

mod bounds;
mod error;
mod filters;
mod output;
mod scope;

use minijinja::{Environment, UndefinedBehavior};
use proto::workflow::{Expression, TemplateValue};
use serde_json::{Map, Value};

pub(crate) use self::bounds::kind;
pub use self::{
    bounds::{FUEL, OUTPUT_BYTES_MAX},
    error::{EvalError, EvalFault},
    scope::{Item, Scope},
};
use super::template::{Piece, pieces};

/// Evaluates the expressions and templates of checked workflows.
pub struct Evaluator {
    environment: Environment<'static>,
}

impl Default for Evaluator {
    fn default() -> Self {
        Self::new()
    }
}

impl Evaluator {
    /// Creates an evaluator with the vetted filters and tests.
    #[must_use]
    pub fn new() -> Self {
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_debug(true);
        filters::add(&mut environment);
        Self { environment }
    }

    /// Evaluates a condition.
    ///
    /// # Errors
    /// Fails when the expression fails, or when its value is neither true nor false.
    pub fn condition(&self, condition: &Expression, scope: &Scope<'_>) -> Result<bool, EvalError> {
        let value = self.expression(condition.as_str(), &scope.context())?;
        match value {
            Value::Bool(value) => Ok(value),
            other @ (Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_)) => {
                Err(EvalError::of(condition.as_str(), EvalFault::NoBoolean { got: kind(&other) }))
            }
        }
    }

    /// Evaluates the list of a map node.
    ///
    /// # Errors
    /// Fails when the expression fails, when its value is no list, or when the list has more than
    /// `max` items.
    pub fn items(
        &self,
        over: &Expression,
        max: u32,
        scope: &Scope<'_>,
    ) -> Result<Vec<Value>, EvalError> {
        let fault = |fault| EvalError::of(over.as_str(), fault);
        match self.expression(over.as_str(), &scope.context())? {
            Value::Array(items) if items.len() > usize::try_from(max).unwrap_or(usize::MAX) => {
                Err(fault(EvalFault::TooManyItems { got: items.len(), max }))
            }
            Value::Array(items) => Ok(items),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_)) => Err(fault(EvalFault::NoList { got: kind(&other) })),
        }
    }

    /// Evaluates the templates of a value. A template that consists of one expression becomes the
    /// value of the expression, with its type.
    ///
    /// # Errors
    /// Fails when an expression fails, or when the value exceeds [`OUTPUT_BYTES_MAX`].
    pub fn value(&self, value: &TemplateValue, scope: &Scope<'_>) -> Result<Value, EvalError> {
        let context = scope.context();
        let mut left = OUTPUT_BYTES_MAX;
        self.inner(value.as_value(), &context, "", &mut left)
    }

    /// Evaluates a template to a text: a prompt, a question or a task. A value of another type
    /// becomes its JSON.
    ///
    /// # Errors
    /// Fails like [`Self::value`].
    pub fn text(&self, value: &TemplateValue, scope: &Scope<'_>) -> Result<String, EvalError> {
        self.value(value, scope).map(shown)
    }

    fn inner(
        &self,
        value: &Value,
        context: &minijinja::Value,
        path: &str,
        left: &mut usize,
    ) -> Result<Value, EvalError> {
        match value {
            Value::String(text) => {
                let value = self.template(text, context).map_err(|error| error.below(path))?;
                let bytes = output::size(&value);
                *left = left.checked_sub(bytes).ok_or_else(|| {
                    EvalError::of(text, EvalFault::TooLarge { max: OUTPUT_BYTES_MAX }).below(path)
                })?;
                Ok(value)
            }
            Value::Array(items) => {
                let each = items.iter().enumerate();
                each.map(|(n, item)| self.inner(item, context, &format!("{path}[{n}]"), left))
                    .collect()
            }
            Value::Object(fields) => {
                let mut out = Map::new();
                for (name, field) in fields {
                    let below =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    out.insert(name.clone(), self.inner(field, context, &below, left)?);
                }
                Ok(Value::Object(out))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        }
    }

    fn template(&self, text: &str, context: &minijinja::Value) -> Result<Value, EvalError> {
        let pieces = pieces(text).map_err(|misread| EvalError {
            at: Some(misread.at),
            ..EvalError::of(text, EvalFault::Unreadable)
        })?;
        if let [Piece::Expression { source, .. }] = pieces.as_slice() {
            return self.expression(source.trim(), context);
        }
        let mut out = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => out.push_str(literal),
                Piece::Expression { source, .. } => {
                    out.push_str(&shown(self.expression(source.trim(), context)?));
                }
            }
            if out.len() > OUTPUT_BYTES_MAX {
                return Err(EvalError::of(text, EvalFault::TooLarge { max: OUTPUT_BYTES_MAX }));
            }
        }
        Ok(Value::String(out))
    }

    fn expression(&self, source: &str, context: &minijinja::Value) -> Result<Value, EvalError> {
        // A log holds checked texts, but the log of another release may hold other ones.
        super::expression::parse(source, false).map_err(|misread| EvalError {
            at: Some(misread.at),
            ..EvalError::of(source, EvalFault::Unreadable)
        })?;
        let compiled = self.environment.compile_expression(source);
        let value = compiled.and_then(|compiled| compiled.eval(context.clone()));
        let value = value.map_err(|error| EvalError::of_engine(source, &error))?;
        output::json(&value).map_err(|fault| EvalError::of(source, fault))
    }

    /// Compiles a source without an evaluation.
    ///
    /// # Errors
    /// Returns the engine's message.
    pub(crate) fn compiles(&self, source: &str) -> Result<(), String> {
        let compiled = self.environment.compile_expression(source);
        compiled.map(|_| ()).map_err(|error| error::told(&error))
    }
}

/// Returns a value as it appears inside a text: texts as they are, other values as JSON.
fn shown(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
