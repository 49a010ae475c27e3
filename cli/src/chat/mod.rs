//! The pure part of conversations: interpretation of lines and rendering of events. I/O is in
//! `commands/chat/`.

pub(crate) mod command;
pub(crate) mod line;
pub(crate) mod show;
pub(crate) mod words;
