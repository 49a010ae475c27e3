//! The verbs `agents`, `set_agent`, `drop_agent` and `agent_revisions`: listing, changes of the bucket
//! and their history.
//!
//! An unusable agent is never stored, and an agent that other agents need is never removed.

use agents::{
    catalogue::{Catalogue, Entry, bucket_place, not_an_agent},
    source::{FILE_BYTES_MAX, Mistakes, Source},
};
use broker::kv::{Bucket, KvError, Versioned};
use bytes::Bytes;
use proto::{
    agent::{Agent, Layer},
    door::{
        AgentChanged, AgentEntry, AgentHistory, AgentList, AgentRevisions, Agents as Wanted,
        DropAgent, SetAgent,
    },
    error::{Code, Failure},
    id::AgentName,
    lang::Words,
    refusal::{Text, Warnings},
    workflow::WorkflowName,
};
use runtime::service::{Answers, Asked};

use super::history::{self, Author};
use crate::{
    Door,
    bucket::{is_expected, unavailable},
    output, presets, pricing,
};

/// Attempts of a removal against others who write.
const RACES_MAX: usize = 10;

impl Answers<Wanted> for Door {
    async fn answer(&self, asked: Asked<'_, Wanted>) -> Result<AgentList, Failure> {
        let wanted = asked.request()?;
        let Some(name) = &wanted.name else {
            let all = self.agents.look(Catalogue::entries);
            return Ok(AgentList { agents: all.into_iter().map(|it| shown(it, None)).collect() });
        };
        // The revision must be that of the text beside it.
        let value = self.value(name).await?;
        let revision = value.as_ref().map(|value| value.revision);
        let entry = self.agents.look_at(value, |all| {
            let unknown = || unknown(all, name).at("name").next(Text::SeeAgents);
            all.entry(name).ok_or_else(unknown)
        })?;
        Ok(AgentList { agents: vec![shown(entry, Some(revision))] })
    }
}

impl Answers<SetAgent> for Door {
    async fn answer(&self, asked: Asked<'_, SetAgent>) -> Result<AgentChanged, Failure> {
        let request = asked.request()?;
        if request.text.len() > FILE_BYTES_MAX {
            let why = Text::AtMostBytes { max: &FILE_BYTES_MAX };
            return Err(Failure::about(Code::TooLarge, "text", why));
        }
        let by = asked.caller.recorded(request.by.as_deref())?;
        let author = Author { by, time: self.clock.now() };
        let SetAgent { name, text, expected_revision, check, .. } = request;
        let source = Source { name: name.clone(), place: bucket_place(&name), text };
        let after = self.agents.look(|all| self.fits(all, &source))?;
        let warnings = match after.get(&name) {
            Some(Ok(agent)) => self.doubts(agent),
            Some(Err(_)) | None => Warnings::default(),
        };
        let former = self.value(&name).await?;
        let is_same = former.as_ref().is_some_and(|it| it.value == source.text.as_bytes());
        // A request whose reply was lost is repeated, and finds its own change.
        if !is_same {
            expect(&name, expected_revision, former.as_ref())?;
        }
        if check {
            return Ok(AgentChanged { name, revision: None, warnings });
        }
        let revision = match former {
            Some(same) if is_same => {
                let change = history::stored(same.revision, author, &source.text);
                let recorded = history::record_missing(&*self.broker.kv, &name, &change).await;
                recorded.map_err(unavailable)?;
                same.revision
            }
            former => self.store(&source, former, expected_revision, author).await?,
        };
        // This process sees the change at once; the others follow the bucket.
        self.agents.change(|all| all.set(Layer::Bucket, [source]));
        tracing::info!(agent = %name, revision, "an agent was stored in the bucket");
        Ok(AgentChanged { name, revision: Some(revision), warnings })
    }
}

impl Answers<AgentRevisions> for Door {
    async fn answer(&self, asked: Asked<'_, AgentRevisions>) -> Result<AgentHistory, Failure> {
        let AgentRevisions { name, revision } = asked.request()?;
        let mut history = history::read(&*self.broker.kv, &name).await.map_err(unavailable)?;
        if history.revisions.is_empty() && self.agents.look(|all| all.entry(&name).is_none()) {
            let unknown = self.agents.look(|all| unknown(all, &name));
            return Err(unknown.at("name").next(Text::SeeAgents));
        }
        match revision {
            None => history.revisions.iter_mut().for_each(|one| one.text = None),
            Some(wanted) => {
                history.revisions.retain(|one| one.revision == wanted);
                if history.revisions.is_empty() {
                    let why = Text::NoAgentRevision { name: &name, revision: &wanted };
                    return Err(Failure::of(Code::NotFound, why).at("revision"));
                }
            }
        }
        Ok(history)
    }
}

impl Door {
    /// Reads the bucket's value of an agent.
    async fn value(&self, name: &AgentName) -> Result<Option<Versioned>, Failure> {
        self.broker.kv.get(Bucket::Agents, name.as_str()).await.map_err(unavailable)
    }

