//! Web pages as Markdown, for models that read them.
//!
//! A page is hostile input. [`clean`] reads it once, without recursion, and keeps what a reader
//! sees: balanced elements of a bounded depth, without scripts, styles and hidden parts. The
//! library that writes Markdown gets only that. No part of a page is executed, and nothing that it
//! refers to is fetched.

mod clean;
mod element;
mod markdown;
mod stack;
mod table;
mod writer;

use url::Url;

/// A page as Markdown.
#[derive(Debug)]
pub(crate) struct Page {
    /// The title, on one line; absent if the page has none.
    pub(crate) title: Option<String>,
    /// The article of the page, or the whole page if it has none.
    pub(crate) markdown: String,
    /// `true` if a part of the page was left out because of a bound.
    pub(crate) truncated: bool,
}

/// Tells from a content type whether a body is a page.
pub(crate) fn is_page(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml"].iter().any(|kind| essence.eq_ignore_ascii_case(kind))
}

/// Converts a page to Markdown. Relative links refer to `url`.
pub(crate) fn read(html: &str, url: &Url) -> Page {
    let clean = clean::clean(html, url);
    let markdown = markdown::of(&clean.html, clean.tables);
    Page { title: clean.title, markdown, truncated: clean.truncated }
}

#[cfg(test)]
mod tests;
