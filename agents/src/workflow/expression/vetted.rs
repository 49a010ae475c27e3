//! The filters and tests of expressions, by name. The evaluator defines exactly these.

/// Filters, in alphabetical order.
pub(crate) const FILTERS: &[&str] = &[
    "abs", "bool", "default", "first", "float", "int", "join", "keys", "last", "length", "list",
    "lower", "max", "min", "replace", "reverse", "round", "sort", "split", "string", "sum",
    "times", "tojson", "trim", "unique", "upper", "values",
];

/// Tests, in alphabetical order.
pub(crate) const TESTS: &[&str] = &[
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "even",
    "false",
    "float",
    "integer",
    "mapping",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
];
