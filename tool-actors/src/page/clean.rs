//! Clean HTML of a page: what a reader sees, as balanced elements of a bounded depth.
//!
//! The tokens of the page are read once. Elements that the text does not need leave no trace but a
//! line break, so that the depth of a page's layout does not matter.

use std::cell::RefCell;

use html5ever::{
    Attribute,
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, EndTag, StartTag, Tag, Token, TokenSink, TokenSinkResult, Tokenizer,
        TokenizerOpts,
    },
};
use url::Url;

use super::{
    element::{self, Element},
    markdown::Tables,
    stack::{FRAMES_MAX, Frame, Stack},
    table::Table,
    writer::Writer,
};

/// Longest title, in characters.
const TITLE_CHARS_MAX: usize = 300;
/// Longest address of a link or picture, in bytes.
const ADDRESS_BYTES_MAX: usize = 2048;
/// Size of a piece that is read at once, in bytes.
const PIECE_BYTES: usize = 8 * 1024;
/// Most separators of attributes that are read without reaching the end of a tag. The tokenizer
/// compares each attribute of a tag with all others.
const SEPARATORS_MAX: usize = 8 * 1024;

/// The clean HTML of a page, with its title.
pub(super) struct Clean {
    pub(super) title: Option<String>,
    pub(super) html: String,
    /// The tables with data.
    pub(super) tables: Tables,
    pub(super) truncated: bool,
}

/// Cleans a page. Relative links refer to `url`.
pub(super) fn clean(html: &str, url: &Url) -> Clean {
    let sink = Sink(RefCell::new(Cleaner::new(url)));
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let (queue, mut rest) = (BufferQueue::default(), html);
    let (mut seen, mut separators) = (0, 0);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        rest = after;
        queue.push_back(StrTendril::from(piece));
        // The sink never asks for a pause.
        let _ = tokenizer.feed(&queue);
        let mut cleaner = tokenizer.sink.0.borrow_mut();
        if cleaner.tokens != seen {
            (seen, separators) = (cleaner.tokens, 0);
        }
        let separates = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'".contains(byte);
        separators += piece.bytes().filter(separates).count();
        if separators > SEPARATORS_MAX || cleaner.out.is_full() {
            cleaner.truncated |= !rest.is_empty() || cleaner.out.is_full();
            break;
        }
    }
    // The tokenizer may still hold a character reference or a `<` at the end of the page.
    if rest.is_empty() {
        tokenizer.end();
    }
    tokenizer.sink.0.into_inner().finish()
}

