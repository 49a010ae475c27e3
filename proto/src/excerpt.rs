//! Excerpts of long texts: both ends, with a note about the gap.

use crate::limits;

/// Truncates a text to its ends of [`limits::EXCERPT_CHARS`] characters each.
#[must_use]
pub fn excerpt(text: &str) -> String {
    ends(text, limits::EXCERPT_CHARS)
}

/// Truncates a text to its ends of `chars` characters each, with a note between them about the
/// number of missing characters.
#[must_use]
pub fn ends(text: &str, chars: usize) -> String {
    head_and_tail(text, chars, chars)
}

/// Truncates a text to its first `head` and last `tail` characters, with a note between them about
/// the number of missing characters. It never splits a character.
#[must_use]
pub fn head_and_tail(text: &str, head: usize, tail: usize) -> String {
    let kept = head.saturating_add(tail);
    // A text has at most as many characters as bytes, so most texts need no counting.
    if text.len() <= kept {
        return text.to_owned();
    }
    let all = text.chars().count();
    // A gap must be longer than the note about it.
    if all <= kept.saturating_add(20) {
        return text.to_owned();
    }
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (first, last) = (text.get(..at(head)), text.get(at(all - tail)..));
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    format!("{first} …[{} characters cut]… {last}", all - kept)
}

/// Returns the first line of a text, cut to `max` characters.
#[must_use]
pub fn first_line(text: &str, max: usize) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    if first.chars().count() <= max {
        return first.to_owned();
    }
    first.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

/// Returns the first line of a text, truncated between characters to at most `max` bytes.
#[must_use]
pub fn line(text: &str, max: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    let mut end = line.len().min(max);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(first_line("一二三四五\nx", 3), "一二…");
    }

    #[test]
    fn a_long_text_keeps_both_ends_and_says_what_is_missing() {
        let text = format!("{}{}{}", "头".repeat(5), "x".repeat(100), "尾".repeat(5));
        assert_eq!(ends(&text, 5), "头头头头头 …[100 characters cut]… 尾尾尾尾尾");
        assert_eq!(ends("short", 5), "short");
        assert_eq!(ends("", 0), "");
    }
}
