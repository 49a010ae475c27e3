//! `GET /errors/{code}`: the page of an error code in the documentation, which the field `type` of
//! problem details names. It has no script.

use std::{collections::BTreeMap, sync::LazyLock};

use askama::Template;
use axum::{
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use proto::{error::Code, lang::Language};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

use crate::{
    caller,
    scriptless::{self, STYLE},
    words::Text,
};

/// Beginning of the path of every page; the code follows.
pub(crate) const ROOT: &str = "/errors/";

const KEEP: HeaderValue = HeaderValue::from_static("public, max-age=3600");
const ASK: HeaderValue = HeaderValue::from_static("no-store");

/// Names the document of each code. A code without one does not compile.
macro_rules! documents {
    ($($code:ident = $name:literal,)*) => {
        fn document(code: Code) -> &'static str {
            match code {
                $(Code::$code => include_str!(concat!("../../docs/errors/", $name, ".md")),)*
            }
        }
    };
}

documents! {
    InvalidRequest = "invalid_request",
    InvalidEncoding = "invalid_encoding",
    TooDeep = "too_deep",
    TooLarge = "too_large",
    InvalidId = "invalid_id",
    UnsupportedVersion = "unsupported_version",
    UnknownAgent = "unknown_agent",
    UnknownPrice = "unknown_price",
    IdempotencyConflict = "idempotency_conflict",
    NotFound = "not_found",
    AlreadyAnswered = "already_answered",
    Closed = "closed",
    Stale = "stale",
    InvalidAnswer = "invalid_answer",
    JobEnded = "job_ended",
    WouldRepeat = "would_repeat",
    Forbidden = "forbidden",
    Overloaded = "overloaded",
    Unavailable = "unavailable",
    Timeout = "timeout",
    Poisoned = "poisoned",
    Internal = "internal",
}

/// The pages, by the names of their codes.
static PAGES: LazyLock<BTreeMap<&'static str, String>> = LazyLock::new(|| {
    let page = |code: &Code| (code.as_str(), content(document(*code), *code));
    Code::ALL.iter().map(page).collect()
});

#[derive(Template)]
#[template(path = "error.html")]
struct Shown<'a> {
    lang: &'static str,
    style: &'static str,
    title: &'a str,
    /// HTML of the documentation, which is a part of this program.
    content: &'a str,
    /// Codes that have a page, where this one is unknown.
    codes: &'a [&'static str],
}

/// Shows the page of a code.
pub(crate) async fn show(Path(code): Path<String>, headers: HeaderMap) -> Response {
    let style = STYLE;
    let shown = match PAGES.get_key_value(code.as_str()) {
        Some((title, content)) => {
            let lang = Language::En.code();
            let shown = Shown { lang, style, title, content, codes: &[] };
            shown.render().map(|page| (StatusCode::OK, KEEP, page))
        }
        None => {
            let language = caller::language(&headers);
            let (lang, title) = (language.code(), Text::NoSuchCode.text(language));
            let codes: Vec<&str> = PAGES.keys().copied().collect();
            let shown = Shown { lang, style, title: &title, content: "", codes: &codes };
            shown.render().map(|page| (StatusCode::NOT_FOUND, ASK, page))
        }
    };
    let response = match shown {
        Ok((status, cache, page)) => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, cache)];
            (status, headers, page).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "the page of an error code cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    };
    scriptless::guarded(response)
}

/// Returns the document of a code as HTML. Other codes are links to their pages; other documents are
/// not served, so their names stand for links to them.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other part of the document stays as it is"
)]
fn content(document: &str, code: Code) -> String {
    let mut events = Vec::new();
    // Document behind the text of a link that was left out.
    let mut left_out: Option<String> = None;
    let mut is_heading = false;
    for event in Parser::new_ext(document, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { ref dest_url, .. }) => match target(dest_url) {
                Target::Kept => events.push(event),
                Target::Page(path) => events.push(link(path)),
                Target::Document(name) => left_out = Some(name),
            },
            Event::End(TagEnd::Link) => match left_out.take() {
                Some(name) => {
                    events.push(Event::Text(" (".into()));
                    events.push(Event::Code(name.into()));
                    events.push(Event::Text(")".into()));
                }
                None => events.push(event),
            },
            Event::Code(name) if !is_heading && is_other(&name, code) => {
                events.push(link(format!("{ROOT}{name}")));
                events.push(Event::Code(name));
                events.push(Event::End(TagEnd::Link));
            }
            other => {
                match other {
                    Event::Start(Tag::Heading { .. }) => is_heading = true,
                    Event::End(TagEnd::Heading(_)) => is_heading = false,
                    _ => {}
                }
                events.push(other);
            }
        }
    }
    let mut page = String::new();
    html::push_html(&mut page, events.into_iter());
    page
}

/// The replacement of a link.
enum Target {
    /// The link itself.
    Kept,
    /// The page of a code.
    Page(String),
    /// A document that is not served.
    Document(String),
}

fn target(to: &str) -> Target {
    if to.contains("://") {
        return Target::Kept;
    }
    let (file, _) = to.split_once('#').unwrap_or((to, ""));
    let name = file.strip_suffix(".md").unwrap_or(file);
    if Code::ALL.iter().any(|code| code.as_str() == name) {
        return Target::Page(format!("{ROOT}{name}"));
    }
    Target::Document(format!("docs/{}", file.trim_start_matches("../")))
}

fn is_other(name: &str, code: Code) -> bool {
    name != code.as_str() && Code::ALL.iter().any(|other| other.as_str() == name)
}

fn link<'a>(path: String) -> Event<'a> {
    let link_type = LinkType::Inline;
    let (title, id) = (CowStr::Borrowed(""), CowStr::Borrowed(""));
    Event::Start(Tag::Link { link_type, dest_url: path.into(), title, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_page() {
        assert_eq!(PAGES.len(), Code::ALL.len());
        for (name, content) in PAGES.iter() {
            assert!(content.starts_with(&format!("<h1><code>{name}</code></h1>")), "{content}");
            assert!(content.contains("<h2>What to do</h2>"), "{name}: {content}");
        }
    }

    #[test]
    fn every_link_of_a_page_leads_to_a_page() {
        for (name, content) in PAGES.iter() {
            for to in content.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let code = to.strip_prefix(ROOT).unwrap_or_else(|| panic!("{name}: {to}"));
                assert!(PAGES.contains_key(code) && code != *name, "{name}: {to}");
            }
            assert!(!content.contains(".md#") && !content.contains("<script"), "{name}: {content}");
        }
        assert!(PAGES["stale"].contains("batch (<code>docs/front-door.md</code>)"));
    }

    #[test]
    fn other_codes_are_links_and_other_documents_are_named() {
        let document =
            "# `stale`\n\n[old](closed.md#when), `timeout`, `stale`, `x`, [a](../cli.md#c)";
        assert_eq!(
            content(document, Code::Stale),
            "<h1><code>stale</code></h1>\n\
             <p><a href=\"/errors/closed\">old</a>, \
             <a href=\"/errors/timeout\"><code>timeout</code></a>, \
             <code>stale</code>, <code>x</code>, a (<code>docs/cli.md</code>)</p>\n"
        );
    }
}
