//! The agents of an installation, in layers: shipped agents, the configuration, a directory, and a
//! bucket that changes at run time. A later layer replaces an agent of an earlier one as a whole.
//! An agent with mistakes never falls back to the agent that it hides.
//!
//! Only the bucket may hold values that are not agents, because other programs can write there. A
//! value of the bucket that cannot be read hides no agent: neither one of another layer nor the
//! version that was read from the bucket before.
//!
//! An agent that extends its own name extends the agent that it hides, so one line changes one
//! setting of `default`.

mod bucket;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proto::{
    agent::{Agent, Layer, SubAgent},
    id::{AgentName, ToolName},
    lang::Words,
};

pub use self::bucket::Stored;
use crate::{
    conflicts,
    source::{self, Broken, EXTENDS_MAX, Mistake, Mistakes, Own, Source, Text},
};

/// The sources of the shipped agents, by file name.
macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../", $name, ".yaml")))),+]
    };
}

const PRESETS: &[(&str, &str)] = presets![
    "coder",
    "default",
    "direct",
    "fastgpt",
    "inline-tools",
    "loop",
    "loop-phased",
    "manus",
    "plan-then-execute",
    "react",
    "researcher",
    "unattended",
];

/// An agent before the agents that it extends are resolved.
#[derive(Debug, Clone)]
enum Written {
    /// A source that was read.
    Read { source: Source, own: Box<Own> },
    /// A source with mistakes.
    Unread { source: Source, broken: Broken },
    /// Complete policies, without a source.
    Given(Box<Agent>),
}

/// An agent with all inherited settings, or its mistakes.
pub type Resolved = Result<Arc<Agent>, Mistakes>;

/// The description of one agent, for `agents ls` and `agents show`.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Name of the agent.
    pub name: AgentName,
    /// Layer that the agent comes from.
    pub layer: Layer,
    /// Place of the source, such as a path; empty without a source.
    pub place: String,
    /// YAML of the source; absent for agents of the configuration that were given complete.
    pub text: Option<String>,
    /// Agent that this one extends.
    pub extends: Option<AgentName>,
    /// Purpose of the agent, in one line.
    pub about: String,
    /// Policies with all inherited settings, or the mistakes.
    pub resolved: Resolved,
    /// Mistakes of the bucket's value under this name, when that value is not an agent.
    pub ignored: Option<Mistakes>,
}

/// The agents of an installation. Every change resolves all agents, so a lookup is cheap.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    layers: BTreeMap<(AgentName, Layer), Written>,
    resolved: BTreeMap<AgentName, Resolved>,
    ignored: BTreeMap<AgentName, Mistakes>,
}

impl Catalogue {
    /// Creates a catalogue of the shipped agents.
    ///
    /// # Panics
    /// Never panics: a test checks that all shipped agents are usable.
    #[must_use]
    pub fn presets() -> Self {
        let sources = PRESETS.iter().map(|(name, text)| Source {
            name: AgentName::new(*name).expect("presets are named by ids"),
            place: format!("agents/{name}.yaml"),
            text: (*text).to_owned(),
        });
        let mut catalogue = Self::default();
        catalogue.set(Layer::Preset, sources);
        catalogue
    }

    /// Adds complete agents to the layer of the configuration.
    #[must_use]
    pub fn with_given(mut self, agents: impl IntoIterator<Item = Agent>) -> Self {
        for agent in agents {
            let key = (agent.name.clone(), Layer::Configuration);
            self.layers.insert(key, Written::Given(Box::new(agent)));
        }
        self.resolve_all();
        self
    }

    /// Reads sources into a layer. A source replaces the agent of the same name in that layer.
    pub fn set(&mut self, layer: Layer, sources: impl IntoIterator<Item = Source>) {
        for source in sources {
            let written = match Own::read(&source) {
                Ok(own) => Written::Read { source: source.clone(), own: Box::new(own) },
                Err(broken) => Written::Unread { source: source.clone(), broken },
            };
            self.no_longer_ignored(layer, &source.name);
            self.layers.insert((source.name, layer), written);
        }
        self.resolve_all();
    }

    fn no_longer_ignored(&mut self, layer: Layer, name: &AgentName) {
        if layer == Layer::Bucket {
            self.ignored.remove(name);
        }
    }

