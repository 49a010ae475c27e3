//! Who a command is: no capabilities, no way to get any, and a user of its own where that can be
//! had.

use rustix::{
    io::Errno,
    process::{Gid, Uid, getuid},
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
        clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
        set_capabilities_secure_bits, set_no_new_privs, set_thread_groups, set_thread_res_gid,
        set_thread_res_uid,
    },
};

use crate::message::Refusal;

/// Drops every capability for good, and becomes `user` if one is given.
pub(crate) fn drop_all(user: Option<u32>) -> Result<(), Refusal> {
    let held = capabilities(None).map_err(Refusal::of("capabilities"))?;
    if held.permitted.contains(CapabilitySet::SETPCAP) {
        // Root regains every capability of the bounding set when it executes a program.
        empty_bounding_set().map_err(Refusal::of("capabilities"))?;
        let secure = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
        set_capabilities_secure_bits(secure).map_err(Refusal::of("capabilities"))?;
    }
    if let Some(user) = user {
        become_user(user).map_err(Refusal::of("user"))?;
    }
    if getuid().is_root() {
        // Root owns files and is in no limit on processes, whatever capabilities it has.
        return Err(Refusal::of("user")("root must give a command another user"));
    }
    clear_ambient_capability_set().map_err(Refusal::of("capabilities"))?;
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(Refusal::of("capabilities"))?;
    set_no_new_privs(true).map_err(Refusal::of("no_new_privs"))
}

fn become_user(user: u32) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)
}

/// Removes every capability that this kernel knows; some have no name here yet.
fn empty_bounding_set() -> Result<(), Errno> {
    for number in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
