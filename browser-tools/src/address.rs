//! The addresses that a session may show.

use url::Url;

use crate::{refusal::Refusal, request::ADDRESS_BYTES_MAX};

/// The page of a new tab.
pub(crate) const BLANK: &str = "about:blank";

/// Checks an address that a model asks for. The guard checks its host when the browser connects.
pub(crate) fn check(text: &str) -> Result<Url, Refusal> {
    if text.len() > ADDRESS_BYTES_MAX {
        return Err(Refusal::NotAddress);
    }
    let url = Url::parse(text.trim()).map_err(|_| Refusal::NotAddress)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal::Scheme(url.scheme().chars().take(40).collect()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::UserInfo);
    }
    if url.host().is_none() { Err(Refusal::NotAddress) } else { Ok(url) }
}

/// Returns whether a tab may show an address that a page led to. Chromium shows its own error pages
/// under `chrome-error:`.
pub(crate) fn may_show(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    match scheme {
        "http" | "https" | "blob" | "chrome-error" => true,
        "about" => url == BLANK || url.starts_with("about:blank#") || url == "about:srcdoc",
        _ => url.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::of_a_file("file:///etc/passwd")]
    #[case::of_the_browser("chrome://settings")]
    #[case::of_a_source("view-source:https://example.com")]
    #[case::with_data("data:text/html,x")]
    #[case::with_a_script("javascript:alert(1)")]
    #[case::of_nothing("about:blank")]
    #[case::in_other_letters(" FILE:///etc/passwd")]
    #[case::with_a_break("fi\nle:///etc/passwd")]
    #[case::of_the_tools("devtools://devtools/bundled/inspector.html")]
    #[case::of_another_protocol("ftp://example.com/")]
    #[case::of_a_socket("ws://example.com/")]
    fn another_scheme_is_refused(#[case] text: &str) {
        assert!(matches!(check(text), Err(Refusal::Scheme(_))), "{text}");
    }

    #[rstest]
    #[case("", Refusal::NotAddress)]
    #[case("example.com", Refusal::NotAddress)]
    #[case("https://", Refusal::NotAddress)]
    #[case("https://me@example.com", Refusal::UserInfo)]
    #[case("https://me:pass@example.com", Refusal::UserInfo)]
    fn a_text_without_a_plain_host_is_refused(#[case] text: &str, #[case] why: Refusal) {
        assert_eq!(check(text).unwrap_err(), why);
    }

    #[test]
    fn pages_of_the_web_are_shown_and_others_are_left() {
        for url in ["https://a.example/", "http://a.example/", "about:blank", "blob:https://a/b"] {
            assert!(may_show(url), "{url}");
        }
        for url in ["file:///etc", "chrome://version", "view-source:http://a", "data:text/html,x"] {
            assert!(!may_show(url), "{url}");
        }
    }
}
