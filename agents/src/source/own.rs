//! One agent file, read without the agent that it extends, so that every mistake is reported in the
//! file that has it.

use proto::{agent::Agent, id::AgentName, lang::Words};
use serde_json::{Map, Value};

use super::{
    ABOUT, EXTENDS, Mistake, Mistakes, Source, agent,
    mistake::{Wrong, explain},
    tree::{self, Node, Whose},
    words::Text,
};
use crate::conflicts;

/// Maximum number of reported mistakes of one file. The others are reported once these are
/// corrected.
const MISTAKES_MAX: usize = 20;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Own {
    place: String,
    tree: Node,
    /// Agent that this one extends.
    pub(crate) extends: Option<AgentName>,
    /// Purpose of the agent, in one line.
    pub(crate) about: String,
    /// Policies that the file sets, as JSON of an agent.
    pub(crate) fields: Value,
}

/// An agent file with mistakes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Broken {
    /// Mistakes of the file.
    pub(crate) mistakes: Mistakes,
    /// Rest of the file without the wrong fields, when it could be parsed. It may have further
    /// mistakes.
    pub(crate) rest: Option<Box<Own>>,
}

impl Own {
    /// Reads a file by itself.
    pub(crate) fn read(source: &Source) -> Result<Self, Broken> {
        let one = |wrong: Wrong| Mistakes(vec![wrong.in_place(&source.place)]);
        let tree = tree::read(&source.text)
            .map_err(|wrong| Broken { mistakes: one(wrong), rest: None })?;
        let mut wrong = Vec::new();
        let mut fields = match tree.to_json() {
            Value::Object(fields) => fields,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        let (mut extends, mut about) = (None, String::new());
        match fields.shift_remove(EXTENDS).map(text) {
            None => {}
            Some(Ok(name)) => match AgentName::new(&name) {
                Ok(name) => extends = Some(name),
                Err(error) => wrong.push(at(&tree, EXTENDS, error.words())),
            },
            Some(Err(why)) => wrong.push(at(&tree, EXTENDS, why)),
        }
        match fields.shift_remove(ABOUT).map(text) {
            None => {}
            Some(Ok(words)) => about = words,
            Some(Err(why)) => wrong.push(at(&tree, ABOUT, why)),
        }
        if fields.shift_remove("name").is_some() {
            let why = Text::NamedByFile { name: &source.name };
            wrong.push(at(&tree, "name", why.into()));
        }
        let mut fields = Value::Object(fields);
        unfit(&tree, &mut fields, &mut wrong);
        let own = Self { place: source.place.clone(), tree, extends, about, fields };
        if wrong.is_empty() {
            return Ok(own);
        }
        wrong.sort_by_key(|wrong| wrong.at);
        let mistakes = wrong.into_iter().map(|wrong| wrong.in_place(&source.place)).collect();
        Err(Broken { mistakes: Mistakes(mistakes), rest: Some(Box::new(own)) })
    }

    /// Returns every violated bound. `fields` are the merged fields of this file and of those it
    /// extends. A violating field is removed, and the rest is checked again.
    pub(crate) fn out_of_bounds(&self, name: &AgentName, mut fields: Value) -> Vec<Mistake> {
        let mut found = Vec::new();
        while found.len() < MISTAKES_MAX {
            let Ok(read) = agent(name, &fields) else { break };
            let checked = read.check_bounds().and_then(|()| conflicts::check_rules(&read));
            let Err(invalid) = checked else { break };
            found.extend(self.mistake(&[], &invalid.field, invalid.why).0);
            if !remove(&mut fields, &invalid.field) {
                break;
            }
        }
        found
    }

    /// Sorts mistakes by their place in this file. Mistakes of extended files follow.
    pub(crate) fn in_order(&self, mut mistakes: Vec<Mistake>) -> Mistakes {
        mistakes.sort_by_key(|one| (one.place != self.place, one.line, one.column));
        mistakes.dedup();
        mistakes.truncate(MISTAKES_MAX);
        Mistakes(mistakes)
    }

    /// Builds a mistake about a merged field. Its place is the line of this file that sets the
    /// field.
    pub(crate) fn mistake(&self, fields: &[&str], field: &str, why: impl Into<Words>) -> Mistakes {
        let written = fields.iter().copied().chain([field, EXTENDS]);
        let shown = written.into_iter().find(|field| self.tree.has(field));
        let at = shown.map_or(self.tree.at, |field| self.tree.place_of(field, Whose::Name));
        let (field, why) = (field.to_owned(), why.into());
        Mistakes(vec![Wrong { at, field, why }.in_place(&self.place)])
    }

    /// Builds a mistake about the extended agent.
    pub(crate) fn extends_mistake(&self, why: Words) -> Mistake {
        let at = self.tree.place_of(EXTENDS, Whose::Value);
        Wrong { at, field: EXTENDS.to_owned(), why }.in_place(&self.place)
    }
}

fn text(value: Value) -> Result<String, Words> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Text::NoString.into())
        }
    }
}

fn at(tree: &Node, field: &str, why: Words) -> Wrong {
    Wrong { at: tree.place_of(field, Whose::Value), field: field.to_owned(), why }
}

/// Finds every unknown field and every value of the wrong type. A wrong field is removed, and the
/// rest is parsed again.
fn unfit(tree: &Node, fields: &mut Value, wrong: &mut Vec<Wrong>) {
    while wrong.len() < MISTAKES_MAX {
        let read: Result<Agent, _> = serde_path_to_error::deserialize(&*fields);
        let Err(error) = read else { return };
        let (path, why) = (error.path().to_string(), error.inner().to_string());
        let also: &[&'static str] = if path.contains('.') { &[] } else { &[EXTENDS, ABOUT] };
        let whose = if why.starts_with("unknown field") { Whose::Name } else { Whose::Value };
        let is_there = remove(fields, &path);
        let (field, at) = match path.as_str() {
            "." => (String::new(), tree.at),
            path => (path.to_owned(), tree.place_of(path, whose)),
        };
        wrong.push(Wrong { at, field, why: explain(&why, also) });
        if !is_there {
            return;
        }
    }
}

/// Removes a field. Returns whether it existed.
fn remove(fields: &mut Value, path: &str) -> bool {
    let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
    // A wrong item makes its whole list unusable.
    let name = name.split('[').next().unwrap_or(name);
    let parent = parents
        .split('.')
        .filter(|name| !name.is_empty())
        .try_fold(fields, |at, name| at.get_mut(name));
    match parent {
        Some(Value::Object(fields)) => fields.shift_remove(name).is_some(),
        Some(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        )
        | None => false,
    }
}
