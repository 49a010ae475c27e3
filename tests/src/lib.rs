//! What the tests of the whole share: where the checkout is, and the programs it builds and
//! installs, processes of them, and jobs that are moved by hand.

pub mod company;
pub mod drive;
pub mod gate;
pub mod load;
pub mod newer;
pub mod wait;

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The root of the checkout.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies in a directory of the checkout")
}

/// The `callboard` program as the sources are now: cargo builds it when it is missing or old, and
/// otherwise only looks.
///
/// Cargo tells a test where the programs of its own package are, but not those of another package.
///
/// # Panics
/// When cargo cannot build it; its own words are on standard error.
#[must_use]
pub fn callboard() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // The same selection of packages and kinds as `cargo nextest run --workspace`: any other
        // would choose other features and compile half of the dependencies once more.
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--workspace", "--bin", "callboard", "--test", "it"])
            .current_dir(root());
        // What cargo told this test about its own package would look to build scripts (ring's, for
        // one) like a change of theirs, and everything above them would be compiled again.
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

/// A program that `tools/install` finds or installs: `nats-server`, or `python` for one that has
/// nats-py.
///
/// # Panics
/// When it can be neither found nor installed; what to do is on standard error.
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

/// `target/debug`, or wherever the running test was built: it lies in `deps` below it.
fn profile_directory() -> PathBuf {
    let test = env::current_exe().expect("a running program has a path");
    test.ancestors().nth(2).expect("tests are built into target/<profile>/deps").to_owned()
}
