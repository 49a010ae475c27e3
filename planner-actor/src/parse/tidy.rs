//! Brings malformed JSON into JSON: texts in double quotes, escaped inside, closed; every other token
//! one that JSON knows; commas where they belong; closing brackets at the very end.
//!
//! A repair that guesses may make a plan that the model did not write. JSON with two readings is
//! therefore garbled, and refused.

mod quotes;

use std::{iter::Peekable, str::Chars};

use self::quotes::Quotes;
use super::NotJson;

/// The result of tidying.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tidied {
    /// The JSON, or the reason why it has no single meaning.
    pub(super) json: Result<String, NotJson>,
    /// Bytes of the malformed JSON, up to the bracket that closes it or the end.
    pub(super) taken: usize,
}

/// Tidies JSON that begins with the first character of `text`.
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
        // Between two tokens a fence ends the JSON in it.
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

/// The last token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Opened,
    Closed,
    Comma,
    Colon,
    /// A name of an object's member; a colon must follow.
    Name,
    /// A value without quotes.
    Bare,
    Text {
        /// It is empty, or ends with white space.
        blank_end: bool,
    },
}

/// A token that begins a member of a list or of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Bracket,
    Name,
    /// A name without quotes.
    BareName,
    Bare,
    Text {
        /// It is empty, or begins with white space.
        blank_start: bool,
    },
}

struct Tidying<'a> {
    at: Peekable<Chars<'a>>,
    /// The character right before the token.
    before: char,
    json: String,
    /// The brackets that are open.
    open: Vec<char>,
    last: Last,
    /// A comma is due before the next member.
    comma: bool,
    /// A line break stands behind the last token.
    new_line: bool,
    /// The end is inside a text.
    in_text: bool,
    garbled: bool,
    /// Some text has unescaped quotes inside.
    quotes_inside: bool,
    /// Some value begins or ends with white space.
    blank_edges: bool,
}

impl Tidying<'_> {
    fn token(&mut self, c: char) {
        let before = std::mem::replace(&mut self.before, c);
        match c {
            '"' | '“' | '”' | '„' | '\'' => {
                // A quote in the middle of something begins no text.
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
                // In a list a value may be missing before it.
                let is_extra = matches!(self.last, Last::Opened | Last::Comma);
                self.garbled |= matches!(self.last, Last::Colon | Last::Name);
                self.garbled |= is_extra && self.is_in('[');
                self.comma |= !is_extra;
                self.said(Last::Comma);
            }
            '/' if self.at.next_if_eq(&'/').is_some() => self.line_comment(),
            '/' if self.at.next_if_eq(&'*').is_some() => self.comment(),
            '{' | '[' => {
                // In an object a value stands behind a colon only.
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
        // Beside unescaped quotes a blank at the edge of a text may be one in its middle.
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

    /// Only closing brackets of the plan itself are missing. A step that is still open may lack its
    /// dependencies or arguments, and a comma or a colon announces more.
    fn is_whole(&self) -> bool {
        if self.open.is_empty() {
            return true;
        }
        let in_list = self.open.iter().position(|c| *c == '[');
        let step_is_open = in_list.is_some_and(|at| at + 1 < self.open.len());
        self.last == Last::Closed && !step_is_open
    }

    fn is_in(&self, bracket: char) -> bool {
        self.open.last() == Some(&bracket)
    }

    /// A value is wanted, and no name.
    fn takes_value(&self) -> bool {
        self.is_in('[') || self.last == Last::Colon
    }

    fn said(&mut self, last: Last) {
        self.last = last;
        self.new_line = false;
    }

    /// Writes the comma before a member. A missing one is added where no other reading remains.
    fn member(&mut self, next: Next) {
        // Two lines are two texts; on one line they may be a text with quotes inside.
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
        // A comment that ends the reply may hide the rest of the JSON.
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

    /// A token without quotes: a name before a colon, a number, or one of the words JSON and Python
    /// have for constants. A text without quotes does not count.
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

    /// Copies a text whose opening quote was taken, up to its closing one.
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

/// A token without quotes may have this character.
fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '+' | '.')
}

/// A sign that a comment does not have, unless its beginning stands inside a text.
fn is_of_json(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '{' | '}' | '[' | ']')
}
