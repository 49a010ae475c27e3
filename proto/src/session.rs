//! Sessions of jobs at host processes: their kinds, their ids and the entry that names the host.
//!
//! A session is a cache, such as the browser of a job. No log mentions it.

use derive_more::Display;
use serde::{Deserialize, Serialize};

use crate::id::WorkerId;

/// The kinds of sessions. A kind is a token of subjects and of keys.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum SessionKind {
    /// A web browser.
    Browser,
}

impl SessionKind {
    /// Returns the kind as a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The id of a session: the revision at which its host wrote the job's entry. No other session of
/// the kind and job has it, even if the host restarts under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(transparent)]
pub struct SessionId(pub u64);

/// The entry of a session in the bucket `sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlace {
    /// Process that has the session.
    pub host: WorkerId,
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;

    #[test]
    fn a_kind_is_one_token_and_is_read_back() {
        for kind in SessionKind::VARIANTS {
            let plain = |b: u8| b.is_ascii_lowercase() || b == b'_';
            assert!(!kind.as_str().is_empty() && kind.as_str().bytes().all(plain), "{kind}");
            assert_eq!(kind.as_str().parse(), Ok(*kind));
        }
    }

    /// Programs in other languages may read the entry.
    #[test]
    fn the_entry_is_json() {
        let place = SessionPlace { host: WorkerId::new("w1").unwrap() };
        assert_eq!(serde_json::to_string(&place).unwrap(), r#"{"host":"w1"}"#);
        let later = serde_json::from_str::<SessionPlace>(r#"{"host":"w1","later":1}"#);
        assert_eq!(later.unwrap(), place);
    }
}
