//! A running process: the actors of its roles in one tree.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use ::agents::catalogue::Catalogue;
use broker::{
    Broker,
    clock::SystemClock,
    kv::{self, KvError},
};
use client::Client;
use door::{Door, DoorParts, agents::Agents, workflows::Workflows};
use executor_actor::ExecutorActor;
use gateway::{GatewayActor, GatewayArgs, Listener};
use interaction_actor::{InteractionActor, inbox_service::InboxService, restore::InboxRestorer};
use model::Model;
use oidc::{Issuer, Login};
use planner_actor::PlannerActor;
use proto::{
    id::WorkerId,
    lang::{Language, Words},
};
use runtime::{
    actor::{self, Child, End, Restarts, Tree},
    admin::Watched,
    people::{self, People},
    presence::{self, Beacon, Crew, Status},
    registry::Registry,
    service::{Service, ServiceActor, ServiceArgs},
    telemetry::Identity,
    worker::{LocalPools, PoolArgs, PoolOptions},
};
use sandbox::Launcher;
use supervisor::actors::{SupervisorActor, SupervisorArgs, SupervisorOptions};
use tokio_util::sync::CancellationToken;
use tool_actors::{
    Toolset,
    shell::{self, Shell},
};

use super::{ModelSetupError, Role};
use crate::{
    agents::{self, AgentsError},
    failure::CliError,
    settings::Config,
    words::Text,
};

/// A running process.
#[derive(Debug)]
pub struct Company {
    tree: Tree,
    crew: Crew,
    status: Status,
    broker: Broker,
    /// Socket of the gateway, if it is one of the roles.
    listener: Option<Listener>,
}

