//! The verbs `workflows`, `set_workflow` and `drop_workflow`: listing, and changes of the bucket.
//!
//! A workflow with mistakes is never stored. A removal is never refused for the sake of others that
//! name the workflow: running jobs keep their definitions, and the reply warns.

use agents::{
    catalogue::Catalogue,
    source::Mistakes,
    workflow::{
        read::{FILE_BYTES_MAX, Known, read},
        shelf::{Shelf, WORKFLOWS_MAX, place},
    },
};
use broker::kv::{Bucket, Versioned};
use proto::{
    agent::Layer,
    door::{DropWorkflow, SetWorkflow, WorkflowChanged, WorkflowList, Workflows as Wanted},
    error::{Code, Failure},
    lang::Words,
    refusal::{Text, Warnings},
    tool::ToolSpec,
    workflow::{Workflow, WorkflowName},
};
use runtime::service::{Answers, Asked};

use super::{entry, storing::File, unknown, versions};
use crate::{
    Door,
    bucket::{is_expected, unavailable},
};

impl Answers<Wanted> for Door {
    async fn answer(&self, asked: Asked<'_, Wanted>) -> Result<WorkflowList, Failure> {
        let wanted = asked.request()?;
        let Some(name) = &wanted.name else {
            if wanted.version.is_some() {
                return Err(Failure::about(
                    Code::InvalidRequest,
                    "version",
                    Text::VersionWithoutName,
                ));
            }
            let all = self.workflows.look(|shelf| {
                let entries =
                    shelf.names().filter_map(|name| Some(entry::shown(shelf.entry(&name)?)));
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
        let recorded = versions::all(&*self.broker.kv, name).await.map_err(unavailable)?;
        let entry = self.workflows.look(|shelf| {
            let entry = shelf.entry(name);
            let entry = entry.ok_or_else(|| unknown(shelf, name, Code::NotFound, "name"))?;
            entry::whole(entry, recorded, wanted.version)
        })?;
        Ok(WorkflowList { workflows: vec![entry] })
    }
}

impl Answers<SetWorkflow> for Door {
    async fn answer(&self, asked: Asked<'_, SetWorkflow>) -> Result<WorkflowChanged, Failure> {
        let SetWorkflow { name, text, expected_revision, check, by } = asked.request()?;
        let by = asked.caller.recorded(by.as_deref())?;
        if text.len() > FILE_BYTES_MAX {
            let why = Text::AtMostBytes { max: &FILE_BYTES_MAX };
            return Err(Failure::about(Code::TooLarge, "text", why));
        }
        let (workflow, mut warnings) = self.checked(&name, &text)?;
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
            if let Some(taken) = self.taken(&workflow, former.as_ref()).await? {
                warnings.add(&Words::new(|language| taken.text().text(language)));
            }
            let graph = Some(Box::new(workflow.shape()));
            return Ok(WorkflowChanged { name, revision: None, graph, warnings });
        }
        let revision = match former {
            Some(same) if is_same => {
                // The process that stored it may have died before it recorded the version.
                let version = versions::of(&workflow, Some(self.clock.now()), by);
                let kv = &*self.broker.kv;
                versions::complete(kv, &name, &version, &text).await.map_err(unavailable)?;
                same.revision
            }
            former => {
                let file = File { workflow: &workflow, text: &text, by };
                self.store_workflow(file, former.as_ref(), expected_revision).await?
            }
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
    pub(super) async fn stored(&self, name: &WorkflowName) -> Result<Option<Versioned>, Failure> {
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
pub(super) fn not_stored(shelf: &Shelf, name: &WorkflowName) -> Failure {
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
pub(super) fn expect(
    name: &WorkflowName,
    expected: Option<u64>,
    found: Option<&Versioned>,
) -> Result<(), Failure> {
    if is_expected(expected, found) { Ok(()) } else { Err(stale(name)) }
}

pub(super) fn stale(name: &WorkflowName) -> Failure {
    let failure = Failure::of(Code::Stale, Text::WorkflowMoved { name });
    failure.at("expected_revision").next(Text::ReadWorkflow)
}
