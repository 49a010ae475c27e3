//! Repair of malformed JSON: texts get double quotes, escapes and an end; other tokens become JSON
//! tokens; commas are put in place; closing braces are added at the very end.
//!
//! A repair by guess could produce a plan that the model did not write. JSON with two readings is
//! therefore garbled, and rejected.

mod quotes;

use std::{iter::Peekable, str::Chars};

use self::quotes::Quotes;
use super::NotJson;

/// The result of a repair.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tidied {
    /// The JSON, or the reason why it has no single meaning.
    pub(super) json: Result<String, NotJson>,
    /// Length of the malformed JSON in bytes, up to its closing bracket or the end.
    pub(super) taken: usize,
}

/// Repairs the JSON at the start of `text`.
pub(super) fn tidy(text: &str) -> Tidied {
    let mut tidying = Tidying {
        at: text.chars().peekable(),
        before: ' ',
        json: String::with_capacity(text.len() + 16),
        open: Vec::new(),
        last: Last::Nothing,
        comma: false,
        new_line: false,
        in_text: false,
        garbled: false,
        quotes_inside: false,
        blank_edges: false,
    };
    let mut left = tidying.at.clone();
    while let Some(c) = tidying.at.next() {
        // Between two tokens, a fence ends the JSON within it.
        if c == '`' && tidying.at.clone().take(2).eq(['`', '`']) {
            break;
        }
        tidying.token(c);
        left = tidying.at.clone();
        if tidying.open.is_empty() || tidying.in_text {
            break;
        }
    }
    let taken = text.len() - left.map(char::len_utf8).sum::<usize>();
    Tidied { json: tidying.finish(), taken }
}

/// The previous token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Opened,
    Closed,
    Comma,
    Colon,
    /// A member's name; a colon must follow.
    Name,
    /// A value without quotes.
    Bare,
    Text {
        /// `true` if the text is empty or ends with white space.
        blank_end: bool,
    },
}

/// A token that begins a member of a list or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Bracket,
    Name,
    /// A name without quotes.
    BareName,
    Bare,
    Text {
        /// `true` if the text is empty or begins with white space.
        blank_start: bool,
    },
}

struct Tidying<'a> {
    at: Peekable<Chars<'a>>,
    /// The character before the token.
    before: char,
    json: String,
    /// The open brackets.
    open: Vec<char>,
    last: Last,
    /// `true` if a comma is due before the next member.
    comma: bool,
    /// `true` if a line break follows the last token.
    new_line: bool,
    /// `true` if the input ends inside a text.
    in_text: bool,
    garbled: bool,
    /// `true` if some text has unescaped quotes inside.
    quotes_inside: bool,
    /// `true` if some text begins or ends with white space.
    blank_edges: bool,
}

