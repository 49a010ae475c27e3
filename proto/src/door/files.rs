//! Files of a submission. Those of some size are uploaded before it, piece by piece.

use serde::{Deserialize, Serialize};

use crate::file::{FileName, Piece};

/// A file that comes with a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmitFile {
    /// Its name; no two files of a submission have the same.
    pub name: FileName,
    /// What it is: `text/markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// What is in it.
    pub content: FileSource,
}

/// What is in a file, or where that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// This text.
    Text(String),
    /// What was uploaded, in this order.
    Pieces(Vec<Piece>),
    /// What an address of the public web gives whenever it is read (`http` or `https`).
    Url(String),
}

/// Stores a piece of a file. The body of the request is the piece, 1 to
/// [`crate::limits::PIECE_BYTES_MAX`] bytes, and no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upload {}

/// A piece was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploaded {
    /// The piece, as a submission names it.
    pub piece: Piece,
}