struct Sink(RefCell<Cleaner>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut cleaner = self.0.borrow_mut();
        cleaner.tokens += 1;
        match token {
            Token::TagToken(tag) if tag.kind == StartTag => {
                if !cleaner.out.is_full() {
                    cleaner.start(&tag);
                }
                if let Some(kind) = element::raw(&tag.name) {
                    return TokenSinkResult::RawData(kind);
                }
            }
            Token::TagToken(tag) => {
                debug_assert_eq!(tag.kind, EndTag);
                cleaner.end(&tag);
            }
            Token::CharacterTokens(text) => cleaner.text(&text),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

struct Cleaner {
    base: Url,
    based: bool,
    title: Option<String>,
    stack: Stack,
    out: Writer,
    /// The open tables, the innermost last.
    tables: Vec<Table>,
    numbered: usize,
    data: Tables,
    tokens: u64,
    truncated: bool,
}

impl Cleaner {
    fn new(url: &Url) -> Self {
        Self {
            base: url.clone(),
            based: false,
            title: None,
            stack: Stack::default(),
            out: Writer::default(),
            tables: Vec::new(),
            numbered: 0,
            data: Tables::new(),
            tokens: 0,
            truncated: false,
        }
    }

    fn finish(mut self) -> Clean {
        self.close_to(0);
        let title = self.title.map(|title| {
            let words: Vec<_> = title.split_whitespace().collect();
            words.join(" ").chars().take(TITLE_CHARS_MAX).collect::<String>()
        });
        Clean {
            title: title.filter(|title| !title.is_empty()),
            html: self.out.article(),
            tables: self.data,
            truncated: self.truncated,
        }
    }

    fn start(&mut self, tag: &Tag) {
        let element = Element::of(&tag.name);
        let implied = self.stack.implied_end(&tag.name, element);
        let ends_hidden = implied.is_some() && self.stack.top_is_hidden();
        if self.stack.is_hidden() && !ends_hidden {
            if !element::is_void(&tag.name) && !tag.self_closing {
                self.stack.push(Frame::new(&tag.name, Element::Other));
            }
            return;
        }
        let titled = element == Element::Title && self.title.is_some();
        let hidden = element == Element::Hidden || titled || is_hidden(&tag.attrs);
        if element::is_void(&tag.name) {
            if !hidden {
                self.void(element, tag);
            }
            return;
        }
        if let Some(keep) = implied {
            self.close_to(keep);
        }
        if hidden {
            self.stack.push_hidden(Frame::new(&tag.name, element));
        } else if self.stack.len() >= FRAMES_MAX {
            self.stack.overflow();
            self.line_break(element);
        } else {
            self.open(element, tag);
        }
    }

    fn open(&mut self, element: Element, tag: &Tag) {
        let frame = Frame::new(&tag.name, element);
        if self.out.in_pre() {
            self.out.language(&tag.attrs);
            self.line_break(element);
            let element = if element.is_block() { Element::Block } else { Element::Other };
            return self.stack.push(Frame { element, ..frame });
        }
        let in_link = self.stack.in_link();
        match element {
            Element::Text(_) | Element::Item | Element::Pre | Element::Table if in_link => {
                self.out.space();
                self.stack.push(Frame { element: Element::Other, ..frame });
            }
            Element::Text("blockquote" | "ul" | "ol") if self.stack.is_indented_enough() => {
                self.line_break(element);
                self.stack.push(Frame { element: Element::Block, ..frame });
            }
            Element::Text(name) => {
                if name != "p" {
                    self.holds_block();
                }
                self.write(frame, name, "");
            }
            Element::Item => {
                self.holds_block();
                self.write(frame, "li", "");
            }
            Element::Inline(name) => self.write(frame, name, ""),
            Element::Link => match self.address(&tag.attrs, "href") {
                Some(url) if !in_link => {
                    let href =
                        format!(" href=\"{}\"", html_escape::encode_double_quoted_attribute(&url));
                    self.write(frame, "a", &href);
                }
                Some(_) | None => self.stack.push(Frame { element: Element::Other, ..frame }),
            },
            Element::Pre => {
                self.holds_block();
                self.cell_of_text();
                self.out.begin_pre();
                self.out.language(&tag.attrs);
                self.stack.push(frame);
            }
            Element::Table => {
                self.holds_block();
                self.write(frame, "table", "");
                self.tables.push(Table::new(self.numbered));
                self.numbered += 1;
            }
            Element::Row => self.row(frame),
            Element::Cell(name) => self.cell(frame, name),
            Element::Caption if self.stack.top_is_table() => self.write(frame, "caption", ""),
            Element::Main | Element::Article => {
                self.line_break(element);
                self.out.begin_region(element == Element::Main);
                self.stack.push(frame);
            }
            Element::Block if is_main(&tag.attrs) => {
                self.line_break(element);
                self.out.begin_region(true);
                self.stack.push(Frame { element: Element::Main, ..frame });
            }
            Element::Block | Element::Caption => {
                self.line_break(element);
                self.stack.push(Frame { element: Element::Block, ..frame });
            }
            Element::Title
            | Element::Other
            | Element::Void(_)
            | Element::Image
            | Element::Base
            | Element::Hidden => self.stack.push(frame),
        }
    }

    /// Writes an element, unless the elements around it are too many.
    fn write(&mut self, mut frame: Frame, name: &'static str, attributes: &str) {
        let of_table = matches!(frame.element, Element::Row | Element::Cell(_) | Element::Caption);
        if !of_table {
            self.cell_of_text();
        }
        if of_table || self.stack.has_room() {
            frame.written = Some(self.out.open(frame.element, name, attributes));
        } else {
            self.line_break(frame.element);
        }
        self.stack.push(frame);
    }

    fn row(&mut self, frame: Frame) {
        let Some(table) = self.stack.table() else {
            self.line_break(frame.element);
            return self.stack.push(Frame { element: Element::Block, ..frame });
        };
        self.close_to(table + 1);
        let Some(open) = self.tables.last_mut() else { return };
        let class = if open.row() { " class=\"first\"" } else { "" };
        let attributes = format!("{class} id=\"{}\"", open.id);
        self.write(frame, "tr", &attributes);
    }

    fn cell(&mut self, frame: Frame, name: &'static str) {
        let Some(table) = self.stack.table() else {
            self.line_break(frame.element);
            return self.stack.push(Frame { element: Element::Block, ..frame });
        };
        match self.stack.row() {
            Some(row) => self.close_to(row + 1),
            None => {
                self.close_to(table + 1);
                self.row(Frame::implied(Element::Row));
            }
        }
        let Some(open) = self.tables.last_mut() else { return };
        open.cell();
        let attributes = format!(" id=\"{}\"", open.id);
        self.write(frame, name, &attributes);
    }

    /// Opens a cell if the next text is in a table, but in no cell of it.
    fn cell_of_text(&mut self) {
        if !self.tables.is_empty() && self.stack.between_cells() {
            self.cell(Frame::implied(Element::Cell("td")), "td");
        }
    }

    fn holds_block(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.holds_block();
        }
    }

    fn void(&mut self, element: Element, tag: &Tag) {
        if element == Element::Base && !self.based {
            let href = attribute(&tag.attrs, "href");
            let base = href.and_then(|href| self.base.join(href).ok());
            if let Some(base) = base.filter(|base| matches!(base.scheme(), "http" | "https")) {
                (self.base, self.based) = (base, true);
            }
        }
        if let Element::Void(name) = element {
            self.cell_of_text();
            if self.out.in_pre() {
                self.out.pre_text("\n");
            } else if self.stack.in_link() || self.stack.in_heading() {
                self.out.space();
            } else {
                self.out.void(name);
            }
        }
        let alt = attribute(&tag.attrs, "alt").unwrap_or_default().trim();
        if element == Element::Image
            && !alt.is_empty()
            && !self.out.in_pre()
            && let Some(url) = self.address(&tag.attrs, "src")
        {
            self.cell_of_text();
            self.out.image(alt, &url);
        }
    }

    fn end(&mut self, tag: &Tag) {
        if let Some(keep) = self.stack.end(&tag.name) {
            self.close_to(keep);
        }
    }

    /// Closes elements until this many are open.
    fn close_to(&mut self, keep: usize) {
        while self.stack.len() > keep {
            let in_hidden = self.stack.is_hidden();
            let Some(frame) = self.stack.pop() else { return };
            if in_hidden {
                continue;
            }
            if frame.element == Element::Pre {
                self.out.end_pre();
            }
            if matches!(frame.element, Element::Main | Element::Article) {
                self.out.end_region();
            }
            if frame.element == Element::Table
                && let Some(table) = self.tables.pop()
                && table.has_data()
            {
                self.data.insert(table.id);
            }
            match frame.written {
                Some(written) => self.out.close(frame.element, &written),
                None => self.line_break(frame.element),
            }
        }
    }

    /// Ends the line, if the element begins and ends one.
    fn line_break(&mut self, element: Element) {
        if !element.is_block() || (!self.tables.is_empty() && self.stack.between_cells()) {
            return;
        }
        if self.out.in_pre() {
            self.out.pre_break();
        } else if self.stack.in_link() || self.stack.in_heading() {
            self.out.space();
        } else {
            self.out.line_break();
        }
    }

    fn text(&mut self, text: &str) {
        if self.stack.is_hidden() || self.out.is_full() {
            return;
        }
        if self.stack.in_title() {
            let title = self.title.get_or_insert_default();
            if title.len() < 8 * TITLE_CHARS_MAX {
                title.push_str(text);
            }
            return;
        }
        if self.out.in_pre() {
            return self.out.pre_text(text);
        }
        if text.trim().is_empty() {
            if self.tables.is_empty() || !self.stack.between_cells() {
                self.out.space();
            }
            return;
        }
        self.cell_of_text();
        self.out.text(text);
    }

    /// Returns an attribute as an address that a tool can use.
    fn address(&self, attributes: &[Attribute], name: &str) -> Option<String> {
        let given = attribute(attributes, name)?.trim();
        if given.is_empty() || given.starts_with('#') || given.len() > ADDRESS_BYTES_MAX {
            return None;
        }
        let url = self.base.join(given).ok()?;
        let known = matches!(url.scheme(), "http" | "https" | "mailto");
        (known && url.as_str().len() <= ADDRESS_BYTES_MAX).then(|| url.into())
    }
}

pub(super) fn attribute<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    attributes.iter().find(|attribute| &*attribute.name.local == name).map(|found| &*found.value)
}

fn is_main(attributes: &[Attribute]) -> bool {
    attribute(attributes, "role") == Some("main")
}

/// Returns `true` if an element says that it is not shown.
fn is_hidden(attributes: &[Attribute]) -> bool {
    let style = attribute(attributes, "style").map(|style| {
        let letters = style.chars().filter(|c| !c.is_whitespace());
        letters.collect::<String>().to_ascii_lowercase()
    });
    attribute(attributes, "hidden").is_some()
        || attribute(attributes, "aria-hidden") == Some("true")
        || style.is_some_and(|style| {
            style.contains("display:none") || style.contains("visibility:hidden")
        })
}
