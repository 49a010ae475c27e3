//! The verbs about links to the answer pages of questions. A link is a capability: its bearer
//! may answer one question as one person.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    id::{AskId, JobId},
    interaction::{Answer, Question},
    view::PastQuestion,
};

/// The request to make a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Id of the job that asks.
    pub job: JobId,
    /// Id of the question.
    pub ask: AskId,
    /// Name of the person who will answer. The server ignores it when a token identifies the
    /// caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The reply with a new link.
#[derive(derive_more::Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Linked {
    /// Id of the job.
    pub job: JobId,
    /// Id of the question.
    pub ask: AskId,
    /// Name of the person as whom the link answers.
    pub by: String,
    /// Secret of the link, which no other reply has: the last segment of the page's path.
    #[debug(skip)]
    pub handle: String,
    /// Time at which the link expires: the question's deadline, or 72 hours from now.
    pub expires: Timestamp,
}

/// The request to revoke every link of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unlink {
    /// Id of the job that asks.
    pub job: JobId,
    /// Id of the question.
    pub ask: AskId,
}

/// The reply to a revocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unlinked {
    /// Number of links that were revoked.
    pub revoked: u32,
}

/// The request to look at the question of a link or, with an answer, to answer it.
#[derive(derive_more::Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redeem {
    /// Secret of the link.
    #[debug(skip)]
    pub handle: String,
    /// Answer to give. Without one, nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// The reply with the question of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Redeemed {
    /// Id of the job.
    pub job: JobId,
    /// Goal of the job.
    pub goal: String,
    /// Id of the question.
    pub ask: AskId,
    /// Name of the person as whom the link answers.
    pub by: String,
    /// Time at which the link expires.
    pub expires: Timestamp,
    /// Question while it is open, complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Digest of the open question. It differs after a change of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// `true` if the question is not the one for which the link was made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// `true` if the question is about a call of a tool that must not run twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Question after its end, with its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<PastQuestion>,
}
