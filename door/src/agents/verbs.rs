//! The verbs `agents`, `set_agent` and `drop_agent`: listing, and changes of the bucket.
//!
//! An unusable agent is never stored, and an agent that other agents need is never removed.

use agents::{
    catalogue::{Catalogue, Entry, bucket_place, not_an_agent},
    source::{FILE_BYTES_MAX, Mistakes, Source},
};
use broker::kv::{Bucket, KvError};
use bytes::Bytes;
use proto::{
    agent::{Agent, Layer},
    door::{AgentChanged, AgentEntry, AgentList, Agents as Wanted, DropAgent, SetAgent},
    error::{Code, Failure},
    id::AgentName,
    lang::Words,
    refusal::{Text, Warnings},
};
use runtime::service::{Answers, Asked};

use crate::{Door, presets};

impl Answers<Wanted> for Door {
    async fn answer(&self, asked: Asked<'_, Wanted>) -> Result<AgentList, Failure> {
        let wanted = asked.request()?;
        let agents = self.agents.look(|all| match &wanted.name {
            None => Ok(all.entries().into_iter().map(|entry| shown(entry, false)).collect()),
            Some(name) => match all.entry(name) {
                Some(entry) => Ok(vec![shown(entry, true)]),
                None => Err(unknown(all, name).at("name").next(Text::SeeAgents)),
            },
        })?;
        Ok(AgentList { agents })
    }
}

impl Answers<SetAgent> for Door {
    async fn answer(&self, asked: Asked<'_, SetAgent>) -> Result<AgentChanged, Failure> {
        let request = asked.request()?;
        if request.text.len() > FILE_BYTES_MAX {
            let why = Text::AtMostBytes { max: &FILE_BYTES_MAX };
            return Err(Failure::about(Code::TooLarge, "text", why));
        }
        let name = request.name;
        let source = Source { name: name.clone(), place: bucket_place(&name), text: request.text };
        self.agents.look(|all| self.fits(all, &source))?;
        let (value, key) = (Bytes::from(source.text.clone()), name.as_str());
        let revision = self.broker.kv.put(Bucket::Agents, key, value).await.map_err(unavailable)?;
        // This process sees the change at once; the others follow the bucket.
        self.agents.change(|all| all.set(Layer::Bucket, [source]));
        tracing::info!(agent = %name, revision, "an agent was stored in the bucket");
        let warnings = self.agents.look(|all| match all.get(&name) {
            Some(Ok(agent)) => {
                self.unannounced_by(agent).iter().map(|tool| tool.text(None)).collect()
            }
            Some(Err(_)) | None => Warnings::default(),
        });
        Ok(AgentChanged { name, warnings })
    }
}

impl Door {
    /// Checks that an agent is usable as it is written and breaks no other one.
    fn fits(&self, all: &Catalogue, source: &Source) -> Result<(), Failure> {
        let mut after = all.clone();
        after.set(Layer::Bucket, [source.clone()]);
        let refused = |mistakes: &Mistakes| {
            let words = Words::new(|language| mistakes.text(language));
            Failure::composed(Code::InvalidRequest, &words).at("text")
        };
        match after.get(&source.name) {
            Some(Err(mistakes)) => return Err(refused(mistakes)),
            Some(Ok(agent)) => {
                if let Some((field, why)) = presets::misfit(agent, &self.registry, &self.schemas) {
                    return Err(refused(&after.mistake(&source.name, &field, why)));
                }
            }
            None => {}
        }
        if let Some(mistakes) = after.like_a_tool(&source.name, &self.tool_names()) {
            return Err(refused(&mistakes));
        }
        breaks(all, &after)
    }
}

impl Answers<DropAgent> for Door {
    async fn answer(&self, asked: Asked<'_, DropAgent>) -> Result<AgentChanged, Failure> {
        let DropAgent { name } = asked.request()?;
        self.agents.look(|all| may_go(all, &name))?;
        let deleted = self.broker.kv.delete(Bucket::Agents, name.as_str()).await;
        deleted.map_err(unavailable)?;
        self.agents.change(|all| {
            all.remove(Layer::Bucket, &name);
        });
        tracing::info!(agent = %name, "an agent was removed from the bucket");
        Ok(AgentChanged { name, warnings: Warnings::default() })
    }
}

fn may_go(all: &Catalogue, name: &AgentName) -> Result<(), Failure> {
    if !all.has(Layer::Bucket, name) && all.ignored(name).is_none() {
        let failure = match all.entry(name) {
            Some(entry) => {
                let why = Text::FromElsewhere { name, layer: &entry.layer.as_str() };
                Failure::of(Code::UnknownAgent, why)
            }
            None => unknown(all, name),
        };
        return Err(failure.at("name").next(Text::SeeAgents));
    }
    let mut after = all.clone();
    after.remove(Layer::Bucket, name);
    let others = all.broken_by(&after).into_iter().filter(|(broken, _)| broken != name);
    refuse(&others.collect::<Vec<_>>())
}

fn breaks(all: &Catalogue, after: &Catalogue) -> Result<(), Failure> {
    refuse(&all.broken_by(after))
}

/// Refuses a change that would make other agents unusable.
fn refuse(broken: &[(AgentName, Option<Mistakes>)]) -> Result<(), Failure> {
    if broken.is_empty() {
        return Ok(());
    }
    let words = Words::new(|language| {
        let why = broken.iter().map(|(name, mistakes)| match mistakes {
            Some(mistakes) => {
                Text::WouldBreak { name, mistakes: &mistakes.text(language) }.text(language)
            }
            None => Text::WouldGo { name }.text(language),
        });
        why.collect::<Vec<_>>().join("\n")
    });
    Err(Failure::composed(Code::InvalidRequest, &words).at("name"))
}

/// Returns the error for an unknown agent, with the likely reason or the name that was probably
/// meant.
pub(crate) fn unknown(all: &Catalogue, name: &AgentName) -> Failure {
    let shown = &format!("{:?}", name.as_str());
    let failure = |why: Text<'_>| Failure::of(Code::UnknownAgent, why);
    match (all.ignored(name), all.meant(name)) {
        (Some(ignored), _) => {
            let why = not_an_agent(ignored);
            let words = Words::new(|language| {
                Text::NotAnAgent { name: shown, why: &why.text(language) }.text(language)
            });
            Failure::composed(Code::UnknownAgent, &words)
        }
        (None, Some(meant)) => failure(Text::NoAgentNear { name: shown, meant: &meant }),
        (None, None) => failure(Text::NoAgent { name: shown }),
    }
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
