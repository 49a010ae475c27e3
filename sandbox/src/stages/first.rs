//! The first process of new namespaces. When it ends, the kernel kills all others in them.

use std::process::Stdio;

use rustix::{
    io::Errno,
    process::{
        DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, set_dumpable_behavior,
        set_parent_process_death_signal, wait,
    },
};

use super::{Parent, Stage, Started};
use crate::{
    layers::namespaces,
    message::{Message, Refusal, Status},
    task::Task,
};

pub(super) fn run() -> Result<(), Refusal> {
    let mut parent = Parent::of_stdin()?;
    let task = parent.task();
    let task = parent.told(task)?;
    let started = start(&task);
    let command = parent.told(started)?;
    parent.tell(&Message::Started);
    let status = wait_for(&command);
    parent.tell(&Message::Ended(status));
    Ok(())
}

fn start(task: &Task) -> Result<Started, Refusal> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Refusal::of("death signal"))?;
    // The command may have the same user, and must not look into this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Refusal::of("dumpable"))?;
    let task = namespaces::mount_all(task)?;
    let mut command = Started::of(Stage::Confined, &task, Stdio::inherit)?;
    command.wait_for_command(Stage::Confined)?;
    Ok(command)
}

/// Waits for the end of the command, and collects the processes that lost their parents.
fn wait_for(command: &Started) -> Status {
    let command = Pid::from_child(&command.process);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return status_of(status),
            Ok(_) | Err(Errno::INTR) => {}
            // It is a child until it was waited for.
            Err(_) => return Status::Signaled(Signal::KILL.as_raw()),
        }
    }
}

fn status_of(status: WaitStatus) -> Status {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Signaled(signal.unwrap_or_default()),
    }
}
