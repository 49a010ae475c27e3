//! The `callboard` binary, a wrapper of the library.

use std::process::ExitCode;

/// A busy supervisor allocates many small, short-lived values on many threads: with glibc's
/// allocator they took a quarter of its processor time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    callboard_cli::main()
}
