//! Quotes inside a text that nobody escaped: which of them belong to it, and when that can be told.

use std::{iter::Peekable, str::Chars};

/// The quotes that were met in a text.
#[derive(Debug)]
pub(super) struct Quotes {
    closer: char,
    /// A value, and no name: names are single words, and only what is said has quotes inside.
    is_value: bool,
    /// Quotes inside that are not escaped.
    inside: usize,
    /// An escaped quote stands inside.
    pub(super) escaped: bool,
    /// The quotation that is open begins behind a comma or a colon.
    behind_sign: bool,
    doubtful: bool,
}

impl Quotes {
    pub(super) fn of(closer: char, is_value: bool) -> Self {
        Self { closer, is_value, inside: 0, escaped: false, behind_sign: false, doubtful: false }
    }

    /// The closing quote, which was just taken, belongs to the text. One that opens a quotation is
    /// followed by a letter at once, and the next one closes it unless JSON goes on there. A name or
    /// a text in quotes that follows without a comma is never taken for one.
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

    /// A double quote in a text that another quote closes. Typographic quotes are mixed up with
    /// straight ones; where JSON could go on, that may have happened.
    pub(super) fn other(&mut self, at: &Peekable<Chars<'_>>) {
        let next = at.clone().find(|c| !c.is_whitespace());
        self.doubtful |= self.closer == '”' && next.is_none_or(is_sign);
    }

    pub(super) fn are_inside(&self) -> bool {
        self.inside > 0
    }

    /// Where the text ends, and what belongs to it, can be told in two ways: a quotation is still
    /// open, or only some of the quotes are escaped.
    pub(super) fn are_doubtful(&self) -> bool {
        self.doubtful || self.inside % 2 == 1 || (self.inside > 0 && self.escaped)
    }
}

/// A sign with which JSON goes on behind a text.
fn is_sign(c: char) -> bool {
    matches!(c, ',' | '，' | ':' | '：' | '}' | ']')
}
