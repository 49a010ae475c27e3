//! What a conversation makes of what is typed, and what it shows. Pure: `commands/chat/` waits, sends
//! and prints.

pub(crate) mod command;
pub(crate) mod line;
pub(crate) mod show;
pub(crate) mod words;
