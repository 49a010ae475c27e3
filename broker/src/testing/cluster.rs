//! A cluster of three nats-servers, for tests only.

use std::{net::TcpListener, path::PathBuf};

use serde_json::Value;

use super::{Displayed, start, wait::eventually};
use crate::nats_server::{Child, ChildOptions, StartError};

/// Three clustered nats-servers with their own ports and directories. Dropping this kills them.
#[derive(Debug)]
pub struct NatsCluster {
    servers: Vec<(ChildOptions, Option<Child>)>,
    urls: Vec<String>,
    dir: PathBuf,
}

impl NatsCluster {
    /// Starts three servers that form a cluster. They may still be electing a leader.
    ///
    /// # Panics
    /// If no nats-server is found or one does not start; the message says what to do.
    pub async fn start() -> Self {
        // Another process may take a free port before a server binds it; then others will do.
        for _ in 0..3 {
            match Self::start_once().await {
                Err(error) if error.is_port_taken() => {}
                started => return started.map_err(Displayed).expect("servers for a test"),
            }
        }
        Self::start_once().await.map_err(Displayed).expect("servers for a test")
    }

    async fn start_once() -> Result<Self, StartError> {
        let name = format!("callboard-test-{}", uuid::Uuid::new_v4().simple());
        let dir = std::env::temp_dir().join(name);
        let ports = free_ports();
        let routes: Vec<_> = ports.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        let (mut servers, mut urls) = (Vec::new(), Vec::new());
        for port in &ports {
            let routes = routes.join(", ");
            let cluster =
                format!("cluster {{ name: c, listen: \"127.0.0.1:{port}\", routes: [{routes}] }}");
            let mut options = ChildOptions {
                store_dir: dir.join(port.to_string()),
                config: vec![cluster],
                keeps_name: true,
                ..ChildOptions::default()
            };
            let server = Child::start(&options).await?;
            options.port = server.port();
            urls.push(server.url());
            servers.push((options, Some(server)));
        }
        Ok(Self { servers, urls, dir })
    }

    /// The URLs of the servers, in the order of their indices.
    #[must_use]
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Waits for a stream's leader and returns the leader's index in [`NatsCluster::urls`].
    ///
    /// # Panics
    /// If no leader is elected in time, or no server is reachable.
    pub async fn leader(&self, stream: &str) -> usize {
        let client =
            Box::pin(async_nats::connect(&self.urls)).await.expect("a server can be reached");
        let subject = format!("$JS.API.STREAM.INFO.{stream}");
        Box::pin(eventually(format!("a leader of {stream}"), async || {
            let asked = client.request(subject.clone(), "{}".into()).await;
            let info = asked.ok().and_then(|m| serde_json::from_slice::<Value>(&m.payload).ok());
            let leader = info.and_then(|i| Some(i["cluster"]["leader"].as_str()?.to_owned()));
            match &leader {
                Some(leader) => self.place(leader).await.ok_or("it does not run"),
                None => Err("no leader"),
            }
        }))
        .await
    }

    /// Returns the index of the running server with that name.
    async fn place(&self, name: &str) -> Option<usize> {
        for (place, url) in self.urls.iter().enumerate() {
            if self.servers[place].1.is_none() {
                continue;
            }
            let client = async_nats::connect(url).await.expect("a running server is there");
            if client.server_info().server_name == name {
                return Some(place);
            }
        }
        None
    }

    /// Kills a server with `SIGKILL`, as a crash would.
    pub fn kill9(&mut self, place: usize) {
        self.servers[place].1 = None;
    }

    /// Restarts a server under its name, on its port and directory; kills it first if it runs.
    ///
    /// # Panics
    /// If the server does not start.
    pub async fn restart(&mut self, place: usize) {
        self.kill9(place);
        let (options, server) = &mut self.servers[place];
        *server = Some(start(options).await);
    }
}

impl Drop for NatsCluster {
    fn drop(&mut self) {
        self.servers.clear();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Returns three distinct ports that are free now.
fn free_ports() -> Vec<u16> {
    let listen = |_| TcpListener::bind(("127.0.0.1", 0)).expect("a free port can be listened on");
    let held: Vec<TcpListener> = (0..3).map(listen).collect();
    let port = |held: &TcpListener| held.local_addr().expect("a listener has an address").port();
    held.iter().map(port).collect()
}
