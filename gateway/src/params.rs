//! The parameters of a query: every name is known, and occurs as often as it may.

use std::{borrow::Cow, str::FromStr};

use axum::http::Uri;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{caller::Caller, problem::Problem, words::Text};

/// The type of a switch in a query.
#[derive(Debug)]
pub(crate) enum Switch {}

impl JsonSchema for Switch {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Switch".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": ["", "0", "1", "false", "true"]})
    }
}

/// The parameters of one query.
#[derive(Debug)]
pub(crate) struct Params<'a> {
    caller: &'a Caller,
    pairs: Vec<(String, String)>,
}

impl<'a> Params<'a> {
    /// Reads a query.
    pub(crate) fn read(caller: &'a Caller, uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default();
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned()));
        Self { caller, pairs: pairs.collect() }
    }

    /// Reads a query with only these names.
    pub(crate) fn of(caller: &'a Caller, uri: &Uri, names: &[&str]) -> Result<Self, Problem> {
        let read = Self::read(caller, uri);
        match read.pairs.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            None => Ok(read),
            Some((name, _)) => {
                let known = names.join(", ");
                Err(caller.wrong_field(name, &Text::UnknownParameter { known: &known }.into()))
            }
        }
    }

    /// Returns every value of a name.
    pub(crate) fn all<T: FromStr<Err: ToString>>(&self, name: &str) -> Result<Vec<T>, Problem> {
        let values = self.pairs.iter().filter(|(of, _)| of == name);
        let wrong = |error: T::Err| self.wrong(name, error.to_string());
        values.map(|(_, value)| value.parse().map_err(wrong)).collect()
    }

    /// Returns the value of a name that occurs at most once.
    pub(crate) fn one<T: FromStr<Err: ToString>>(&self, name: &str) -> Result<Option<T>, Problem> {
        let mut values = self.all(name)?;
        let value = values.pop();
        if values.is_empty() {
            Ok(value)
        } else {
            Err(self.caller.wrong_field(name, &Text::OnlyOnce.into()))
        }
    }

    /// Returns the refusal of a value.
    pub(crate) fn wrong(&self, name: &str, why: String) -> Problem {
        self.caller.wrong_field(name, &why.into())
    }

    /// Returns whether a switch is set: absent, `0`, `1`, `true` or `false`.
    pub(crate) fn is_set(&self, name: &str) -> Result<bool, Problem> {
        match self.one::<String>(name)?.as_deref() {
            None | Some("0" | "false") => Ok(false),
            Some("" | "1" | "true") => Ok(true),
            Some(_) => Err(self.caller.wrong_field(name, &Text::ZeroOrOne.into())),
        }
    }
}
