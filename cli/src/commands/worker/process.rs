//! A foreign worker as a process of its own group, which a check stops, continues and kills.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use runtime::nats::Nats;
use rustix::process::{Pid, Signal};

use crate::failure::CliError;

/// A running worker, killed with its descendants on drop.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    command: Vec<String>,
    settings: Vec<(&'static str, String)>,
    child: Child,
}

impl WorkerProcess {
    /// Starts a worker, and names the server in its environment.
    ///
    /// # Errors
    /// If the command cannot be started.
    pub(super) fn start(command: &[String], nats: &Nats) -> Result<Self, CliError> {
        let settings = vec![
            ("CALLBOARD__NATS__URL", nats.url.clone()),
            ("CALLBOARD__NATS__PREFIX", nats.prefix.clone()),
        ];
        let child = spawn(command, &settings)?;
        Ok(Self { command: command.to_vec(), settings, child })
    }

    /// Kills the worker and starts another one.
    ///
    /// # Errors
    /// If the command cannot be started.
    pub(super) fn restart(&mut self) -> Result<(), CliError> {
        self.kill();
        self.child = spawn(&self.command, &self.settings)?;
        Ok(())
    }

    /// Suspends the worker: it takes messages and does nothing.
    pub(super) fn suspend(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues a suspended worker.
    pub(super) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        // It has ended, or the signal has just ended it.
        let _ = self.child.wait();
    }

    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // A worker that has ended needs no signal.
        let _ = group.map(|group| rustix::process::kill_process_group(group, signal));
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(command: &[String], settings: &[(&'static str, String)]) -> Result<Child, CliError> {
    let (program, arguments) = command.split_first().map_or(("", &[][..]), |(p, a)| (p, a));
    Command::new(program)
        .args(arguments)
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .process_group(0)
        .spawn()
        .map_err(|e| CliError::io(program, &e))
}
