//! The tree of a snapshot: accessibility nodes without wrappers, with their texts merged.

use std::collections::{BTreeMap, BTreeSet};

use super::node::{Frame, Node, NodeId};

/// Deepest node that is read. Pages can nest without end.
const NESTING_MAX: usize = 500;
/// Longest name, value or address of an element, in characters.
const NAME_CHARS_MAX: usize = 300;
/// Longest text between elements, in characters.
const TEXT_CHARS_MAX: usize = 4_000;

/// Roles that only wrap their content.
const WRAPPERS: &[&str] =
    &["none", "generic", "LabelText", "MenuListPopup", "presentation", "RootWebArea", "Ruby"];
/// Roles within a text, which end no text.
const INLINE: &[&str] = &[
    "Abbr",
    "code",
    "deletion",
    "emphasis",
    "insertion",
    "mark",
    "strong",
    "subscript",
    "superscript",
    "time",
];
/// Roles without content of their own.
const SKIPPED: &[&str] = &["InlineTextBox", "ListMarker", "RubyAnnotation"];

/// A line of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    /// The role; `text` for a text between elements.
    pub(super) role: String,
    /// The shown name.
    pub(super) name: String,
    /// The name of the node itself.
    pub(super) own: String,
    pub(super) value: String,
    /// The words for its states.
    pub(super) states: Vec<String>,
    /// The index of its frame.
    pub(super) frame: usize,
    pub(super) at: Option<NodeId>,
    pub(super) children: Vec<Item>,
}

/// Builds the lines of a page from its frames, of which the first one is the page.
pub(super) fn build(frames: &[Frame]) -> Vec<Item> {
    let mut builder = Builder {
        frames,
        inside: frames
            .iter()
            .enumerate()
            .filter_map(|(index, frame)| Some((frame.owner?, index)))
            .collect(),
        seen: BTreeSet::new(),
        origin: frames.first().map(origin).unwrap_or_default(),
    };
    let mut items = Vec::new();
    if let Some(page) = frames.first() {
        builder.add(0, &page.root, 0, &mut items);
    }
    items
}

/// Returns the beginning of the page's own addresses.
fn origin(page: &Frame) -> String {
    let address = page.nodes.get(&page.root).map(|root| root.text_of("url")).unwrap_or_default();
    let url = url::Url::parse(&address).ok();
    let origin = url.map(|url| url.origin()).filter(url::Origin::is_tuple);
    origin.map(|origin| origin.ascii_serialization()).unwrap_or_default()
}

struct Builder<'a> {
    frames: &'a [Frame],
    /// The frames by the elements that contain them.
    inside: BTreeMap<NodeId, usize>,
    seen: BTreeSet<(usize, &'a str)>,
    origin: String,
}

impl<'a> Builder<'a> {
    /// Adds a node to the lines of its parent, or its children in its place.
    fn add(&mut self, frame: usize, id: &'a str, depth: usize, into: &mut Vec<Item>) {
        let frames = self.frames;
        let Some(of) = frames.get(frame) else { return };
        let Some(node) = of.nodes.get(id) else { return };
        // No node has two parents, so a second visit is a circle.
        if depth > NESTING_MAX || !self.seen.insert((frame, id)) {
            return;
        }
        let at = node.backend.map(|node| NodeId { process: of.process, node });
        let role = node.role.as_str();
        if SKIPPED.contains(&role) {
            return;
        }
        if role == "StaticText" || role == "LineBreak" {
            add_text(into, &node.name, frame, at);
            return;
        }
        let mut children = Vec::new();
        // The content of a text field is its value.
        if node.text_of("editable") != "plaintext" || node.value.is_empty() {
            for child in &node.children {
                self.add(frame, child, depth + 1, &mut children);
            }
        }
        if let Some(inner) = at.and_then(|at| self.inside.get(&at).copied())
            && let Some(root) = frames.get(inner).map(|frame| frame.root.as_str())
        {
            self.add(inner, root, depth + 1, &mut children);
        }
        if is_wrapper(node, &children) {
            for child in children {
                merge(into, child);
            }
        } else {
            into.extend(self.item(node, frame, at, children));
        }
    }

