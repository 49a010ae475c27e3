//! The programs that the tests need beside the checkout: Chromium, and the checks of accessibility.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Returns the path of Chromium; `None` where it cannot be installed. In CI that is a failure.
///
/// # Panics
/// Panics in CI without Chromium.
#[must_use]
pub fn chromium() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let install = callboard_tests::root().join("tools/install");
        let run = Command::new(install).arg("chromium").output();
        let run = run.expect("tools/install is a script of this checkout");
        if run.status.success() {
            return Some(PathBuf::from(String::from_utf8_lossy(&run.stdout).trim()));
        }
        let why = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must have Chromium: {why}");
        None
    });
    found.as_deref()
}

/// Returns the source of axe-core, which finds faults of accessibility.
///
/// # Panics
/// Panics if it cannot be installed.
#[must_use]
pub fn axe() -> String {
    let path = callboard_tests::installed("axe-core");
    std::fs::read_to_string(path).expect("the file was just installed")
}
