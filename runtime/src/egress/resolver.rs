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

/// The reason why a name has no address to connect to.
#[derive(Debug, thiserror::Error)]
pub enum Unresolved {
    /// One of its addresses is not public.
    #[error(transparent)]
    NotPublic(#[from] NotPublic),
    /// The resolver failed.
    #[error(transparent)]
    Failed(#[from] io::Error),
}

impl Checked {
    /// Returns the addresses of a name, all of them checked.
    ///
    /// # Errors
    /// If the name cannot be resolved, or one of its addresses is not permitted.
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        let addresses = self.lookup.lookup(name).await?;
        // One private address suffices to refuse a name. An attacker would put a public address
        // first to pass a check of the first one only.
        if !self.allow_private
            && let Some(bad) = addresses.iter().find(|ip| !is_public(**ip))
        {
            return Err(NotPublic { host: name.to_owned(), address: *bad }.into());
        }
        Ok(addresses)
    }
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let checked = Self { lookup: Arc::clone(&self.lookup), allow_private: self.allow_private };
        Box::pin(async move {
            let addresses = checked.addresses(name.as_str()).await.map_err(|why| match why {
                Unresolved::NotPublic(why) => Box::<dyn std::error::Error + Send + Sync>::from(why),
                Unresolved::Failed(why) => why.into(),
            })?;
            // The client replaces port 0 by the port of the URL.
            Ok(Box::new(addresses.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}
