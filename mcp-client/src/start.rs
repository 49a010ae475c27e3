//! The start of the servers of a process, and a look at one of them.

use std::{sync::Arc, time::Duration};

use broker::Broker;
use proto::decision::pools;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use runtime::actor::Child;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tool_actors::Toolset;

use crate::{
    launch::{Launch, LaunchError},
    names,
    pins::Pins,
    server::{self, ListOnceError, Server},
    settings::{self, Mcp, ServerName},
    specs::{FoundTool, Refused},
};

/// Interval at which a server is compared with what it should be.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The arguments of the servers' start.
#[derive(Debug)]
pub struct Setup {
    /// Has the bucket of trust.
    pub broker: Broker,
    /// The set that receives the tools.
    pub tools: Arc<Toolset>,
    /// Starts the shutdown when cancelled.
    pub shutdown: CancellationToken,
}

/// Returns the children of an actor tree that offer the servers' tools. They start the servers, and
/// stop by themselves after `shutdown`.
///
/// # Errors
/// If a program cannot be found or a secret cannot be fetched.
pub fn start(setup: &Setup, settings: &Mcp) -> Result<Vec<Child>, LaunchError> {
    let server = |(name, server): (&ServerName, &settings::Server)| {
        let launch = Launch::of(name, server)?;
        let pool = setup.tools.pool().clone();
        let source = setup.tools.source(&names::prefix(name));
        let whole = (name.clone(), server.clone(), launch);
        let server = Arc::new(Server::new(whole, pool, setup.broker.clone(), source));
        let args = ServerArgs { server, shutdown: setup.shutdown.clone() };
        Ok::<_, LaunchError>(Child::actor(format!("mcp.{name}"), || ServerActor, args))
    };
    settings.servers.iter().map(server).collect()
}

/// A server as it is, for a person who decides whether to trust it.
#[derive(Debug)]
pub struct Probed {
    /// Its usable tools.
    pub tools: Vec<FoundTool>,
    /// Its other tools.
    pub refused: Vec<Refused>,
    /// The pins of what was found.
    pub pins: Pins,
}

/// The reason why a server cannot be looked at.
pub type ProbeError = ListOnceError;

/// Starts a server once and lists its tools.
///
/// # Errors
/// If the server cannot be reached, or its tools cannot be listed.
pub async fn probe(
    name: &ServerName,
    server: &settings::Server,
    launch: &Launch,
) -> Result<Probed, ProbeError> {
    let (tools, refused) = server::list_once(name, server, launch, &pools::builtin()).await?;
    let pins = Pins::of(server, &tools);
    Ok(Probed { tools, refused, pins })
}

/// The actor of one server. It looks at the server at intervals.
struct ServerActor;

#[derive(Clone)]
struct ServerArgs {
    server: Arc<Server>,
    shutdown: CancellationToken,
}

struct Look;

impl Actor for ServerActor {
    type Msg = Look;
    type State = (ServerArgs, AbortOnDropHandle<()>);
    type Arguments = ServerArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<Look>,
        args: ServerArgs,
    ) -> Result<Self::State, ActorProcessingErr> {
        myself.cast(Look)?;
        myself.send_interval(LOOK_EVERY, || Look);
        let shutdown = args.shutdown.clone();
        let stop = AbortOnDropHandle::new(tokio::spawn(async move {
            shutdown.cancelled().await;
            myself.stop(None);
        }));
        Ok((args, stop))
    }

    async fn handle(
        &self,
        _: ActorRef<Look>,
        Look: Look,
        (ServerArgs { server, shutdown }, _): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        tokio::select! {
            () = server.look() => {}
            () = shutdown.cancelled() => {}
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<Look>,
        (args, _): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if args.shutdown.is_cancelled() {
            args.server.end().await;
        }
        Ok(())
    }
}
