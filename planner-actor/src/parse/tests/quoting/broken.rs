//! Mutations of a text inside JSON, and the replies around that JSON.

use proptest::sample::Index;
use serde_json::{Value, json};

/// Placeholder of the broken text in the JSON around it.
pub(super) const PLACE: &str = "\u{e000}";

/// The syntax of the JSON around the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Style {
    Json,
    Pretty,
    SingleQuotes,
    Loose,
}

impl Style {
    pub(super) const ALL: [Self; 4] = [Self::Json, Self::Pretty, Self::SingleQuotes, Self::Loose];

    pub(super) fn quote(self) -> char {
        if self == Self::SingleQuotes { '\'' } else { '"' }
    }

    pub(super) fn write(self, value: &Value) -> String {
        match self {
            Self::Json => value.to_string(),
            Self::Pretty => serde_json::to_string_pretty(value).unwrap(),
            Self::SingleQuotes => value.to_string().replace('"', "'"),
            Self::Loose => loose(value),
        }
    }

    /// Escapes a text for its quotes, without adding them.
    fn escaped(self, text: &str) -> String {
        let quoted = json!(text).to_string();
        let inner = &quoted[1..quoted.len() - 1];
        match self {
            Self::SingleQuotes => inner.replace("\\\"", "\"").replace('\'', "\\'"),
            Self::Json | Self::Pretty | Self::Loose => inner.to_owned(),
        }
    }
}

/// Writes names without quotes, and a comma after every member.
fn loose(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}: {},", loose(value)));
            format!("{{{}}}", fields.collect::<String>())
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| format!("{},\n", loose(item)));
            format!("[{}]", items.collect::<String>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            value.to_string()
        }
    }
}

/// A mistake in one character.
#[derive(Debug, Clone, Copy)]
pub(super) enum Edit {
    Deleted,
    Doubled,
    Inserted(&'static str),
}

/// A mutation of the text.
#[derive(Debug, Clone)]
pub(super) enum Break {
    Nothing,
    RawLines,
    RawQuotes,
    Raw,
    /// The reply ends within the text.
    Ends(Index),
    RawEnds(Index),
    /// The text is cut and lacks its closing quote.
    Cut(Index),
    /// One character, or one quote, is wrong.
    Edited(Index, Edit),
    RawEdited(Index),
    /// Several characters are wrong. The text's own quotes stay: without them the text would be the
    /// quoted plan.
    Garbled(Vec<(Index, Edit)>),
}

impl Break {
    /// `true` if the mutated text keeps its meaning.
    pub(super) fn keeps_the_text(&self) -> bool {
        matches!(self, Self::Nothing | Self::RawLines | Self::RawQuotes)
    }

    pub(super) fn is_raw(&self) -> bool {
        matches!(self, Self::RawQuotes | Self::Raw | Self::RawEnds(_) | Self::RawEdited(_))
    }

    /// Returns the reply's JSON, and `true` if it ends within the text.
    pub(super) fn apply(&self, style: Style, json: &str, text: &str) -> (String, bool) {
        let (before, after) = json.split_once(PLACE).unwrap();
        let (head, tail) = (&before[..before.len() - 1], &after[1..]);
        let quote = style.quote();
        let quoted = |inner: &str| format!("{quote}{inner}{quote}");
        let escaped = style.escaped(text);
        let mut ends = false;
        let middle = match self {
            Self::Nothing => quoted(&escaped),
            Self::RawLines => quoted(&escaped_but(&['\n', '\t'], text, style)),
            Self::RawQuotes => quoted(&escaped_but(&['\n', '\t', '"', '\''], text, style)),
            Self::Raw => quoted(text),
            Self::Ends(at) | Self::Cut(at) | Self::RawEnds(at) => {
                let inner = if self.is_raw() { text } else { &escaped };
                let inner = format!("{quote}{inner}");
                ends = !matches!(self, Self::Cut(_));
                inner[..place(&inner, *at).1].to_owned()
            }
            Self::Edited(at, edit) => edited(quoted(&escaped), *at, *edit),
            Self::RawEdited(at) => edited(quoted(text), *at, Edit::Deleted),
            Self::Garbled(edits) => {
                let all = edits.iter();
                quoted(&all.fold(escaped, |text, (at, edit)| edited(text, *at, *edit)))
            }
        };
        (format!("{head}{middle}{}", if ends { "" } else { tail }), ends)
    }
}

/// Returns the byte range of a character.
fn place(text: &str, index: Index) -> (usize, usize) {
    let places: Vec<_> = text.char_indices().map(|(n, c)| (n, n + c.len_utf8())).collect();
    *index.get(&places)
}

fn edited(mut text: String, index: Index, edit: Edit) -> String {
    if text.is_empty() {
        return text;
    }
    let (from, to) = place(&text, index);
    match edit {
        Edit::Deleted => text.replace_range(from..to, ""),
        Edit::Doubled => {
            let doubled = text[from..to].to_owned();
            text.insert_str(to, &doubled);
        }
        Edit::Inserted(sign) => text.insert_str(from, sign),
    }
    text
}

/// Escapes all characters of the text except `raw`.
fn escaped_but(raw: &[char], text: &str, style: Style) -> String {
    let characters = text.chars().map(|c| match raw.contains(&c) {
        true => c.to_string(),
        false => style.escaped(&c.to_string()),
    });
    characters.collect()
}

/// The text around the JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Dress {
    Bare,
    Fence,
    Prose,
    FenceInProse,
    Thoughts,
    InAText,
    /// The first bracket is missing.
    Headless,
    ThenAnExample,
    AfterAnExample,
}

impl Dress {
    pub(super) const ALL: [Self; 9] = [
        Self::Bare,
        Self::Fence,
        Self::Prose,
        Self::FenceInProse,
        Self::Thoughts,
        Self::InAText,
        Self::Headless,
        Self::ThenAnExample,
        Self::AfterAnExample,
    ];

    pub(super) fn around(self, json: &str, ends: bool) -> String {
        let example = r#"{"steps":["delete"],"status":"done","response":"x","complex":false}"#;
        let (before, after) = match self {
            Self::Bare => ("", "\n"),
            Self::Fence => ("```json\n", "\n```"),
            Self::Prose => ("Here is the plan, as in [1]:\n\n", "\n\nShall I go on?"),
            Self::FenceInProse => ("Sure:\n```json\n", "\n```\nIt does {x} \"at once\"."),
            Self::Thoughts => ("<think>{\"steps\":[\"no\"]}, or \"hm\"</think>\n", ""),
            Self::InAText => {
                let text = json!(json).to_string();
                return text[..text.len() - usize::from(ends)].to_owned();
            }
            Self::Headless => return json[1..].to_owned(),
            Self::ThenAnExample => {
                return format!("```json\n{json}\n```\nIts form:\n```json\n{example}\n```");
            }
            Self::AfterAnExample => {
                return format!("Its form:\n```json\n{example}\n```\nSo:\n```json\n{json}\n```");
            }
        };
        format!("{before}{json}{}", if ends { "" } else { after })
    }
}
