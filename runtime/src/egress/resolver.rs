//! Name resolution with a check of every address.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{NotPublic, address::is_public};

/// A resolver of host names.
#[async_trait]
pub trait Lookup: Send + Sync + 'static {
    /// Returns all addresses of a name.
    ///
    /// # Errors
    /// If the name cannot be resolved.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The machine's resolver.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// The resolver that the HTTP client uses. The client connects only to the addresses it returns, so
/// a name cannot resolve to one address for the check and to another for the connection.
#[derive(derive_more::Debug)]
#[debug("Checked {{ allow_private: {allow_private} }}")]
pub struct Checked {
    /// The resolver that is asked.
    pub lookup: Arc<dyn Lookup>,
    /// `true` if addresses need not be public.
    pub allow_private: bool,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, allow_private) = (Arc::clone(&self.lookup), self.allow_private);
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let addresses = lookup.lookup(&name).await?;
            // One private address suffices to refuse a name. An attacker would put a public address
            // first to pass a check of the first one only.
            if !allow_private && let Some(bad) = addresses.iter().find(|ip| !is_public(**ip)) {
                let refused = NotPublic { host: name, address: *bad };
                return Err(Box::new(refused) as Box<dyn std::error::Error + Send + Sync>);
            }
            // The client replaces port 0 by the port of the URL.
            Ok(Box::new(addresses.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}
