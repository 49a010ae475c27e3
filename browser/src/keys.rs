//! Keys by name, such as `Ctrl+k`, as the DevTools protocol wants them.

use serde_json::{Value, json};

/// The bits of `Ctrl` and `Shift` in the protocol.
const CTRL: u32 = 2;
const SHIFT: u32 = 8;

/// Returns the parameters of the events of a key: pressed, and released.
pub(crate) fn events(name: &str) -> [Value; 2] {
    let mut modifiers = 0;
    let mut key = name;
    while let Some((modifier, rest)) = key.split_once('+').filter(|(_, rest)| !rest.is_empty()) {
        modifiers |= match modifier {
            "Ctrl" => CTRL,
            "Shift" => SHIFT,
            _ => 0,
        };
        key = rest;
    }
    let (code, number, text) = match key {
        "Enter" => ("Enter".to_owned(), 13, "\r"),
        "Tab" => ("Tab".to_owned(), 9, ""),
        "Escape" => ("Escape".to_owned(), 27, ""),
        " " => ("Space".to_owned(), 32, " "),
        "ArrowLeft" => (key.to_owned(), 37, ""),
        "ArrowUp" => (key.to_owned(), 38, ""),
        "ArrowRight" => (key.to_owned(), 39, ""),
        "ArrowDown" => (key.to_owned(), 40, ""),
        letter => {
            let upper = letter.to_ascii_uppercase();
            let number = u32::from(upper.bytes().next().unwrap_or_default());
            (format!("Key{upper}"), number, letter)
        }
    };
    // A key that is held down with Ctrl types nothing.
    let text = if modifiers & CTRL == 0 { text } else { "" };
    let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
    let base = json!({
        "key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers,
    });
    let (mut down, mut up) = (base.clone(), base);
    down["type"] = kind.into();
    if !text.is_empty() {
        down["text"] = text.into();
    }
    up["type"] = "keyUp".into();
    [down, up]
}

#[cfg(test)]
mod tests {
    use super::events;

    #[test]
    fn a_key_with_a_modifier_types_nothing() {
        let [down, up] = events("Ctrl+k");
        assert_eq!((&down["key"], &down["modifiers"]), (&"k".into(), &2.into()));
        assert_eq!((&down["type"], &down["text"]), (&"rawKeyDown".into(), &().into()));
        assert_eq!(up["type"], "keyUp");
        assert_eq!(events("+")[0]["text"], "+");
        assert_eq!(events("Enter")[0]["text"], "\r");
    }
}
