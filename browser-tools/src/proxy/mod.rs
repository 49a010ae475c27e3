//! The way out of a browser session: an HTTP proxy on a loopback port that lets nothing past the
//! guard. Each session has its own, because jobs differ in the hosts that they may reach.

mod exchange;
mod guard;

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use proto::agent::Hosts;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::AbortOnDropHandle,
};

pub(crate) use self::guard::Guard;
use crate::request::Barred;

/// Largest number of connections of a session at a time.
pub const CONNECTIONS_MAX: usize = 256;
/// Longest connection of a page.
const CONNECTION: Duration = Duration::from_secs(3600);
/// Largest number of refusals that are kept for the next reply.
const BARRED_MAX: usize = 16;
/// Pause after an error of the listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A running proxy. It ends with all its connections when it is dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    rules: Arc<Rules>,
    _listener: AbortOnDropHandle<()>,
}

/// The rules of one session, and its refusals.
#[derive(Debug)]
pub(crate) struct Rules {
    guard: Arc<Guard>,
    bytes_max: u64,
    hosts: Mutex<Permitted>,
    barred: Mutex<VecDeque<Barred>>,
}

/// The hosts of the job, and the connections that were opened under them.
#[derive(Debug)]
struct Permitted {
    hosts: Option<Hosts>,
    connections: CancellationToken,
    _end: DropGuard,
}

impl Permitted {
    fn of(hosts: Option<Hosts>) -> Self {
        let connections = CancellationToken::new();
        Self { hosts, _end: connections.clone().drop_guard(), connections }
    }
}

/// A panic of another task leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// Starts a proxy on a free port. A connection carries at most `bytes_max` bytes each way.
    pub(crate) async fn start(
        guard: Arc<Guard>,
        hosts: Option<&Hosts>,
        bytes_max: u64,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let hosts = Mutex::new(Permitted::of(hosts.cloned()));
        let rules = Arc::new(Rules { guard, bytes_max, hosts, barred: Mutex::default() });
        let task = tokio::spawn(accept(listener, Arc::clone(&rules)));
        Ok(Self { address, rules, _listener: AbortOnDropHandle::new(task) })
    }

    /// The address that the browser connects to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the hosts of the job. Connections under other rules end.
    pub(crate) fn permit(&self, hosts: Option<&Hosts>) {
        let mut permitted = lock(&self.rules.hosts);
        if permitted.hosts.as_ref() != hosts {
            *permitted = Permitted::of(hosts.cloned());
        }
    }

    /// Checks the host of an address before the browser asks for it.
    pub(crate) fn check(&self, url: &url::Url) -> Result<(), Barred> {
        let hosts = lock(&self.rules.hosts).hosts.clone();
        self.rules.guard.check(url, hosts.as_ref())
    }

    /// Returns the refusals since the last call.
    pub(crate) fn take_barred(&self) -> Vec<Barred> {
        lock(&self.rules.barred).drain(..).collect()
    }
}

impl Rules {
    /// Returns the hosts of the job, and the token that ends connections under them.
    fn permitted(&self) -> (Option<Hosts>, CancellationToken) {
        let permitted = lock(&self.hosts);
        (permitted.hosts.clone(), permitted.connections.clone())
    }

    fn note(&self, why: &Barred) {
        let mut barred = lock(&self.barred);
        if !barred.contains(why) && barred.len() < BARRED_MAX {
            barred.push_back(why.clone());
        }
    }
}

async fn accept(listener: TcpListener, rules: Arc<Rules>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // A connection beyond the bound is closed, and the page sees a failed request.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let rules = Arc::clone(&rules);
        connections.spawn(async move {
            let _place = place;
            // The end of a connection is no news: the browser knows what it lacks.
            let _ = tokio::time::timeout(CONNECTION, serve(stream, rules)).await;
        });
    }
}

async fn serve(stream: TcpStream, rules: Arc<Rules>) {
    // A tunnel of this connection outlives the exchange of messages; this set ends it.
    let tunnels = Arc::new(Mutex::new(JoinSet::new()));
    let made = Arc::clone(&tunnels);
    let answers = service_fn(move |request| {
        exchange::answer(request, Arc::clone(&rules), Arc::clone(&tunnels))
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answers);
    let _ = connection.with_upgrades().await;
    let mut running = std::mem::take(&mut *lock(&made));
    while running.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests;
