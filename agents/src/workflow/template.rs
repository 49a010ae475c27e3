//! The split of a template into literal texts and expressions.

use super::expression::{Misread, Part, Problem, parse};

/// A piece of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece<'a> {
    /// Text that stays as it is.
    Literal(&'a str),
    /// An expression in braces.
    Expression {
        /// Byte of the template at which the source begins.
        at: usize,
        /// Source between the braces.
        source: &'a str,
        /// Tree of the expression, with bytes of the source.
        tree: Part,
    },
}

/// Splits a template. A template that consists of one expression, apart from white space around it,
/// gives one piece.
///
/// # Errors
/// Returns the first problem, with its byte of the template.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, Misread> {
    let mut pieces = Vec::new();
    let mut from = 0;
    while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
        let open = rest.find("{{").unwrap_or(rest.len());
        let literal = rest.get(..open).unwrap_or_default();
        for (mark, shown) in [("{%", "{%"), ("{#", "{#")] {
            if let Some(n) = literal.find(mark) {
                return Err(Misread { at: from + n, problem: Problem::Operator(shown) });
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        let start = from + open + 2;
        let Some(inside) = text.get(start..) else { break };
        if inside.starts_with('-') {
            return Err(Misread { at: start, problem: Problem::Operator("{{-") });
        }
        let misread = |misread: Misread| Misread { at: start + misread.at, ..misread };
        let (tree, length) = parse(inside, true).map_err(misread)?;
        let source = inside.get(..length).unwrap_or_default();
        pieces.push(Piece::Expression { at: start, source, tree });
        from = start + length + 2;
    }
    let is_blank =
        |piece: &Piece<'_>| matches!(piece, Piece::Literal(text) if text.trim().is_empty());
    if pieces.iter().filter(|piece| !is_blank(piece)).count() == 1 && pieces.iter().any(is_blank) {
        let is_expression = |piece: &Piece<'_>| matches!(piece, Piece::Expression { .. });
        if pieces.iter().any(is_expression) {
            pieces.retain(is_expression);
        }
    }
    Ok(pieces)
}
