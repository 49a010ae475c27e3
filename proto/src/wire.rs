//! What travels without being kept: presence, progress and token deltas, in bincode.
//!
//! Architecture invariant: `bincode` is named in this file alone, so that a successor can take its
//! place here. Messages are `[version][bincode]`; types on the wire use no zero-sized elements, no
//! flattening, no skipped fields and no untagged enums, none of which bincode can read back.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    id::{Attempt, Shard, StepId, ToolName, WorkId, WorkerId},
    limits,
};

/// The version of the envelope and of every type below.
const VERSION: u8 = 1;

/// An ephemeral message that cannot be read. It is dropped and counted; nothing depends on it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is not even a version.
    #[error("the message is empty")]
    Empty,
    /// A newer or older Callboard speaks.
    #[error("wire version {0}, this Callboard speaks {VERSION}")]
    Version(u8),
    /// The bytes are not what they should be.
    #[error("{0}")]
    Malformed(String),
}

/// A type that may travel.
pub trait Wire: Serialize + DeserializeOwned {}

/// What a process says of itself, every second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// The process.
    pub worker: WorkerId,
    /// The roles it runs, by name.
    pub roles: Vec<String>,
    /// Its version.
    pub version: String,
    /// The machine it is on.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// When it started, in milliseconds since 1970.
    pub started_ms: u64,
    /// Shards it owns.
    pub shards: Vec<Shard>,
    /// What it takes from queues.
    pub pools: Vec<PoolLoad>,
    /// Whether it is finishing what it has and takes nothing new.
    pub draining: bool,
}

/// How busy a process is with one kind of command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolLoad {
    /// The kind of command and the pool: `call.builtin`.
    pub pool: String,
    /// Commands in hand.
    pub in_flight: u32,
    /// Commands it would take at most.
    pub capacity: u32,
}

/// Something said while a piece of work is being done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    /// The piece of work.
    pub work: WorkId,
    /// The try, so that a repeated turn does not show its text twice.
    pub attempt: Attempt,
    /// The step it is for.
    pub step: Option<StepId>,
    /// Counts the messages of one attempt from 0; a gap means that some were lost.
    pub index: u32,
    /// What.
    pub said: Said,
}

/// What is said while a piece of work is being done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// A worker has taken it.
    Taken {
        /// Which.
        worker: WorkerId,
    },
    /// More of the model's reply.
    Text(String),
    /// More of the model's thinking.
    Thought(String),
    /// A tool is running.
    Tool {
        /// Which.
        tool: ToolName,
    },
}

impl Wire for Presence {}
impl Wire for Live {}

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<{ limits::WIRE_BYTES_MAX }>()
}

/// Writes a message.
///
/// # Errors
/// When it is larger than [`limits::WIRE_BYTES_MAX`].
pub fn encode<T: Wire>(message: &T) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = vec![VERSION];
    bincode::serde::encode_into_std_write(message, &mut bytes, config())
        .map_err(|e| Unreadable::Malformed(e.to_string()))?;
    Ok(bytes)
}

/// Reads a message.
///
/// # Errors
/// When it is of another version, malformed, too large, or followed by more bytes.
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
            said: Said::Text("好".into()),
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// These bytes may be added to and never changed: another version reads them.
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
