//! The open elements of a page.

use html5ever::{LocalName, local_name};

use super::{element::Element, writer::Written};

/// Most open elements; further ones are not told apart.
pub(super) const FRAMES_MAX: usize = 512;
/// Most open elements that are written, besides the row and the cell of the innermost table. The
/// library that writes Markdown calls itself for each.
pub(super) const WRITTEN_MAX: usize = 64;

/// Most open quotations and lists that are written: each indents all lines in it.
pub(super) const INDENTS_MAX: usize = 8;

/// An open element.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) name: LocalName,
    pub(super) element: Element,
    /// The element as it was written; absent if it was not.
    pub(super) written: Option<Written>,
}

impl Frame {
    pub(super) fn new(name: &LocalName, element: Element) -> Self {
        Self { name: name.clone(), element, written: None }
    }

    /// Creates a row or a cell without a tag in the page.
    pub(super) fn implied(element: Element) -> Self {
        let name = if element == Element::Row { local_name!("tr") } else { local_name!("td") };
        Self { name, element, written: None }
    }

    fn is_heading(&self) -> bool {
        matches!(self.element, Element::Text(name) if name.starts_with('h'))
    }

    fn is_list(&self) -> bool {
        matches!(self.element, Element::Text("ul" | "ol"))
    }

    /// `true` if the element is a part of a line.
    fn is_inline(&self) -> bool {
        matches!(self.element, Element::Inline(_) | Element::Link | Element::Other)
    }

    fn is_border(&self) -> bool {
        matches!(self.element, Element::Table | Element::Cell(_) | Element::Caption)
    }
}

/// The open elements, the innermost last.
#[derive(Debug, Default)]
pub(super) struct Stack {
    frames: Vec<Frame>,
    written: usize,
    /// Position of the element that hides its content.
    hidden: Option<usize>,
    /// Open elements beyond the bound.
    overflow: usize,
}

impl Stack {
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn is_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    /// `true` if the innermost element is the one that hides its content.
    pub(super) fn top_is_hidden(&self) -> bool {
        self.hidden.is_some_and(|hidden| hidden + 1 == self.frames.len())
    }

    pub(super) fn has_room(&self) -> bool {
        self.written < WRITTEN_MAX
    }

    /// `true` if no further quotation or list is written.
    pub(super) fn is_indented_enough(&self) -> bool {
        let indents =
            |frame: &&Frame| frame.is_list() || frame.element == Element::Text("blockquote");
        self.frames.iter().filter(indents).count() >= INDENTS_MAX
    }

    pub(super) fn overflow(&mut self) {
        self.overflow += 1;
    }

    pub(super) fn push(&mut self, frame: Frame) {
        // A hidden element, and the row and cell of a text, may lie above the bound.
        if self.frames.len() > FRAMES_MAX + 4 {
            return self.overflow();
        }
        self.written += usize::from(frame.written.is_some());
        self.frames.push(frame);
    }

    pub(super) fn push_hidden(&mut self, frame: Frame) {
        self.hidden = Some(self.frames.len());
        self.frames.push(frame);
    }

    pub(super) fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.written -= usize::from(frame.written.is_some());
        if self.hidden == Some(self.frames.len()) {
            self.hidden = None;
        }
        Some(frame)
    }

    /// Returns the number of elements that stay open after an end tag, if it ends one.
    pub(super) fn end(&mut self, name: &LocalName) -> Option<usize> {
        if self.overflow > 0 && self.frames.last().is_none_or(|frame| frame.name != *name) {
            self.overflow -= 1;
            return None;
        }
        let of_table = matches!(
            &**name,
            "table" | "tr" | "td" | "th" | "thead" | "tbody" | "tfoot" | "caption"
        );
        for (at, frame) in self.frames.iter().enumerate().rev() {
            if frame.name == *name {
                return Some(at);
            }
            let stops = if of_table { frame.element == Element::Table } else { frame.is_border() };
            if stops && self.hidden.is_none_or(|hidden| at <= hidden) {
                return None;
            }
        }
        None
    }

    /// Returns the number of elements that stay open when an element begins, if it ends others
    /// whose end tags may be left out.
    pub(super) fn implied_end(&self, name: &LocalName, element: Element) -> Option<usize> {
        let is_part = matches!(&**name, "dt" | "dd");
        let is_item = element == Element::Item;
        let is_link = element == Element::Link;
        let is_text = matches!(element, Element::Text(_) | Element::Pre | Element::Table);
        let is_block = matches!(element, Element::Block | Element::Main | Element::Article);
        if !(is_item || is_link || is_text || is_block) {
            return None;
        }
        let ends = |frame: &Frame| {
            if is_item || is_link {
                frame.element == element
            } else if is_part {
                matches!(&*frame.name, "dt" | "dd")
            } else {
                frame.element == Element::Text("p") || (is_text && frame.is_heading())
            }
        };
        let stops = |frame: &Frame| {
            if is_item {
                frame.is_list() || frame.is_border()
            } else if is_part {
                &*frame.name == "dl" || frame.is_border()
            } else {
                !frame.is_inline()
            }
        };
        for (at, frame) in self.frames.iter().enumerate().rev() {
            if ends(frame) {
                return Some(at);
            }
            if stops(frame) {
                return None;
            }
        }
        None
    }

    fn nearest(&self, is: impl Fn(&Frame) -> bool) -> Option<&Frame> {
        self.frames.iter().rev().find(|frame| frame.written.is_some() && is(frame))
    }

    /// `true` in a link.
    pub(super) fn in_link(&self) -> bool {
        let found = self.nearest(|frame| frame.element == Element::Link || frame.is_border());
        found.is_some_and(|frame| frame.element == Element::Link)
    }

    /// `true` in a heading.
    pub(super) fn in_heading(&self) -> bool {
        self.nearest(|frame| !frame.is_inline()).is_some_and(Frame::is_heading)
    }

    pub(super) fn in_title(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.element == Element::Title)
    }

    /// Returns the position of the innermost table.
    pub(super) fn table(&self) -> Option<usize> {
        self.frames
            .iter()
            .rposition(|frame| frame.element == Element::Table && frame.written.is_some())
    }

    /// Returns the position of the row of the innermost table.
    pub(super) fn row(&self) -> Option<usize> {
        let table = self.table()?;
        let found = self.frames.iter().rposition(|frame| frame.element == Element::Row)?;
        (found > table).then_some(found)
    }

    pub(super) fn top_is_table(&self) -> bool {
        let last = self.frames.last();
        last.is_some_and(|frame| frame.element == Element::Table && frame.written.is_some())
    }

    /// `true` in a table, outside its cells.
    pub(super) fn between_cells(&self) -> bool {
        let within = |frame: &&Frame| frame.is_border() || frame.element == Element::Row;
        let found = self.frames.iter().rev().filter(|frame| frame.written.is_some()).find(within);
        found.is_some_and(|frame| matches!(frame.element, Element::Table | Element::Row))
    }
}