    /// Removes an agent from a layer. Returns whether the layer had it.
    pub fn remove(&mut self, layer: Layer, name: &AgentName) -> bool {
        self.no_longer_ignored(layer, name);
        let was_there = self.layers.remove(&(name.clone(), layer)).is_some();
        self.resolve_all();
        was_there
    }

    /// Removes every agent of a layer whose name is not in `names`.
    pub fn keep(&mut self, layer: Layer, names: &BTreeSet<AgentName>) {
        self.layers.retain(|(name, at), _| *at != layer || names.contains(name));
        if layer == Layer::Bucket {
            self.ignored.retain(|name, _| names.contains(name));
        }
        self.resolve_all();
    }

    /// Returns whether the layer has an agent of this name.
    #[must_use]
    pub fn has(&self, layer: Layer, name: &AgentName) -> bool {
        self.layers.contains_key(&(name.clone(), layer))
    }

    /// Returns the number of agents in the layer.
    #[must_use]
    pub fn count(&self, layer: Layer) -> usize {
        self.layers.keys().filter(|(_, at)| *at == layer).count()
    }

    /// Returns the resolved agent, or `None` when no agent has the name.
    #[must_use]
    pub fn get(&self, name: &AgentName) -> Option<&Resolved> {
        self.resolved.get(name)
    }

    /// Returns the names of all agents, including those with mistakes.
    pub fn names(&self) -> impl Iterator<Item = &AgentName> {
        self.resolved.keys()
    }

    /// Returns the existing name that is most similar to an unknown one, if any is similar.
    #[must_use]
    pub fn meant(&self, name: &AgentName) -> Option<String> {
        let names: Vec<_> = self.names().map(AgentName::as_str).collect();
        source::meant(name.as_str(), &names).map(str::to_owned)
    }

    /// Returns the description of one agent, or `None` when the name is unknown. A value of the
    /// bucket that is not an agent, and under whose name no other agent exists, is described as an
    /// agent with mistakes.
    #[must_use]
    pub fn entry(&self, name: &AgentName) -> Option<Entry> {
        let ignored = self.ignored.get(name).cloned();
        let Some(resolved) = self.resolved.get(name).cloned() else {
            return Some(Entry {
                name: name.clone(),
                layer: Layer::Bucket,
                place: bucket_place(name),
                text: None,
                extends: None,
                about: String::new(),
                resolved: Err(ignored?),
                ignored: None,
            });
        };
        let (layer, written) = self.top(name, None)?;
        let (place, text, extends, about) = match written {
            Written::Read { source, own } => (
                source.place.clone(),
                Some(source.text.clone()),
                own.extends.clone(),
                own.about.clone(),
            ),
            Written::Unread { source, .. } => {
                (source.place.clone(), Some(source.text.clone()), None, String::new())
            }
            Written::Given(_) => (format!("[agents.{name}]"), None, None, String::new()),
        };
        Some(Entry { name: name.clone(), layer, place, text, extends, about, resolved, ignored })
    }

    /// Returns the mistake of a usable agent that has a sub-agent with the name of a registered
    /// tool which the agent may use, or `None` when no name is shared.
    #[must_use]
    pub fn like_a_tool(&self, name: &AgentName, tools: &BTreeSet<ToolName>) -> Option<Mistakes> {
        let agent = self.get(name)?.as_ref().ok()?;
        let (n, sub) = agent.like_a_tool(tools)?;
        let (field, why) = (format!("agents[{n}]"), called_like_a_tool(&sub.name));
        match self.top(name, None)?.1 {
            Written::Read { own, .. } => Some(own.mistake(&["agents"], &field, why)),
            Written::Unread { .. } | Written::Given(_) => None,
        }
    }

