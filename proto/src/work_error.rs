//! The errors of units of work, and their prospects.

use serde::{Deserialize, Serialize};

/// The error of a unit of work, when the work broke instead of giving a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "WorkErrorWire", into = "WorkErrorWire")]
pub struct WorkError {
    /// Description, for users.
    pub message: String,
    /// Prospects of another attempt.
    pub class: ErrorClass,
    /// Delay that the provider demanded before the next attempt, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// The prospects of another attempt after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Another attempt would fail in the same way.
    Permanent,
    /// Another attempt may succeed. The attempts are bounded by a retry policy.
    Transient,
    /// A service cannot be reached or accepts no requests: no connection, no answer in time, or
    /// HTTP status 408, 429 or 5xx. The work waits for the service by the agent's
    /// [`OutagePolicy`](crate::retry::OutagePolicy).
    Outage,
}

impl WorkError {
    /// Creates an error without a demanded delay.
    #[must_use]
    pub fn new(message: impl Into<String>, class: ErrorClass) -> Self {
        Self { message: message.into(), class, retry_after_ms: None }
    }

    /// Returns whether another attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self.class {
            ErrorClass::Permanent => false,
            ErrorClass::Transient | ErrorClass::Outage => true,
        }
    }
}

/// The JSON of a [`WorkError`]. A worker that does not know outages leaves `outage` out.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "WorkError")]
struct WorkErrorWire {
    /// Description, for users.
    message: String,
    /// `true` if another attempt may succeed.
    transient: bool,
    /// `true` if a service cannot be reached: the work waits for it. Only with `transient`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    outage: bool,
    /// Delay that the provider demanded before the next attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl From<WorkErrorWire> for WorkError {
    fn from(wire: WorkErrorWire) -> Self {
        let class = match (wire.transient, wire.outage) {
            (false, _) => ErrorClass::Permanent,
            (true, false) => ErrorClass::Transient,
            (true, true) => ErrorClass::Outage,
        };
        Self { message: wire.message, class, retry_after_ms: wire.retry_after_ms }
    }
}

impl From<WorkError> for WorkErrorWire {
    fn from(error: WorkError) -> Self {
        Self {
            transient: error.is_transient(),
            outage: error.class == ErrorClass::Outage,
            message: error.message,
            retry_after_ms: error.retry_after_ms,
        }
    }
}
