//! Cutting long texts: what is kept is both ends, and that something is missing is said.

use crate::limits;

/// The text, or its ends of [`limits::EXCERPT_CHARS`] characters each with a note between them.
#[must_use]
pub fn excerpt(text: &str) -> String {
    ends(text, limits::EXCERPT_CHARS)
}

/// The text, or its ends of `chars` characters each with a note between them that says how many are
/// missing.
#[must_use]
pub fn ends(text: &str, chars: usize) -> String {
    let all = text.chars().count();
    // A note that is longer than what it stands for helps nobody.
    if all <= chars.saturating_mul(2).saturating_add(20) {
        return text.to_owned();
    }
    let head: String = text.chars().take(chars).collect();
    let tail: String = text.chars().skip(all - chars).collect();
    format!("{head} …[{} characters cut]… {tail}", all - 2 * chars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_both_ends_and_says_what_is_missing() {
        let text = format!("{}{}{}", "头".repeat(5), "x".repeat(100), "尾".repeat(5));
        assert_eq!(ends(&text, 5), "头头头头头 …[100 characters cut]… 尾尾尾尾尾");
        assert_eq!(ends("short", 5), "short");
        assert_eq!(ends("", 0), "");
    }
}