    /// Returns the descriptions of all agents, sorted by name.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let names: BTreeSet<_> = self.names().chain(self.ignored.keys()).collect();
        names.into_iter().filter_map(|name| self.entry(name)).collect()
    }

    /// Returns all mistakes of all agents.
    #[must_use]
    pub fn mistakes(&self) -> Vec<Mistake> {
        let broken = self.resolved.values().filter_map(|resolved| resolved.as_ref().err());
        broken.flat_map(|mistakes| mistakes.0.clone()).collect()
    }

    /// Returns the agents that are usable here and not in `after`, with their mistakes there. An
    /// agent that `after` lacks has no mistakes. The caller refuses or reports the change that
    /// breaks them.
    #[must_use]
    pub fn broken_by(&self, after: &Self) -> Vec<(AgentName, Option<Mistakes>)> {
        let usable = self.resolved.iter().filter(|(_, resolved)| resolved.is_ok());
        let broken = usable.filter_map(|(name, _)| match after.resolved.get(name) {
            Some(Ok(_)) => None,
            Some(Err(mistakes)) => Some((name.clone(), Some(mistakes.clone()))),
            None => Some((name.clone(), None)),
        });
        broken.collect()
    }

    /// Builds a mistake that a later check found in an agent. Its place is the line of the source
    /// that sets the field.
    #[must_use]
    pub fn mistake(&self, name: &AgentName, field: &str, why: impl Into<Words>) -> Mistakes {
        match self.top(name, None) {
            Some((_, Written::Read { own, .. })) => own.mistake(&[], field, why),
            Some((_, Written::Unread { .. } | Written::Given(_))) | None => {
                let (field, why) = (field.to_owned(), why.into());
                Mistakes(vec![Mistake { place: name.to_string(), line: 1, column: 1, field, why }])
            }
        }
    }

    /// Returns the agent of this name in the uppermost layer, or in the uppermost layer below
    /// `below`.
    fn top(&self, name: &AgentName, below: Option<Layer>) -> Option<(Layer, &Written)> {
        let layers = Layer::ALL.iter().copied().rev();
        let mut layers = layers.filter(|layer| below.is_none_or(|below| *layer < below));
        layers.find_map(|layer| Some((layer, self.layers.get(&(name.clone(), layer))?)))
    }

    fn resolve_all(&mut self) {
        let names: Vec<AgentName> = self.layers.keys().map(|(name, _)| name.clone()).collect();
        self.resolved = names.into_iter().map(|name| (name.clone(), self.resolve(&name))).collect();
    }

    fn resolve(&self, name: &AgentName) -> Resolved {
        let (layer, written) = self.top(name, None).ok_or_else(|| Mistakes(Vec::new()))?;
        let (own, mut mistakes) = match written {
            Written::Given(agent) => return Ok(Arc::new((**agent).clone())),
            Written::Read { own, .. } => (own, Vec::new()),
            Written::Unread { broken, .. } => match &broken.rest {
                None => return Err(broken.mistakes.clone()),
                Some(rest) => (rest, broken.mistakes.0.clone()),
            },
        };
        // Mistakes of the file and mistakes of its inheritance are reported together.
        let is_read = mistakes.is_empty();
        let fields = self.fields(name, layer, own, &mut Vec::new()).unwrap_or_else(|wrong| {
            mistakes.extend(wrong.0);
            own.fields.clone()
        });
        let is_whole = is_read && mistakes.is_empty();
        mistakes.extend(self.absent(own, &fields));
        match source::agent(name, &fields) {
            Ok(agent) => {
                mistakes.extend(own.out_of_bounds(name, fields));
                if let Some((tool, meant)) = misnamed(&agent) {
                    let field = format!("tool.presets.{tool}");
                    mistakes.retain(|mistake| mistake.field != field);
                    let why = Text::ForeignTool { meant: &meant };
                    mistakes.extend(own.mistake(&[], &field, why).0);
                }
                // The checks below may depend on fields that were removed because of mistakes.
                for clash in conflicts::all(&agent, &own.fields).into_iter().filter(|_| is_whole) {
                    mistakes.extend(own.mistake(&clash.fields, clash.fields[0], clash.why()).0);
                }
                if mistakes.is_empty() {
                    return Ok(Arc::new(agent));
                }
            }
            Err(invalid) if is_whole => {
                mistakes.extend(own.mistake(&[], &invalid.field, invalid.why).0);
            }
            Err(_) => {}
        }
        Err(own.in_order(mistakes))
    }

    /// Returns a mistake for every sub-agent that does not exist.
    fn absent(&self, own: &Own, fields: &serde_json::Value) -> Vec<Mistake> {
        let named = fields.get("agents").cloned().unwrap_or_default();
        let named: Vec<SubAgent> = serde_json::from_value(named).unwrap_or_default();
        let mut found = Vec::new();
        for (n, sub) in named.iter().enumerate().filter(|(_, sub)| !self.is_there(&sub.name)) {
            let why = self.missing(&sub.name, self.meant_among_all(&sub.name));
            found.extend(own.mistake(&["agents"], &format!("agents[{n}]"), why).0);
        }
        found
    }

    /// Returns whether an agent of this name exists, usable or not.
    fn is_there(&self, name: &AgentName) -> bool {
        self.top(name, None).is_some()
    }

    fn meant_among_all(&self, name: &AgentName) -> Option<String> {
        let names: Vec<_> = self.layers.keys().map(|(name, _)| name.as_str()).collect();
        source::meant(name.as_str(), &names).map(str::to_owned)
    }

    /// Merges the fields of an agent over those of the agents that it extends.
    fn fields(
        &self,
        name: &AgentName,
        layer: Layer,
        own: &Own,
        seen: &mut Vec<(AgentName, Layer)>,
    ) -> Result<serde_json::Value, Mistakes> {
        let one = |why: Words| Mistakes(vec![own.extends_mistake(why)]);
        seen.push((name.clone(), layer));
        let mut fields = source::nothing();
        if let Some(parent) = &own.extends {
            let below = (parent == name).then_some(layer);
            let Some((at, written)) = self.top(parent, below) else {
                return Err(one(self.no_parent(parent, parent == name)));
            };
            if seen.contains(&(parent.clone(), at)) {
                let circle = seen.iter().map(|(name, _)| name.as_str()).chain([parent.as_str()]);
                let circle: Vec<_> = circle.collect();
                return Err(one(Text::Circle { names: &circle.join(" → ") }.into()));
            }
            if seen.len() >= EXTENDS_MAX {
                return Err(one(Text::Chain { max: &EXTENDS_MAX }.into()));
            }
            fields = match written {
                Written::Given(agent) => given(agent),
                Written::Unread { broken, .. } => return Err(broken.mistakes.clone()),
                Written::Read { own, .. } => self.fields(parent, at, own, seen)?,
            };
        }
        source::merge(&mut fields, &own.fields);
        Ok(fields)
    }

    fn no_parent(&self, parent: &AgentName, is_itself: bool) -> Words {
        if is_itself {
            return Text::NoParent { name: parent }.into();
        }
        self.missing(parent, self.meant(parent))
    }

    /// Returns the message that an agent does not exist, with the likely cause.
    fn missing(&self, name: &AgentName, meant: Option<String>) -> Words {
        match (self.ignored.get(name), meant) {
            (Some(why), _) => {
                let why = not_an_agent(why);
                Words::new(|language| {
                    Text::NoAgentAs { name, why: &why.text(language) }.text(language)
                })
            }
            (None, Some(meant)) => Text::NoAgentNear { name, meant: &meant }.into(),
            (None, None) => Text::NoAgent { name }.into(),
        }
    }
}

