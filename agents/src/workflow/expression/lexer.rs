//! The tokens of an expression, each with its byte position.

/// A problem of an expression, at a byte of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misread {
    /// Byte of the source.
    pub(crate) at: usize,
    /// Kind of the problem.
    pub(crate) problem: Problem,
}

/// The problems that make an expression unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A character that begins no token.
    Character(char),
    /// An operator that expressions do not have.
    Operator(&'static str),
    /// A text without its closing quote.
    OpenText,
    /// A number that is out of range or malformed.
    Number(String),
    /// A token where a value is expected.
    NoValue(String),
    /// The end of the source where a value is expected.
    Ends,
    /// A token after the expression.
    Extra(String),
    /// A missing token.
    Missing(&'static str),
    /// A call.
    Call,
    /// A filter that does not exist.
    Filter(String),
    /// A test that does not exist.
    Test(String),
    /// Nesting above the bound.
    TooDeep,
    /// A source above the bound.
    TooLong,
    /// More operators that join texts than the bound.
    TooManyJoins,
    /// More filters than the bound.
    TooManyFilters,
}

/// A token with its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) at: usize,
    pub(super) kind: Kind<'a>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'a> {
    Name(&'a str),
    Text(String),
    Integer(i64),
    Float(f64),
    Mark(&'static str),
}

impl Kind<'_> {
    /// Returns the token as authors see it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Name(name) => (*name).to_owned(),
            Self::Text(text) => format!("{text:?}"),
            Self::Integer(n) => n.to_string(),
            Self::Float(n) => n.to_string(),
            Self::Mark(mark) => (*mark).to_owned(),
        }
    }
}

/// Marks by length, so that the longer one of two with a common beginning is found first.
const MARKS: &[&str] = &[
    "**", "//", "==", "!=", "<=", ">=", "*", "+", "-", "/", "%", "~", "<", ">", "=", "(", ")", "[",
    "]", "{", "}", ",", ":", ".", "|",
];

const REFUSED: &[&str] = &["**", "*", "="];

/// Splits a source into tokens. With `until_close`, stops before `}}` outside of brackets and
/// returns its byte.
pub(super) fn tokens(source: &str, until_close: bool) -> Result<(Vec<Token<'_>>, usize), Misread> {
    let mut found = Vec::new();
    let (mut at, mut braces) = (0, 0_usize);
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        if first.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if until_close && braces == 0 && rest.starts_with("}}") {
            break;
        }
        let (kind, length) = one(rest, at)?;
        // A brace that closes a literal object may be followed by another one.
        match kind {
            Kind::Mark("{") => braces += 1,
            Kind::Mark("}") => braces = braces.saturating_sub(1),
            Kind::Name(_) | Kind::Text(_) | Kind::Integer(_) | Kind::Float(_) | Kind::Mark(_) => {}
        }
        found.push(Token { at, kind });
        at += length;
    }
    Ok((found, at))
}

fn one(rest: &str, at: usize) -> Result<(Kind<'_>, usize), Misread> {
    let misread = |problem| Misread { at, problem };
    let first = rest.chars().next().unwrap_or_default();
    if first == '"' || first == '\'' {
        return text(rest, first)
            .ok_or(misread(Problem::OpenText))
            .map(|(t, n)| (Kind::Text(t), n));
    }
    if first.is_ascii_digit() {
        return number(rest).map_err(misread);
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        return Ok((Kind::Name(rest.get(..end).unwrap_or_default()), end));
    }
    let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
    let mark = *mark.ok_or(misread(Problem::Character(first)))?;
    if REFUSED.contains(&mark) {
        return Err(misread(Problem::Operator(mark)));
    }
    Ok((Kind::Mark(mark), mark.len()))
}

/// Reads a quoted text. A backslash keeps the next character from ending it.
fn text(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                other => out.push(other),
            },
            c if c == quote => return Some((out, at + 1)),
            c => out.push(c),
        }
    }
    None
}

fn number(rest: &str) -> Result<(Kind<'_>, usize), Problem> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    let is_float = bytes.get(end) == Some(&b'.') && digits(end + 1) > 0;
    if is_float {
        end += 1 + digits(end + 1);
    }
    let follows = bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let written = rest.get(..end).unwrap_or_default();
    let bad =
        || Problem::Number(rest.chars().take(20).take_while(|c| !c.is_whitespace()).collect());
    if follows {
        return Err(bad());
    }
    let kind = if is_float {
        written.parse().map(Kind::Float).map_err(|_| bad())
    } else {
        written.parse().map(Kind::Integer).map_err(|_| bad())
    };
    kind.map(|kind| (kind, end))
}
