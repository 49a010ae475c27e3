//! The ephemeral messages in bincode: presence, progress, token deltas, pulses, and the requests to
//! [hosts of sessions](host).
//!
//! Architecture invariant: only this file names `bincode`, so that a successor can replace it here.
//! A message is `[version][bincode]`. Types on the wire use no zero-sized elements, no flattening,
//! no skipped fields and no untagged enums, none of which bincode can read back.

pub mod host;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    id::{Attempt, JobId, Shard, StepId, ToolName, WorkId, WorkerId},
    job::JobState,
    limits,
};

/// The version of the envelope and of every type below.
const VERSION: u8 = 1;

/// An ephemeral message that cannot be read. The receiver drops and counts it; no state depends on
/// it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The message has no bytes, not even a version.
    #[error("the message is empty")]
    Empty,
    /// The sender speaks another version.
    #[error("wire version {0}, this Callboard speaks {VERSION}")]
    Version(u8),
    /// The bytes are not a message of the expected type.
    #[error("{0}")]
    Malformed(String),
}

/// A type that may be sent as an ephemeral message.
pub trait Wire: Serialize + DeserializeOwned {}

/// The presence message of a process, sent every second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Presence {
    /// Id of the process.
    pub worker: WorkerId,
    /// Names of the roles that the process runs.
    pub roles: Vec<String>,
    /// Version of Callboard.
    pub version: String,
    /// Host name of the machine.
    pub host: String,
    /// Operating system's process id.
    pub pid: u32,
    /// Start time, in milliseconds since 1970.
    pub started_ms: u64,
    /// Shards that the process owns.
    pub shards: Vec<Shard>,
    /// Load of each pool that the process consumes.
    pub pools: Vec<PoolLoad>,
    /// `true` while the process finishes its work and takes no new commands.
    pub draining: bool,
}

/// The load of a process in one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PoolLoad {
    /// Kind of command and name of the pool: `call.builtin`.
    pub pool: String,
    /// Commands that are being processed.
    pub in_flight: u32,
    /// Maximum number of concurrent commands.
    pub capacity: u32,
}

/// A progress message of a running unit of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    /// Unit of work.
    pub work: WorkId,
    /// Attempt, so that receivers can discard the text of an earlier attempt.
    pub attempt: Attempt,
    /// Step that the work belongs to.
    pub step: Option<StepId>,
    /// Number of the message within the attempt, from 0. A gap shows that messages were lost.
    pub index: u32,
    /// Content of the message.
    pub said: LiveUpdate,
}

/// The content of a progress message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiveUpdate {
    /// A worker took the command.
    Taken {
        /// Id of the worker.
        worker: WorkerId,
    },
    /// The next part of the model's reply.
    Text(String),
    /// The next part of the model's reasoning.
    Thought(String),
    /// A tool is running.
    Tool {
        /// Name of the tool.
        tool: ToolName,
    },
}

/// A pulse of a shard: the jobs that changed, and the number of open jobs. Sent at most four times a
/// second, while somebody asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// Shard of the jobs.
    pub shard: Shard,
    /// Jobs that changed since the last pulse, at most [`limits::PULSE_JOBS_MAX`].
    pub jobs: Vec<JobId>,
    /// `true` if more jobs changed than are named.
    pub more: bool,
    /// Number of the shard's open jobs by state. A state without jobs is absent.
    pub open: Vec<StateCount>,
    /// Number of the shard's open questions.
    pub questions: u64,
}

/// The number of jobs in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateCount {
    /// State of the jobs.
    pub state: JobState,
    /// Number of them.
    pub jobs: u64,
}

impl Wire for Presence {}
impl Wire for Live {}
impl Wire for Pulse {}

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<{ limits::WIRE_BYTES_MAX }>()
}

