//! Why a file was not read or written, for models and people, in the language of the job.

use proto::lang::Language;
use rustix::io::Errno;

messages::texts!(workspace);

/// A file operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum FileError {
    /// There is no such file.
    Missing(String),
    /// The path leads out of the workspace, or through what may not be followed.
    Outside(String),
    /// The path is no relative path of plain names.
    Path {
        /// The path, cut.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Not a regular file with one name.
    Kind {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// Policies and configuration are never written by tools.
    Protected(String),
    /// The file would become too large.
    TooLarge {
        /// The path.
        path: String,
        /// The limit.
        max: u64,
    },
    /// A repeat found the file changed by somebody else, so whether it was written is not known.
    Unknown(String),
    /// There is no room.
    Full(String),
    /// Others write all the time, or one of them is stuck.
    Busy,
    /// The caller does not want it any more; nothing was written.
    Canceled,
    /// The kernel cannot resolve paths beneath a directory.
    Unsupported,
    /// Something else.
    Failed {
        /// The path.
        path: String,
        /// The system's words.
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
            Errno::NXIO => Self::Kind { path, what: "a pipe, socket or device" },
            Errno::ISDIR => Self::Kind { path, what: "a directory" },
            Errno::NOTDIR => Self::Kind { path, what: "a file used as a directory" },
            other => Self::Failed { path, why: other.to_string() },
        }
    }

    pub(super) fn io(path: &str, error: &std::io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => Self::system(path, errno),
            None => Self::Failed { path: path.to_owned(), why: error.to_string() },
        }
    }

    /// The error in a language. What the system itself says stays as it is.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Missing(path) => Text::Missing { path },
            Self::Outside(path) => Text::Outside { path },
            Self::Path { path, why } => Text::Path { path, why },
            Self::Kind { path, what } => Text::Kind { path, what },
            Self::Protected(path) => Text::Protected { path },
            Self::TooLarge { path, max } => Text::TooLarge { path, max },
            Self::Unknown(path) => Text::Unknown { path },
            Self::Full(path) => Text::Full { path },
            Self::Busy => Text::Busy,
            Self::Canceled => Text::Canceled,
            Self::Unsupported => Text::Unsupported,
            Self::Failed { path, why } => Text::Failed { path, why },
        };
        text.text(language)
    }
}
