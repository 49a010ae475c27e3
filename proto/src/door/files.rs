//! The files of a submission. Large files are uploaded in pieces before the submission, and every
//! file is downloaded in pieces.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use crate::{
    file::{FileName, Piece},
    id::{JobId, Seq},
};

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

impl schemars::JsonSchema for Upload {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Upload".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The body of the request is the piece itself, and no JSON.",
            "not": {},
        })
    }
}

/// A piece was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Uploaded {
    /// Reference to the piece, for the submission.
    pub piece: Piece,
}

/// The request for a piece of a file of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Download {
    /// Id of the job.
    pub job: JobId,
    /// Name of the file.
    pub name: FileName,
    /// Number of the piece, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub piece: u32,
}

fn is_zero(piece: &u32) -> bool {
    *piece == 0
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Downloaded {
    /// Name of the file.
    pub name: FileName,
    /// Media type that the submitter claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Size of the whole file in bytes.
    pub bytes: u64,
    /// Number of pieces of the file; 0 for an empty file.
    pub pieces: u32,
    /// Position of the result that published the file; absent for a file of the submission, and for an
    /// artifact from before a fork. Another position for another piece means that the file was
    /// replaced meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// Bytes of the requested piece.
    pub data: Data,
}

/// Bytes, as Base64 in JSON.
#[derive(
    Clone, PartialEq, Eq, Default, Serialize, Deserialize, derive_more::Debug, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("contentEncoding" = "base64"))]
#[debug("Data({} bytes)", _0.len())]
pub struct Data(pub Vec<u8>);

impl From<Data> for String {
    fn from(data: Data) -> Self {
        STANDARD.encode(data.0)
    }
}

impl TryFrom<String> for Data {
    type Error = base64::DecodeError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_travel_as_they_are_and_are_not_logged() {
        let data = Data(vec![0, 255, 10, b'"']);
        let json = serde_json::to_string(&data).unwrap();
        assert_eq!(json, r#""AP8KIg==""#);
        assert_eq!(serde_json::from_str::<Data>(&json).unwrap(), data);
        assert!(serde_json::from_str::<Data>(r#""AP8KI""#).is_err());
        assert_eq!(format!("{data:?}"), "Data(4 bytes)");
    }

    #[test]
    fn a_piece_fits_one_reply() {
        let data = Data(vec![7; crate::limits::PIECE_BYTES_MAX]);
        let encoded = String::from(data).len();
        assert!(encoded + 8 * 1024 < crate::limits::REPLY_BYTES_MAX, "{encoded}");
    }
}
