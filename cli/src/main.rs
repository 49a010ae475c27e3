//! Starts the program; everything it does is in the library.

use std::process::ExitCode;

/// Many small, short-lived pieces go through many threads: with glibc a quarter of the processor time
/// of a busy supervisor went into getting and giving back memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    callboard_cli::main()
}
