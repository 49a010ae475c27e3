//! Files that come with a job. What is in them is not in the log: it lies in pieces in the object
//! store, by their SHA-256, and is read by tools; a model is told what there is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{escape, lang::Language, limits};

messages::texts!(file);

/// The name of a file, as its submitter calls it: a line of text that is no path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

/// A string is no name of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a file must be 1 to {max} bytes, without / and \\ and control characters, got {0:?}",
    max = limits::FILE_NAME_BYTES_MAX
)]
pub struct InvalidFileName(String);

impl FileName {
    /// Checks and takes a name.
    ///
    /// # Errors
    /// When it is empty, too long, or has in it what would make it a path or more than a line.
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

    /// The name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for FileName {
    type Error = InvalidFileName;
    fn try_from(name: String) -> Result<Self, InvalidFileName> {
        Self::new(name)
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

/// A part of a file's content, in the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// SHA-256 of its bytes, in lower-case hex: its name.
    pub sha256: String,
    /// How many there are, at most [`limits::PIECE_BYTES_MAX`].
    pub bytes: u64,
}

/// A file that came with a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its name; no two files of a job have the same.
    pub name: FileName,
    /// The media type that its submitter claims: `text/markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Where what is in it lies.
    pub content: Content,
}

/// Where what is in a file lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// In the object store, in this order.
    Pieces(Vec<Piece>),
    /// An address elsewhere: fetched whenever it is read.
    Url(String),
}

impl File {
    /// Its size, where that is known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match &self.content {
            Content::Pieces(pieces) => Some(pieces.iter().map(|piece| piece.bytes).sum()),
            Content::Url(_) => None,
        }
    }

    /// What is said of it.
    #[must_use]
    pub fn told(&self) -> FileTold {
        let url = match &self.content {
            // What follows may be a credential, which no reader needs.
            Content::Url(url) => url.split(['?', '#']).next().map(str::to_owned),
            Content::Pieces(_) => None,
        };
        let (name, media_type) = (self.name.clone(), self.media_type.clone());
        FileTold { name, media_type, bytes: self.bytes(), url }
    }
}

/// What models and people are told of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTold {
    /// Its name.
    pub name: FileName,
    /// What it is said to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its size, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Where it is, when that is not here; without a query, which may hold a key.
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

/// What a model is told of the files of a job, by number from 1; empty when there are none.
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
