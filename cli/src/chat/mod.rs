//! The pure part of conversations: interpretation of lines and rendering of events. I/O is in
//! `commands/chat/`.

pub(crate) mod command;
pub(crate) mod completing;
pub(crate) mod line;
pub(crate) mod line_editor;
mod prompt;
pub(crate) mod quiet;
pub(crate) mod show;
pub(crate) mod words;
