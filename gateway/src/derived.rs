//! The ids of jobs that callers of other protocols submit.
//!
//! Those protocols name a submission by two ids of the client. The id of its job derives from them
//! and the caller, so that a repeated request finds its job, whichever gateway takes it, and nobody
//! guesses the ids of another caller.

use proto::id::JobId;
use uuid::Uuid;

use crate::caller::Caller;

/// Namespace of the derived ids.
const JOBS: Uuid = Uuid::from_u128(0x2c1f_7be0_8d45_4a3b_b0c9_71f6_05ae_94d2);

/// Returns the id of the job that a caller submits under two ids of a protocol.
pub(crate) fn job_id(caller: &Caller, protocol: &str, ids: [&str; 2]) -> JobId {
    of(caller.subject(), protocol, ids)
}

/// Returns the id of the job that a sender submits under two ids of a protocol.
pub(crate) fn of(subject: &str, protocol: &str, ids: [&str; 2]) -> JobId {
    // As JSON, no text of one part can look like the next part.
    let name = serde_json::json!([subject, protocol, ids]).to_string();
    let id = Uuid::new_v5(&JOBS, name.as_bytes()).simple().to_string();
    JobId::new(id).expect("32 hex digits are an id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_request_finds_its_job_and_no_other_request_does() {
        let job = of("ann", "agui", ["t1", "r1"]);
        assert_eq!(of("ann", "agui", ["t1", "r1"]), job);
        for other in [
            of("bob", "agui", ["t1", "r1"]),
            of("ann", "a2a", ["t1", "r1"]),
            of("ann", "agui", ["t1", "r2"]),
            of("ann", "agui", ["t1\",\"r1", ""]),
        ] {
            assert_ne!(other, job);
        }
    }
}
