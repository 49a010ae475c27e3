//! The escapes that make text of models, tools and users safe to show: on a terminal, in a log
//! line, in an approval. Characters that could move the cursor, set a title, write to the
//! clipboard, reverse text or hide it are shown as escapes. They have no effect and are never left
//! out.
//!
//! Stored texts stay raw. The code that shows a text escapes it.

use std::{borrow::Cow, fmt::Write};

use serde_json::Value;

/// Escapes a text of several lines. Line feeds and tabs stay; every other character that is not
/// plainly visible becomes an escape (`\u{1b}`).
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && c != '\t' && is_deceptive(c))
}

/// Escapes a text for a single line: line ends and tabs become spaces, and the rest is as in
/// [`text`].
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    let breaks = |c| matches!(c, '\n' | '\r' | '\t');
    if text.contains(breaks) {
        let flat = text.replace("\r\n", " ").replace(breaks, " ");
        return Cow::Owned(escaped(&flat, is_deceptive).into_owned());
    }
    escaped(text, is_deceptive)
}

/// Formats JSON over several lines. The result is JSON with the same value; characters that are not
/// plainly visible are written as `\u001b`.
#[must_use]
pub fn json(value: &Value) -> String {
    in_json(&serde_json::to_string_pretty(value).unwrap_or_default()).into_owned()
}

/// Escapes serialised JSON. The result is JSON with the same value, in which characters that are not
/// plainly visible are written as `\u009b`.
#[must_use]
pub fn in_json(json: &str) -> Cow<'_, str> {
    let bad = |c| c != '\n' && is_deceptive(c);
    if !json.chars().any(bad) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if bad(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn escaped(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Returns whether a character has a hidden effect: controls (C0 and C1, so that no escape sequence
/// of a terminal starts), bidirectional controls, zero-width and other invisible characters, tags,
/// variation selectors except the one for emoji, and separators of lines and paragraphs.
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fe00}'..='\u{fe0e}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_terminal_would_act_upon_is_shown_instead() {
        for (raw, shown) in [
            ("plain 文字 ✓ 👍\u{fe0f}", "plain 文字 ✓ 👍\u{fe0f}"),
            ("two\nlines\tand a tab", "two\nlines\tand a tab"),
            ("\u{1b}[2Jgone", r"\u{1b}[2Jgone"),
            ("\u{1b}]8;;http://x\u{7}y", r"\u{1b}]8;;http://x\u{7}y"),
            ("\u{1b}]52;c;cm0=\u{1b}\\", r"\u{1b}]52;c;cm0=\u{1b}\"),
            ("\u{9b}31m", r"\u{9b}31m"),
            ("over\rwritten", r"over\u{d}written"),
            ("user\u{202e}txt.exe", r"user\u{202e}txt.exe"),
            ("pay\u{200b}pal\u{2066}", r"pay\u{200b}pal\u{2066}"),
            ("\u{e0041}hidden", r"\u{e0041}hidden"),
            ("{{goal}} <b>", "{{goal}} <b>"),
        ] {
            assert_eq!(text(raw), shown);
        }
        assert!(matches!(text("plain"), Cow::Borrowed(_)));
        assert_eq!(line("a\r\nb\tc\u{1b}"), r"a b c\u{1b}");
    }

    #[test]
    fn json_that_is_shown_reads_as_the_value_that_runs() {
        let value = json!({"to": "a\u{202e}b\u{1b}", "n": [1], "tag": "\u{e0041}", "名": "好"});
        let shown = json(&value);
        assert!(!shown.chars().any(|c| c != '\n' && is_deceptive(c)), "{shown}");
        assert!(shown.contains(r"a\u202eb\u001b") && shown.contains("好"), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
