//! Landlock: the files that a command may use, and who may get its signals.
//!
//! The rights are those of the kernel's documentation, "Landlock: unprivileged access control".

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use crate::{
    message::Refusal,
    task::{Isolation, Task},
};

/// Oldest version that suffices: since then, truncating a file needs a right.
const NEEDED: ABI = ABI::V3;
/// Newest version whose rights are used. On older kernels seccomp denies the same.
const WANTED: ABI = ABI::V6;
/// Devices without state.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// Restricts this process to the files of a task. Without namespaces and without a user of its own,
/// the kernel must also keep signals inside.
pub(crate) fn restrict(task: &Task) -> Result<(), Refusal> {
    let alone = task.isolation >= Isolation::Namespaces || task.user.is_some();
    enforce(task, alone).map_err(Refusal::of("Landlock"))
}

fn enforce(task: &Task, alone: bool) -> Result<(), String> {
    let text = |error: RulesetError| error.to_string();
    let mut rules = handled(alone).map_err(text)?;

    let read = AccessFs::from_read(WANTED);
    for path in Task::READABLE.iter().map(Path::new).chain(task.readable.iter().map(AsRef::as_ref))
    {
        rules = allow(rules, path, read).map_err(text)?;
    }
    if task.isolation >= Isolation::Namespaces {
        // The mount of the new namespaces, which shows their own processes.
        rules = allow(rules, Path::new("/proc"), read).map_err(text)?;
    }
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    for path in DEVICES {
        rules = allow(rules, Path::new(path), device).map_err(text)?;
    }
    let write = AccessFs::from_all(WANTED)
        & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::MakeSock | AccessFs::IoctlDev);
    for path in &task.writable {
        let fd = PathFd::new(path).map_err(|error| error.to_string())?;
        rules = rules.add_rule(PathBeneath::new(fd, write)).map_err(text)?;
    }
    let status = rules.restrict_self().map_err(text)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("the kernel enforces nothing".to_owned()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

/// Names the accesses that are denied unless a rule allows them.
fn handled(alone: bool) -> Result<RulesetCreated, RulesetError> {
    let scopes = if alone { CompatLevel::BestEffort } else { CompatLevel::HardRequirement };
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .set_compatibility(scopes)
        .scope(Scope::from_all(WANTED))?
        .create()?;
    Ok(rules.set_compatibility(CompatLevel::BestEffort))
}

/// Allows access beneath a path, if it exists.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else { return Ok(rules) };
    // A file takes no right that only directories have.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(WANTED) };
    rules.add_rule(PathBeneath::new(fd, access))
}
