//! The verbs `workflows`, `set_workflow` and `drop_workflow`: listing, and changes of the bucket.
//!
//! A workflow with mistakes is never stored. A removal is never refused for the sake of others that
//! name the workflow: running jobs keep their definitions, and the reply warns.

use agents::{
    catalogue::Catalogue,
    source::Mistakes,
    workflow::{
        read::{FILE_BYTES_MAX, Known, read},
        shelf::{Entry, Shelf, WORKFLOWS_MAX, place},
    },
};
use broker::kv::{Bucket, KvError, Versioned};
use bytes::Bytes;
use proto::{
    agent::Layer,
    door::{
        DropWorkflow, SetWorkflow, WorkflowChanged, WorkflowEntry, WorkflowList,
        Workflows as Wanted,
    },
    error::{Code, Failure},
    lang::Words,
    limits,
    refusal::{Text, Warnings},
    tool::ToolSpec,
    workflow::{Workflow, WorkflowName},
};
use runtime::service::{Answers, Asked};

use super::unknown;
use crate::{
    Door,
    bucket::{is_expected, unavailable},
};

/// Attempts of a removal against others who write.
const RACES_MAX: usize = 10;

impl Answers<Wanted> for Door {
    async fn answer(&self, asked: Asked<'_, Wanted>) -> Result<WorkflowList, Failure> {
        let wanted = asked.request()?;
        let Some(name) = &wanted.name else {
            let all = self.workflows.look(|shelf| {
                let entries = shelf.names().filter_map(|name| Some(shown(shelf.entry(&name)?)));
                entries.collect()
            });
            return Ok(WorkflowList { workflows: all });
        };
        // The revision must be that of the text beside it, and the newest one.
        let value = self.stored(name).await?;
        if let Some(Versioned { revision, value, .. }) = value {
            self.workflows.change(|shelf| {
                shelf.put(name.clone(), revision, &value);
            });
        }
        let entry = self.workflows.look(|shelf| {
            let entry = shelf.entry(name);
            entry.map(whole).ok_or_else(|| unknown(shelf, name, Code::NotFound, "name"))
        })?;
        Ok(WorkflowList { workflows: vec![entry] })
    }
}

impl Answers<SetWorkflow> for Door {
    async fn answer(&self, asked: Asked<'_, SetWorkflow>) -> Result<WorkflowChanged, Failure> {
        let SetWorkflow { name, text, expected_revision, check } = asked.request()?;
        if text.len() > FILE_BYTES_MAX {
            let why = Text::AtMostBytes { max: &FILE_BYTES_MAX };
            return Err(Failure::about(Code::TooLarge, "text", why));
        }
        let (workflow, warnings) = self.checked(&name, &text)?;
        if !check && self.workflows.look(|shelf| shelf.is_full_for(&name)) {
            let why = Text::WorkflowManyStored { max: &WORKFLOWS_MAX };
            return Err(Failure::about(Code::TooLarge, "name", why));
        }
        let former = self.stored(&name).await?;
        let is_same = former.as_ref().is_some_and(|it| it.value == text.as_bytes());
        // A request whose reply was lost is repeated, and finds its own change.
        if !is_same {
            expect(&name, expected_revision, former.as_ref())?;
        }
        if check {
            let graph = Some(Box::new(workflow.shape()));
            return Ok(WorkflowChanged { name, revision: None, graph, warnings });
        }
        let revision = match former {
            Some(same) if is_same => same.revision,
            _ => self.store_workflow(&name, &text, expected_revision).await?,
        };
        // This process sees the change at once; the others follow the bucket.
        self.workflows.change(|shelf| {
            shelf.put(name.clone(), revision, text.as_bytes());
        });
        tracing::info!(workflow = %name, revision, "a workflow was stored in the bucket");
        Ok(WorkflowChanged { name, revision: Some(revision), graph: None, warnings })
    }
}

impl Answers<DropWorkflow> for Door {
    async fn answer(&self, asked: Asked<'_, DropWorkflow>) -> Result<WorkflowChanged, Failure> {
        let DropWorkflow { name, expected_revision } = asked.request()?;
        let revision = self.remove_workflow(&name, expected_revision).await?;
        self.workflows.change(|shelf| shelf.remove(&name));
        let warnings = self.workflows.look(|shelf| {
            // A built-in workflow takes its place.
            if shelf.text(&name).is_some() {
                return Warnings::default();
            }
            self.agents.look(|agents| users(agents, shelf, &name))
        });
        tracing::info!(workflow = %name, "a workflow was removed from the bucket");
        Ok(WorkflowChanged { name, revision: Some(revision), graph: None, warnings })
    }
}

impl Door {
    /// Reads the bucket's value of a workflow.
    async fn stored(&self, name: &WorkflowName) -> Result<Option<Versioned>, Failure> {
        self.broker.kv.get(Bucket::Workflows, name.as_str()).await.map_err(unavailable)
    }

