//! The words around JSON: thoughts before it, prose beside it, and the signs that it is broken there.

/// The reply without a block of thoughts before it, as some models leave it in their text.
pub(super) fn without_thoughts(reply: &str) -> &str {
    let text = reply.trim_start_matches('\u{feff}').trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(rest) = text.strip_prefix(open) {
            return rest.split_once(close).map_or("", |(_, after)| after);
        }
    }
    text
}

/// Words that make an example of the JSON beside them.
const EXAMPLE: [&str; 16] = [
    "example",
    "e.g.",
    "for instance",
    "such as",
    "something like",
    "could be like",
    "would look like",
    "could look like",
    "might look like",
    "例如",
    "比如",
    "譬如",
    "举例",
    "示例",
    "样例",
    "范例",
];

/// The words show an example and ask a question, so that the JSON is neither plan nor decision.
pub(super) fn only_show(words: &str) -> bool {
    let words = words.to_lowercase();
    words.contains(['?', '？']) && EXAMPLE.iter().any(|example| words.contains(example))
}

/// What is said between two places.
#[derive(Debug, Default)]
pub(super) struct Said {
    words: String,
    /// A bracket is closed that was not opened, behind words.
    closes: bool,
    /// The same before any words.
    closes_at_once: bool,
}

impl Said {
    pub(super) fn say(&mut self, c: char) {
        if !matches!(c, '}' | ']') {
            self.words.push(c);
        } else if self.words.contains(|c: char| !c.is_whitespace() && !matches!(c, ',' | ';')) {
            self.closes = true;
        } else {
            // Behind JSON this is a bracket too many.
            self.closes_at_once = true;
        }
    }

    /// Something in brackets or a fence that is no JSON.
    pub(super) fn remark(&mut self) {
        self.words.push('…');
    }

    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// JSON that begins behind this is part of other JSON, whose beginning is broken.
    pub(super) fn runs_into_json(&self, is_first: bool) -> bool {
        let name = self.words.trim_end().strip_suffix([':', '：']).map(str::trim_end);
        let is_value = name.is_some_and(|name| name.ends_with(['"', '\'', '”']));
        let closes = self.closes || (is_first && self.closes_at_once);
        closes || is_value || self.is_quoting() || (!is_first && self.goes_on())
    }

    /// This is what is left of JSON that ended too early.
    pub(super) fn is_left_over(&self) -> bool {
        self.closes || self.is_quoting() || self.goes_on()
    }

    /// The words begin as JSON goes on behind a bracket.
    fn goes_on(&self) -> bool {
        let words = self.words.trim_start();
        let member = words.strip_prefix([',', '，']).map(str::trim_start);
        let member = member.is_some_and(|words| words.starts_with(['"', '\'', '“']));
        member || words.starts_with([':', '：', '"'])
    }

    /// A quotation is open at the end, or may be: prose has no escaped quotes.
    fn is_quoting(&self) -> bool {
        let count = |sign| self.words.chars().filter(|c| *c == sign).count();
        let is_odd = count('"') % 2 == 1 || count('“') != count('”');
        is_odd || self.is_quoting_single() || self.words.contains("\\\"")
    }

    /// The same for single quotes, which are apostrophes behind a letter.
    fn is_quoting_single(&self) -> bool {
        let (mut is_open, mut before) = (false, ':');
        let mut at = self.words.chars().peekable();
        while let Some(c) = at.next() {
            let next = at.peek().copied();
            if c == '\'' && is_open {
                is_open = next.is_some_and(char::is_alphanumeric);
            } else if c == '\'' {
                let is_value = matches!(before, ':' | ',');
                let says = !before.is_alphanumeric() && !next.is_some_and(char::is_whitespace);
                is_open = is_value || says;
            }
            before = c;
        }
        is_open
    }
}
