//! The processes of the sandbox without the rest of Callboard: the program that tests start.

use std::process::ExitCode;

fn main() -> ExitCode {
    callboard_sandbox::enter(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
