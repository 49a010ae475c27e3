//! Conversion of foreign bytes to text that fits into a result.

/// Largest size of a text as JSON, in bytes; escapes take up to six bytes per character.
const JSON_BYTES_MAX: usize = 768 * 1024;

/// A text, and `true` if it was truncated.
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) truncated: bool,
}

/// Decodes bytes; invalid UTF-8 becomes U+FFFD.
pub(crate) fn of(bytes: &[u8]) -> Text {
    let whole = String::from_utf8_lossy(bytes);
    let mut room = JSON_BYTES_MAX;
    let end = whole.char_indices().find_map(|(at, c)| {
        let size = match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            c if c.is_ascii_control() => 6,
            c => c.len_utf8(),
        };
        match room.checked_sub(size) {
            Some(left) => {
                room = left;
                None
            }
            None => Some(at),
        }
    });
    match end {
        Some(end) => Text { text: whole[..end].to_owned(), truncated: true },
        None => Text { text: whole.into_owned(), truncated: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_in_json_is_cut_by_what_it_becomes() {
        for (bytes, truncated) in [
            (vec![b'a'; 512 * 1024], false),
            (vec![0; 512 * 1024], true),
            (vec![0xff; 512 * 1024], true),
        ] {
            let text = of(&bytes);
            assert_eq!(text.truncated, truncated);
            assert!(serde_json::to_string(&text.text).unwrap().len() <= JSON_BYTES_MAX + 2);
        }
    }
}
