//! The files of a submission. Large files are uploaded in pieces before the submission.

use serde::{Deserialize, Serialize};

use crate::file::{FileName, Piece};

/// A file of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitFile {
    /// Name of the file, unique within the submission.
    pub name: FileName,
    /// Media type: `text/markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Content of the file, or its location.
    pub content: FileSource,
}

/// The content of a file, or its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// The content itself.
    Text(String),
    /// Uploaded pieces, in order.
    Pieces(Vec<Piece>),
    /// A public URL (`http` or `https`), which is fetched on every read.
    Url(String),
}

/// Stores a piece of a file. The body of the request is the piece, 1 to
/// [`crate::limits::PIECE_BYTES_MAX`] bytes, and no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upload {}

/// A piece was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Uploaded {
    /// Reference to the piece, for the submission.
    pub piece: Piece,
}