    /// Checks a file against all tools, agents and workflows. Tools and agents may follow later, so
    /// unknown names are warnings.
    fn checked(&self, name: &WorkflowName, text: &str) -> Result<(Workflow, Warnings), Failure> {
        let registered = self.registry.all();
        let tools: Vec<&ToolSpec> = registered.iter().map(|tool| &tool.spec).collect();
        let agents: Vec<_> = self.agents.look(|all| all.names().cloned().collect());
        let known = self.workflows.look(|shelf| {
            let names = shelf.names().chain([name.clone()]);
            Known::of(tools.iter().copied(), agents, names)
        });
        let refused = |mistakes: Mistakes| {
            let words = Words::new(|language| mistakes.text(language));
            Failure::composed(Code::InvalidRequest, &words).at("text")
        };
        let checked = read(&place(name), text, &known).map_err(refused)?;
        if checked.workflow.name != *name {
            let why = Text::WorkflowNamed { name: &checked.workflow.name };
            return Err(Failure::about(Code::InvalidRequest, "name", why));
        }
        let mut warnings = Warnings::default();
        for warning in &checked.warnings {
            warnings.add(&Words::new(|language| warning.text(language)));
        }
        Ok((checked.workflow, warnings))
    }

    /// Stores a workflow. Without an expected revision the last writer wins.
    async fn store_workflow(
        &self,
        name: &WorkflowName,
        text: &str,
        expected: Option<u64>,
    ) -> Result<u64, Failure> {
        let (kv, value) = (&self.broker.kv, Bytes::from(text.to_owned()));
        let stored = match expected {
            None => kv.put(Bucket::Workflows, name.as_str(), value).await,
            Some(expected) => kv.update(Bucket::Workflows, name.as_str(), value, expected).await,
        };
        stored.map_err(|error| match error {
            KvError::Conflict(_) => stale(name),
            error @ (KvError::Unavailable(_) | KvError::InvalidKey(_) | KvError::Refused(_)) => {
                unavailable(error)
            }
        })
    }

    /// Removes a workflow from the bucket. Returns the revision of the removal.
    async fn remove_workflow(
        &self,
        name: &WorkflowName,
        expected: Option<u64>,
    ) -> Result<u64, Failure> {
        let kv = &self.broker.kv;
        for _ in 0..RACES_MAX {
            let Some(former) = self.stored(name).await? else {
                return Err(self.workflows.look(|shelf| not_stored(shelf, name)));
            };
            expect(name, expected, Some(&former))?;
            match kv.delete_at(Bucket::Workflows, name.as_str(), former.revision).await {
                Ok(revision) => return Ok(revision),
                // Another writer was faster. Its change is what this request removes.
                Err(KvError::Conflict(_)) => {}
                Err(error) => return Err(unavailable(error)),
            }
        }
        Err(unavailable(KvError::Conflict(name.to_string())))
    }
}

/// Returns warnings about the agents and the workflows of the bucket that name a workflow.
fn users(agents: &Catalogue, shelf: &Shelf, name: &WorkflowName) -> Warnings {
    let agents: Vec<_> = agents
        .names()
        .filter(|agent| {
            let resolved = agents.get(agent).and_then(|it| it.as_ref().ok());
            resolved.is_some_and(|agent| agent.workflow.as_ref() == Some(name))
        })
        .collect();
    let by_agents = agents.iter().map(|agent| Text::WorkflowUsedByAgent { agent, name });
    let others: Vec<_> = shelf.users(name).collect();
    let by_others = others.iter().map(|other| Text::WorkflowUsedBy { other, name });
    by_agents.chain(by_others).collect()
}

/// Returns the failure of a removal of a workflow that the bucket lacks.
fn not_stored(shelf: &Shelf, name: &WorkflowName) -> Failure {
    match shelf.entry(name).map(|entry| entry.layer) {
        Some(Layer::Preset) => {
            let failure = Failure::of(Code::NotFound, Text::WorkflowBuiltIn { name });
            failure.at("name").next(Text::SeeWorkflows)
        }
        Some(Layer::Configuration | Layer::Directory | Layer::Bucket) | None => {
            unknown(shelf, name, Code::NotFound, "name")
        }
    }
}

/// Refuses a change of a workflow that has another revision than its author saw.
fn expect(
    name: &WorkflowName,
    expected: Option<u64>,
    found: Option<&Versioned>,
) -> Result<(), Failure> {
    if is_expected(expected, found) { Ok(()) } else { Err(stale(name)) }
}

fn stale(name: &WorkflowName) -> Failure {
    let failure = Failure::of(Code::Stale, Text::WorkflowMoved { name });
    failure.at("expected_revision").next(Text::ReadWorkflow)
}

/// Describes a workflow in brief.
fn shown(entry: Entry<'_>) -> WorkflowEntry {
    let Entry { name, layer, revision, text: _, brief } = entry;
    let (brief, mistakes) = match brief {
        Ok(brief) => (Some(brief), Vec::new()),
        Err(mistakes) => (None, mistakes.0.iter().map(ToString::to_string).collect()),
    };
    WorkflowEntry {
        name,
        layer,
        revision,
        version: brief.as_ref().map(|brief| brief.version),
        digest: brief.as_ref().map(|brief| brief.digest.clone()),
        about: brief.map(|brief| brief.about).unwrap_or_default(),
        text: None,
        definition: None,
        graph: None,
        mistakes,
    }
}

/// Describes a workflow in full.
fn whole(entry: Entry<'_>) -> WorkflowEntry {
    let text = entry.text.to_owned();
    let read = read(&entry.place(), &text, &Known::default());
    let definition = read.ok().map(|checked| Box::new(checked.workflow));
    let graph = definition.as_deref().map(|workflow| Box::new(workflow.shape()));
    let mut entry = WorkflowEntry { text: Some(text), definition, graph, ..shown(entry) };
    let is_too_large =
        serde_json::to_vec(&entry).is_ok_and(|it| it.len() > limits::REPLY_BYTES_MAX);
    entry.graph = entry.graph.filter(|_| !is_too_large);
    entry
}
