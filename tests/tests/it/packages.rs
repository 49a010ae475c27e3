//! The wheel and the npm package: built from the program of this checkout, installed into empty
//! environments without a network, and run there.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Runs a command without the environment of the test, and returns its standard output.
fn run(command: &mut Command, home: &Path) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("CI", "true")
        .env("LANG", "C.UTF-8");
    let output = command.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out.into_owned()
}

/// Builds the packages; returns their paths.
fn packages(directory: &Path) -> Vec<PathBuf> {
    let mut build = Command::new("python3");
    build.arg(callboard_tests::root().join("deploy/packages/build"));
    build.arg(callboard_tests::callboard()).arg(directory.join("packages")).arg("--strip");
    let packages: Vec<_> = run(&mut build, directory).lines().map(PathBuf::from).collect();
    assert_eq!(packages.len(), 2, "{packages:?}");
    packages
}

/// Checks an installed program: its version, and the demo from its beginning to its end.
fn works(program: &Path, directory: &Path) {
    let said = run(Command::new(program).arg("--version"), directory);
    assert_eq!(said.trim(), format!("callboard {}", env!("CARGO_PKG_VERSION")));
    let mut demo = Command::new(program);
    demo.args(["demo", "--memory", "--yes", "--dir", "demo"]).current_dir(directory);
    assert!(run(&mut demo, directory).contains("both jobs did what they should"));
}

#[test]
fn the_packages_install_without_a_network_and_carry_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    let packages = packages(home);

    let environment = home.join("environment");
    let mut make = Command::new("python3");
    run(make.args(["-m", "venv", "--without-pip"]).arg(&environment), home);
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"]).arg(environment.join("bin/python3"));
    run(pip.args(["install", "--no-index", "--quiet"]).arg(&packages[0]), home);
    works(&environment.join("bin/callboard"), home);

    let npm = callboard_tests::installed("npm");
    // Node.js is beside npm, unless both are on the PATH.
    let beside = [npm.parent().unwrap().to_owned()].into_iter();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(beside.chain(std::env::split_paths(&path))).unwrap();
    let project = home.join("project");
    std::fs::create_dir(&project).unwrap();
    let mut install = Command::new("env");
    install.arg(format!("PATH={}", path.display())).arg(npm);
    install.args(["install", "--offline", "--no-audit", "--no-fund"]).arg(&packages[1]);
    run(install.current_dir(&project), home);
    works(&project.join("node_modules/.bin/callboard"), &project);
}
