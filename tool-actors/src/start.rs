//! The start of a toolset: the built-in tools, their announcement, and the pool of their calls.

use std::{sync::Arc, time::Duration};

use broker::Broker;
use model::Model;
use proto::{
    decision::pools,
    id::{ToolName, WorkerId},
    tool::ToolSpec,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use runtime::{
    actor::Child,
    presence::Crew,
    registry::{self, AnnounceError, Announced},
    telemetry::Content,
    worker::{Gauge, LocalPools, PoolArgs, PoolOptions},
};
use tokio::sync::{Mutex, watch};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    actor::ToolActor,
    egress::{Egress, EgressError, SystemLookup},
    search::settings::ProviderError,
    settings::Tools,
    shell::Shell,
    tasks::TaskList,
    tool::Tool,
    tools::{
        AskModel, CloseTask, CreateTask, DeleteFile, Echo, EditFile, FindFiles, HttpGet, HttpPost,
        ListFiles, ListTasks, MoveFile, PublishFile, ReadAttachment, ReadFile, Run, SearchFiles,
        SlashTool, Sleep, Stop, UpdateTask, WebSearch, WriteFile,
    },
    toolset::{InvalidToolset, Toolset},
    unused::{Cleaner, Cleaning},
    workspace::{FileError, Limits, Workspaces},
};

/// Interval at which tools are announced again, in case an announcement was lost or replaced.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(30);

