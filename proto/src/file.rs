//! The files of a job. Their content is not in the log: it is stored in pieces in the object store,
//! by SHA-256. Tools read the content; models receive a list of the files.

use std::fmt;

use derive_more::Display;
use serde::{Deserialize, Serialize};

use crate::{escape, lang::Language, limits};

messages::texts!(file);

/// The name of a file: one line of text that is not a path.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    schemars::JsonSchema,
)]
#[serde(try_from = "String")]
pub struct FileName(String);

/// A string that is not a valid file name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a file must be 1 to {max} bytes, without / and \\ and control characters, got {0:?}",
    max = limits::FILE_NAME_BYTES_MAX
)]
pub struct InvalidFileName(String);

impl FileName {
    /// Checks a name.
    ///
    /// # Errors
    /// Fails when the name is empty or too long, or has a character that would make it a path or
    /// more than one line.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidFileName> {
        let name = name.into();
        let is_plain =
            |c: char| !c.is_control() && c != '/' && c != '\\' && !escape::is_deceptive(c);
        let fits = !name.trim().is_empty() && name.len() <= limits::FILE_NAME_BYTES_MAX;
        if fits && name.chars().all(is_plain) {
            Ok(Self(name))
        } else {
            Err(InvalidFileName(name.chars().take(80).collect()))
        }
    }

    /// Returns the name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FileName {
    type Error = InvalidFileName;
    fn try_from(name: String) -> Result<Self, InvalidFileName> {
        Self::new(name)
    }
}

/// A part of a file's content, in the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// SHA-256 of the bytes in lower-case hex, which is also the name in the store.
    pub sha256: String,
    /// Size in bytes, at most [`limits::PIECE_BYTES_MAX`].
    pub bytes: u64,
}

/// A file of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct File {
    /// Name of the file, unique within the job.
    pub name: FileName,
    /// Media type that the submitter claims: `text/markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Location of the content.
    pub content: Content,
}

/// The location of a file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Pieces in the object store, in order.
    Pieces(Vec<Piece>),
    /// A URL, which is fetched on every read.
    Url(String),
}

impl File {
    /// Returns the size in bytes, or `None` for a URL.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match &self.content {
            Content::Pieces(pieces) => {
                Some(pieces.iter().fold(0, |sum, piece| piece.bytes.saturating_add(sum)))
            }
            Content::Url(_) => None,
        }
    }

    /// Returns `true` if the file may be an artifact: its content is in pieces within the limits on files,
    /// or an address of the web of at most [`limits::ARTIFACT_URL_BYTES_MAX`] that names no user.
    #[must_use]
    pub fn may_be_artifact(&self) -> bool {
        let names_a_file = !matches!(self.name.as_str(), "." | "..");
        let has_sound_type = self.media_type.as_deref().is_none_or(is_media_type);
        let has_sound_content = match &self.content {
            Content::Pieces(pieces) => {
                let is_sound = |piece: &Piece| {
                    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                    piece.sha256.len() == 64 && piece.sha256.bytes().all(is_hex)
                };
                pieces.len() <= limits::PIECES_MAX
                    && pieces.iter().all(is_sound)
                    && self.bytes().is_some_and(|bytes| bytes <= limits::FILE_BYTES_MAX)
            }
            Content::Url(url) => {
                let place = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                let host = place.and_then(|place| place.split(['/', '?', '#']).next());
                url.len() <= limits::ARTIFACT_URL_BYTES_MAX
                    && host.is_some_and(|host| !host.is_empty() && !host.contains(['@', '\\']))
                    && url.bytes().all(|byte| byte.is_ascii_graphic())
            }
        };
        names_a_file && has_sound_type && has_sound_content
    }

    /// Returns the description of the file, without its content.
    #[must_use]
    pub fn told(&self) -> FileTold {
        let url = match &self.content {
            // A query or a fragment may hold a credential, which no reader needs.
            Content::Url(url) => url.split(['?', '#']).next().map(str::to_owned),
            Content::Pieces(_) => None,
        };
        let (name, media_type) = (self.name.clone(), self.media_type.clone());
        FileTold { name, media_type, bytes: self.bytes(), url }
    }
}

/// Returns `true` for a media type of at most [`limits::MEDIA_TYPE_BYTES_MAX`], such as `text/plain`,
/// without parameters.
#[must_use]
pub fn is_media_type(named: &str) -> bool {
    let plain = |part: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b);
        !part.is_empty() && part.bytes().all(allowed)
    };
    named.len() <= limits::MEDIA_TYPE_BYTES_MAX
        && named.split_once('/').is_some_and(|(kind, of)| plain(kind) && plain(of))
}

