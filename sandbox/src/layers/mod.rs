//! The layers that confine a process. Each restricts the calling process, which must have a single
//! thread, and what it starts later; none can be taken off again.

pub(crate) mod filesystem;
pub(crate) mod namespaces;
pub(crate) mod privileges;
pub(crate) mod resources;
pub(crate) mod syscalls;
