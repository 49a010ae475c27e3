//! The events of the terminal as inputs of the model.

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::model::{Input, Key};

/// Translates an event; `None` for one that the model does not know.
pub(super) fn input(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            self::key(key.code, key.modifiers).map(Input::Key)
        }
        Event::Paste(text) => Some(Input::Pasted(text)),
        Event::Resize(columns, rows) => Some(Input::Resized(columns, rows)),
        Event::Key(_) | Event::Mouse(_) | Event::FocusGained | Event::FocusLost => None,
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    let has_control = modifiers.contains(KeyModifiers::CONTROL);
    let has_alt = modifiers.contains(KeyModifiers::ALT);
    let named = [
        (KeyCode::Enter, Key::Enter),
        (KeyCode::Esc, Key::Escape),
        (KeyCode::Tab, Key::Tab),
        (KeyCode::BackTab, Key::BackTab),
        (KeyCode::Backspace, Key::Backspace),
        (KeyCode::Delete, Key::Delete),
        (KeyCode::Up, Key::Up),
        (KeyCode::Down, Key::Down),
        (KeyCode::Left, Key::Left),
        (KeyCode::Right, Key::Right),
        (KeyCode::PageUp, Key::PageUp),
        (KeyCode::PageDown, Key::PageDown),
        (KeyCode::Home, Key::Home),
        (KeyCode::End, Key::End),
    ];
    if let KeyCode::Char(c) = code {
        return match (has_control, has_alt) {
            (true, _) => Some(Key::Control(c.to_ascii_lowercase())),
            (false, true) => None,
            (false, false) => Some(Key::Char(c)),
        };
    }
    named.into_iter().find(|(known, _)| *known == code).map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_alt_is_no_character_and_control_is_kept() {
        let none = KeyModifiers::NONE;
        assert_eq!(key(KeyCode::Char('x'), none), Some(Key::Char('x')));
        assert_eq!(key(KeyCode::Char('R'), KeyModifiers::SHIFT), Some(Key::Char('R')));
        assert_eq!(key(KeyCode::Char('C'), KeyModifiers::CONTROL), Some(Key::Control('c')));
        assert_eq!(key(KeyCode::Char('x'), KeyModifiers::ALT), None);
        assert_eq!(key(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Key::BackTab));
        assert_eq!(key(KeyCode::F(1), none), None);
    }
}
