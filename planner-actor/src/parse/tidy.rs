//! Brings the texts of malformed JSON into the one form a repair cannot misread: double quotes,
//! escaped inside, closed. Everything else is left to the library.

use std::{iter::Peekable, str::Chars};

/// Malformed JSON with well-formed texts, up to the bracket that closes it or the end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tidied {
    /// The JSON.
    pub(super) json: String,
    /// How many brackets are opened in all: a bound on how deep anything can recurse.
    pub(super) opened: usize,
    /// The brackets that are still open at the end.
    pub(super) open: Vec<char>,
    /// The last character that is not white space.
    pub(super) last: char,
    /// Whether the end is inside a text.
    pub(super) in_text: bool,
    /// How many bytes of the malformed JSON this is.
    pub(super) taken: usize,
}

/// Tidies JSON that begins with the first character of `text`.
pub(super) fn tidy(text: &str) -> Tidied {
    let mut at = text.chars().peekable();
    let mut out = Tidied {
        json: String::with_capacity(text.len() + 16),
        opened: 0,
        open: Vec::new(),
        last: ' ',
        in_text: false,
        taken: 0,
    };
    while let Some(c) = at.next() {
        match c {
            '"' | '“' | '”' | '„' => copy_text(&mut at, closer(c), &mut out),
            '\'' if matches!(out.last, '{' | '[' | ',' | ':') => copy_text(&mut at, '\'', &mut out),
            '：' => out.push(':'),
            '，' => out.push(','),
            '/' if at.peek() == Some(&'/') => while at.next_if(|c| *c != '\n').is_some() {},
            '/' if at.peek() == Some(&'*') => skip_comment(&mut at),
            '{' | '[' => {
                out.opened += 1;
                out.open.push(c);
                out.push(c);
            }
            '}' | ']' => {
                out.open.pop();
                out.push(c);
                if out.open.is_empty() {
                    break;
                }
            }
            c => out.push(c),
        }
        if out.in_text {
            break;
        }
    }
    out.taken = text.len() - at.map(char::len_utf8).sum::<usize>();
    out
}

impl Tidied {
    fn push(&mut self, c: char) {
        if !c.is_whitespace() {
            self.last = c;
        }
        self.json.push(c);
    }
}

fn closer(open: char) -> char {
    match open {
        '“' | '„' | '”' => '”',
        other => other,
    }
}

fn skip_comment(at: &mut Peekable<Chars<'_>>) {
    let mut before = ' ';
    at.next();
    for c in at.by_ref() {
        if before == '*' && c == '/' {
            return;
        }
        before = c;
    }
}

/// Copies a text whose opening quote was taken, up to its closing one.
fn copy_text(at: &mut Peekable<Chars<'_>>, closer: char, out: &mut Tidied) {
    out.json.push('"');
    let mut quoted_inside = false;
    while let Some(c) = at.next() {
        if c == closer {
            if closer == '"' && is_inside(at, quoted_inside) {
                quoted_inside = !quoted_inside;
                out.json.push_str("\\\"");
                continue;
            }
            out.json.push('"');
            out.last = '"';
            return;
        }
        match c {
            '\\' => copy_escape(at, out),
            '"' => out.json.push_str("\\\""),
            '\n' => out.json.push_str("\\n"),
            '\r' => out.json.push_str("\\r"),
            '\t' => out.json.push_str("\\t"),
            c if c < ' ' => out.json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.json.push(c),
        }
    }
    out.in_text = true;
}

/// Whether a quote stands inside a text: one that opens is followed by a letter at once, and the
/// next one closes it unless JSON goes on there. A name or a text in quotes that follows without a
/// comma is never taken for one.
fn is_inside(at: &Peekable<Chars<'_>>, quoted_inside: bool) -> bool {
    let mut ahead = at.clone();
    if ahead.peek().is_some_and(|c| c.is_alphanumeric()) {
        return true;
    }
    let next = ahead.find(|c| !c.is_whitespace());
    quoted_inside && !matches!(next, None | Some(',' | '，' | ':' | '：' | '}' | ']' | '"'))
}

fn copy_escape(at: &mut Peekable<Chars<'_>>, out: &mut Tidied) {
    match at.next() {
        Some(c @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {
            out.json.push('\\');
            out.json.push(c);
        }
        Some('\'') => out.json.push('\''),
        Some('\n') => {}
        Some(c) => {
            out.json.push_str("\\\\");
            out.json.push(c);
        }
        None => {}
    }
}
