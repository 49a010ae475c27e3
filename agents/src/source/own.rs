//! What one file says for itself: read without the agent it extends, so that every mistake is found
//! where it was made.

use proto::{agent::Agent, id::AgentName};
use serde_json::{Map, Value};

use super::{
    ABOUT, EXTENDS, Mistake, Mistakes, Source, agent,
    mistake::{Wrong, explain},
    tree::{self, Node, Whose},
};

/// Mistakes of one file that are told; what is wrong beyond is found when these are mended.
const MISTAKES_MAX: usize = 20;

/// One file, read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Own {
    place: String,
    tree: Node,
    /// The agent it is written over.
    pub(crate) extends: Option<AgentName>,
    /// What it is for, in a line.
    pub(crate) about: String,
    /// The policies it says something about, as JSON of an agent.
    pub(crate) fields: Value,
}

/// A file with mistakes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Broken {
    /// What is wrong.
    pub(crate) mistakes: Mistakes,
    /// What the rest of it says, where it could be read at all: more may be wrong with that.
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
                Err(error) => wrong.push(at(&tree, EXTENDS, error.to_string())),
            },
            Some(Err(why)) => wrong.push(at(&tree, EXTENDS, why)),
        }
        match fields.shift_remove(ABOUT).map(text) {
            None => {}
            Some(Ok(words)) => about = words,
            Some(Err(why)) => wrong.push(at(&tree, ABOUT, why)),
        }
        if fields.shift_remove("name").is_some() {
            let why = format!("an agent is called what its file is called: {}", source.name);
            wrong.push(at(&tree, "name", why));
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

    /// Every bound that is passed. `fields` is what is said by this file and those it extends: what
    /// is wrong is taken out, and the rest is checked again.
    pub(crate) fn out_of_bounds(&self, name: &AgentName, mut fields: Value) -> Vec<Mistake> {
        let mut found = Vec::new();
        while found.len() < MISTAKES_MAX {
            let Ok(read) = agent(name, &fields) else { break };
            let Err(invalid) = read.check_bounds() else { break };
            found.extend(self.mistake(&[], &invalid.field, invalid.why).0);
            if !remove(&mut fields, &invalid.field) {
                break;
            }
        }
        found
    }

    /// Puts mistakes in the order of the file; those of files it extends come last.
    pub(crate) fn in_order(&self, mut mistakes: Vec<Mistake>) -> Mistakes {
        mistakes.sort_by_key(|one| (one.place != self.place, one.line, one.column));
        mistakes.dedup();
        mistakes.truncate(MISTAKES_MAX);
        Mistakes(mistakes)
    }

    /// A mistake in a field of the whole, shown where this file says something about it.
    pub(crate) fn mistake(&self, fields: &[&str], field: &str, why: &str) -> Mistakes {
        let written = fields.iter().copied().chain([field, EXTENDS]);
        let shown = written.into_iter().find(|field| self.tree.has(field));
        let at = shown.map_or(self.tree.at, |field| self.tree.place_of(field, Whose::Name));
        let (field, why) = (field.to_owned(), why.to_owned());
        Mistakes(vec![Wrong { at, field, why }.in_place(&self.place)])
    }

    /// A mistake that has to do with what it extends.
    pub(crate) fn extends_mistake(&self, why: &str) -> Mistake {
        let at = self.tree.place_of(EXTENDS, Whose::Value);
        Wrong { at, field: EXTENDS.to_owned(), why: why.to_owned() }.in_place(&self.place)
    }
}

fn text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err("must be a text".to_owned())
        }
    }
}

fn at(tree: &Node, field: &str, why: String) -> Wrong {
    Wrong { at: tree.place_of(field, Whose::Value), field: field.to_owned(), why }
}

/// Finds every unknown field and every value that does not fit: what is wrong is taken out, and
/// the rest is read again.
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

/// Takes a field out; whether it was there.
fn remove(fields: &mut Value, path: &str) -> bool {
    let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
    // A wrong item spoils its list.
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
