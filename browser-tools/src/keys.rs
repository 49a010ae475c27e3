//! The keys that a model may press.

use serde_json::{Value, json};

/// A key with its modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    name: String,
    code: String,
    number: u32,
    /// The text that the key types; empty for a key without one.
    text: String,
    modifiers: u32,
}

/// Named keys with their codes, numbers and texts.
const NAMED: &[(&str, &str, u32, &str)] = &[
    ("Enter", "Enter", 13, "\r"),
    ("Tab", "Tab", 9, ""),
    ("Escape", "Escape", 27, ""),
    ("Backspace", "Backspace", 8, ""),
    ("Delete", "Delete", 46, ""),
    ("Insert", "Insert", 45, ""),
    ("Home", "Home", 36, ""),
    ("End", "End", 35, ""),
    ("PageUp", "PageUp", 33, ""),
    ("PageDown", "PageDown", 34, ""),
    ("ArrowLeft", "ArrowLeft", 37, ""),
    ("ArrowUp", "ArrowUp", 38, ""),
    ("ArrowRight", "ArrowRight", 39, ""),
    ("ArrowDown", "ArrowDown", 40, ""),
    ("Space", "Space", 32, " "),
    ("F1", "F1", 112, ""),
    ("F2", "F2", 113, ""),
    ("F3", "F3", 114, ""),
    ("F4", "F4", 115, ""),
    ("F5", "F5", 116, ""),
    ("F6", "F6", 117, ""),
    ("F7", "F7", 118, ""),
    ("F8", "F8", 119, ""),
    ("F9", "F9", 120, ""),
    ("F10", "F10", 121, ""),
    ("F11", "F11", 122, ""),
    ("F12", "F12", 123, ""),
];

/// Modifiers with their bits in the protocol.
const MODIFIERS: &[(&str, u32)] =
    &[("Alt", 1), ("Control", 2), ("Ctrl", 2), ("Meta", 4), ("Shift", 8)];

/// The bit of `Shift`, which leaves a key its text.
const SHIFT: u32 = 8;

/// Reads keys such as `Enter`, `a` or `Control+Shift+k`.
pub(crate) fn parse(text: &str) -> Option<Keys> {
    let (mut rest, mut modifiers) = (text, 0);
    while let Some((word, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty()) {
        let (_, bit) = MODIFIERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word))?;
        modifiers |= bit;
        rest = after;
    }
    let mut keys = named(rest).or_else(|| character(rest))?;
    keys.modifiers = modifiers;
    if keys.reach_the_clipboard() {
        return None;
    }
    // A key with Control is a command and types nothing.
    if modifiers & !SHIFT != 0 {
        keys.text = String::new();
    }
    Some(keys)
}

fn named(text: &str) -> Option<Keys> {
    let key = NAMED.iter().find(|(name, ..)| name.eq_ignore_ascii_case(text))?;
    let (name, code, number, typed) = *key;
    let name = if name == "Space" { " " } else { name };
    let (name, code, text) = (name.to_owned(), code.to_owned(), typed.to_owned());
    Some(Keys { name, code, number, text, modifiers: 0 })
}

fn character(text: &str) -> Option<Keys> {
    let mut characters = text.chars();
    let (c, None) = (characters.next()?, characters.next()) else { return None };
    if c.is_control() {
        return None;
    }
    let upper = c.to_ascii_uppercase();
    let (code, number) = match upper {
        'A'..='Z' => (format!("Key{upper}"), u32::from(upper)),
        '0'..='9' => (format!("Digit{upper}"), u32::from(upper)),
        _ => (String::new(), 0),
    };
    Some(Keys { name: text.to_owned(), code, number, text: text.to_owned(), modifiers: 0 })
}

impl Keys {
    /// Returns `true` for keys that copy or paste: all sessions of a Chromium share one clipboard.
    fn reach_the_clipboard(&self) -> bool {
        let is_command = self.modifiers & !SHIFT != 0;
        match &*self.code {
            "KeyC" | "KeyX" | "KeyV" => is_command,
            "Insert" => self.modifiers != 0,
            "Delete" => self.modifiers == SHIFT,
            _ => false,
        }
    }

    /// Returns the parameters of the events that press the key and let it go.
    pub(crate) fn events(&self) -> [Value; 2] {
        let kind = if self.text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let event = |kind: &str| {
            json!({
                "type": kind, "key": self.name, "code": self.code, "modifiers": self.modifiers,
                "windowsVirtualKeyCode": self.number, "nativeVirtualKeyCode": self.number,
            })
        };
        let mut down = event(kind);
        if !self.text.is_empty() {
            down["text"] = json!(self.text);
        }
        [down, event("keyUp")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names_or_are_characters() {
        assert_eq!(parse("enter").unwrap().text, "\r");
        assert_eq!(parse("a").unwrap().code, "KeyA");
        assert_eq!(parse("+").unwrap().text, "+");
        assert_eq!(parse("é").unwrap().text, "é");
        for unknown in ["", "Entr", "ab", "Hyper+a", "\n"] {
            assert_eq!(parse(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn no_key_copies_or_pastes() {
        for keys in ["Control+c", "Meta+Shift+V", "ctrl+x", "Shift+Insert", "Shift+Delete"] {
            assert_eq!(parse(keys), None, "{keys}");
        }
        for keys in ["c", "Shift+V", "Control+a", "Delete", "Control+Delete"] {
            assert!(parse(keys).is_some(), "{keys}");
        }
    }

    #[test]
    fn a_key_with_control_types_nothing() {
        let keys = parse("Control+Shift+a").unwrap();
        assert_eq!((keys.modifiers, keys.text.as_str()), (10, ""));
        assert_eq!(keys.events()[0]["type"], "rawKeyDown");
        assert_eq!(parse("Shift+A").unwrap().text, "A");
    }
}
