//! Trust in servers: the digests of what a person saw, in the bucket [`Bucket::Mcp`].
//!
//! The key is the server's name. A process with the role `tools` reads the bucket; only the operator
//! writes it.

use std::collections::BTreeMap;

use broker::{
    Broker,
    kv::{Bucket, KvError},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    launch,
    settings::{Server, ServerName},
    specs::FoundTool,
};

/// The server and the tools that a person has seen and trusts, as digests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// Digest of the command or the address.
    pub server: String,
    /// Digests of the tools, by the server's names for them.
    pub tools: BTreeMap<String, String>,
}

/// The trust in one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// A person saw exactly this tool.
    Trusted,
    /// The server had no such tool when a person trusted it.
    New,
    /// The tool has changed since.
    Changed,
}

impl Pins {
    /// Pins the settings of a server and its tools.
    #[must_use]
    pub fn of(server: &Server, tools: &[FoundTool]) -> Self {
        let tools = tools.iter().map(|tool| (tool.remote.clone(), tool.digest.clone()));
        Self { server: launch::digest_of(server), tools: tools.collect() }
    }

    /// `true` if these are the pins of a server with such settings.
    #[must_use]
    pub fn fit(&self, server: &Server) -> bool {
        self.server == launch::digest_of(server)
    }

    pub(crate) fn trust(&self, tool: &FoundTool) -> Trust {
        match self.tools.get(&tool.remote) {
            None => Trust::New,
            Some(digest) if *digest == tool.digest => Trust::Trusted,
            Some(_) => Trust::Changed,
        }
    }
}

/// Reads the pins of a server; `None` if nobody trusted it. Pins that cannot be read trust nothing.
///
/// # Errors
/// If the bucket cannot be read.
pub async fn read(broker: &Broker, server: &ServerName) -> Result<Option<Pins>, KvError> {
    let stored = broker.kv.get(Bucket::Mcp, server.as_str()).await?;
    Ok(stored.map(|stored| serde_json::from_slice(&stored.value).unwrap_or_default()))
}

/// Stores the pins of a server. Processes with the role `tools` follow within seconds.
///
/// # Errors
/// If the bucket cannot be written.
pub async fn trust(broker: &Broker, server: &ServerName, pins: &Pins) -> Result<(), KvError> {
    let value = serde_json::to_vec(pins).map_err(|error| KvError::Refused(error.to_string()))?;
    broker.kv.put(Bucket::Mcp, server.as_str(), Bytes::from(value)).await.map(|_| ())
}
