//! The exit codes: one list, shown by `--help`, in `docs/cli.md`, and used by every command.

use std::process::ExitCode;

use proto::error::Code;

macro_rules! exits {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $means:literal;)*) => {
        /// How the program ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Exit {
            $($(#[$doc])* $name,)*
        }

        impl Exit {
            /// Every way to end.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The number a shell sees.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self { $(Self::$name => $code,)* }
            }

            /// What it means.
            #[must_use]
            pub const fn means(self) -> &'static str {
                match self { $(Self::$name => $means,)* }
            }
        }

        /// The list as `--help` shows it.
        pub(crate) const HELP: &str = concat!("Exit codes:", $("\n  ", $code, "  ", $means,)*);
    };
}

exits! {
    /// Everything went well.
    Success = 0, "done; for `run`: the job completed";
    /// Nothing is wrong with the command, but with what it looked at.
    Failed = 1, "the job failed, or a role cannot continue; for `doctor`, `health` and `fsck`: something is wrong";
    /// The command or the configuration cannot be used.
    Usage = 2, "the command line, a file or the configuration cannot be used; for `fsck`: the check could not run";
    /// The job was canceled.
    Canceled = 3, "the job was canceled";
    /// A person must answer first.
    NeedsInput = 4, "the job waits for a person (with --no-wait-for-input)";
    /// Callboard or its log cannot be reached, or nobody answered in time.
    Unavailable = 5, "Callboard cannot be reached, is overloaded, or did not answer in time";
    /// The server refused the request.
    Refused = 6, "the server refused: no such job, a conflict, an invalid answer, no permission";
    /// A defect.
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
    /// How to end after the server answered with an error.
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
