//! Segmentation of a reply into JSON values and prose, from start to end. Each value is read as a
//! whole. The first unreadable value ends the search, because everything after it may belong to its
//! texts.

use serde_json::{Deserializer, Value, value::RawValue};

use super::{NotJson, said::Prose, strictly, tidy};

/// Largest number of JSON values in a reply.
const PLACES_MAX: usize = 32;
/// Longest bracketed remark, such as `[1]` or `{{step1.id}}`.
const REMARK_CHARS_MAX: usize = 200;

/// One JSON value of a reply.
#[derive(Debug)]
pub(super) struct Fragment {
    pub(super) value: Value,
    /// `true` if the JSON was malformed and has been repaired.
    pub(super) is_mended: bool,
}

/// A segmented reply.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    pub(super) places: Vec<Fragment>,
    /// The prose around the JSON.
    pub(super) words: String,
}

/// Segments a reply.
///
/// # Errors
/// The first unreadable value, or prose that is the remainder of broken JSON.
pub(super) fn read(text: &str) -> Result<Fragments, NotJson> {
    let mut found = Fragments::default();
    let mut scan = Scan { rest: text, line_start: true, fence: Fence::None };
    let mut is_place = text.starts_with(['{', '[']);
    loop {
        let mut said = Prose::default();
        is_place = is_place || scan.prose(&mut said)?;
        let is_first = found.places.is_empty();
        found.words.push_str(said.words());
        if !is_place {
            let is_whole = is_first || !said.is_left_over();
            return if is_whole { Ok(found) } else { Err(NotJson::Garbled) };
        }
        if found.places.len() == PLACES_MAX || said.runs_into_json(is_first) {
            return Err(NotJson::Garbled);
        }
        found.places.push(scan.json()?);
        is_place = false;
    }
}

/// State of the code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    None,
    Open,
    /// The label announces JSON, which has not appeared yet.
    Owing,
}

/// The unread part of a reply.
struct Scan<'a> {
    rest: &'a str,
    /// `true` if a fence may start here.
    line_start: bool,
    fence: Fence,
}

impl Scan<'_> {
    /// Reads the JSON value that starts here.
    fn json(&mut self) -> Result<Fragment, NotJson> {
        let mut written = Deserializer::from_str(self.rest).into_iter::<&RawValue>();
        let (value, is_mended, taken) = match written.next() {
            Some(Ok(json)) => (strictly(json.get())?, false, written.byte_offset()),
            Some(Err(_)) | None => {
                let tidied = tidy::tidy(self.rest);
                (strictly(&tidied.json?)?, true, tidied.taken)
            }
        };
        if self.fence == Fence::Owing {
            self.fence = Fence::Open;
        }
        self.pass(taken);
        // A fence may close on the last line of its content.
        self.line_start = self.fence != Fence::None;
        Ok(Fragment { value, is_mended })
    }

    /// Skips prose up to the next JSON value. Returns `false` at the end.
    fn prose(&mut self, said: &mut Prose) -> Result<bool, NotJson> {
        while let Some(c) = self.rest.chars().next() {
            if self.line_start && self.passes_fence_line(said)? {
                continue;
            }
            if !matches!(c, '{' | '[') {
                said.say(c);
                self.pass(c.len_utf8());
                self.line_start = c == '\n' || (self.line_start && c.is_whitespace());
            } else if let Some(length) = remark(self.rest).filter(|_| self.fence != Fence::Owing) {
                said.remark();
                self.pass(length);
            } else {
                return Ok(true);
            }
        }
        // A fence that announces JSON but has none contains a broken plan.
        if self.fence == Fence::Owing { Err(NotJson::Garbled) } else { Ok(false) }
    }

    /// Skips a line that opens or closes a fence. Skips a fence of another language with its
    /// content, unless that begins like JSON.
    fn passes_fence_line(&mut self, said: &mut Prose) -> Result<bool, NotJson> {
        let inner = self.rest.trim_start_matches('`');
        if self.rest.len() - inner.len() < 3 {
            return Ok(false);
        }
        match self.fence {
            Fence::Owing => return Err(NotJson::Garbled),
            Fence::Open => {
                self.fence = Fence::None;
                self.pass(self.rest.len() - inner.len());
                return Ok(true);
            }
            Fence::None => {}
        }
        let label = inner.find(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
        let (label, rest) = inner.split_at(label.unwrap_or(inner.len()));
        if !label.chars().all(|c| c.is_alphanumeric() || "+-_.#".contains(c)) {
            return Ok(false);
        }
        let is_json = label.to_ascii_lowercase().starts_with("json");
        let is_foreign =
            !label.is_empty() && !is_json && !rest.trim_start().starts_with(['{', '[']);
        self.fence = if is_json { Fence::Owing } else { Fence::Open };
        self.pass(self.rest.len() - rest.len());
        if is_foreign {
            // A fence without an end may be part of a broken text.
            let end = rest.find("\n```").ok_or(NotJson::Garbled)?;
            said.remark();
            self.pass(end + 1);
            self.line_start = true;
        }
        Ok(true)
    }

    fn pass(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.line_start = false;
    }
}

/// Returns the length of a bracketed remark: words, a number or a placeholder, without JSON syntax.
fn remark(text: &str) -> Option<usize> {
    let open = text.chars().next()?;
    let (is_list, close) = (open == '[', if open == '[' { ']' } else { '}' });
    let depth = text.chars().take(REMARK_CHARS_MAX).take_while(|c| *c == open).count();
    let inner = text.get(depth..)?;
    let mut before = ' ';
    for (end, c) in inner.char_indices().take(REMARK_CHARS_MAX) {
        match c {
            c if c == close => {
                let is_closed = inner.get(end..)?.chars().take(depth).all(|c| c == close);
                let says = !inner.get(..end)?.trim().is_empty();
                return (is_closed && says).then_some(end + 2 * depth);
            }
            '{' | '}' | '[' | ']' | '"' | '“' | '”' | '„' | '\n' => return None,
            ':' | '：' if !is_list => return None,
            '\'' if !before.is_alphanumeric() => return None,
            _ => before = c,
        }
    }
    None
}