/// The reason why the tools cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The workspace cannot be used.
    #[error("tools.workspace: {0}")]
    Workspace(#[from] FileError),
    /// The HTTP client cannot be set up.
    #[error("tools.http: {0}")]
    Http(#[from] EgressError),
    /// A provider of search cannot be asked.
    #[error(transparent)]
    Search(#[from] ProviderError),
    /// The tools cannot form a set.
    #[error(transparent)]
    Toolset(#[from] InvalidToolset),
    /// A tool cannot be announced.
    #[error(transparent)]
    Announce(#[from] AnnounceError),
}

/// Creates the built-in tools. Without a model, the tool that asks one is left out, and without a
/// shell the one that runs commands.
///
/// # Errors
/// If the workspace or the HTTP client cannot be set up.
pub fn builtin(
    broker: &Broker,
    model: Option<Arc<dyn Model>>,
    shell: Option<Shell>,
    settings: &Tools,
) -> Result<Toolset, StartError> {
    let workspaces = Workspaces::open(&settings.workspace, Limits::default())?;
    if let Err(error) = workspaces.forget_old_writes() {
        tracing::warn!(%error, "old entries of the journal of writes were not removed");
    }
    let egress = Egress::new(settings.http.clone(), Arc::new(SystemLookup))?;
    let tasks = TaskList::new(Arc::clone(&broker.kv));
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(CreateTask(tasks.clone())),
        Arc::new(UpdateTask(tasks.clone())),
        Arc::new(CloseTask::Complete(tasks.clone())),
        Arc::new(CloseTask::Delete(tasks.clone())),
        Arc::new(ListTasks(tasks.clone())),
        Arc::new(SlashTool::todo(&tasks)),
        Arc::new(SlashTool::schedule(&tasks)),
        Arc::new(ReadFile(workspaces.clone())),
        Arc::new(ListFiles(workspaces.clone())),
        Arc::new(FindFiles(workspaces.clone())),
        Arc::new(SearchFiles(workspaces.clone())),
        Arc::new(WriteFile(workspaces.clone())),
        Arc::new(EditFile(workspaces.clone())),
        Arc::new(MoveFile(workspaces.clone())),
        Arc::new(DeleteFile(workspaces.clone())),
        Arc::new(PublishFile(workspaces.clone())),
        Arc::new(HttpGet::new(egress.clone(), settings.http.max_bytes, settings.http.timeout_ms)),
        Arc::new(ReadAttachment::new(
            egress.clone(),
            settings.http.max_bytes,
            settings.http.timeout_ms,
        )),
        Arc::new(HttpPost::new(egress, settings.http.max_bytes, settings.http.timeout_ms)),
        Arc::new(Stop),
        Arc::new(Echo),
        Arc::new(Sleep),
    ];
    if let Some(search) = settings.search.open()? {
        let timeout_ms = settings.search.timeout_ms;
        tools.push(Arc::new(WebSearch::web(search.clone(), timeout_ms)));
        tools.push(Arc::new(WebSearch::internet(search, timeout_ms)));
    }
    tools.extend(shell.map(|shell| Arc::new(Run::new(shell, workspaces)) as Arc<dyn Tool>));
    tools.extend(model.map(|model| Arc::new(AskModel(model)) as Arc<dyn Tool>));
    Ok(Toolset::new(pools::builtin(), tools)?)
}

/// The arguments of a toolset's start.
#[derive(Debug)]
pub struct Setup {
    /// Delivers calls and stores their results.
    pub broker: Broker,
    /// Id of this process as a worker.
    pub worker: WorkerId,
    /// Presence of the other processes.
    pub crew: Crew,
    /// Puts arguments and results into traces, if present.
    pub content: Option<Arc<Content>>,
    /// Limits of the pool; see [`crate::actor::options`].
    pub options: PoolOptions,
    /// Pools of this process, which the pool of the calls joins.
    pub local: LocalPools,
    /// Starts the shutdown when cancelled.
    pub shutdown: CancellationToken,
}

/// Announces a toolset and returns the children of an actor tree that carry out its calls, with the
/// gauge of their load. The children stop by themselves after `shutdown`.
///
/// # Errors
/// If a tool cannot be announced: a live worker has a different tool of that name and version, or
/// the registry is unreachable.
pub async fn start(setup: Setup, tools: Arc<Toolset>) -> Result<(Vec<Child>, Gauge), StartError> {
    let Setup { broker, worker, crew, content, options, local, shutdown } = setup;
    let announcer = Announcements {
        broker: broker.clone(),
        worker: worker.clone(),
        crew,
        tools: Arc::clone(&tools),
        announced: Arc::default(),
        changes: tools.watch(),
        shutdown: shutdown.clone(),
    };
    broker::kv::reach(
        || announcer.announce(),
        |error| matches!(error, AnnounceError::Kv(kv) if kv.is_unavailable()),
    )
    .await?;
    let role = ToolActor::new(broker.clone(), Arc::clone(&tools), content);
    let name = |what: &str| format!("{what}.{}", tools.pool());
    let pool = PoolArgs::new(broker, worker, role, options, shutdown).offered_to(&local);
    let (pool, gauge) = pool.into_child(name("call"));
    Ok((vec![pool, Child::actor(name("announce"), || Announcer, announcer)], gauge))
}

/// Returns the child of an actor tree that removes workspaces without jobs, unless the settings keep
/// them. The child stops by itself after `shutdown`.
///
/// # Errors
/// If the workspace cannot be set up.
pub fn cleaner(
    broker: &Broker,
    settings: &Tools,
    shutdown: &CancellationToken,
) -> Result<Child, StartError> {
    let cleaning = Cleaning {
        broker: broker.clone(),
        workspaces: Workspaces::open(&settings.workspace, Limits::default())?,
        unchanged: settings.unused_for(),
        shutdown: shutdown.clone(),
    };
    Ok(Child::actor("workspaces", || Cleaner, cleaning))
}

/// Stops an actor after `shutdown`, for as long as the handle lives.
pub(crate) fn stop_after<M: ractor::Message>(
    shutdown: CancellationToken,
    actor: ActorRef<M>,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        shutdown.cancelled().await;
        actor.stop(None);
    }))
}

/// The actor that announces tools at intervals and after every change, and withdraws those that the
/// set no longer has.
struct Announcer;

#[derive(Clone)]
struct Announcements {
    broker: Broker,
    worker: WorkerId,
    crew: Crew,
    tools: Arc<Toolset>,
    /// Tools that the registry may have from this worker.
    announced: Arc<Mutex<Vec<ToolName>>>,
    /// Has seen no change since the start.
    changes: watch::Receiver<u64>,
    shutdown: CancellationToken,
}

struct Announce;

