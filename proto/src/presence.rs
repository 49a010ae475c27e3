//! The presence of workers in other languages: one JSON message, sent every second.

use serde::Deserialize;

use crate::{
    id::WorkerId,
    strict,
    wire::{PoolLoad, Presence},
};

/// The role in the subjects of workers in other languages, `<prefix>.crew.worker.<worker>`. Only
/// these presence messages are JSON.
pub const WORKER: &str = "worker";

/// Maximum size of a message in bytes.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of pools of one worker.
const POOLS_MAX: usize = 64;
/// Maximum size of a name in the message: of a pool, a host or a version.
const NAME_BYTES_MAX: usize = 255;

/// The message. Its sender's id is in the subject. Unknown fields are ignored.
#[derive(Deserialize)]
struct Announced {
    /// Version of the message.
    v: u16,
    /// Pools that the worker serves.
    pools: Vec<AnnouncedPool>,
    /// Version of the worker.
    #[serde(default)]
    version: String,
    /// Host name of the machine.
    #[serde(default)]
    host: String,
    /// Operating system's process id.
    #[serde(default)]
    pid: u32,
    /// Start time, in milliseconds since 1970.
    #[serde(default)]
    started_ms: u64,
    /// `true` in the last messages: the worker finishes its calls and takes no new ones.
    #[serde(default)]
    draining: bool,
}

/// A pool in the message.
#[derive(Deserialize)]
struct AnnouncedPool {
    /// Kind of command and name of the pool: `call.python`.
    pool: String,
    /// Commands that are being processed.
    #[serde(default)]
    in_flight: u32,
    /// Maximum number of concurrent commands.
    #[serde(default = "one")]
    capacity: u32,
}

fn one() -> u32 {
    1
}

/// Parses the presence message of a worker in another language.
///
/// # Errors
/// Returns the reason for which the message cannot be read: it is not JSON of the documented form,
/// has another version, or exceeds a bound.
pub fn of_worker(worker: WorkerId, message: &[u8]) -> Result<Presence, String> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(format!("larger than {MESSAGE_BYTES_MAX} bytes"));
    }
    let said: Announced = strict::from_slice(message).map_err(|error| error.to_string())?;
    if said.v != 1 {
        return Err(format!("version {}, this Callboard speaks 1", said.v));
    }
    let names = said.pools.iter().map(|pool| &pool.pool).chain([&said.version, &said.host]);
    if said.pools.len() > POOLS_MAX || names.into_iter().any(|name| name.len() > NAME_BYTES_MAX) {
        return Err("too many pools, or a name is too long".to_owned());
    }
    let load = |AnnouncedPool { pool, in_flight, capacity }| PoolLoad { pool, in_flight, capacity };
    Ok(Presence {
        worker,
        roles: vec![WORKER.to_owned()],
        version: said.version,
        host: said.host,
        pid: said.pid,
        started_ms: said.started_ms,
        shards: Vec::new(),
        pools: said.pools.into_iter().map(load).collect(),
        draining: said.draining,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str) -> Result<Presence, String> {
        of_worker(WorkerId::new("python-1").unwrap(), message.as_bytes())
    }

    #[test]
    fn a_worker_needs_to_announce_nothing_but_its_pools() {
        let said = read(r#"{"v": 1, "pools": [{"pool": "call.python"}], "later": true}"#).unwrap();
        assert_eq!(
            (said.worker.as_str(), said.roles.as_slice()),
            ("python-1", &["worker".into()][..])
        );
        assert_eq!(
            said.pools,
            [PoolLoad { pool: "call.python".into(), in_flight: 0, capacity: 1 }]
        );
        assert!(!said.draining);
        assert!(read(r#"{"v": 1, "pools": [], "draining": true}"#).unwrap().draining);
    }

    #[test]
    fn a_worker_owns_no_shard_and_plays_no_other_role() {
        let said =
            read(r#"{"v": 1, "pools": [], "roles": ["supervisor"], "shards": [0]}"#).unwrap();
        assert_eq!((said.roles, said.shards), (vec![WORKER.to_owned()], Vec::new()));
    }

    #[test]
    fn messages_of_another_form_are_refused() {
        let many = format!(r#"{{"v":1,"pools":[{}]}}"#, vec![r#"{"pool":"call.x"}"#; 65].join(","));
        let long = format!(r#"{{"v":1,"pools":[],"host":"{}"}}"#, "h".repeat(256));
        for message in ["", "{}", r#"{"v":2,"pools":[]}"#, r#"{"v":1}"#, "[1]", &many, &long] {
            assert!(read(message).is_err(), "{message}");
        }
    }
}