    /// Builds the line of a node; `None` if it says nothing.
    fn item(
        &self,
        node: &Node,
        frame: usize,
        at: Option<NodeId>,
        mut children: Vec<Item>,
    ) -> Option<Item> {
        let own = node.name.clone();
        let name = shown(&own, NAME_CHARS_MAX);
        let said: Vec<&str> = children.iter().map(|child| child.name.as_str()).collect();
        if children.iter().all(|child| child.role == TEXT)
            && without_spaces(&said.concat()) == without_spaces(&name)
        {
            children.clear();
        }
        let value = shown(&node.value, NAME_CHARS_MAX);
        let says = !name.is_empty() || !value.is_empty() || node.is("focusable");
        if !says && children.is_empty() && !matches!(node.role.as_str(), "Iframe" | "image") {
            return None;
        }
        let role = readable(&node.role);
        Some(Item { role, name, own, value, states: self.states(node), frame, at, children })
    }

    fn states(&self, node: &Node) -> Vec<String> {
        let mut states = Vec::new();
        for (property, word) in [
            ("disabled", "disabled"),
            ("selected", "selected"),
            ("required", "required"),
            ("readonly", "readonly"),
            ("focused", "focused"),
            ("modal", "modal"),
        ] {
            if node.is(property) {
                states.push(word.to_owned());
            }
        }
        for (property, word) in [("checked", "checked"), ("pressed", "pressed")] {
            match node.text_of(property).as_str() {
                "true" => states.push(word.to_owned()),
                "mixed" => states.push(format!("{word}=mixed")),
                _ => {}
            }
        }
        match node.properties.get("expanded").and_then(serde_json::Value::as_bool) {
            Some(true) => states.push("expanded".to_owned()),
            Some(false) => states.push("collapsed".to_owned()),
            None => {}
        }
        if node.role == "heading" {
            states.push(format!("level={}", shown(&node.text_of("level"), 8)));
        }
        if node.role == "link" && !node.text_of("url").is_empty() {
            let address = node.text_of("url");
            let below = address.strip_prefix(&self.origin).filter(|rest| rest.starts_with('/'));
            let address = shown(below.unwrap_or(&address), NAME_CHARS_MAX);
            states.push(format!("url={address}"));
        }
        states
    }
}

/// The role of a text between elements.
pub(super) const TEXT: &str = "text";

/// Returns whether the children of a node take its place.
fn is_wrapper(node: &Node, children: &[Item]) -> bool {
    let role = node.role.as_str();
    let is_page = role == "RootWebArea";
    let says = !node.name.is_empty() || node.is("focusable");
    let is_plain = node.is_ignored || is_page || !says;
    let is_within = node.name.is_empty() && children.iter().all(|child| child.role == TEXT);
    (WRAPPERS.contains(&role) || node.is_ignored) && is_plain || INLINE.contains(&role) && is_within
}

/// Appends a line, and a text to the text before it.
fn merge(into: &mut Vec<Item>, item: Item) {
    if item.role == TEXT {
        add_text(into, &item.name, item.frame, item.at);
    } else {
        into.push(item);
    }
}

fn add_text(into: &mut Vec<Item>, text: &str, frame: usize, at: Option<NodeId>) {
    if let Some(last) = into.last_mut().filter(|last| last.role == TEXT) {
        let joined = format!("{}{text}", last.name);
        last.name = shortened(&joined, TEXT_CHARS_MAX);
        return;
    }
    // Spaces alone separate elements; at the beginning they separate nothing.
    if !text.trim().is_empty() {
        let name = shortened(text, TEXT_CHARS_MAX);
        let (role, own) = (TEXT.to_owned(), text.to_owned());
        let (value, states, children) = (String::new(), Vec::new(), Vec::new());
        into.push(Item { role, name, own, value, states, frame, at, children });
    }
}

/// Returns the word of a role: Chromium's own roles have capitals.
fn readable(role: &str) -> String {
    let is_word = |c: &char| c.is_ascii_alphanumeric();
    let word: String = role.chars().filter(is_word).take(40).collect();
    if word.is_empty() { "element".to_owned() } else { word.to_lowercase() }
}

/// Returns a text in one line, without control characters, and shortened.
pub(crate) fn shown(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split(is_break).filter(|word| !word.is_empty()).collect();
    shortened(&words.join(" "), chars_max)
}

/// Characters that a line must not have: breaks, controls, and marks that reorder a line.
fn is_break(c: char) -> bool {
    let reorders =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_whitespace() || c.is_control() || reorders || matches!(c, '\u{2028}' | '\u{2029}')
}

fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !is_break(*c)).collect()
}
