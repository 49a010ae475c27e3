//! The W3C Trace Context of a message, which its headers carry.
//!
//! Follows <https://www.w3.org/TR/trace-context/>, version 00.

use serde::{Deserialize, Serialize};

/// The name of the header for [`TraceContext`]. It is lower case, because NATS headers are
/// case-sensitive.
pub const TRACEPARENT: &str = "traceparent";

/// A trace, and the span in it that sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, derive_more::Display)]
#[serde(try_from = "String", into = "String")]
#[display("00-{trace:032x}-{span:016x}-{:02x}", u8::from(*sampled))]
pub struct TraceContext {
    trace: u128,
    span: u64,
    sampled: bool,
}

/// A header that is not a valid trace context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a W3C traceparent of version 00")]
pub struct InvalidTrace;

impl TraceContext {
    /// Creates a context. The standard forbids zero ids, so they become 1.
    #[must_use]
    pub fn new(trace: u128, span: u64, sampled: bool) -> Self {
        Self { trace: trace.max(1), span: span.max(1), sampled }
    }

    /// Returns the same trace with another span.
    #[must_use]
    pub fn child(self, span: u64) -> Self {
        Self { span: span.max(1), ..self }
    }

    /// Returns the id of the trace.
    #[must_use]
    pub fn trace_id(self) -> u128 {
        self.trace
    }

    /// Returns the id of the sending span.
    #[must_use]
    pub fn span_id(self) -> u64 {
        self.span
    }

    /// Returns whether the trace is recorded.
    #[must_use]
    pub fn is_sampled(self) -> bool {
        self.sampled
    }

    /// Parses a `traceparent` header.
    ///
    /// # Errors
    /// Fails when the header does not have the form of version 00, or an id is zero.
    pub fn parse(header: &str) -> Result<Self, InvalidTrace> {
        let mut parts = header.split('-');
        let mut next = |len: usize| {
            parts
                .next()
                .filter(|p| {
                    p.len() == len
                        && p.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
                })
                .ok_or(InvalidTrace)
        };
        let (version, trace, span, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        if version != "00" || parts.next().is_some() {
            return Err(InvalidTrace);
        }
        let trace = u128::from_str_radix(trace, 16).map_err(|_| InvalidTrace)?;
        let span = u64::from_str_radix(span, 16).map_err(|_| InvalidTrace)?;
        let flags = u8::from_str_radix(flags, 16).map_err(|_| InvalidTrace)?;
        if trace == 0 || span == 0 {
            return Err(InvalidTrace);
        }
        Ok(Self { trace, span, sampled: flags & 1 == 1 })
    }
}

impl TryFrom<String> for TraceContext {
    type Error = InvalidTrace;
    fn try_from(s: String) -> Result<Self, InvalidTrace> {
        Self::parse(&s)
    }
}

impl From<TraceContext> for String {
    fn from(trace: TraceContext) -> Self {
        trace.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_a_round_trip() {
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceContext::parse(header).unwrap().to_string(), header);
    }

    #[test]
    fn malformed_headers_are_refused() {
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(TraceContext::parse(bad), Err(InvalidTrace), "{bad}");
        }
    }
}