fn given(agent: &Agent) -> serde_json::Value {
    let mut fields = serde_json::to_value(agent).unwrap_or_else(|_| source::nothing());
    if let serde_json::Value::Object(fields) = &mut fields {
        fields.shift_remove("name");
    }
    fields
}

/// Returns a tool with preset arguments that is not among the agent's tools, and the similar name
/// that is.
fn misnamed(agent: &Agent) -> Option<(&str, &str)> {
    let tools = agent.tools.as_deref()?;
    let names: Vec<&str> = tools.iter().map(ToolName::as_str).collect();
    let presets = agent.tool.presets.iter();
    let mut unknown = presets.filter(|(tool, _)| !tools.contains(tool));
    unknown.find_map(|(tool, _)| Some((tool.as_str(), source::meant(tool.as_str(), &names)?)))
}

/// Returns the place of an agent of the bucket, for messages.
#[must_use]
pub fn bucket_place(name: &AgentName) -> String {
    format!("bucket:{name}")
}

/// Returns the addition to a not-found message when the bucket's value is not an agent.
#[must_use]
pub fn not_an_agent(why: &Mistakes) -> Words {
    Words::new(|language| {
        let first = why.0.first().map(|first| first.text(language)).unwrap_or_default();
        Text::NotAnAgent { why: &first }.text(language)
    })
}

/// Returns the reason why a sub-agent must not have the name of a registered tool, with the remedy.
#[must_use]
pub fn called_like_a_tool(name: &AgentName) -> Words {
    Text::LikeATool { name }.into()
}

#[cfg(test)]
mod tests;