    /// Stores an agent in place of `former`, and records both. Without an expected revision the last
    /// writer wins.
    async fn store(
        &self,
        source: &Source,
        former: Option<Versioned>,
        expected: Option<u64>,
        author: Author,
    ) -> Result<u64, Failure> {
        let (kv, name) = (&*self.broker.kv, &source.name);
        if let Some(former) = &former {
            let former = history::unrecorded(former);
            history::record_missing(kv, name, &former).await.map_err(unavailable)?;
        }
        let value = Bytes::from(source.text.clone());
        let stored = match expected {
            None => kv.put(Bucket::Agents, name.as_str(), value).await,
            Some(expected) => kv.update(Bucket::Agents, name.as_str(), value, expected).await,
        };
        let revision = stored.map_err(|error| changed(name, error))?;
        let change = history::stored(revision, author, &source.text);
        history::record(kv, name, &change).await.map_err(unavailable)?;
        Ok(revision)
    }

    /// Returns the warnings about an agent that can be used.
    fn doubts(&self, agent: &Agent) -> Warnings {
        let unannounced = self.unannounced_by(agent);
        let mut warnings: Warnings = unannounced.iter().map(|tool| tool.text(None)).collect();
        if let Some(warning) = pricing::doubt(agent, &self.prices) {
            warnings.add(&warning);
        }
        let is_unknown = |name: &&WorkflowName| self.workflows.look(|all| all.text(name).is_none());
        if let Some(name) = agent.workflow.as_ref().filter(is_unknown) {
            let why = |language| Text::AgentWorkflowUnknown { name }.text(language);
            warnings.add(&Words::new(why));
        }
        warnings
    }

    /// Checks that an agent is usable as it is written and breaks no other one. Returns all agents
    /// with it.
    fn fits(&self, all: &Catalogue, source: &Source) -> Result<Catalogue, Failure> {
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
                if let Some((field, why)) = output::misuse(agent, &self.schemas) {
                    return Err(refused(&after.mistake(&source.name, &field, why)));
                }
            }
            None => {}
        }
        if let Some(mistakes) = after.like_a_tool(&source.name, &self.tool_names()) {
            return Err(refused(&mistakes));
        }
        breaks(all, &after)?;
        Ok(after)
    }
}

impl Answers<DropAgent> for Door {
    async fn answer(&self, asked: Asked<'_, DropAgent>) -> Result<AgentChanged, Failure> {
        let request = asked.request()?;
        let by = asked.caller.recorded(request.by.as_deref())?;
        let author = Author { by, time: self.clock.now() };
        let DropAgent { name, expected_revision, .. } = request;
        self.agents.look(|all| may_go(all, &name))?;
        let revision = self.remove(&name, expected_revision, author).await?;
        self.agents.change(|all| {
            all.remove(Layer::Bucket, &name);
        });
        tracing::info!(agent = %name, "an agent was removed from the bucket");
        Ok(AgentChanged { name, revision, warnings: Warnings::default() })
    }
}

impl Door {
    /// Removes an agent from the bucket. Returns the revision of the removal, or `None` if the
    /// bucket held only a value that is not an agent.
    async fn remove(
        &self,
        name: &AgentName,
        expected: Option<u64>,
        author: Author,
    ) -> Result<Option<u64>, Failure> {
        let kv = &*self.broker.kv;
        for _ in 0..RACES_MAX {
            let former = self.value(name).await?;
            expect(name, expected, former.as_ref())?;
            let Some(former) = former else {
                let deleted = kv.delete(Bucket::Agents, name.as_str()).await;
                return deleted.map(|()| None).map_err(unavailable);
            };
            let known = history::unrecorded(&former);
            history::record_missing(kv, name, &known).await.map_err(unavailable)?;
            match kv.delete_at(Bucket::Agents, name.as_str(), former.revision).await {
                Ok(revision) => {
                    let change = history::dropped(revision, author);
                    history::record(kv, name, &change).await.map_err(unavailable)?;
                    return Ok(Some(revision));
                }
                // Another writer was faster. Its change is what this request removes.
                Err(KvError::Conflict(_)) => {}
                Err(error) => return Err(unavailable(error)),
            }
        }
        Err(unavailable(KvError::Conflict(name.to_string())))
    }
}

/// Refuses a change of an agent that has another revision than its author saw.
fn expect(
    name: &AgentName,
    expected: Option<u64>,
    found: Option<&Versioned>,
) -> Result<(), Failure> {
    if is_expected(expected, found) { Ok(()) } else { Err(stale(name)) }
}

fn stale(name: &AgentName) -> Failure {
    let failure = Failure::of(Code::Stale, Text::AgentMoved { name });
    failure.at("expected_revision").next(Text::ReadAgent)
}

fn changed(name: &AgentName, error: KvError) -> Failure {
    match error {
        KvError::Conflict(_) => stale(name),
        error @ (KvError::Unavailable(_) | KvError::InvalidKey(_) | KvError::Refused(_)) => {
            unavailable(error)
        }
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

/// Describes an agent: in brief, or in full with the revision of the bucket's value.
fn shown(entry: Entry, whole: Option<Option<u64>>) -> AgentEntry {
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
        text: entry.text.filter(|_| whole.is_some()),
        policies: policies.filter(|_| whole.is_some()).map(Box::new),
        revision: whole.flatten(),
        mistakes,
        ignored: entry.ignored.as_ref().map(told).unwrap_or_default(),
    }
}

fn told(mistakes: &Mistakes) -> Vec<String> {
    mistakes.0.iter().map(ToString::to_string).collect()
}