impl Tidying<'_> {
    fn token(&mut self, c: char) {
        let before = std::mem::replace(&mut self.before, c);
        match c {
            '"' | '“' | '”' | '„' | '\'' => {
                // A quote in the middle of a token does not begin a text.
                let begins = before.is_whitespace()
                    || matches!(before, '{' | '[' | ',' | '，' | ':' | '：' | '/');
                self.garbled |= !begins;
                self.text(if matches!(c, '“' | '”' | '„') { '”' } else { c });
            }
            ':' | '：' => {
                self.garbled |= self.last != Last::Name;
                self.json.push(':');
                self.said(Last::Colon);
            }
            ',' | '，' => {
                // A value may be missing before it in a list.
                let is_extra = matches!(self.last, Last::Opened | Last::Comma);
                self.garbled |= matches!(self.last, Last::Colon | Last::Name);
                self.garbled |= is_extra && self.is_in('[');
                self.comma |= !is_extra;
                self.said(Last::Comma);
            }
            '/' if self.at.next_if_eq(&'/').is_some() => self.line_comment(),
            '/' if self.at.next_if_eq(&'*').is_some() => self.comment(),
            '{' | '[' => {
                // In an object, a value follows a colon.
                self.garbled |= self.is_in('{') && self.last != Last::Colon;
                self.member(Next::Bracket);
                self.open.push(c);
                self.json.push(c);
                self.said(Last::Opened);
            }
            '}' | ']' => {
                self.garbled |= self.open.pop() != Some(if c == '}' { '{' } else { '[' });
                self.garbled |= matches!(self.last, Last::Colon | Last::Name);
                self.comma = false;
                self.json.push(c);
                self.said(Last::Closed);
            }
            c if c.is_whitespace() => {
                self.new_line |= c == '\n';
                self.json.push(c);
            }
            c if is_bare(c) => {
                self.garbled |= before == '"';
                self.bare(c);
            }
            _ => self.garbled = true,
        }
    }

    fn finish(mut self) -> Result<String, NotJson> {
        // With unescaped quotes, a blank at the edge of a text may be in the middle of another.
        if self.garbled || (self.quotes_inside && self.blank_edges) {
            return Err(NotJson::Garbled);
        }
        if self.in_text || !self.is_whole() {
            return Err(NotJson::Cut);
        }
        while let Some(bracket) = self.open.pop() {
            self.json.push(if bracket == '{' { '}' } else { ']' });
        }
        Ok(self.json)
    }

    /// `true` if only the closing brackets of objects around the plan are missing. An open list may
    /// lack further steps, and a comma or a colon announces more.
    fn is_whole(&self) -> bool {
        self.open.is_empty() || (self.last == Last::Closed && !self.open.contains(&'['))
    }

    fn is_in(&self, bracket: char) -> bool {
        self.open.last() == Some(&bracket)
    }

    /// `true` if a value, not a name, is expected here.
    fn takes_value(&self) -> bool {
        self.is_in('[') || self.last == Last::Colon
    }

    fn said(&mut self, last: Last) {
        self.last = last;
        self.new_line = false;
    }

    /// Writes the comma before a member. Adds a missing one if no other reading is possible.
    fn member(&mut self, next: Next) {
        // Two lines are two texts; on one line they may be one text with quotes inside.
        let is_line = self.new_line;
        let missing = match (self.last, next) {
            (Last::Nothing | Last::Opened | Last::Comma | Last::Colon | Last::Name, _) => None,
            (Last::Closed, Next::Bracket | Next::Name | Next::BareName)
            | (Last::Bare, Next::Name | Next::BareName) => Some(true),
            (Last::Text { blank_end }, Next::Name) => Some(!blank_end),
            (Last::Text { blank_end }, Next::BareName) => Some(is_line && !blank_end),
            (Last::Text { blank_end }, Next::Text { blank_start }) => {
                Some(is_line && !blank_end && !blank_start)
            }
            (Last::Closed, Next::Text { .. } | Next::Bare)
            | (Last::Text { .. }, Next::Bracket | Next::Bare)
            | (Last::Bare, Next::Bracket | Next::Bare | Next::Text { .. }) => Some(false),
        };
        self.garbled |= missing == Some(false);
        if self.comma || missing.is_some() {
            self.json.push(',');
        }
        self.comma = false;
    }

    fn line_comment(&mut self) {
        while let Some(c) = self.at.next_if(|c| *c != '\n') {
            self.garbled |= is_of_json(c);
        }
        // A comment at the end of the reply may hide the rest of the JSON.
        self.garbled |= self.at.peek().is_none();
    }

    fn comment(&mut self) {
        let (mut before, mut closed) = (' ', false);
        for c in self.at.by_ref() {
            if before == '*' && c == '/' {
                closed = true;
                break;
            }
            self.garbled |= is_of_json(c);
            before = c;
        }
        self.garbled |= !closed;
        self.before = ' ';
    }

    /// Reads a token without quotes: a name before a colon, a number, or a constant of JSON or
    /// Python. An unquoted text is garbled.
    fn bare(&mut self, first: char) {
        let mut token = String::from(first);
        while let Some(c) = self.at.next_if(|c| is_bare(*c)) {
            token.push(c);
        }
        self.before = token.chars().last().unwrap_or(first);
        let mut ahead = self.at.clone();
        let is_name = self.is_in('{')
            && !matches!(self.last, Last::Colon | Last::Name)
            && matches!(ahead.find(|c| !c.is_whitespace()), Some(':' | '：'));
        if is_name {
            self.member(Next::BareName);
            self.json.push('"');
            self.json.push_str(&token);
            self.json.push('"');
            return self.said(Last::Name);
        }
        let value = match token.as_str() {
            "true" | "True" => Some("true"),
            "false" | "False" => Some("false"),
            "null" | "None" | "undefined" => Some("null"),
            number if serde_json::from_str::<serde_json::Number>(number).is_ok() => Some(number),
            _ => None,
        };
        self.garbled |= value.is_none() || !self.takes_value();
        self.member(Next::Bare);
        self.json.push_str(value.unwrap_or("null"));
        self.said(Last::Bare);
    }

    /// Copies a text after its opening quote, up to its closing one.
    fn text(&mut self, closer: char) {
        let is_value = self.takes_value();
        self.garbled |= self.last == Last::Name;
        let is_empty = self.at.peek() == Some(&closer);
        let starts_blank = self.at.peek().is_some_and(|c| c.is_whitespace());
        let blank_start = is_empty || starts_blank;
        self.member(if is_value { Next::Text { blank_start } } else { Next::Name });
        self.json.push('"');
        let mut quotes = Quotes::of(closer, is_value);
        let mut before = None;
        while let Some(c) = self.at.next() {
            if c == closer && !quotes.is_inside(before, &self.at) {
                self.json.push('"');
                self.before = '"';
                let ends_blank = before.is_some_and(char::is_whitespace);
                let blank_end = ends_blank || before.is_none();
                self.garbled |= quotes.are_doubtful();
                self.quotes_inside |= quotes.are_inside();
                self.blank_edges |= is_value && (starts_blank || ends_blank);
                return self.said(if is_value { Last::Text { blank_end } } else { Last::Name });
            }
            match c {
                '\\' => self.escape(&mut quotes),
                '"' => {
                    quotes.other(&self.at);
                    self.json.push_str("\\\"");
                }
                '\n' => self.json.push_str("\\n"),
                '\r' => self.json.push_str("\\r"),
                '\t' => self.json.push_str("\\t"),
                c if c < ' ' => self.json.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => self.json.push(c),
            }
            before = Some(c);
        }
        self.in_text = true;
    }

    fn escape(&mut self, quotes: &mut Quotes) {
        match self.at.next() {
            Some('\'') => self.json.push('\''),
            Some('\n') | None => {}
            Some(c) => {
                let is_known = matches!(c, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u');
                quotes.escaped |= c == '"';
                self.json.push_str(if is_known { "\\" } else { "\\\\" });
                self.json.push(c);
            }
        }
    }
}

/// `true` for the characters of an unquoted token.
fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '+' | '.')
}

/// `true` for JSON syntax. A comment contains none, unless its beginning is inside a text.
fn is_of_json(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '{' | '}' | '[' | ']')
}
