//! Findings from the server's monitoring endpoint: flush policy, and disk space over all accounts.

use std::time::Duration;

use proto::lang::Words;
use serde_json::Value;

use super::{
    storage::{self, Store},
    words::Text,
};
use crate::render::findings::Finding;

/// Time limit of the request.
const PATIENCE: Duration = Duration::from_secs(3);

/// A server's flush policy (`sync_interval`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    /// Every write is flushed before its acknowledgement.
    Always,
    /// Writes are flushed within this interval.
    Every(Duration),
}

/// The monitored values of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerReport {
    /// Flush policy, if the server reports it.
    pub(super) sync: Option<Sync>,
    /// Bytes used by all accounts.
    used: u64,
    /// Storage limit of the server, in bytes.
    limit: u64,
}

/// Queries the endpoint at an address such as `http://127.0.0.1:8222`.
pub(super) async fn ask(address: &str) -> Result<ServerReport, Finding> {
    let place = format!("{}/varz", address.trim_end_matches('/'));
    let failed = |why: Words| {
        let found = Words::new(|language| format!("{place}: {}", why.text(language)));
        Finding::warning("monitor", found, Text::MonitorAddress)
    };
    let varz = async {
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        client.get(&place).send().await?.error_for_status()?.json::<Value>().await
    };
    let varz = varz.await.map_err(|e| failed(e.without_url().to_string().into()))?;
    read(&varz).ok_or_else(|| failed(Text::NotMonitored.into()))
}

fn read(varz: &Value) -> Option<ServerReport> {
    let config = varz.pointer("/jetstream/config")?;
    let sync = match (&config["sync_always"], config["sync_interval"].as_u64()) {
        (Value::Bool(true), _) => Some(Sync::Always),
        (_, Some(nanos)) => Some(Sync::Every(Duration::from_nanos(nanos))),
        (_, None) => None,
    };
    let used = varz.pointer("/jetstream/stats/storage").and_then(Value::as_u64)?;
    Some(ServerReport { sync, used, limit: config["max_storage"].as_u64()? })
}

/// Reports the disk usage of the server.
pub(super) fn room(said: &ServerReport) -> Finding {
    storage::judged(Store::Server, said.used, Some(said.limit))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"sync_interval": 120_000_000_000_u64}), Some(Sync::Every(Duration::from_secs(120))))]
    #[case(json!({"sync_interval": 120_000_000_000_u64, "sync_always": true}), Some(Sync::Always))]
    #[case(json!({}), None)]
    fn how_it_writes_is_read(#[case] mut config: Value, #[case] sync: Option<Sync>) {
        config["max_storage"] = json!(100);
        let varz = json!({"jetstream": {"config": config, "stats": {"storage": 7}}});
        assert_eq!(read(&varz), Some(ServerReport { sync, used: 7, limit: 100 }));
        assert_eq!(read(&json!({"jetstream": {}})), None);
    }
}
