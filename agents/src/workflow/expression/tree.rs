//! The tree of an expression.

use serde_json::Value;

/// A part of an expression, with the byte at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) at: usize,
    pub(crate) expr: Expr,
}

/// The forms of expressions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// A text, a number, a boolean or none.
    Literal(Value),
    /// A list.
    List(Vec<Part>),
    /// An object: keys and values.
    Object(Vec<(Part, Part)>),
    /// A variable with the steps into its value.
    Path {
        /// Name of the variable.
        root: String,
        /// Steps, in order.
        steps: Vec<Step>,
    },
    /// Steps into a value that is no variable.
    Into(Box<Part>, Vec<Step>),
    /// A negated condition.
    Not(Box<Part>),
    /// A negative number.
    Negative(Box<Part>),
    /// Two values and their operator.
    Binary(Binary, Box<Part>, Box<Part>),
    /// A filter with its arguments.
    Filter(Box<Part>, String, Vec<Part>),
    /// A test with its argument.
    Test(Box<Part>, String, Option<Box<Part>>),
    /// `value if condition else other`.
    If {
        /// Value when the condition is true.
        value: Box<Part>,
        /// Condition.
        condition: Box<Part>,
        /// Value when the condition is false.
        other: Box<Part>,
    },
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// A field, by its literal name.
    Field {
        /// Byte of the name.
        at: usize,
        /// Name of the field.
        name: String,
    },
    /// An item by number or computed key.
    Item(Part),
    /// A part of a list or text.
    Slice(Vec<Part>),
}

/// The operators between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    /// `and`, `or`.
    Logic,
    /// `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `not in`.
    Comparison,
    /// `+`: numbers, texts and lists.
    Plus,
    /// `-`, `/`, `//`, `%`.
    Arithmetic,
    /// `~`.
    Concatenation,
}
