//! Brings malformed JSON into a form a repair cannot misread: texts in double quotes, escaped
//! inside, closed; every other token one that JSON knows. What is left to the library are commas
//! and closing brackets that are missing or too many.
//!
//! A repair that guesses may guess a plan that nobody wrote. What could be read in two ways is
//! therefore garbled, and refused.

use std::{iter::Peekable, str::Chars};

/// Malformed JSON with well-formed tokens, up to the bracket that closes it or the end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tidied {
    /// The JSON.
    pub(super) json: String,
    /// How many brackets are opened in all: a bound on how deep anything can recurse.
    pub(super) opened: usize,
    /// The brackets that are still open at the end.
    pub(super) open: Vec<char>,
    /// The last thing that is not white space: a sign as it is, a text as its closing quote.
    pub(super) last: char,
    /// Whether the end is inside a text.
    pub(super) in_text: bool,
    /// Whether something stands where nothing like it can.
    pub(super) garbled: bool,
    /// How many bytes of the malformed JSON this is.
    pub(super) taken: usize,
}

/// Tidies JSON that begins with the first character of `text`.
pub(super) fn tidy(text: &str) -> Tidied {
    let mut tidying = Tidying {
        at: text.chars().peekable(),
        before: ' ',
        out: Tidied {
            json: String::with_capacity(text.len() + 16),
            opened: 0,
            open: Vec::new(),
            last: ' ',
            in_text: false,
            garbled: false,
            taken: 0,
        },
    };
    while let Some(c) = tidying.at.next() {
        tidying.token(c);
        if tidying.out.open.is_empty() || tidying.out.in_text {
            break;
        }
    }
    let Tidying { at, mut out, .. } = tidying;
    out.taken = text.len() - at.map(char::len_utf8).sum::<usize>();
    out
}

/// Stands for a name of an object's member as the last thing that was said: a colon must follow.
const NAME: char = 'n';
/// Stands for a value without quotes.
const VALUE: char = 'v';

struct Tidying<'a> {
    at: Peekable<Chars<'a>>,
    /// The character right before the token.
    before: char,
    out: Tidied,
}

