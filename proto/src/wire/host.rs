//! The messages between processes that use sessions and the hosts of the sessions. The subject says
//! which kind of session a message is about.
//!
//! A variant keeps its number: later ones are added at the end.

use serde::{Deserialize, Serialize};

use super::Wire;
use crate::{
    id::{Attempt, JobId, WorkId, WorkerId},
    session::SessionId,
};

/// A request to hosts of one kind of session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostRequest {
    /// Asks for an [`Offer`]. Sent to all hosts of the kind, or to one to learn whether it lives.
    Seek,
    /// Asks one host to open a session: [`OpenAnswer`].
    Open {
        /// Job that needs the session.
        job: JobId,
    },
    /// Asks the host of a session to carry out a unit of work there: [`CarryAnswer`].
    Carry(Carry),
    /// Asks the host to stop a unit of work: [`Heard`].
    Cancel {
        /// Job that the work belongs to.
        job: JobId,
        /// Unit of work.
        work: WorkId,
        /// Attempt.
        attempt: Attempt,
    },
    /// Asks the host to close a session: [`Heard`].
    Close {
        /// Job of the session.
        job: JobId,
        /// The session.
        session: SessionId,
    },
}

/// A unit of work for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carry {
    /// Job of the session.
    pub job: JobId,
    /// The session.
    pub session: SessionId,
    /// Unit of work. While an attempt runs, a second request for it gets the same result.
    pub work: WorkId,
    /// Attempt.
    pub attempt: Attempt,
    /// Time in milliseconds after which the host stops the work. It is relative, because the clocks
    /// of two machines differ.
    pub within_ms: u64,
    /// Content, which only the keeper of this kind of session understands. At most
    /// [`SESSION_BODY_BYTES_MAX`](crate::limits::SESSION_BODY_BYTES_MAX).
    pub body: Vec<u8>,
}

/// The answer of a live host to [`HostRequest::Seek`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The host.
    pub host: WorkerId,
    /// `true` if it takes one more session.
    pub has_room: bool,
}

/// The answers to [`HostRequest::Open`]. All but the first are the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpenAnswer {
    /// The session is not open yet. Sent every second.
    Working,
    /// The session is open.
    Opened {
        /// Its id.
        session: SessionId,
    },
    /// The job has a session, which another request opened.
    Taken,
    /// The host takes no further session.
    Full,
    /// The session could not be opened.
    Failed {
        /// Reason, as an [excerpt](crate::excerpt::excerpt).
        why: String,
    },
}

/// The answers to [`HostRequest::Carry`]. All but the first two are the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CarryAnswer {
    /// The host begins now, or has begun. Before this answer, the work has had no effect.
    Begun,
    /// The work is not complete. Sent every second.
    Working,
    /// The work is complete.
    Done {
        /// Result, at most
        /// [`SESSION_BODY_BYTES_MAX`](crate::limits::SESSION_BODY_BYTES_MAX).
        body: Vec<u8>,
    },
    /// The work failed, and the session continues.
    Refused {
        /// Reason, as an [excerpt](crate::excerpt::excerpt).
        why: String,
    },
    /// The host does not have this session. Nothing began.
    Unknown,
    /// The host has no capacity at the moment. Nothing began.
    Busy,
    /// The work was canceled after it began.
    Stopped,
    /// The time of the request passed after the work began.
    Late,
    /// The session ended during the work.
    Lost {
        /// Reason, as an [excerpt](crate::excerpt::excerpt).
        why: String,
    },
}

/// The answer to [`HostRequest::Cancel`] and [`HostRequest::Close`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// `true` if the host has this work or session.
    pub is_known: bool,
}

impl Wire for HostRequest {}
impl Wire for Offer {}
impl Wire for OpenAnswer {}
impl Wire for CarryAnswer {}
impl Wire for Heard {}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::{
        limits::{SESSION_BODY_BYTES_MAX, WIRE_BYTES_MAX},
        wire::{decode, encode},
    };

    fn job() -> JobId {
        JobId::new("j1").unwrap()
    }

    fn carry(body: Vec<u8>) -> HostRequest {
        HostRequest::Carry(Carry {
            job: job(),
            session: SessionId(300),
            work: WorkId::new("g0.s1").unwrap(),
            attempt: Attempt(2),
            within_ms: 7,
            body,
        })
    }

    fn golden<T: Wire + Debug + PartialEq>(message: &T, expected: &str) {
        let bytes = encode(message).unwrap();
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, expected.replace(' ', ""), "{message:?}");
        assert_eq!(decode::<T>(&bytes).as_ref(), Ok(message));
    }

    /// The bytes of this version must never change: a later version has its own. Cases may be
    /// added.
    #[test]
    fn golden_bytes_of_version_1() {
        let (work, attempt) = (WorkId::new("g0.s1").unwrap(), Attempt(2));
        let why = || "no".to_owned();
        golden(&HostRequest::Seek, "01 00");
        golden(&HostRequest::Open { job: job() }, "01 01 026a31");
        golden(&carry(vec![9, 250]), "01 02 026a31 fb2c01 0567302e7331 02 07 02 09fa");
        golden(&HostRequest::Cancel { job: job(), work, attempt }, "01 03 026a31 0567302e7331 02");
        let session = SessionId(300);
        golden(&HostRequest::Close { job: job(), session }, "01 04 026a31 fb2c01");
        let host = WorkerId::new("w1").unwrap();
        golden(&Offer { host, has_room: true }, "01 027731 01");
        golden(&OpenAnswer::Working, "01 00");
        golden(&OpenAnswer::Opened { session }, "01 01 fb2c01");
        golden(&OpenAnswer::Taken, "01 02");
        golden(&OpenAnswer::Full, "01 03");
        golden(&OpenAnswer::Failed { why: why() }, "01 04 026e6f");
        golden(&CarryAnswer::Begun, "01 00");
        golden(&CarryAnswer::Working, "01 01");
        golden(&CarryAnswer::Done { body: vec![9, 250] }, "01 02 02 09fa");
        golden(&CarryAnswer::Refused { why: why() }, "01 03 026e6f");
        golden(&CarryAnswer::Unknown, "01 04");
        golden(&CarryAnswer::Busy, "01 05");
        golden(&CarryAnswer::Stopped, "01 06");
        golden(&CarryAnswer::Late, "01 07");
        golden(&CarryAnswer::Lost { why: why() }, "01 08 026e6f");
        golden(&Heard { is_known: true }, "01 01");
    }

    #[test]
    fn the_largest_body_fits_into_a_message() {
        let body = vec![250; SESSION_BODY_BYTES_MAX];
        for bytes in [
            encode(&carry(body.clone())).unwrap(),
            encode(&CarryAnswer::Done { body: body.clone() }).unwrap(),
        ] {
            assert!(bytes.len() < WIRE_BYTES_MAX);
        }
        let sent = encode(&carry(body.clone())).unwrap();
        assert_eq!(decode::<HostRequest>(&sent), Ok(carry(body)));
    }

    #[test]
    fn a_truncated_or_prolonged_request_is_refused() {
        let whole = encode(&carry(vec![9, 250])).unwrap();
        for n in 0..whole.len() {
            assert!(decode::<HostRequest>(&whole[..n]).is_err(), "first {n} bytes");
        }
        let longer: Vec<u8> = whole.into_iter().chain([0]).collect();
        assert!(decode::<HostRequest>(&longer).is_err());
        let named = [1, 1, 3, b'a', b'.', b'b'];
        assert!(decode::<HostRequest>(&named).is_err(), "the id of a job has no dot");
    }
}
