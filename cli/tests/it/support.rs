//! Runs of the built program in a separate directory, without the test's environment.

use std::{
    panic::AssertUnwindSafe,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use broker::testing::wait::eventually_blocking;
use tempfile::TempDir;

/// Path of the built program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_callboard");

/// A directory to run the program in.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
}

pub(crate) struct Ran {
    /// Exit code; `None` if a signal ended the program.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Prepares the program, without the test's environment and without a terminal.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("CI", "true")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(program) = broker::nats_server::find() {
            command.env(broker::nats_server::VARIABLE, program.path);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// Runs a shell command in which `$CB` is the program.
    pub(crate) fn shell(&self, script: &str) -> Ran {
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).current_dir(self.path()).env_clear();
        shell.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        shell.env("CB", PROGRAM).stdin(Stdio::null());
        shell.output().unwrap().into()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// Checks the exit code; a failure shows all output.
    pub(crate) fn expect(self, code: i32) -> Self {
        let Self { out, err, .. } = &self;
        assert_eq!(self.code, Some(code), "standard output:\n{out}\nstandard error:\n{err}");
        self
    }

    /// Checks for an error on standard error and nothing on standard output.
    pub(crate) fn refused(self, code: i32, part: &str) -> Self {
        let ran = self.expect(code);
        assert!(ran.err.contains(part), "{part:?} is not in:\n{}", ran.err);
        assert_eq!(ran.out, "");
        ran
    }
}

/// Sends a signal to a running program.
pub(crate) fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// Waits for the end of a program; kills the program and fails on timeout.
pub(crate) fn ended(mut child: Child) -> Ran {
    let is_over = || child.try_wait().unwrap().ok_or("it runs");
    let ended = std::panic::catch_unwind(AssertUnwindSafe(|| {
        eventually_blocking("the end of a program", is_over)
    }));
    if ended.is_err() {
        let _ = child.kill();
        let ran = Ran::from(child.wait_with_output().unwrap());
        panic!("did not end\n{}\n{}", ran.out, ran.err);
    }
    child.wait_with_output().unwrap().into()
}

/// Polls until `look` returns a value.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    eventually_blocking(what, || look().ok_or("nothing"))
}
