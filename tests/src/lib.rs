//! Support for the tests of the whole: the checkout, the programs that it builds and installs,
//! processes of those programs, and jobs that tests move by hand.

pub mod approval;
pub mod company;
pub mod drive;
pub mod gate;
pub mod issuer;
pub mod load;
pub mod newer;
pub mod scripts;
pub mod wait;
pub mod web;

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Returns the root of the checkout.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies in a directory of the checkout")
}

/// Returns the path of the `callboard` program, built from the current sources. Cargo builds it
/// when it is missing or outdated.
///
/// Cargo gives a test the paths of its own package's programs, but not those of another package.
///
/// # Panics
/// Panics if the build fails. Cargo's messages are on standard error.
#[must_use]
pub fn callboard() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // The selection of packages and targets is that of `cargo nextest run --workspace`. Another
        // one would enable other features and compile half of the dependencies again.
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--workspace", "--bin", "callboard", "--test", "it"])
            .current_dir(root());
        // Build scripts (such as ring's) would take this package's variables for a change, and all
        // their dependents would be compiled again.
        for (name, _) in env::vars_os() {
            let of_this_package = ["CARGO_PKG_", "CARGO_MANIFEST_"]
                .iter()
                .any(|start| name.to_string_lossy().starts_with(start));
            if of_this_package {
                build.env_remove(name);
            }
        }
        let built = build.status();
        assert!(built.is_ok_and(|status| status.success()), "cargo cannot build callboard");
        let program = profile_directory().join("callboard");
        assert!(program.is_file(), "{} is not there", program.display());
        program
    })
}

/// Returns the path of a program that `tools/install` finds or installs, such as `nats-server`, or
/// `python` for an interpreter with nats-py.
///
/// # Panics
/// Panics if the program can be neither found nor installed. Standard error has instructions.
#[must_use]
pub fn installed(program: &str) -> PathBuf {
    let found = Command::new(root().join("tools/install"))
        .arg(program)
        .output()
        .expect("tools/install is a script of this checkout");
    assert!(
        found.status.success(),
        "tools/install {program}: {}",
        String::from_utf8_lossy(&found.stderr)
    );
    PathBuf::from(String::from_utf8_lossy(&found.stdout).trim())
}

/// Returns the profile directory, such as `target/debug`. The running test is in `deps` below it.
fn profile_directory() -> PathBuf {
    let test = env::current_exe().expect("a running program has a path");
    test.ancestors().nth(2).expect("tests are built into target/<profile>/deps").to_owned()
}