/// Serialises a message.
///
/// # Errors
/// Fails when the message is larger than [`limits::WIRE_BYTES_MAX`].
pub fn encode<T: Wire>(message: &T) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = vec![VERSION];
    bincode::serde::encode_into_std_write(message, &mut bytes, config())
        .map_err(|e| Unreadable::Malformed(e.to_string()))?;
    Ok(bytes)
}

/// Parses a message.
///
/// # Errors
/// Fails when the message has another version, is malformed, exceeds [`limits::WIRE_BYTES_MAX`], or
/// is followed by more bytes.
pub fn decode<T: Wire>(bytes: &[u8]) -> Result<T, Unreadable> {
    let (version, rest) = bytes.split_first().ok_or(Unreadable::Empty)?;
    if *version != VERSION {
        return Err(Unreadable::Version(*version));
    }
    let (message, read) = bincode::serde::decode_from_slice(rest, config())
        .map_err(|e| Unreadable::Malformed(e.to_string()))?;
    if read == rest.len() {
        Ok(message)
    } else {
        Err(Unreadable::Malformed(format!("{} bytes too many", rest.len() - read)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence() -> Presence {
        Presence {
            worker: WorkerId::new("w1").unwrap(),
            roles: vec!["tools".into()],
            version: "0.1.0".into(),
            host: "h".into(),
            pid: 7,
            started_ms: 1,
            shards: vec![Shard(3)],
            pools: vec![PoolLoad { pool: "call.builtin".into(), in_flight: 1, capacity: 8 }],
            draining: false,
        }
    }

    fn live() -> Live {
        Live {
            work: WorkId::new("g0.s1.r1.t1").unwrap(),
            attempt: Attempt(2),
            step: Some(StepId::new("s1").unwrap()),
            index: 300,
            said: LiveUpdate::Text("好".into()),
        }
    }

    fn pulse() -> Pulse {
        Pulse {
            shard: Shard(3),
            jobs: vec![JobId::new("j1").unwrap()],
            more: true,
            open: vec![StateCount { state: JobState::InputRequired, jobs: 300 }],
            questions: 2,
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The bytes of this version must never change: a later version has its own. Cases may be
    /// added.
    #[test]
    fn golden_bytes_of_version_1() {
        assert_eq!(
            hex(&encode(&presence()).unwrap()),
            "0102773101 05746f6f6c73 05302e312e30 0168 07 01 0103 01 0c63616c6c2e6275696c74696e 01 08 00".replace(' ', "")
        );
        assert_eq!(
            hex(&encode(&live()).unwrap()),
            "01 0b67302e73312e72312e7431 02 01 027331 fb2c01 01 03e5a5bd".replace(' ', "")
        );
        assert_eq!(
            hex(&encode(&pulse()).unwrap()),
            "01 03 01 026a31 01 01 02 fb2c01 02".replace(' ', "")
        );
        assert_eq!(decode::<Pulse>(&encode(&pulse()).unwrap()), Ok(pulse()));
        assert_eq!(decode::<Presence>(&encode(&presence()).unwrap()), Ok(presence()));
        assert_eq!(decode::<Live>(&encode(&live()).unwrap()), Ok(live()));
    }

    #[test]
    fn hostile_bytes_are_refused_and_allocate_nothing() {
        let mut huge = vec![VERSION, 0xfd];
        huge.extend(u64::MAX.to_le_bytes());
        assert!(matches!(decode::<Live>(&huge), Err(Unreadable::Malformed(_))));
        assert_eq!(decode::<Live>(&[]), Err(Unreadable::Empty));
        assert_eq!(decode::<Live>(&[9, 1]), Err(Unreadable::Version(9)));
        let whole = encode(&live()).unwrap();
        for n in 0..whole.len() {
            assert!(decode::<Live>(&whole[..n]).is_err(), "first {n} bytes");
        }
        let mut more = whole;
        more.push(0);
        assert!(matches!(decode::<Live>(&more), Err(Unreadable::Malformed(_))));
    }
}
