//! Unescaped quotes inside a text: those that belong to the text, and those that are ambiguous.

use std::{iter::Peekable, str::Chars};

/// The quotes of one text.
#[derive(Debug)]
pub(super) struct Quotes {
    closer: char,
    /// `true` for a value. Names are single words; only values have quotes inside.
    is_value: bool,
    /// Number of unescaped quotes inside.
    inside: usize,
    /// `true` if the text has escaped quotes too.
    pub(super) escaped: bool,
    /// `true` if the open quotation follows a comma or a colon.
    behind_sign: bool,
    doubtful: bool,
}

impl Quotes {
    pub(super) fn of(closer: char, is_value: bool) -> Self {
        Self { closer, is_value, inside: 0, escaped: false, behind_sign: false, doubtful: false }
    }

    /// `true` if the quote just read belongs to the text. A quotation opens before a letter, and
    /// the next quote closes it unless JSON continues there. A name or a quoted text that follows
    /// without a comma is never a quotation.
    pub(super) fn is_inside(&mut self, before: Option<char>, at: &Peekable<Chars<'_>>) -> bool {
        if !self.is_value || self.closer != '"' {
            return false;
        }
        let mut ahead = at.clone();
        let after = ahead.peek().copied();
        let is_open = self.inside % 2 == 1;
        let next = ahead.find(|c| !c.is_whitespace());
        let is_inside = after.is_some_and(char::is_alphanumeric)
            || (is_open && !next.is_none_or(|c| is_sign(c) || c == '"'));
        if is_inside {
            // A quotation does not begin after a word or a bracket, nor end after a blank. Commas
            // before both of its quotes separate texts.
            let is_behind_sign = before.is_some_and(is_sign);
            self.doubtful |= match before {
                Some(c) if is_open => c.is_whitespace() || (is_behind_sign && self.behind_sign),
                Some(c) => c.is_ascii_alphanumeric() || matches!(c, ',' | ':' | '{' | '['),
                None => is_open,
            };
            self.behind_sign = is_behind_sign;
            self.doubtful |= is_open && after.is_some_and(|c| c.is_ascii_alphanumeric());
            self.inside += 1;
        }
        is_inside
    }

    /// Handles a double quote in a text with a different closing quote. Models mix typographic and
    /// straight quotes, so a straight one before JSON syntax may end a typographic text.
    pub(super) fn other(&mut self, at: &Peekable<Chars<'_>>) {
        let next = at.clone().find(|c| !c.is_whitespace());
        self.doubtful |= self.closer == '”' && next.is_none_or(is_sign);
    }

    pub(super) fn are_inside(&self) -> bool {
        self.inside > 0
    }

    /// `true` if the text has two readings: a quotation is still open, or only some quotes are
    /// escaped.
    pub(super) fn are_doubtful(&self) -> bool {
        self.doubtful || self.inside % 2 == 1 || (self.inside > 0 && self.escaped)
    }
}

/// `true` for JSON syntax that follows a text.
fn is_sign(c: char) -> bool {
    matches!(c, ',' | '，' | ':' | '：' | '}' | ']')
}
