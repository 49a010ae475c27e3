//! The errors of file operations, for models and people, in the language of the job.

use proto::lang::{Language, Words};
use rustix::io::Errno;

messages::texts!(workspace);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// A failed file operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum FileError {
    /// No such file exists.
    Missing(String),
    /// The path leaves the workspace, or crosses a link that must not be followed.
    Outside(String),
    /// The path is not a relative path of plain names.
    Path {
        /// The path, truncated.
        path: String,
        /// The violated rule.
        why: Words,
    },
    /// The file is not a regular file with exactly one name.
    Kind {
        /// Path of the file.
        path: String,
        /// Kind of the file found.
        what: Words,
    },
    /// The path is protected: tools never write policies and configuration.
    Protected(String),
    /// The file would exceed the size limit.
    TooLarge {
        /// Path of the file.
        path: String,
        /// The limit in bytes.
        max: u64,
    },
    /// The file is no text in UTF-8.
    Binary(String),
    /// The text to replace does not occur in the file; nothing was written.
    NoMatch(String),
    /// The text to replace occurs more than once; nothing was written.
    Ambiguous {
        /// Path of the file.
        path: String,
        /// Number of occurrences.
        times: usize,
    },
    /// A pattern of paths or lines cannot be read.
    Pattern {
        /// The pattern.
        pattern: String,
        /// Reason, in the words of the library that reads it.
        why: String,
    },
    /// A file with the new path exists; nothing was moved.
    Exists(String),
    /// The file is one that all jobs may read; only the job's own files move or go.
    Shared(String),
    /// A repeat found the file changed by another writer, so the outcome of the first attempt is
    /// unknown.
    Unknown(String),
    /// The idempotency key belongs to an earlier write with other content; nothing was written.
    KeyUsed(String),
    /// The disk or a quota is full.
    Full(String),
    /// The lock is contended, or a writer hangs.
    Busy,
    /// The caller cancelled the operation; nothing was written.
    Canceled,
    /// The kernel cannot resolve paths beneath a directory.
    Unsupported,
    /// Any other error of the system.
    Failed {
        /// Path of the file.
        path: String,
        /// The system's error text.
        why: String,
    },
}

impl FileError {
    pub(super) fn system(path: &str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::Missing(path),
            Errno::XDEV | Errno::LOOP => Self::Outside(path),
            Errno::NOSPC | Errno::DQUOT => Self::Full(path),
            Errno::NOSYS => Self::Unsupported,
            Errno::NXIO => Self::Kind { path, what: Text::Device.into() },
            Errno::ISDIR => Self::Kind { path, what: Text::Directory.into() },
            Errno::NOTDIR => Self::Kind { path, what: Text::NoDirectory.into() },
            other => Self::Failed { path, why: other.to_string() },
        }
    }

    pub(crate) fn io(path: &str, error: &std::io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => Self::system(path, errno),
            None => Self::Failed { path: path.to_owned(), why: error.to_string() },
        }
    }

    /// Formats the error in a language. The system's own error text is not translated.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Missing(path) => Text::Missing { path },
            Self::Outside(path) => Text::Outside { path },
            Self::Path { path, why } => {
                return Text::Path { path, why: &why.text(language) }.text(language);
            }
            Self::Kind { path, what } => {
                return Text::Kind { path, what: &what.text(language) }.text(language);
            }
            Self::Protected(path) => Text::Protected { path },
            Self::TooLarge { path, max } => Text::TooLarge { path, max },
            Self::Binary(path) => Text::Binary { path },
            Self::NoMatch(path) => Text::NoMatch { path },
            Self::Ambiguous { path, times } => Text::Ambiguous { path, times },
            Self::Pattern { pattern, why } => Text::Pattern { pattern, why },
            Self::Exists(path) => Text::Exists { path },
            Self::Shared(path) => Text::Shared { path },
            Self::Unknown(path) => Text::Unknown { path },
            Self::KeyUsed(path) => Text::KeyUsed { path },
            Self::Full(path) => Text::Full { path },
            Self::Busy => Text::Busy,
            Self::Canceled => Text::Canceled,
            Self::Unsupported => Text::Unsupported,
            Self::Failed { path, why } => Text::Failed { path, why },
        };
        text.text(language)
    }
}
