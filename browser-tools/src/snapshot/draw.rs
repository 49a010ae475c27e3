//! The text of a snapshot, with its bounds and references.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    Element, SNAPSHOT_BYTES_MAX, SNAPSHOT_DEPTH_MAX, SNAPSHOT_ELEMENTS_MAX,
    node::{Frame, NodeId},
    tree::{Item, TEXT, build, shown},
};

/// Longest shown text, in characters; a merged text is bounded already.
const CHARS_MAX: usize = 4_001;

/// The part of a page to draw.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    /// The element to begin at; `None` for the page.
    pub(crate) root: Option<NodeId>,
    /// Most lines below lines.
    pub(crate) depth: Option<u32>,
}

/// A drawn snapshot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Drawing {
    pub(crate) text: String,
    /// The elements by the numbers of their references.
    pub(crate) elements: BTreeMap<u32, Element>,
    /// Number of elements and texts without a line, because of a bound or the depth.
    pub(crate) omitted: usize,
}

/// Draws the frames of a page, of which the first one is the page. Returns `None` if the page no
/// longer has the root.
pub(crate) fn draw(frames: &[Frame], extent: Extent) -> Option<Drawing> {
    let items = build(frames);
    let depth_max = extent.depth.unwrap_or(SNAPSHOT_DEPTH_MAX).min(SNAPSHOT_DEPTH_MAX);
    let mut drawing = Drawing::default();
    match extent.root {
        None => drawing.items(&items, 0, depth_max),
        Some(root) => drawing.item(find(&items, root)?, 0, depth_max),
    }
    Some(drawing)
}

/// Returns whether a page says a text, given in one line: a name, a value or a text between elements.
pub(crate) fn says(frames: &[Frame], text: &str) -> bool {
    let is_in = |item: &Item| {
        shown(&item.name, CHARS_MAX).contains(text) || shown(&item.value, CHARS_MAX).contains(text)
    };
    let mut waiting = build(frames);
    while let Some(item) = waiting.pop() {
        if is_in(&item) {
            return true;
        }
        waiting.extend(item.children);
    }
    false
}

fn find(items: &[Item], root: NodeId) -> Option<&Item> {
    items.iter().find_map(|item| {
        if item.at == Some(root) { Some(item) } else { find(&item.children, root) }
    })
}

impl Drawing {
    fn items(&mut self, items: &[Item], depth: u32, depth_max: u32) {
        for item in items {
            self.item(item, depth, depth_max);
        }
    }

    fn item(&mut self, item: &Item, depth: u32, depth_max: u32) {
        // Spaces between elements have no line.
        let name = shown(&item.name, CHARS_MAX);
        if item.role == TEXT && name.is_empty() {
            return;
        }
        if depth > depth_max || self.elements.len() >= SNAPSHOT_ELEMENTS_MAX {
            self.omitted += size(item);
            return;
        }
        let reference = u32::try_from(self.elements.len()).unwrap_or(u32::MAX).saturating_add(1);
        let (line, rest) = line(item, &name, reference, depth);
        if self.text.len() + line.len() > SNAPSHOT_BYTES_MAX {
            self.omitted += size(item);
            return;
        }
        self.text.push_str(&line);
        if let Some(at) = item.at {
            let element = Element { frame: item.frame, at, shown: name, own: item.own.clone() };
            self.elements.insert(reference, element);
        }
        self.items(rest, depth + 1, depth_max);
    }
}

/// Returns the line of an item, and the children that need lines of their own.
fn line<'a>(item: &'a Item, name: &str, reference: u32, depth: u32) -> (String, &'a [Item]) {
    let indent = usize::try_from(depth).unwrap_or_default() * 2;
    let mut line = format!("{:indent$}- {}", "", item.role);
    if !name.is_empty() {
        line.push(' ');
        quote(name, &mut line);
    }
    if item.at.is_some() {
        // Writing to a text cannot fail.
        let _ = write!(line, " [ref=e{reference}]");
    }
    for state in &item.states {
        let _ = write!(line, " [{}]", state.replace(['[', ']'], ""));
    }
    if !item.value.is_empty() {
        line.push_str(" [value=");
        quote(&item.value, &mut line);
        line.push(']');
    }
    let mut rest = item.children.as_slice();
    // A text alone continues the line of its element.
    if let [only] = rest
        && only.role == TEXT
    {
        line.push_str(": ");
        quote(&shown(&only.name, CHARS_MAX), &mut line);
        rest = &[];
    }
    line.push('\n');
    (line, rest)
}

fn quote(text: &str, into: &mut String) {
    into.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            into.push('\\');
        }
        into.push(c);
    }
    into.push('"');
}

/// Returns the number of lines of an item without bounds, at most.
fn size(item: &Item) -> usize {
    1 + item.children.iter().map(size).sum::<usize>()
}
