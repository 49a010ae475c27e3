//! The clean HTML while it is written, and the part of it that is the article.

use html5ever::Attribute;

use super::{clean::attribute, element::Element};

/// Most bytes of clean HTML.
pub(super) const CLEAN_BYTES_MAX: usize = 2 * 1024 * 1024;

/// An empty block ends the line.
const BREAK: &str = "<div></div>";

/// An element as it was written.
#[derive(Debug)]
pub(super) struct Written {
    name: &'static str,
    /// Position of its tag; absent if it continues the element before.
    tag: Option<usize>,
    /// Position of its content.
    content: usize,
}

/// A part of the page that may be its article.
#[derive(Debug)]
struct Region {
    main: bool,
    start: usize,
    end: usize,
    letters: usize,
}

/// The clean HTML.
#[derive(Debug, Default)]
pub(super) struct Writer {
    html: String,
    /// Position before which the text does not change any more.
    fixed: usize,
    letters: usize,
    /// The preformatted text that is read, and the language of its code.
    pre: Option<(String, Option<String>)>,
    regions: Vec<Region>,
    open_regions: Vec<Region>,
}

impl Writer {
    pub(super) fn is_full(&self) -> bool {
        let pre = self.pre.as_ref().map_or(0, |(text, _)| text.len());
        self.html.len() + pre > CLEAN_BYTES_MAX
    }

    pub(super) fn open(
        &mut self,
        element: Element,
        name: &'static str,
        attributes: &str,
    ) -> Written {
        let before = format!("</{name}>");
        if matches!(element, Element::Inline(_))
            && self.html.len() >= self.fixed + before.len()
            && self.html.ends_with(&before)
        {
            self.html.truncate(self.html.len() - before.len());
            return Written { name, tag: None, content: self.html.len() };
        }
        let tag = self.html.len();
        for part in ["<", name, attributes, ">"] {
            self.html.push_str(part);
        }
        Written { name, tag: Some(tag), content: self.html.len() }
    }

    pub(super) fn close(&mut self, element: Element, written: &Written) {
        if matches!(element, Element::Inline(_) | Element::Link)
            && let Some(tag) = written.tag
            && tag >= self.fixed
            && self.html[written.content..].trim().is_empty()
        {
            self.html.truncate(tag);
            return self.space();
        }
        for part in ["</", written.name, ">"] {
            self.html.push_str(part);
        }
    }

    pub(super) fn void(&mut self, name: &str) {
        for part in ["<", name, ">"] {
            self.html.push_str(part);
        }
    }

    pub(super) fn image(&mut self, alt: &str, url: &str) {
        let encode = html_escape::encode_double_quoted_attribute::<str>;
        let image = format!("<img src=\"{}\" alt=\"{}\">", encode(url), encode(alt));
        self.html.push_str(&image);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.letters += text.chars().filter(|c| !c.is_whitespace()).count();
        self.html.push_str(&html_escape::encode_text(text));
    }

    pub(super) fn space(&mut self) {
        if !self.html.is_empty() && !self.html.ends_with(' ') && !self.html.ends_with(BREAK) {
            self.html.push(' ');
        }
    }

    pub(super) fn line_break(&mut self) {
        if !self.html.is_empty() && !self.html.ends_with(BREAK) {
            self.html.push_str(BREAK);
        }
    }

    pub(super) fn in_pre(&self) -> bool {
        self.pre.is_some()
    }

    pub(super) fn begin_pre(&mut self) {
        self.pre = Some((String::new(), None));
    }

    pub(super) fn pre_text(&mut self, new: &str) {
        if let Some((text, _)) = &mut self.pre {
            text.push_str(new);
        }
    }

    /// Ends a line of preformatted text that has one.
    pub(super) fn pre_break(&mut self) {
        if let Some((text, _)) = &mut self.pre
            && !text.is_empty()
            && !text.ends_with('\n')
        {
            text.push('\n');
        }
    }

    /// Takes the language of the code from the class `language-…`.
    pub(super) fn language(&mut self, attributes: &[Attribute]) {
        if let Some((_, language)) = &mut self.pre
            && language.is_none()
        {
            let classes = attribute(attributes, "class").unwrap_or_default().split_whitespace();
            let mut named = classes.filter_map(|class| class.strip_prefix("language-"));
            let sound = |name: &&str| {
                name.len() <= 32
                    && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+#-_.".contains(&b))
            };
            *language = named.find(sound).map(str::to_owned);
        }
    }

    pub(super) fn end_pre(&mut self) {
        let Some((text, language)) = self.pre.take() else { return };
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        self.letters += text.chars().filter(|c| !c.is_whitespace()).count();
        let class = language.map(|name| format!(" class=\"language-{name}\"")).unwrap_or_default();
        let text = html_escape::encode_text(text);
        self.html.push_str(&format!("<pre><code{class}>{text}\n</code></pre>"));
    }

    pub(super) fn begin_region(&mut self, main: bool) {
        self.fixed = self.html.len();
        let (start, letters) = (self.fixed, self.letters);
        self.open_regions.push(Region { main, start, end: start, letters });
    }

    pub(super) fn end_region(&mut self) {
        self.fixed = self.html.len();
        if let Some(region) = self.open_regions.pop() {
            let letters = self.letters - region.letters;
            self.regions.push(Region { end: self.fixed, letters, ..region });
        }
    }

    /// Returns the part that the author calls the main one, the article that has most of the
    /// text, or else the whole page.
    pub(super) fn article(mut self) -> String {
        let written = self.regions.iter().filter(|region| region.letters > 0);
        let (mains, articles): (Vec<_>, Vec<_>) = written.partition(|region| region.main);
        let longest = |regions: Vec<&Region>| {
            let longest = regions.into_iter().max_by_key(|region| region.letters);
            longest.map(|region| (region.start, region.end, region.letters))
        };
        let article = || longest(articles).filter(|(.., letters)| letters * 2 >= self.letters);
        match longest(mains).or_else(article) {
            Some((start, end, _)) => self.html.drain(start..end).collect(),
            None => std::mem::take(&mut self.html),
        }
    }
}
