//! The check of the names and types in an expression against the scope of its place.

use std::collections::{BTreeMap, BTreeSet};

use proto::{lang::Words, workflow::Yield};

use super::{schema::Shape, words::Text};
use crate::{
    source::meant,
    workflow::expression::{Binary, Expr, Part, Step},
};

/// The variables of the place of an expression.
pub(super) struct Names<'a> {
    /// Shape of the input.
    pub(super) input: Shape<'a>,
    /// Shapes of the state's keys.
    pub(super) state: &'a BTreeMap<String, Shape<'a>>,
    /// Ids of the nodes.
    pub(super) nodes: &'a BTreeSet<String>,
    /// Name and shape of the item, inside the body of a map.
    pub(super) item: Option<(&'a str, Shape<'a>)>,
    /// Outcome of the node.
    pub(super) outcome: Option<(Yield, Shape<'a>)>,
}

/// A mistake at a byte of an expression.
pub(super) struct Wrongly {
    pub(super) at: usize,
    pub(super) why: Words,
}

/// Checks an expression and returns its shape.
pub(super) fn check<'a>(part: &Part, names: &Names<'a>, wrong: &mut Vec<Wrongly>) -> Kinds<'a> {
    Walk { names, wrong }.part(part)
}

/// The type of an expression: a shape of a schema, a known JSON type, or neither.
#[derive(Clone, Copy, Default)]
pub(super) struct Kinds<'a> {
    pub(super) shape: Shape<'a>,
    kind: Option<&'static str>,
}

impl Kinds<'_> {
    fn of(kind: &'static str) -> Self {
        Self { shape: Shape(None), kind: Some(kind) }
    }

    /// Returns the JSON type, if it is known.
    pub(super) fn kind(self) -> Option<&'static str> {
        self.kind.or(self.shape.kind())
    }
}

struct Walk<'w, 'a> {
    names: &'w Names<'a>,
    wrong: &'w mut Vec<Wrongly>,
}

