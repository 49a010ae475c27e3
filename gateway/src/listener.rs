//! The gateway's listener, and the actor that keeps it open for the life of the role.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use broker::Broker;
use client::Client;
use oidc::Login;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use runtime::{
    http::{self, Bounds, Serving},
    presence::Crew,
};
use tokio::{net::TcpListener, sync::Mutex};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    Desk, api,
    api::feed::Hub,
    caller::Hosts,
    limited::Limits,
    settings::{Gateway, Listen},
    stream::SharedWatches,
    tls,
    webhooks::{self, Webhooks, incoming::Receivers},
};

/// The usual port of the gateway.
pub const PORT: u16 = 8600;

/// The maximum number of connections.
const CONNECTIONS_MAX: usize = 4_096;

/// Bounds of the listener's connections, which carry streams of any length.
const BOUNDS: Bounds = Bounds {
    connections: CONNECTIONS_MAX,
    connections_of_peer: Some(CONNECTIONS_MAX / 2),
    head_timeout: Duration::from_secs(30),
    write_timeout: Duration::from_secs(15),
    connection_timeout: None,
    keep_alive: true,
    end_grace: Duration::from_secs(2),
};

/// The reason why the listener cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("gateway.listen: cannot listen on {place}: {why}; set another address")]
pub struct ListenError {
    place: String,
    why: String,
}

/// A bound socket. Its address is known before the gateway serves.
#[derive(Debug, Clone)]
pub struct Listener {
    address: SocketAddr,
    /// Taken by the actor's first start; a restart binds the address again.
    socket: Arc<Mutex<Option<TcpListener>>>,
}

impl Listener {
    /// Binds the configured address.
    ///
    /// # Errors
    /// An error is returned when the address cannot be bound.
    pub async fn bind(listen: Listen) -> Result<Self, ListenError> {
        let bound = match listen {
            Listen::At(address) => TcpListener::bind(address).await,
            Listen::Auto => match TcpListener::bind(("127.0.0.1", PORT)).await {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    TcpListener::bind(("127.0.0.1", 0)).await
                }
                bound => bound,
            },
        };
        let wrong =
            |why: io::Error| ListenError { place: listen.to_string(), why: why.to_string() };
        let socket = bound.map_err(wrong)?;
        let address = socket.local_addr().map_err(wrong)?;
        Ok(Self { address, socket: Arc::new(Mutex::new(Some(socket))) })
    }

    /// Returns the bound address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    async fn take(&self) -> io::Result<TcpListener> {
        match self.socket.lock().await.take() {
            Some(socket) => Ok(socket),
            None => TcpListener::bind(self.address).await,
        }
    }
}

/// The parts of a [`GatewayActor`].
#[derive(Debug, Clone)]
pub struct GatewayArgs {
    /// The broker, which keeps the outboxes of webhooks.
    pub broker: Broker,
    /// The front door's client.
    pub client: Client,
    /// The live processes.
    pub crew: Crew,
    /// The settings.
    pub settings: Gateway,
    /// The settings of webhooks.
    pub webhooks: Webhooks,
    /// Sign-in at the issuer of tokens, if there is one.
    pub login: Option<Login>,
    /// The bound socket.
    pub listener: Listener,
    /// Version of this program.
    pub version: &'static str,
    /// Canceled when the process is to end.
    pub shutdown: CancellationToken,
}

/// The actor of the gateway. It serves requests until the shutdown.
#[derive(Debug)]
pub struct GatewayActor;

/// The shutdown has begun, and the connections have ended.
#[derive(Debug)]
pub struct Ended;

impl Actor for GatewayActor {
    type Msg = Ended;
    type State = Vec<AbortOnDropHandle<()>>;
    type Arguments = GatewayArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<Ended>,
        args: GatewayArgs,
    ) -> Result<Self::State, ActorProcessingErr> {
        let GatewayArgs {
            broker,
            client,
            crew,
            settings,
            webhooks: hooks,
            login,
            listener,
            version,
            shutdown,
        } = args;
        let mut tasks = webhooks::start(&hooks, &broker, &client, &shutdown)?;
        let task_receivers = webhooks::receivers(&hooks, &broker);
        let task_receivers =
            task_receivers.map(|stored| Arc::new(stored) as Arc<dyn bridges::a2a::Receivers>);
        let hosts = Hosts::new(&settings.hosts);
        let feed = Hub::new(client.clone(), crew);
        let is_secure = settings.behind_proxy || settings.tls.files().is_some();
        let desk = Desk {
            client,
            version,
            shutdown: shutdown.clone(),
            login,
            watches: SharedWatches::default(),
            feed,
            scheme: if is_secure { "https" } else { "http" },
            receivers: Receivers::new(&hooks),
            task_receivers,
            hosts,
            limits: Limits::new(&settings),
            rates: (settings.reads_per_second.get(), settings.writes_per_second.get()),
        };
        let tls = tls::config(&settings.tls)?;
        let (socket, router) = (listener.take().await?, api::router(desk));
        // The address of a proxy is that of everybody.
        let connections_of_peer = BOUNDS.connections_of_peer.filter(|_| !settings.behind_proxy);
        let bounds = Bounds { connections_of_peer, ..BOUNDS };
        let serving: Serving = http::serve_with(socket, router, bounds, tls);
        tracing::info!(address = %listener.address, "the gateway listens");
        let task = tokio::spawn(async move {
            shutdown.cancelled().await;
            serving.end().await;
            // Fails if the actor has ended already.
            let _ = myself.cast(Ended);
        });
        tasks.push(AbortOnDropHandle::new(task));
        Ok(tasks)
    }

    async fn handle(
        &self,
        myself: ActorRef<Ended>,
        Ended: Ended,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        myself.stop(None);
        Ok(())
    }
}
