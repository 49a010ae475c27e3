//! The mistakes of an agent file, with their places.

use std::fmt;

use proto::{
    id::InvalidId,
    lang::{Language, Words},
};

use super::words::Text;

/// A position in a text. Both numbers count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Place {
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// A mistake whose file is not yet known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) at: Place,
    pub(crate) field: String,
    pub(crate) why: Words,
}

impl Wrong {
    pub(crate) fn in_place(self, place: &str) -> Mistake {
        let Self { at, field, why } = self;
        Mistake { place: place.to_owned(), line: at.line, column: at.column, field, why }
    }
}

/// A mistake of an agent file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Path of the file, or key of the value.
    pub place: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
    /// Dotted path of the field; empty when the whole file cannot be read.
    pub field: String,
    /// Description of the mistake and of the required form.
    pub why: Words,
}

impl Mistake {
    /// Returns the mistake with its place, as compilers write places.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let Self { place, line, column, field, why } = self;
        let why = why.text(language);
        let field = if field.is_empty() { String::new() } else { format!("{field}: ") };
        format!("{place}:{line}:{column}: {field}{why}")
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::En))
    }
}

/// The mistakes of an agent; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    /// Returns the mistakes, a line each.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let lines: Vec<String> = self.0.iter().map(|mistake| mistake.text(language)).collect();
        lines.join("\n")
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::En))
    }
}

impl std::error::Error for Mistakes {}

/// Rewrites serde's message about a field in the words of an author, with the most similar known
/// word. `also` has fields that serde does not know.
pub(super) fn explain(why: &str, also: &[&'static str]) -> Words {
    if let Some(told) = unfit(why) {
        return told;
    }
    if let Some(invalid) = InvalidId::of_message(why) {
        return invalid.words();
    }
    if let Some(field) = why.strip_prefix("missing field `").and_then(|w| w.strip_suffix('`')) {
        return Text::Missing { field: &field }.into();
    }
    let Some((what, rest)) = ["field", "variant"].into_iter().find_map(|what| {
        Some((what, why.strip_prefix("unknown ")?.strip_prefix(what)?.trim_start()))
    }) else {
        return why.into();
    };
    let mut quoted: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    if what == "field" && !quoted.is_empty() {
        quoted.extend(also.iter().copied());
    }
    let Some((unknown, known)) = quoted.split_first() else { return why.into() };
    let (is_field, all) = (what == "field", known.join(", "));
    match meant(unknown, known) {
        Some(meant) if is_field => Text::NoFieldNear { meant: &meant }.into(),
        Some(meant) => Text::NoValueNear { meant: &meant }.into(),
        None if known.is_empty() && is_field => Text::NoField.into(),
        None if known.is_empty() => Text::NoValue.into(),
        None if is_field => Text::NoFieldOf { known: &all }.into(),
        None => Text::NoValueOf { known: &all }.into(),
    }
}

/// Returns serde's message about a field in the words of an author, with the most similar known
/// word. A message of another origin stays as it is.
#[must_use]
pub fn explained(why: &str) -> Words {
    explain(why, &[])
}

/// Rewrites serde's message about a value of the wrong type in the words of an author.
fn unfit(why: &str) -> Option<Words> {
    let rest =
        why.strip_prefix("invalid type: ").or_else(|| why.strip_prefix("invalid value: "))?;
    let (got, wanted) = rest.rsplit_once(", expected ")?;
    let wanted = match wanted {
        "a boolean" => Text::Flag.into(),
        "a string" => Text::String.into(),
        "a sequence" => Text::List.into(),
        "a map" => Text::Mapping.into(),
        "u8" | "u16" | "u32" | "u64" | "usize" => Text::Natural.into(),
        "i8" | "i16" | "i32" | "i64" | "isize" => Text::Whole.into(),
        "f32" | "f64" => Text::Number.into(),
        other if other.starts_with("struct ") => Text::Mapping.into(),
        other => own(other),
    };
    let got = match got {
        "map" => Text::AMapping.into(),
        "sequence" => Text::List.into(),
        "null" | "unit" | "unit value" => Text::Nothing.into(),
        text if text.starts_with("string ") => {
            Words::from(text.strip_prefix("string ").unwrap_or(text))
        }
        other => other.split('`').nth(1).unwrap_or(other).into(),
    };
    Some(Words::new(|language| {
        Text::Unfit { wanted: &wanted.text(language), got: &got.text(language) }.text(language)
    }))
}

/// Returns what a type of ours expects. Serde carries it in English.
fn own(expected: &str) -> Words {
    let known = [Text::NumberOrUnlimited, Text::SubAgent].into_iter().map(Words::from);
    let mut known = known.filter(|known| known.text(Language::En) == expected);
    known.next().unwrap_or_else(|| expected.into())
}

/// Returns the most similar known word, when the similarity suffices.
pub(crate) fn meant<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let near = |word: &&str| {
        let score = strsim::normalized_damerau_levenshtein(&plain(unknown), &plain(word));
        let begins = word.starts_with(&plain(unknown)) || plain(unknown).starts_with(*word);
        if begins { score.max(0.7) } else { score }
    };
    let best = known.iter().copied().map(|word| (near(&word), word));
    let best = best.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.55).then_some(best.1)
}
