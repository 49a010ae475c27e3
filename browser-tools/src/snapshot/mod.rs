//! Snapshots: the accessibility tree of a page as text in which every element has a reference.
//!
//! The module is pure. It takes the trees of all frames as Chromium gives them, leaves out what says
//! nothing, and stops at bounds. A page cannot forge a line: its texts lose their line breaks and
//! control characters, and stand in quotes.

mod draw;
mod node;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use self::{
    draw::{Extent, draw, says},
    node::{Frame, NodeId, one, read},
    tree::shown,
};

/// Largest number of elements in a snapshot.
pub const SNAPSHOT_ELEMENTS_MAX: usize = 2_000;
/// Largest text of a snapshot, in bytes.
pub const SNAPSHOT_BYTES_MAX: usize = 48 * 1024;
/// Deepest nesting of a snapshot, in lines below lines.
pub const SNAPSHOT_DEPTH_MAX: u32 = 100;

/// An element that a line of a snapshot names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    /// The index of its frame.
    pub(crate) frame: usize,
    pub(crate) at: NodeId,
    /// The name that the line shows.
    pub(crate) shown: String,
    /// The name of the node itself, by which a change is found.
    pub(crate) own: String,
}

/// Longest shown address, in characters.
const ADDRESS_CHARS_MAX: usize = 2_000;

/// Returns an address or a title in one line.
pub(crate) fn line_of(text: &str) -> String {
    shown(text, ADDRESS_CHARS_MAX)
}
