//! The exit codes of every command, also shown by `--help` and in `docs/cli.md`.

use std::process::ExitCode;

use proto::error::Code;

macro_rules! exits {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $means:literal;)*) => {
        /// The exit status of the program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Exit {
            $($(#[$doc])* $name,)*
        }

        impl Exit {
            /// Every exit status.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The exit code.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self { $(Self::$name => $code,)* }
            }

            /// Describes the status for `--help`.
            #[must_use]
            pub const fn means(self) -> &'static str {
                match self { $(Self::$name => $means,)* }
            }
        }

        /// The list for `--help`.
        pub(crate) const HELP: &str = concat!("Exit codes:", $("\n  ", $code, "  ", $means,)*);
    };
}

exits! {
    /// The command succeeded.
    Success = 0, "done; for `run`: the job completed";
    /// The command ran, but the inspected job or installation has a problem.
    Failed = 1, "the job failed, or a role cannot continue; for `doctor`, `health` and `fsck`: something is wrong";
    /// The command line, a file or the configuration is invalid.
    Usage = 2, "the command line, a file or the configuration cannot be used; for `fsck`: the check could not run";
    /// The job was canceled.
    Canceled = 3, "the job was canceled";
    /// The job waits for a person's answer.
    NeedsInput = 4, "the job waits for a person (with --no-wait-for-input)";
    /// Callboard or its log is unreachable, overloaded, or did not answer in time.
    Unavailable = 5, "Callboard cannot be reached, is overloaded, or did not answer in time";
    /// The server refused the request.
    Refused = 6, "the server refused: no such job, a conflict, an invalid answer, no permission";
    /// A bug in Callboard.
    Internal = 70, "a defect of Callboard";
    /// The user interrupted the program.
    Interrupted = 130, "interrupted; a submitted job continues";
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl Exit {
    /// Returns the exit status for an error of the server.
    #[must_use]
    pub fn of(code: Code) -> Self {
        match code {
            Code::InvalidRequest
            | Code::InvalidEncoding
            | Code::TooDeep
            | Code::TooLarge
            | Code::InvalidId => Self::Usage,
            Code::UnsupportedVersion
            | Code::UnknownAgent
            | Code::UnknownPrice
            | Code::IdempotencyConflict
            | Code::NotFound
            | Code::AlreadyAnswered
            | Code::Closed
            | Code::Stale
            | Code::WouldRepeat
            | Code::InvalidAnswer
            | Code::JobEnded
            | Code::Forbidden => Self::Refused,
            Code::Overloaded | Code::Unavailable | Code::Timeout => Self::Unavailable,
            Code::Poisoned => Self::Failed,
            Code::Internal => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_ways_to_end_share_a_code() {
        let mut codes: Vec<u8> = Exit::ALL.iter().map(|e| e.code()).collect();
        codes.dedup();
        assert_eq!(codes.len(), Exit::ALL.len());
        for exit in Exit::ALL {
            assert!(HELP.contains(exit.means()));
        }
    }
}
