//! A line of text that a person types.

/// Largest number of characters of an entry.
const CHARS_MAX: usize = 4_000;

/// A line with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    chars: Vec<char>,
    at: usize,
}

impl Entry {
    /// Creates an entry with a text, and the cursor behind it.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut entry = Self::default();
        entry.insert(text);
        entry
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// The text before the cursor.
    #[must_use]
    pub fn before(&self) -> String {
        self.chars.iter().take(self.at).collect()
    }

    /// Inserts a text at the cursor. Line ends become spaces; other control characters are left out.
    pub fn insert(&mut self, text: &str) {
        for c in text.chars() {
            let c = if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c };
            if self.chars.len() < CHARS_MAX && !c.is_control() {
                self.chars.insert(self.at, c);
                self.at += 1;
            }
        }
    }

    /// Takes a key. Returns `false` for a key that does not edit.
    pub fn take(&mut self, key: super::Key) -> bool {
        use super::Key;
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Backspace => {
                if self.at > 0 {
                    self.at -= 1;
                    self.chars.remove(self.at);
                }
            }
            Key::Delete => {
                if self.at < self.chars.len() {
                    self.chars.remove(self.at);
                }
            }
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.chars.len()),
            Key::Home | Key::Control('a') => self.at = 0,
            Key::End | Key::Control('e') => self.at = self.chars.len(),
            Key::Control('u') => {
                self.chars.drain(..self.at);
                self.at = 0;
            }
            Key::Control('k') => self.chars.truncate(self.at),
            Key::Control('w') => {
                let word = |c: &char| !c.is_whitespace();
                while self.at > 0 && !self.chars.get(self.at - 1).is_some_and(word) {
                    self.at -= 1;
                    self.chars.remove(self.at);
                }
                while self.at > 0 && self.chars.get(self.at - 1).is_some_and(word) {
                    self.at -= 1;
                    self.chars.remove(self.at);
                }
            }
            Key::Control(_)
            | Key::Enter
            | Key::Escape
            | Key::Tab
            | Key::BackTab
            | Key::Up
            | Key::Down
            | Key::PageUp
            | Key::PageDown => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Key, *};

    #[test]
    fn a_line_is_edited_at_its_cursor() {
        let mut entry = Entry::of("标记 done\nnow\u{1b}");
        assert_eq!(entry.text(), "标记 done now");
        for key in [Key::Control('w'), Key::Home, Key::Delete, Key::Char('做'), Key::Right] {
            assert!(entry.take(key));
        }
        assert_eq!((entry.text(), entry.before()), ("做记 done ".into(), "做记".into()));
        assert!(!entry.take(Key::Enter));
        entry.take(Key::Control('k'));
        entry.take(Key::Control('u'));
        assert_eq!(entry.text(), "");
        entry.take(Key::Backspace);
        entry.insert(&"x".repeat(5_000));
        assert_eq!(entry.text().len(), CHARS_MAX);
    }
}