/// The description of a file, for models and users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FileTold {
    /// Name of the file.
    pub name: FileName,
    /// Media type that the submitter claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Size in bytes; absent for a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Address of the content, for a URL only. The query, which may hold a credential, is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl fmt::Display for FileTold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_str())?;
        let about = [
            self.media_type.clone(),
            self.bytes.map(|bytes| format!("{bytes} bytes")),
            self.url.clone(),
        ];
        let about: Vec<String> = about.into_iter().flatten().collect();
        if about.is_empty() { Ok(()) } else { write!(f, " ({})", about.join(", ")) }
    }
}

/// Returns the list of a job's files for a model, numbered from 1; empty without files.
#[must_use]
pub fn told(language: Language, files: &[FileTold]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let lines = files.iter().enumerate().map(|(at, file)| format!("\n{}. {file}", at + 1));
    std::iter::once(Text::Head.text(language)).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_lines_and_no_paths() {
        for good in ["notes.md", "会议 记录.txt", "a", ".env", &"x".repeat(255)] {
            assert_eq!(FileName::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "  ", "a/b", "..\\b", "a\nb", "a\u{202e}b", &"x".repeat(256)] {
            assert!(FileName::new(bad).is_err(), "{bad:?}");
        }
        let read: Result<FileName, _> = serde_json::from_str(r#""../../etc/passwd""#);
        assert!(read.unwrap_err().to_string().contains("without / and"));
    }

    #[test]
    fn only_a_sound_file_may_be_an_artifact() {
        let (one, other) = ("a".repeat(64), "b".repeat(64));
        let empty = json!({"pieces": []});
        let many = vec![json!({"sha256": one, "bytes": 0}); limits::PIECES_MAX + 1];
        let beyond = json!([{"sha256": one, "bytes": u64::MAX}, {"sha256": other, "bytes": 1}]);
        let long = format!("https://a.example/{}", "p".repeat(2048));
        let (long_type, sound) = ("a/".to_owned() + &"b".repeat(200), Some("text/plain"));
        let cases = [
            ("report.md", sound, json!({"pieces": [{"sha256": one, "bytes": 5}]}), true),
            ("empty", None, empty.clone(), true),
            ("page", None, json!({"url": "https://a.example/p?q=1#x"}), true),
            ("..", None, empty.clone(), false),
            ("a parameter", Some("text/plain; charset=x"), empty.clone(), false),
            ("a long type", Some(&*long_type), empty, false),
            ("no digest", None, json!({"pieces": [{"sha256": "../x", "bytes": 5}]}), false),
            ("more than all", None, json!({"pieces": beyond}), false),
            ("many pieces", None, json!({"pieces": many}), false),
            ("a script", None, json!({"url": "javascript:alert(1)"}), false),
            ("a local file", None, json!({"url": "file:///etc/passwd"}), false),
            ("a user", None, json!({"url": "https://ann:secret@a.example/"}), false),
            ("no host", None, json!({"url": "https:///p"}), false),
            ("a space", None, json!({"url": "https://a.example/a b"}), false),
            ("a long address", None, json!({"url": long}), false),
        ];
        for (name, media_type, content, may) in cases {
            let file = File {
                name: FileName::new(name).unwrap(),
                media_type: media_type.map(str::to_owned),
                content: serde_json::from_value(content).unwrap(),
            };
            assert_eq!(file.may_be_artifact(), may, "{name}");
        }
    }

    #[test]
    fn a_model_is_told_the_number_the_name_and_what_is_known() {
        let pieces = |sizes: &[u64]| {
            let piece = |bytes: &u64| Piece { sha256: "0".repeat(64), bytes: *bytes };
            Content::Pieces(sizes.iter().map(piece).collect())
        };
        let file = |name: &str, media_type: Option<&str>, content| File {
            name: FileName::new(name).unwrap(),
            media_type: media_type.map(str::to_owned),
            content,
        };
        let files = [
            file("notes.md", Some("text/markdown"), pieces(&[512, 30])),
            file("page", None, Content::Url("https://a.example/p?key=secret#top".into())),
        ];
        let told_of: Vec<FileTold> = files.iter().map(File::told).collect();
        assert!(
            told(Language::En, &told_of).ends_with(
                ":\n1. notes.md (text/markdown, 542 bytes)\n2. page (https://a.example/p)"
            )
        );
        assert!(told(Language::Zh, &told_of).starts_with("随任务提交的文件"));
        assert_eq!(told(Language::En, &[]), "");
        for file in files {
            let written = serde_json::to_value(&file).unwrap();
            assert_eq!(serde_json::from_value::<File>(written).unwrap(), file);
        }
    }
}
