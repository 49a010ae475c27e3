//! The elements of HTML by what they mean for a text.

use html5ever::{LocalName, tokenizer::states::RawKind};

/// The meaning of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// A part of the page on lines of its own.
    Block,
    /// The part of the page that its author marks as the main one.
    Main,
    /// An article, of which a page may have several.
    Article,
    /// A paragraph, a heading, a quotation or a list, as an element of that name.
    Text(&'static str),
    /// An item of a list.
    Item,
    /// Text whose spaces and lines matter.
    Pre,
    /// Text in the line, as an element of that name.
    Inline(&'static str),
    /// A link.
    Link,
    /// A table.
    Table,
    /// The title of a table.
    Caption,
    /// A row of a table.
    Row,
    /// A cell of a table, as an element of that name.
    Cell(&'static str),
    /// A void element, written as it is.
    Void(&'static str),
    /// A picture.
    Image,
    /// The title of the page.
    Title,
    /// The base of relative links.
    Base,
    /// An element whose content is no text of the page.
    Hidden,
    /// Any other element; its content counts.
    Other,
}

impl Element {
    /// Returns the meaning of the element of that name.
    pub(super) fn of(name: &LocalName) -> Self {
        match &**name {
            "main" => Self::Main,
            "article" => Self::Article,
            "address" | "aside" | "body" | "center" | "dd" | "details" | "div" | "dl" | "dt"
            | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "header" | "hgroup"
            | "html" | "legend" | "nav" | "search" | "section" | "summary" => Self::Block,
            "p" => Self::Text("p"),
            "h1" => Self::Text("h1"),
            "h2" => Self::Text("h2"),
            "h3" => Self::Text("h3"),
            "h4" => Self::Text("h4"),
            "h5" => Self::Text("h5"),
            "h6" => Self::Text("h6"),
            "blockquote" => Self::Text("blockquote"),
            "ul" | "menu" | "dir" => Self::Text("ul"),
            "ol" => Self::Text("ol"),
            "li" => Self::Item,
            "pre" | "listing" | "xmp" => Self::Pre,
            "code" | "kbd" | "samp" | "tt" => Self::Inline("code"),
            "b" | "strong" => Self::Inline("strong"),
            "i" | "em" | "cite" | "dfn" => Self::Inline("em"),
            "a" => Self::Link,
            "table" => Self::Table,
            "caption" => Self::Caption,
            "tr" => Self::Row,
            "td" => Self::Cell("td"),
            "th" => Self::Cell("th"),
            "br" => Self::Void("br"),
            "hr" => Self::Void("hr"),
            "img" => Self::Image,
            "title" => Self::Title,
            "base" => Self::Base,
            "annotation" | "annotation-xml" | "applet" | "audio" | "canvas" | "datalist"
            | "iframe" | "noembed" | "noframes" | "noscript" | "object" | "optgroup" | "option"
            | "rp" | "script" | "select" | "style" | "svg" | "template" | "textarea" | "video" => {
                Self::Hidden
            }
            _ => Self::Other,
        }
    }

    /// Returns `true` if the element begins on a new line.
    pub(super) fn is_block(self) -> bool {
        match self {
            Self::Block
            | Self::Main
            | Self::Article
            | Self::Text(_)
            | Self::Item
            | Self::Pre
            | Self::Table
            | Self::Caption
            | Self::Row
            | Self::Cell(_)
            | Self::Void("hr") => true,
            Self::Inline(_)
            | Self::Link
            | Self::Void(_)
            | Self::Image
            | Self::Title
            | Self::Base
            | Self::Hidden
            | Self::Other => false,
        }
    }
}

/// Returns `true` if an element of that name has no content and no end tag.
pub(super) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "basefont"
            | "bgsound"
            | "br"
            | "col"
            | "embed"
            | "frame"
            | "hr"
            | "img"
            | "input"
            | "keygen"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Returns the way in which the content of an element is read, if it has no elements.
pub(super) fn raw(name: &str) -> Option<RawKind> {
    match name {
        "script" => Some(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(RawKind::Rawtext),
        "title" | "textarea" => Some(RawKind::Rcdata),
        _ => None,
    }
}
