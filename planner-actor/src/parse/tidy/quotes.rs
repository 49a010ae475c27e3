//! Unescaped quotes inside a text: the ones that belong to it, and the ones that leave a doubt.

use std::{iter::Peekable, str::Chars};

/// The quotes of one text.
#[derive(Debug)]
pub(super) struct Quotes {
    closer: char,
    /// Names are single words; only values have quotes inside.
    is_value: bool,
    /// Unescaped quotes inside.
    inside: usize,
    /// The text has escaped quotes too.
    pub(super) escaped: bool,
    /// The quotation that is open begins behind a comma or a colon.
    behind_sign: bool,
    doubtful: bool,
}

impl Quotes {
    pub(super) fn of(closer: char, is_value: bool) -> Self {
        Self { closer, is_value, inside: 0, escaped: false, behind_sign: false, doubtful: false }
    }

    /// The closing quote that was just taken belongs to the text. A quotation opens before a letter,
    /// and the next quote closes it unless JSON goes on there. A name or a text in quotes that follows
    /// without a comma is never taken for a quotation.
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
            // A quotation does not begin behind a word or a bracket, nor end behind a blank. Commas
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

    /// Takes a double quote in a text that another sign closes. Models mix typographic and straight
    /// quotes, so a straight one before a sign of JSON may be the end of a typographic text.
    pub(super) fn other(&mut self, at: &Peekable<Chars<'_>>) {
        let next = at.clone().find(|c| !c.is_whitespace());
        self.doubtful |= self.closer == '”' && next.is_none_or(is_sign);
    }

    pub(super) fn are_inside(&self) -> bool {
        self.inside > 0
    }

    /// The text has two readings: a quotation is still open, or only some quotes are escaped.
    pub(super) fn are_doubtful(&self) -> bool {
        self.doubtful || self.inside % 2 == 1 || (self.inside > 0 && self.escaped)
    }
}

/// A sign that follows a text in JSON.
fn is_sign(c: char) -> bool {
    matches!(c, ',' | '，' | ':' | '：' | '}' | ']')
}