impl<'a> Walk<'_, 'a> {
    fn part(&mut self, part: &Part) -> Kinds<'a> {
        match &part.expr {
            Expr::Literal(value) => Kinds::of(crate::workflow::evaluate::kind(value)),
            Expr::List(items) => {
                for item in items {
                    self.part(item);
                }
                Kinds::of("array")
            }
            Expr::Object(fields) => {
                for (name, value) in fields {
                    self.part(name);
                    self.part(value);
                }
                Kinds::of("object")
            }
            Expr::Path { root, steps } => self.path(part.at, root, steps),
            Expr::Into(value, steps) => {
                self.part(value);
                self.steps(Shape(None), steps, "");
                Kinds::default()
            }
            Expr::Not(inner) => {
                self.part(inner);
                Kinds::of("boolean")
            }
            Expr::Negative(inner) => {
                self.part(inner);
                Kinds::of("number")
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.part(left), self.part(right));
                match operator {
                    Binary::Comparison => Kinds::of("boolean"),
                    Binary::Concatenation => Kinds::of("string"),
                    Binary::Arithmetic => Kinds::of("number"),
                    Binary::Logic | Binary::Plus if left.kind() == right.kind() => {
                        Kinds { shape: Shape(None), kind: left.kind() }
                    }
                    Binary::Logic | Binary::Plus => Kinds::default(),
                }
            }
            Expr::Filter(value, name, args) => {
                self.part(value);
                for arg in args {
                    self.part(arg);
                }
                filtered(name)
            }
            Expr::Test(value, _, argument) => {
                self.part(value);
                if let Some(argument) = argument {
                    self.part(argument);
                }
                Kinds::of("boolean")
            }
            Expr::If { value, condition, other } => {
                self.part(condition);
                let (value, other) = (self.part(value), self.part(other));
                let kind = value.kind().filter(|_| value.kind() == other.kind());
                Kinds { shape: Shape(None), kind }
            }
        }
    }

    fn path(&mut self, at: usize, root: &str, steps: &[Step]) -> Kinds<'a> {
        let names = self.names;
        let shape = match root {
            "input" => names.input,
            "state" | "visits" => return self.keyed(at, root, steps),
            "index" if names.item.is_some() => {
                self.steps(Shape(None), steps, root);
                return Kinds::of("number");
            }
            name => {
                let item = names.item.filter(|(item, _)| *item == name).map(|(_, shape)| shape);
                let outcome = names.outcome.filter(|(outcome, _)| outcome.as_str() == name);
                match item.or(outcome.map(|(_, shape)| shape)) {
                    Some(shape) => shape,
                    None => {
                        self.no_variable(at, name);
                        Shape(None)
                    }
                }
            }
        };
        Kinds { shape: self.steps(shape, steps, root), kind: None }
    }

    /// Checks `state.key` and `visits.node`.
    fn keyed(&mut self, at: usize, root: &str, steps: &[Step]) -> Kinds<'a> {
        let (first, rest) = match steps {
            [Step::Field { at, name }, rest @ ..] => ((*at, name), rest),
            [Step::Item(_) | Step::Slice(_), ..] => {
                self.mistake(at, Text::ComputedKey { root: &root });
                return Kinds::default();
            }
            [] => return Kinds::of("object"),
        };
        let (at, name) = first;
        if root == "visits" {
            if !self.names.nodes.contains(name) {
                let known: Vec<&str> = self.names.nodes.iter().map(String::as_str).collect();
                // `visits.docs-only` is a difference to the parser.
                let meant = self.names.nodes.iter().find(|id| id.starts_with(&format!("{name}-")));
                let why = match meant {
                    Some(meant) => Text::NoNodeDash { name, meant }.into(),
                    None => no_node(name, &known),
                };
                self.wrong.push(Wrongly { at, why });
            }
            self.steps(Shape(None), rest, "visits");
            return Kinds::of("number");
        }
        match self.names.state.get(name) {
            Some(shape) => Kinds { shape: self.steps(*shape, rest, name), kind: None },
            None => {
                let known: Vec<&str> = self.names.state.keys().map(String::as_str).collect();
                self.wrong.push(Wrongly { at, why: no_key(name, &known) });
                self.steps(Shape(None), rest, name);
                Kinds::default()
            }
        }
    }

    fn steps(&mut self, shape: Shape<'a>, steps: &[Step], owner: &str) -> Shape<'a> {
        let (mut shape, mut owner) = (shape, owner.to_owned());
        for step in steps {
            match step {
                Step::Field { at, name } => {
                    shape = match shape.field(name) {
                        Ok(shape) => shape,
                        Err(known) => {
                            self.wrong
                                .push(Wrongly { at: *at, why: no_field(&owner, name, &known) });
                            Shape(None)
                        }
                    };
                    owner.clone_from(name);
                }
                Step::Item(part) => {
                    self.part(part);
                    shape = shape.item();
                }
                Step::Slice(bounds) => {
                    for bound in bounds {
                        self.part(bound);
                    }
                }
            }
        }
        shape
    }

    fn no_variable(&mut self, at: usize, name: &str) {
        let mut known = vec!["input", "state", "visits"];
        known.extend(self.names.item.iter().flat_map(|(item, _)| [*item, "index"]));
        known.extend(self.names.outcome.map(|(outcome, _)| outcome.as_str()));
        let all = known.join(", ");
        match meant(name, &known) {
            Some(meant) => self.mistake(at, Text::NoVariableNear { name: &name, meant: &meant }),
            None => self.mistake(at, Text::NoVariable { name: &name, known: &all }),
        }
    }

    fn mistake(&mut self, at: usize, why: Text<'_>) {
        self.wrong.push(Wrongly { at, why: why.into() });
    }
}

/// Returns the mistake of an unknown key of the state.
pub(super) fn no_key(name: &str, known: &[&str]) -> Words {
    match meant(name, known) {
        Some(meant) => Text::NoKeyNear { name: &name, meant: &meant }.into(),
        None if known.is_empty() => Text::NoKeys { name: &name }.into(),
        None => Text::NoKey { name: &name, known: &known.join(", ") }.into(),
    }
}

/// Returns the mistake of an unknown node.
pub(super) fn no_node(name: &str, known: &[&str]) -> Words {
    match meant(name, known) {
        Some(meant) => Text::NoNodeNear { name: &name, meant: &meant }.into(),
        None => Text::NoNode { name: &name }.into(),
    }
}

fn no_field(owner: &str, name: &str, known: &[&str]) -> Words {
    match meant(name, known) {
        Some(meant) => Text::NoPartNear { owner: &owner, name: &name, meant: &meant }.into(),
        None if known.is_empty() => Text::NoParts { owner: &owner, name: &name }.into(),
        None => Text::NoPart { owner: &owner, name: &name, known: &known.join(", ") }.into(),
    }
}

fn filtered<'a>(name: &str) -> Kinds<'a> {
    match name {
        "bool" => Kinds::of("boolean"),
        "abs" | "float" | "int" | "length" | "round" | "sum" | "times" => Kinds::of("number"),
        "join" | "lower" | "replace" | "string" | "tojson" | "trim" | "upper" => {
            Kinds::of("string")
        }
        "keys" | "list" | "sort" | "split" | "unique" | "values" => Kinds::of("array"),
        _ => Kinds::default(),
    }
}
