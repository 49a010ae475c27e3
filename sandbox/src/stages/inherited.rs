//! Files that were open when this program started. Landlock does not close what is open, so none
//! may reach the command.

use std::fs;

use crate::message::Refusal;

/// Closes every open file but the standard ones.
pub(super) fn close_all() -> Result<(), Refusal> {
    let open = fs::read_dir("/proc/self/fd").map_err(Refusal::of("open files"))?;
    let numbers: Vec<i32> =
        open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The directory itself was in the list and is closed.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