/// The reason why the roles cannot start.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words().text(Language::En))]
pub enum StartError {
    /// The model cannot be set up.
    Model(#[from] ModelSetupError),
    /// The tool registry or the bucket of agents cannot be read.
    Registry(#[from] KvError),
    /// The agents are invalid.
    Agents(#[from] AgentsError),
    /// The tools cannot start.
    Tools(#[from] tool_actors::StartError),
    /// An MCP server cannot be started as its settings say.
    Mcp(#[from] mcp_client::LaunchError),
    /// The gateway's address cannot be bound.
    Gateway(#[from] gateway::ListenError),
    /// A secret of a webhook cannot be used.
    Webhooks(#[from] gateway::webhooks::settings::Unusable),
    /// The issuer of tokens cannot be asked.
    Issuer(#[from] oidc::issuer::Unreachable),
    /// An actor cannot start.
    Tree(#[from] actor::StartError),
}

impl StartError {
    /// Returns the reason for users.
    #[must_use]
    pub fn words(&self) -> Words {
        match self {
            Self::Model(why) => why.words(),
            Self::Registry(why) => Text::RegistryUnread { why }.into(),
            Self::Agents(why) => why.words(),
            Self::Tools(why) => why.to_string().into(),
            Self::Mcp(why) => why.words(),
            Self::Gateway(why) => why.to_string().into(),
            Self::Webhooks(why) => why.words(),
            Self::Issuer(why) => why.to_string().into(),
            Self::Tree(why) => why.to_string().into(),
        }
    }

    /// `true` if a file is invalid, so that a restart does not help until a user corrects it.
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            Self::Agents(_) | Self::Webhooks(_) | Self::Mcp(_) => true,
            Self::Model(_)
            | Self::Registry(_)
            | Self::Tools(_)
            | Self::Gateway(_)
            | Self::Issuer(_)
            | Self::Tree(_) => false,
        }
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        let told = error.words();
        if error.is_input() { Self::setting(told) } else { Self::start(told) }
    }
}

/// The resources shared by all roles.
struct Parts<'a> {
    config: &'a Config,
    broker: Broker,
    status: Status,
    crew: Crew,
    model: Option<Arc<dyn Model>>,
    registry: Registry,
    clock: Arc<SystemClock>,
    issuer: Option<Arc<Issuer>>,
    listener: Option<Listener>,
    /// Pools that carry out quick commands for the supervisor of this process.
    local: LocalPools,
    shutdown: CancellationToken,
}

impl Company {
    /// Starts roles.
    ///
    /// # Errors
    /// If a role needs a model and `model` is `None`, or an actor cannot start.
    pub async fn start(
        config: &Config,
        identity: &Identity,
        broker: Broker,
        roles: &BTreeSet<Role>,
        model: Option<Arc<dyn Model>>,
        shutdown: CancellationToken,
    ) -> Result<Self, StartError> {
        let broker = runtime::observed::observed(broker);
        let Identity { worker, roles: names, version } = identity.clone();
        let clock = Arc::new(SystemClock::new());
        let status = Status::new(worker, names, &version, clock.as_ref(), shutdown.clone());
        let crew = Crew::open(&broker);
        presence::observe(&status, &crew, broker.log.subjects().shards());
        let registry = kv::reach(|| Registry::open(&broker), KvError::is_unavailable).await?;
        if roles.contains(&Role::Gateway) {
            config.webhooks.usable()?;
        }
        let listener = match roles.contains(&Role::Gateway) {
            true => Some(Listener::bind(config.gateway.listen).await?),
            false => None,
        };
        let issuer = Issuer::new(&config.oidc)?.map(Arc::new);
        let parts = Parts {
            config,
            broker: broker.clone(),
            status: status.clone(),
            crew: crew.clone(),
            model,
            registry,
            clock,
            issuer,
            listener: listener.clone(),
            local: LocalPools::default(),
            shutdown: shutdown.clone(),
        };
        let mut children = vec![
            Child::actor("beacon", || Beacon, (broker.clone(), status.clone())).in_background(),
        ];
        for role in roles {
            children.extend(parts.children(*role).await?);
        }
        let tree = Tree::start("callboard", Restarts::default(), children).await?;
        Ok(Self { tree, crew, status, broker, listener })
    }

    /// Id of this process as a worker.
    #[must_use]
    pub fn worker(&self) -> &WorkerId {
        self.status.worker()
    }

    /// Returns the address of the gateway, if this process serves it.
    #[must_use]
    pub fn gateway(&self) -> Option<SocketAddr> {
        self.listener.as_ref().map(Listener::address)
    }

    /// Returns the checks behind the health endpoints.
    #[must_use]
    pub fn watched(&self) -> Watched {
        let (broker, status) = (self.broker.clone(), self.status.clone());
        Watched { broker, status, crew: self.crew.clone(), tree: self.tree.watch() }
    }

    /// Waits until every role has finished its running work after a shutdown, or the tree has given
    /// up.
    pub async fn ended(&self) -> End {
        self.tree.ended().await
    }
}

impl Parts<'_> {
    async fn children(&self, role: Role) -> Result<Vec<Child>, StartError> {
        match role {
            Role::Supervisor => Ok(vec![self.supervisor(&agents::catalogue(self.config)?)]),
            Role::Planner => {
                let (broker, registry) = (self.broker.clone(), self.registry.clone());
                let role = PlannerActor::new(broker, self.model()?, registry);
                let options = planner_actor::options(self.config.workers.plan_slots);
                Ok(vec![self.pool(planner_actor::ROLE, role, options)])
            }
            Role::Executor => {
                let (broker, registry) = (self.broker.clone(), self.registry.clone());
                let role = ExecutorActor::new(broker, self.model()?, registry);
                let options = executor_actor::options(self.config.workers.turn_slots);
                Ok(vec![self.pool(executor_actor::ROLE, role, options)])
            }
            Role::Tools => self.tools().await,
            Role::Interaction => Ok(self.interaction()),
            Role::Door => {
                let catalogue = agents::catalogue(self.config)?;
                let open = || Agents::open(&self.broker, catalogue.clone());
                let agents = kv::reach(open, KvError::is_unavailable).await?;
                let open = || Workflows::open(&self.broker);
                let workflows = kv::reach(open, KvError::is_unavailable).await?;
                Ok(vec![self.door(agents, workflows)])
            }
            Role::Gateway => {
                Ok(self.listener.clone().map(|it| self.gateway(it)).into_iter().collect())
            }
        }
    }

    fn supervisor(&self, catalogue: &Catalogue) -> Child {
        let settings = &self.config.supervisor;
        let options = SupervisorOptions {
            sweep_interval: Duration::from_millis(settings.sweep_interval_ms),
            probe_interval: Duration::from_millis(settings.probe_interval_ms),
            cached_jobs: settings.cache_jobs,
            local_work: settings.local_work,
            agents: catalogue.names().cloned().collect(),
            ..SupervisorOptions::default()
        };
        let args = SupervisorArgs {
            broker: self.broker.clone(),
            status: self.status.clone(),
            crew: self.crew.clone(),
            registry: self.registry.clone(),
            local: self.local.clone(),
            options,
            shutdown: self.shutdown.clone(),
        };
        Child::actor("supervisor", || SupervisorActor, args)
    }

    fn door(&self, agents: Agents, workflows: Workflows) -> Child {
        let door = Door::new(DoorParts {
            broker: self.broker.clone(),
            agents,
            workflows,
            prices: self.config.model.prices(),
            people: self.people(),
            submits_per_minute: self.config.door.submits_per_minute,
            watches: proto::limits::WATCHES_MAX,
            watch_bytes: door::WATCH_BYTES_MAX,
            registry: self.registry.clone(),
            crew: self.crew.clone(),
            clock: self.clock.clone(),
        });
        self.service("door", Arc::new(door))
    }

    /// The users of the front door. All services of the process share the issuer's keys.
    fn people(&self) -> People {
        let issuer = self.issuer.clone().map(|issuer| issuer as Arc<dyn people::Issuer>);
        People::new(&self.config.door.people, issuer)
    }

    fn gateway(&self, listener: Listener) -> Child {
        let args = GatewayArgs {
            broker: self.broker.clone(),
            client: Client::new(&self.broker),
            crew: self.crew.clone(),
            settings: self.config.gateway.clone(),
            webhooks: self.config.webhooks.clone(),
            login: self.issuer.as_ref().and_then(Login::new),
            listener,
            version: env!("CARGO_PKG_VERSION"),
            shutdown: self.shutdown.clone(),
        };
        Child::actor("gateway", || GatewayActor, args)
    }

    fn service(&self, name: &'static str, service: Arc<dyn Service>) -> Child {
        let args = ServiceArgs {
            broker: self.broker.clone(),
            service,
            in_flight: self.config.door.max_in_flight,
            shutdown: self.shutdown.clone(),
        };
        Child::actor(name, || ServiceActor, args)
    }

    async fn tools(&self) -> Result<Vec<Child>, StartError> {
        let settings = &self.config.tools;
        let shell = open_shell(&settings.shell).await;
        let tools = tool_actors::builtin(&self.broker, self.model.clone(), shell, settings)?;
        let tools = Arc::new(tools);
        let setup = tool_actors::Setup {
            broker: self.broker.clone(),
            worker: self.status.worker().clone(),
            crew: self.crew.clone(),
            content: self.config.content(),
            options: self.bounds(tool_actors::options(&tools, self.config.workers.call_slots)),
            local: self.local.clone(),
            shutdown: self.shutdown.clone(),
        };
        let mcp = mcp_client::Setup {
            broker: self.broker.clone(),
            tools: Arc::clone(&tools),
            shutdown: self.shutdown.clone(),
        };
        let servers = mcp_client::start(&mcp, &self.config.mcp)?;
        let browser = self.browser(&tools);
        let (mut children, gauge) = tool_actors::start(setup, tools).await?;
        children.extend(servers);
        children.extend(browser);
        let cleaner = tool_actors::cleaner(&self.broker, &self.config.tools, &self.shutdown)?;
        children.push(cleaner);
        self.status.show(gauge);
        Ok(children)
    }

    /// Offers a browser, if the settings ask for one and this machine can run it.
    fn browser(&self, tools: &Arc<Toolset>) -> Vec<Child> {
        let settings = &self.config.tools;
        if !settings.browser.enabled {
            return Vec::new();
        }
        let setup = browser_tools::Setup {
            broker: self.broker.clone(),
            worker: self.status.worker().clone(),
            tools: Arc::clone(tools),
            shutdown: self.shutdown.clone(),
        };
        let started = browser_tools::start(setup, &settings.browser, &settings.http);
        started.unwrap_or_else(|error| {
            tracing::warn!(%error, "no browser: this process cannot run one");
            Vec::new()
        })
    }

    fn interaction(&self) -> Vec<Child> {
        let mut children = Vec::new();
        for options in interaction_actor::options(self.config.workers.ask_slots) {
            let name = format!("inbox.{}", options.kind.as_str());
            children.push(self.pool(name, InteractionActor::new(self.broker.clone()), options));
        }
        let inbox = InboxService::new(self.broker.clone(), self.people(), self.registry.clone());
        children.push(self.service("desk", Arc::new(inbox)));
        let restorer = Child::actor("inbox.restore", || InboxRestorer, self.broker.clone());
        children.push(restorer.in_background());
        children
    }

    /// Creates the pool of a role, and publishes its load in this process's presence.
    fn pool<R>(&self, name: impl Into<Arc<str>>, role: R, options: PoolOptions) -> Child
    where
        R: runtime::worker::Role,
    {
        let (broker, worker) = (self.broker.clone(), self.status.worker().clone());
        let options = self.bounds(options);
        let pool = PoolArgs::new(broker, worker, role, options, self.shutdown.clone());
        let (child, gauge) = pool.offered_to(&self.local).into_child(name);
        self.status.show(gauge);
        child
    }

    fn model(&self) -> Result<Arc<dyn Model>, ModelSetupError> {
        self.model.clone().ok_or(ModelSetupError::Unconfigured)
    }

    /// Applies the configured limits, common to all pools.
    fn bounds(&self, options: PoolOptions) -> PoolOptions {
        let workers = &self.config.workers;
        PoolOptions {
            deliveries_max: workers.deliveries_max,
            drain: workers.drain(),
            heartbeat: workers.heartbeat(),
            ..options
        }
    }
}

/// Creates the identity of this process: a new name, its roles, and this version.
#[must_use]
pub fn identity(roles: &BTreeSet<Role>) -> Identity {
    Identity {
        worker: worker_id(roles),
        roles: roles.iter().map(|role| role.name().to_owned()).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Generates a name for a process from its roles and a random part.
fn worker_id(roles: &BTreeSet<Role>) -> WorkerId {
    let what = match (roles.len(), roles.first()) {
        (1, Some(only)) => only.name(),
        (n, _) if n >= Role::ALL.iter().filter(|role| role.is_needed()).count() => "all",
        (_, Some(first)) => first.name(),
        (_, None) => "idle",
    };
    let random = uuid::Uuid::new_v4().simple().to_string();
    let name = format!("{what}-{}", random.get(..8).unwrap_or_default());
    WorkerId::new(name).expect("letters, digits and dashes are an id")
}

/// Opens the shell. A machine that cannot confine commands offers all other tools.
async fn open_shell(settings: &shell::settings::Shell) -> Option<Shell> {
    match Shell::open(settings, Launcher::this_program()).await {
        Ok(shell) => {
            let isolation = shell.as_ref().map(|shell| shell.isolation().to_string());
            tracing::info!(isolation, "shell");
            shell
        }
        Err(error) => {
            tracing::warn!(%error, "no shell: this machine cannot confine commands");
            None
        }
    }
}
