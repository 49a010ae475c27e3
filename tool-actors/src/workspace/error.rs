//! Why a file was not read or written, for models and people, in the language of the job.

use proto::lang::Language;
use rustix::io::Errno;

/// A file operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("{0}: no such file")]
    Missing(String),
    /// The path leads out of the workspace, or through what may not be followed.
    #[error("{0}: refused, it leads out of the workspace or through a link that is not followed")]
    Outside(String),
    /// The path is no relative path of plain names.
    #[error("{path}: refused, {why}")]
    Path {
        /// The path, cut.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Not a regular file with one name.
    #[error("{path}: refused, {what} is not a plain file")]
    Kind {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// Policies and configuration are never written by tools.
    #[error(
        "{0}: refused, tools never write configuration, policies or names that begin with a dot"
    )]
    Protected(String),
    /// The file would become too large.
    #[error("{path}: refused, the file would be larger than {max} bytes")]
    TooLarge {
        /// The path.
        path: String,
        /// The limit.
        max: u64,
    },
    /// A repeat found the file changed by somebody else, so whether it was written is not known.
    #[error(
        "{0}: an earlier attempt was cut off and the file was changed since; it may or may not have been written"
    )]
    Unknown(String),
    /// There is no room.
    #[error("{0}: no space left in the workspace")]
    Full(String),
    /// Others write all the time, or one of them is stuck.
    #[error("the workspace is locked by another writer")]
    Busy,
    /// The caller does not want it any more; nothing was written.
    #[error("canceled")]
    Canceled,
    /// The kernel cannot resolve paths beneath a directory.
    #[error(
        "this kernel cannot resolve paths beneath a directory (openat2); file tools need Linux 5.6"
    )]
    Unsupported,
    /// Something else.
    #[error("{path}: {why}")]
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
        match language {
            Language::En => self.to_string(),
            Language::Zh => self.in_chinese(),
        }
    }

    fn in_chinese(&self) -> String {
        match self {
            Self::Missing(path) => format!("{path}：文件不存在"),
            Self::Outside(path) => {
                format!("{path}：拒绝访问，路径离开了工作目录或经过不允许的链接")
            }
            Self::Path { path, why } => format!("{path}：拒绝访问，路径无效（{why}）"),
            Self::Kind { path, what } => format!("{path}：拒绝访问，不是普通文件（{what}）"),
            Self::Protected(path) => {
                format!("{path}：拒绝写入，工具不能修改配置、策略或以点开头的文件")
            }
            Self::TooLarge { path, max } => format!("{path}：拒绝写入，文件将超过 {max} 字节"),
            Self::Unknown(path) => {
                format!("{path}：之前的写入被中断，文件随后又被修改，无法确定是否已写入")
            }
            Self::Full(path) => format!("{path}：工作目录空间不足"),
            Self::Busy => "工作目录正被其他写入者锁定".to_owned(),
            Self::Canceled => "已取消".to_owned(),
            Self::Unsupported => "当前内核不支持 openat2，文件工具需要 Linux 5.6".to_owned(),
            Self::Failed { path, why } => format!("{path}：{why}"),
        }
    }
}