impl Tidying<'_> {
    fn token(&mut self, c: char) {
        let before = std::mem::replace(&mut self.before, c);
        match c {
            '"' | '“' | '”' | '„' | '\'' => {
                // A quote in the middle of something begins no text.
                let begins = before.is_whitespace()
                    || matches!(before, '{' | '[' | ',' | '，' | ':' | '：' | '/');
                self.out.garbled |= !begins;
                self.text(if matches!(c, '“' | '”' | '„') { '”' } else { c });
            }
            ':' | '：' => {
                self.out.garbled |= self.out.last != NAME;
                self.push(':');
            }
            ',' | '，' => {
                self.out.garbled |= matches!(self.out.last, ':' | NAME);
                self.push(',');
            }
            '/' if self.at.next_if_eq(&'/').is_some() => {
                while self.at.next_if(|c| *c != '\n').is_some() {}
                // What follows may be behind the sign by mistake.
                self.out.garbled |= self.at.peek().is_none();
            }
            '/' if self.at.next_if_eq(&'*').is_some() => self.comment(),
            '{' | '[' => {
                // In an object a value stands behind a colon only.
                self.out.garbled |= self.inside() == '{' && self.out.last != ':';
                self.out.opened += 1;
                self.out.open.push(c);
                self.push(c);
            }
            '}' | ']' => {
                let opened = self.out.open.pop();
                self.out.garbled |= opened != Some(if c == '}' { '{' } else { '[' });
                self.out.garbled |= matches!(self.out.last, ':' | NAME);
                self.push(c);
            }
            c if c.is_whitespace() => self.out.json.push(c),
            c if is_bare(c) => {
                self.out.garbled |= before == '"';
                self.bare(c);
            }
            _ => self.out.garbled = true,
        }
    }

    fn inside(&self) -> char {
        self.out.open.last().copied().unwrap_or(' ')
    }

    fn push(&mut self, c: char) {
        self.out.last = c;
        self.out.json.push(c);
    }

    fn comment(&mut self) {
        let (mut before, mut closed) = (' ', false);
        for c in self.at.by_ref() {
            if before == '*' && c == '/' {
                closed = true;
                break;
            }
            before = c;
        }
        self.out.garbled |= !closed;
        self.before = ' ';
    }

    /// A token without quotes: a name before a colon, a number, or one of the words JSON and Python
    /// have for constants. A text without quotes is none.
    fn bare(&mut self, first: char) {
        let mut token = String::from(first);
        while let Some(c) = self.at.next_if(|c| is_bare(*c)) {
            token.push(c);
        }
        let mut ahead = self.at.clone();
        let is_name = self.inside() == '{'
            && !matches!(self.out.last, ':' | NAME)
            && matches!(ahead.find(|c| !c.is_whitespace()), Some(':' | '：'));
        let value = match token.as_str() {
            "true" | "True" => Some("true"),
            "false" | "False" => Some("false"),
            "null" | "None" | "undefined" => Some("null"),
            number if serde_json::from_str::<serde_json::Number>(number).is_ok() => Some(number),
            _ => None,
        };
        if is_name {
            self.out.json.push('"');
            self.out.json.push_str(&token);
            self.out.json.push('"');
        } else if let Some(value) = value
            && (self.inside() == '[' || self.out.last == ':')
        {
            self.out.json.push_str(value);
        } else {
            self.out.garbled = true;
        }
        self.out.last = if is_name { NAME } else { VALUE };
        self.before = token.chars().last().unwrap_or(first);
    }

    /// Copies a text whose opening quote was taken, up to its closing one.
    fn text(&mut self, closer: char) {
        self.out.json.push('"');
        // Names are single words; only what is said may have quotes inside.
        let is_value = self.inside() == '[' || self.out.last == ':';
        self.out.garbled |= self.out.last == NAME;
        let mut quoted_inside = false;
        while let Some(c) = self.at.next() {
            if c == closer {
                if is_value && closer == '"' && self.is_inside(quoted_inside) {
                    quoted_inside = !quoted_inside;
                    self.out.json.push_str("\\\"");
                    continue;
                }
                self.push('"');
                self.out.last = if is_value { '"' } else { NAME };
                self.before = '"';
                return;
            }
            match c {
                '\\' => self.escape(),
                '"' => self.out.json.push_str("\\\""),
                '\n' => self.out.json.push_str("\\n"),
                '\r' => self.out.json.push_str("\\r"),
                '\t' => self.out.json.push_str("\\t"),
                // The library takes a code fence for the beginning of the JSON, wherever it stands.
                '`' => self.out.json.push_str("\\u0060"),
                c if c < ' ' => self.out.json.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => self.out.json.push(c),
            }
        }
        self.out.in_text = true;
    }

    /// Whether a quote stands inside a text: one that opens is followed by a letter at once, and the
    /// next one closes it unless JSON goes on there. A name or a text in quotes that follows
    /// without a comma is never taken for one.
    fn is_inside(&self, quoted_inside: bool) -> bool {
        let mut ahead = self.at.clone();
        if ahead.peek().is_some_and(|c| c.is_alphanumeric()) {
            return true;
        }
        let next = ahead.find(|c| !c.is_whitespace());
        quoted_inside && !matches!(next, None | Some(',' | '，' | ':' | '：' | '}' | ']' | '"'))
    }

    fn escape(&mut self) {
        match self.at.next() {
            Some(c @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {
                self.out.json.push('\\');
                self.out.json.push(c);
            }
            Some('\'') => self.out.json.push('\''),
            Some('\n') => {}
            Some(c) => {
                self.out.json.push_str("\\\\");
                self.out.json.push(c);
            }
            None => {}
        }
    }
}

/// Whether a token without quotes may have this character.
fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '+' | '.')
}
