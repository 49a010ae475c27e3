//! Names to addresses, checked before anything connects to them.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{address::is_public, error::EgressError};

/// Finds the addresses of a name.
#[async_trait]
pub trait Lookup: Send + Sync + 'static {
    /// All addresses of a name.
    ///
    /// # Errors
    /// When the name cannot be resolved.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// What the HTTP client asks for addresses: it connects to those it is given and to no others, so
/// that a name cannot be checked under one address and reached under another.
pub(super) struct Checked {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) allow_private: bool,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, allow_private) = (Arc::clone(&self.lookup), self.allow_private);
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let addresses = lookup.lookup(&name).await?;
            // One private address is enough to refuse the name: a public one beside it is how a
            // check of only the first address is got around.
            if !allow_private && let Some(bad) = addresses.iter().find(|ip| !is_public(**ip)) {
                let refused = EgressError::Private { host: name, address: *bad };
                return Err(Box::new(refused) as Box<dyn std::error::Error + Send + Sync>);
            }
            // The client puts the port of the URL in place of 0.
            Ok(Box::new(addresses.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}