impl Announcements {
    /// Announces every tool of the set, and withdraws the announced ones that it no longer has.
    ///
    /// # Errors
    /// The first error, after every tool was tried.
    async fn announce(&self) -> Result<(), AnnounceError> {
        let mut announced = self.announced.lock().await;
        let specs = self.tools.specs();
        let names: Vec<_> = specs.iter().map(|spec| spec.name.clone()).collect();
        let gone: Vec<_> = announced.drain(..).filter(|tool| !names.contains(tool)).collect();
        *announced = names;
        let mut ended = Ok(());
        for tool in gone {
            match registry::withdraw(&self.broker, &tool, &self.worker).await {
                Ok(()) => tracing::info!(%tool, "withdrawn"),
                Err(error) => {
                    announced.push(tool);
                    ended = ended.and(Err(error.into()));
                }
            }
        }
        for spec in specs {
            ended = ended.and(self.announce_one(spec).await);
        }
        ended
    }

    async fn announce_one(&self, spec: ToolSpec) -> Result<(), AnnounceError> {
        let (tool, ours) = (spec.name.clone(), spec.version.clone());
        match registry::announce(&self.broker, spec, &self.worker, &self.crew).await? {
            Announced::Stored => tracing::info!(%tool, version = ours, "announced"),
            Announced::Known => {}
            Announced::Newer { version } => {
                tracing::warn!(%tool, ours, theirs = version, "a newer version is announced");
            }
        }
        Ok(())
    }
}

/// Announces after every change of the tools, for as long as the handle lives.
fn announce_changes(
    mut changes: watch::Receiver<u64>,
    actor: ActorRef<Announce>,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        while changes.changed().await.is_ok() && actor.cast(Announce).is_ok() {}
    }))
}

impl Actor for Announcer {
    type Msg = Announce;
    type State = (Announcements, [AbortOnDropHandle<()>; 2]);
    type Arguments = Announcements;

    async fn pre_start(
        &self,
        myself: ActorRef<Announce>,
        args: Announcements,
    ) -> Result<Self::State, ActorProcessingErr> {
        myself.send_interval(ANNOUNCE_EVERY, || Announce);
        let changes = announce_changes(args.changes.clone(), myself.clone());
        let stop = stop_after(args.shutdown.clone(), myself);
        Ok((args, [changes, stop]))
    }

    async fn handle(
        &self,
        _: ActorRef<Announce>,
        Announce: Announce,
        (args, _): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // Calls in the log are carried out without an announcement, so this is no reason to stop.
        if let Err(error) = args.announce().await {
            tracing::error!(%error, "a tool could not be announced");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use broker::memory::{self, MemoryOptions};
    use model::script::{Script, ScriptModel};
    use proto::{lang::Language, subject::Subjects};
    use runtime::config::Section;

    use super::*;

    /// Returns the texts of a tool that models and users read.
    fn texts(tool: &ToolSpec, language: Language) -> Vec<String> {
        let spoken = tool.in_language(language);
        let arguments = spoken.schema["properties"].as_object().unwrap().values();
        let described = arguments.map(|argument| argument["description"].as_str().unwrap());
        let commands = tool.commands.iter().map(|command| command.about(language));
        let all = std::iter::once(spoken.description.as_str()).chain(described).chain(commands);
        all.map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn every_built_in_tool_is_described_in_every_language() {
        let workspace = tempfile::tempdir().unwrap();
        let settings = Tools { workspace: workspace.path().to_owned(), ..Tools::defaults() };
        let broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
        let script = Script::parse("else: {text: x}").unwrap();
        let model = ScriptModel::new(script, "m", model::Timeouts::default());
        let tools = builtin(&broker, Some(Arc::new(model)), None, &settings).unwrap();
        for tool in &tools.specs() {
            let english = texts(tool, Language::En);
            for language in Language::ALL.iter().filter(|language| **language != Language::En) {
                let spoken = texts(tool, *language);
                let same: Vec<_> = spoken.iter().filter(|text| english.contains(text)).collect();
                assert!(same.is_empty(), "{} in {language:?}: {same:?}", tool.name);
            }
        }
    }
}
