//! The mistakes of an agent file, with their places.

use std::fmt;

/// A position in a text. Both numbers count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Place {
    pub(super) const START: Self = Self { line: 1, column: 1 };
}

/// A mistake whose file is not yet known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) at: Place,
    pub(super) field: String,
    pub(super) why: String,
}

impl Wrong {
    pub(super) fn in_place(self, place: &str) -> Mistake {
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
    pub why: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, line, column, field, why } = self;
        write!(f, "{place}:{line}:{column}: ")?;
        if field.is_empty() { f.write_str(why) } else { write!(f, "{field}: {why}") }
    }
}

/// The mistakes of an agent; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, mistake) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

/// Rewrites serde's message about a field in the words of an author, with the most similar known
/// word. `also` has fields that serde does not know.
pub(super) fn explain(why: &str, also: &[&'static str]) -> String {
    if let Some(told) = unfit(why) {
        return told;
    }
    let Some((what, rest)) = ["field", "variant"].into_iter().find_map(|what| {
        Some((what, why.strip_prefix("unknown ")?.strip_prefix(what)?.trim_start()))
    }) else {
        return why.to_owned();
    };
    let mut quoted: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    if what == "field" && !quoted.is_empty() {
        quoted.extend(also.iter().copied());
    }
    let Some((unknown, known)) = quoted.split_first() else { return why.to_owned() };
    let what = if what == "field" { "there is no such field" } else { "there is no such value" };
    match meant(unknown, known) {
        Some(meant) => format!("{what}; did you mean {meant}?"),
        None if known.is_empty() => what.to_owned(),
        None => format!("{what}; there are {}", known.join(", ")),
    }
}

/// Rewrites serde's message about a value of the wrong type in the words of an author.
fn unfit(why: &str) -> Option<String> {
    let rest =
        why.strip_prefix("invalid type: ").or_else(|| why.strip_prefix("invalid value: "))?;
    let (got, wanted) = rest.rsplit_once(", expected ")?;
    let wanted = match wanted {
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        "a map" => "a mapping of fields",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 up",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        other if other.starts_with("struct ") => "a mapping of fields",
        other => other,
    };
    let got = match got {
        "map" => "a mapping",
        "sequence" => "a list",
        "null" | "unit" | "unit value" => "nothing",
        text if text.starts_with("string ") => text.strip_prefix("string ").unwrap_or(text),
        other => other.split('`').nth(1).unwrap_or(other),
    };
    Some(format!("must be {wanted}, not {got}"))
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
