//! The rules for the hosts that pages reach, and the connection to the very address that was checked.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use proto::agent::Hosts;
use runtime::egress::{Checked, Lookup, Unresolved, check_address, foreign_port};
use tokio::net::TcpStream;
use tool_actors::settings::Http;
use url::{Host, Url};

use crate::request::Barred;

/// Longest attempt to connect to one address.
const CONNECT: Duration = Duration::from_secs(10);
/// Largest number of addresses of a host to try.
const ADDRESSES: usize = 4;

/// The rules of the operator.
#[derive(derive_more::Debug)]
#[debug("Guard({http:?})")]
pub(crate) struct Guard {
    http: Http,
    checked: Checked,
}

impl Guard {
    /// Creates the guard with the rules of `[tools.http]`.
    pub(crate) fn new(http: Http, lookup: Arc<dyn Lookup>) -> Self {
        let checked = Checked { lookup, allow_private: http.allow_private };
        Self { http, checked }
    }

    /// Checks everything about a host that needs no name lookup.
    pub(crate) fn check(&self, url: &Url, hosts: Option<&Hosts>) -> Result<(), Barred> {
        let host = url.host_str().unwrap_or_default().to_owned();
        if !self.http.allows_host(&host) {
            return Err(Barred::Host(host));
        }
        if hosts.is_some_and(|hosts| !hosts.allow(&host)) {
            return Err(Barred::NotOfAgent(host));
        }
        if let Some(port) = foreign_port(url) {
            return Err(Barred::Port(host, port));
        }
        match check_address(url) {
            Err(refused) if !self.http.allow_private => {
                Err(Barred::Private { host, address: refused.address.to_string() })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Connects to the host of an address after all checks.
    pub(crate) async fn connect(
        &self,
        url: &Url,
        hosts: Option<&Hosts>,
    ) -> Result<TcpStream, Barred> {
        self.check(url, hosts)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let unreachable = |why: String| Barred::Unreachable { host: host.clone(), why };
        let port = url.port_or_known_default().unwrap_or(80);
        let addresses = match url.host() {
            Some(Host::Ipv4(address)) => vec![IpAddr::V4(address)],
            Some(Host::Ipv6(address)) => vec![IpAddr::V6(address)],
            Some(Host::Domain(name)) => {
                let found = tokio::time::timeout(CONNECT, self.checked.addresses(name)).await;
                let found = found.map_err(|_| unreachable("its name has no answer".to_owned()))?;
                found.map_err(|why| match why {
                    Unresolved::NotPublic(refused) => {
                        let address = refused.address.to_string();
                        Barred::Private { host: host.clone(), address }
                    }
                    Unresolved::Failed(why) => unreachable(why.to_string()),
                })?
            }
            None => Vec::new(),
        };
        let mut last = unreachable("it has no address".to_owned());
        for address in addresses.into_iter().take(ADDRESSES) {
            let connecting = TcpStream::connect(SocketAddr::new(address, port));
            match tokio::time::timeout(CONNECT, connecting).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(why)) => last = unreachable(why.to_string()),
                Err(_) => last = unreachable(format!("no connection within {CONNECT:?}")),
            }
        }
        Err(last)
    }
}
