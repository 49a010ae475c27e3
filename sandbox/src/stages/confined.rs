//! The process that gives up its rights and becomes the command.

use std::{
    convert::Infallible,
    env::set_current_dir,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use rustix::{
    fs::Mode,
    process::{Signal, set_parent_process_death_signal, umask},
};

use super::Parent;
use crate::{
    layers::{filesystem, privileges, resources, syscalls},
    message::{Message, Refusal},
    task::Task,
};

pub(super) fn run() -> Result<Infallible, Refusal> {
    let mut parent = Parent::of_stdin()?;
    let task = parent.task();
    let task = parent.told(task)?;
    let confined = confine(&task);
    parent.told(confined)?;
    parent.tell(&Message::Started);
    let became = become_command(&task);
    parent.told(became)
}

/// Applies the layers. Each needs rights that a later one takes.
fn confine(task: &Task) -> Result<(), Refusal> {
    umask(Mode::RWXG | Mode::RWXO);
    resources::limit(task)?;
    // Another user may not be allowed to pass the directories that lead to these.
    set_current_dir(&task.directory).map_err(Refusal::of("directory"))?;
    filesystem::restrict(task)?;
    privileges::drop_all(task.user)?;
    // A change of the user clears the signal.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Refusal::of("death signal"))?;
    syscalls::restrict()
}

/// Executes the command; returns only if that failed.
fn become_command(task: &Task) -> Result<Infallible, Refusal> {
    let (program, arguments) =
        task.argv.split_first().ok_or_else(|| Refusal::Task("argv is empty".to_owned()))?;
    let error = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", Task::PATH)
        .envs(&task.variables)
        .stdin(Stdio::null())
        .exec();
    Err(Refusal::Program { program: program.clone(), reason: error.to_string() })
}
