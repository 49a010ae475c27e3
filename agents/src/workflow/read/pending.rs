//! The expressions and templates of a file, which are checked when all names are known.

use proto::{lang::Words, workflow::NodeId};
use serde_json::Value;

use super::{
    fields::{Reading, below},
    names::{self, Kinds, Names, Wrongly},
    words::Text,
};
use crate::{
    source::{
        meant,
        tree::{Kind, Node, Place},
    },
    workflow::{
        evaluate::Evaluator,
        expression::{FILTERS, Misread, Problem, TESTS, parse},
        template::{Piece, pieces},
    },
};

/// The use of an expression or template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A condition: true or false.
    Condition,
    /// The items of a map: a list.
    Items,
    /// A template of a value.
    Value,
}

/// The outcome that the scope of an expression has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// None: the node has not ended.
    Nothing,
    /// The outcome of the node itself.
    Own,
    /// The outcome of the last node of a map's body.
    Last,
}

/// An expression or template whose names are not checked yet.
pub(super) struct Pending<'t> {
    pub(super) node: &'t Node,
    pub(super) path: String,
    pub(super) what: Use,
    /// Node that has it; absent for the output of the workflow.
    pub(super) of: Option<NodeId>,
    pub(super) seen: Seen,
}

impl Pending<'_> {
    /// Checks every text.
    pub(super) fn check(&self, names: &Names<'_>, engine: &Evaluator, reading: &mut Reading) {
        let mut texts = Vec::new();
        collect(self.node, &self.path, &mut texts);
        for (at, path, text) in texts {
            let spot = Spot { at, path: &path, text };
            match self.what {
                Use::Value => template(spot, names, engine, reading),
                Use::Condition | Use::Items => {
                    let Some(kinds) = expression(spot, text, 0, names, engine, reading) else {
                        continue;
                    };
                    let wanted = if self.what == Use::Items { "array" } else { "boolean" };
                    match kinds.kind() {
                        Some(got) if got != wanted && wanted == "array" => {
                            reading.mistake(at, &path, Text::NoList { got: &got });
                        }
                        Some(got) if got != wanted => {
                            reading.mistake(at, &path, Text::NoCondition { got: &got });
                        }
                        Some(_) | None => {}
                    }
                }
            }
        }
    }
}

fn collect<'t>(node: &'t Node, path: &str, found: &mut Vec<(Place, String, &'t str)>) {
    match &node.kind {
        Kind::Scalar(Value::String(text)) => found.push((node.at, path.to_owned(), text)),
        Kind::Scalar(_) => {}
        Kind::List(items) => {
            for (n, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{n}]"), found);
            }
        }
        Kind::Fields(fields) => {
            for field in fields {
                collect(&field.value, &below(path, &field.name), found);
            }
        }
    }
}

/// A text of the file, with its place.
#[derive(Clone, Copy)]
struct Spot<'a> {
    at: Place,
    path: &'a str,
    text: &'a str,
}

impl Spot<'_> {
    /// Reports a mistake at a byte of the text.
    fn report(self, byte: usize, why: &Words, reading: &mut Reading) {
        let before = self.text.get(..byte).map_or(byte, |before| before.chars().count());
        let position = before + 1;
        let why = Words::new(|language| {
            Text::At { why: &why.text(language), position: &position }.text(language)
        });
        reading.mistake(self.at, self.path, why);
    }
}

fn template(spot: Spot<'_>, names: &Names<'_>, engine: &Evaluator, reading: &mut Reading) {
    match pieces(spot.text) {
        Err(Misread { at, problem: what }) => spot.report(at, &problem(&what), reading),
        Ok(pieces) => {
            for piece in pieces {
                if let Piece::Expression { at: start, source, .. } = piece {
                    expression(spot, source, start, names, engine, reading);
                }
            }
        }
    }
}

/// Checks the expression that begins at the byte `start` of a text.
fn expression<'a>(
    spot: Spot<'_>,
    source: &str,
    start: usize,
    names: &Names<'a>,
    engine: &Evaluator,
    reading: &mut Reading,
) -> Option<Kinds<'a>> {
    let (tree, _) = match parse(source, false) {
        Ok(read) => read,
        Err(Misread { at, problem: what }) => {
            spot.report(start + at, &problem(&what), reading);
            return None;
        }
    };
    if let Err(why) = engine.compiles(source.trim()) {
        reading.mistake(spot.at, spot.path, Text::Engine { why: &why });
        return None;
    }
    let mut wrong = Vec::new();
    let kinds = names::check(&tree, names, &mut wrong);
    for Wrongly { at, why } in wrong {
        spot.report(start + at, &why, reading);
    }
    Some(kinds)
}

fn problem(problem: &Problem) -> Words {
    let near =
        |name: &str, known: &[&'static str]| meant(name, known).unwrap_or_default().to_owned();
    match problem {
        Problem::Character(c) => Text::Character { c }.into(),
        Problem::Operator(mark) if mark.starts_with('{') => Text::Statement { mark }.into(),
        Problem::Operator("=") => Text::Assignment.into(),
        Problem::Operator(mark) => Text::Operator { mark }.into(),
        Problem::OpenText => Text::Unclosed.into(),
        Problem::Number(text) => Text::BadNumber { text }.into(),
        Problem::NoValue(text) | Problem::Extra(text) => Text::Extra { text }.into(),
        Problem::Ends => Text::Ends.into(),
        Problem::Missing(what) => Text::MissingMark { what }.into(),
        Problem::Call => Text::Call.into(),
        Problem::Filter(name) => match near(name, FILTERS) {
            meant if meant.is_empty() => Text::NoFilter { name, known: &FILTERS.join(", ") }.into(),
            meant => Text::NoFilterNear { name, meant: &meant }.into(),
        },
        Problem::Test(name) => match near(name, TESTS) {
            meant if meant.is_empty() => Text::NoTest { name, known: &TESTS.join(", ") }.into(),
            meant => Text::NoTestNear { name, meant: &meant }.into(),
        },
        Problem::TooDeep => Text::TooDeep { max: &crate::workflow::expression::DEPTH_MAX }.into(),
        Problem::TooManyFilters => {
            Text::TooManyFilters { max: &crate::workflow::expression::FILTERS_MAX }.into()
        }
        Problem::TooManyJoins => {
            Text::TooManyJoins { max: &crate::workflow::expression::JOINS_MAX }.into()
        }
        Problem::TooLong => {
            Text::TooLong { max: &crate::workflow::expression::SOURCE_BYTES_MAX }.into()
        }
    }
}
