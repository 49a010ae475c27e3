//! The prose around the JSON of a reply, and signs of broken JSON in it.

/// Removes a leading block of thoughts, which some models leave in their text.
pub(super) fn without_thoughts(reply: &str) -> &str {
    let text = reply.trim_start_matches('\u{feff}').trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(rest) = text.strip_prefix(open) {
            return rest.split_once(close).map_or("", |(_, after)| after);
        }
    }
    text
}

/// Phrases that introduce an example.
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

/// `true` if the prose introduces an example and contains a question.
pub(super) fn only_show(words: &str) -> bool {
    let words = words.to_lowercase();
    words.contains(['?', '？']) && EXAMPLE.iter().any(|example| words.contains(example))
}

/// The prose between two JSON values.
#[derive(Debug, Default)]
pub(super) struct Prose {
    words: String,
    /// `true` if the prose is more than blanks and separators.
    says: bool,
    /// `true` if the prose ends with a closing bracket without its opening one.
    closes: bool,
    /// `true` if such a bracket precedes the prose.
    closes_at_once: bool,
}

impl Prose {
    pub(super) fn say(&mut self, c: char) {
        if !matches!(c, '}' | ']') {
            self.words.push(c);
            self.says |= !c.is_whitespace() && !matches!(c, ',' | ';');
        } else if self.says {
            self.closes = true;
        } else {
            self.closes_at_once = true;
        }
    }

    /// Adds a bracketed remark or a fence without JSON.
    pub(super) fn remark(&mut self) {
        self.words.push('…');
        self.says = true;
    }

    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// `true` if the next JSON value belongs to other JSON with a broken beginning.
    pub(super) fn runs_into_json(&self, is_first: bool) -> bool {
        let name = self.words.trim_end().strip_suffix([':', '：']).map(str::trim_end);
        let is_value = name.is_some_and(|name| name.ends_with(['"', '\'', '”']));
        let closes = self.closes || (is_first && self.closes_at_once);
        let is_next = self.goes_on() || self.words.trim_start().starts_with([',', '，']);
        closes || is_value || self.is_quoting() || (!is_first && is_next)
    }

    /// `true` if the prose is the remainder of JSON that ended too early. Closing brackets alone
    /// are tolerated.
    pub(super) fn is_left_over(&self) -> bool {
        self.closes || self.is_quoting() || self.goes_on()
    }

    /// `true` if the prose begins like the next member of an object or a list.
    fn goes_on(&self) -> bool {
        let words = self.words.trim_start();
        let member = words.strip_prefix([',', '，']).map(str::trim_start);
        let member = member.is_some_and(|words| words.starts_with(['"', '\'', '“']));
        member || words.starts_with([':', '：', '"'])
    }

    /// `true` if a quotation is open at the end. Escaped quotes indicate one: prose has none.
    fn is_quoting(&self) -> bool {
        let count = |sign| self.words.chars().filter(|c| *c == sign).count();
        let is_odd = count('"') % 2 == 1 || count('“') != count('”');
        is_odd || self.is_quoting_single() || self.words.contains("\\\"")
    }

    /// Checks single quotes in the same way; after a letter they are apostrophes.
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
