//! `agents`, `set_agent`, `drop_agent`: what there is, and what is put into the bucket or taken out.
//!
//! Nothing is stored that could not be used, and nothing that others need is taken away.

use broker::kv::{Bucket, KvError};
use bytes::Bytes;
use proto::{
    agent::{
        Agent,
        catalogue::{Catalogue, Entry, Layer, bucket_place, not_an_agent},
        source::{FILE_BYTES_MAX, Mistakes, Source},
    },
    door::{AgentChanged, AgentEntry, AgentList, Agents as Wanted, DropAgent, SetAgent},
    error::{Code, Failure},
    id::AgentName,
    strict,
};
use runtime::{
    config::Role,
    service::{Call, Handled},
};

use crate::{Door, presets};

impl Door {
    pub(crate) fn agents(&self, call: &Call) -> Result<Handled, Failure> {
        self.admit(call, Role::Read)?;
        let wanted: Wanted = if call.payload.is_empty() {
            Wanted::default()
        } else {
            strict::request(&call.payload)?
        };
        let agents = self.agents.look(|all| match &wanted.name {
            None => Ok(all.entries().into_iter().map(|entry| shown(entry, false)).collect()),
            Some(name) => match all.entry(name) {
                Some(entry) => Ok(vec![shown(entry, true)]),
                None => Err(unknown(all, name).at("name").advise(LIST)),
            },
        })?;
        Handled::json(&AgentList { agents })
    }

    pub(crate) async fn set_agent(&self, call: &Call) -> Result<Handled, Failure> {
        self.admit(call, Role::Operate)?;
        let request: SetAgent = strict::request(&call.payload)?;
        if request.text.len() > FILE_BYTES_MAX {
            let why = format!("text: at most {FILE_BYTES_MAX} bytes are allowed");
            return Err(Failure::new(Code::TooLarge, why).at("text"));
        }
        let name = request.name;
        let source = Source { name: name.clone(), place: bucket_place(&name), text: request.text };
        self.agents.look(|all| self.fits(all, &source))?;
        let (value, key) = (Bytes::from(source.text.clone()), name.as_str());
        let revision = self.broker.kv.put(Bucket::Agents, key, value).await.map_err(unavailable)?;
        // The caller finds it here at once; the other processes follow.
        self.agents.change(|all| all.set(Layer::Bucket, [source]));
        tracing::info!(agent = %name, revision, "an agent was stored in the bucket");
        let warnings = self.agents.look(|all| match all.get(&name) {
            Some(Ok(agent)) => self.unannounced_by(agent),
            Some(Err(_)) | None => Vec::new(),
        });
        Handled::json(&AgentChanged { name, warnings })
    }

    /// Whether an agent can be used as it is written, and breaks no other.
    fn fits(&self, all: &Catalogue, source: &Source) -> Result<(), Failure> {
        let mut after = all.clone();
        after.set(Layer::Bucket, [source.clone()]);
        let refused = |mistakes: &Mistakes| {
            Failure::new(Code::InvalidRequest, mistakes.to_string()).at("text")
        };
        match after.get(&source.name) {
            Some(Err(mistakes)) => return Err(refused(mistakes)),
            Some(Ok(agent)) => {
                if let Some((field, why)) = presets::misfit(agent, &self.registry, &self.schemas) {
                    return Err(refused(&after.mistake(&source.name, &field, &why)));
                }
            }
            None => {}
        }
        if let Some(mistakes) = after.like_a_tool(&source.name, &self.tool_names()) {
            return Err(refused(&mistakes));
        }
        breaks(all, &after)
    }

    pub(crate) async fn drop_agent(&self, call: &Call) -> Result<Handled, Failure> {
        self.admit(call, Role::Operate)?;
        let DropAgent { name } = strict::request(&call.payload)?;
        self.agents.look(|all| may_go(all, &name))?;
        let deleted = self.broker.kv.delete(Bucket::Agents, name.as_str()).await;
        deleted.map_err(unavailable)?;
        self.agents.change(|all| {
            all.remove(Layer::Bucket, &name);
        });
        tracing::info!(agent = %name, "an agent was removed from the bucket");
        Handled::json(&AgentChanged { name, warnings: Vec::new() })
    }
}

/// The hint for an unknown name.
const LIST: &str = "`callboard agents ls` lists the agents and where each comes from.";

fn may_go(all: &Catalogue, name: &AgentName) -> Result<(), Failure> {
    if !all.has(Layer::Bucket, name) && all.ignored(name).is_none() {
        let why = match all.entry(name) {
            Some(entry) => format!(
                "agent {name} is not in the bucket: it comes from {}; change it there",
                entry.layer.as_str()
            ),
            None => return Err(unknown(all, name).at("name").advise(LIST)),
        };
        return Err(Failure::new(Code::UnknownAgent, why).at("name").advise(LIST));
    }
    let mut after = all.clone();
    after.remove(Layer::Bucket, name);
    let others = all.broken_by(&after).into_iter().filter(|(broken, _)| broken != name);
    refuse(&others.collect::<Vec<_>>())
}

fn breaks(all: &Catalogue, after: &Catalogue) -> Result<(), Failure> {
    refuse(&all.broken_by(after))
}

/// Refuses a change that others do not survive.
fn refuse(broken: &[(AgentName, Option<Mistakes>)]) -> Result<(), Failure> {
    if broken.is_empty() {
        return Ok(());
    }
    let why = broken.iter().map(|(name, mistakes)| match mistakes {
        Some(mistakes) => format!("{name} would become invalid: {mistakes}"),
        None => format!("{name} would be removed"),
    });
    let why = why.collect::<Vec<_>>().join("\n");
    Err(Failure::new(Code::InvalidRequest, why).at("name"))
}

/// That there is no agent of this name, and why, or which was probably meant.
pub(crate) fn unknown(all: &Catalogue, name: &AgentName) -> Failure {
    let ignored = all.ignored(name).map(not_an_agent);
    let meant = || all.meant(name).map(|meant| format!("did you mean {meant}?"));
    let more = ignored.or_else(meant).map(|more| format!("; {more}")).unwrap_or_default();
    Failure::new(Code::UnknownAgent, format!("there is no agent {:?} here{more}", name.as_str()))
}

fn shown(entry: Entry, whole: bool) -> AgentEntry {
    let (policies, mistakes) = match &entry.resolved {
        Ok(agent) => (Some(Agent::clone(agent)), Vec::new()),
        Err(mistakes) => (None, told(mistakes)),
    };
    AgentEntry {
        name: entry.name,
        layer: entry.layer,
        place: entry.place,
        extends: entry.extends,
        about: entry.about,
        text: entry.text.filter(|_| whole),
        policies: policies.filter(|_| whole).map(Box::new),
        mistakes,
        ignored: entry.ignored.as_ref().map(told).unwrap_or_default(),
    }
}

fn told(mistakes: &Mistakes) -> Vec<String> {
    mistakes.0.iter().map(ToString::to_string).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands out")]
fn unavailable(error: KvError) -> Failure {
    Failure::new(Code::Unavailable, error.to_string())
}
