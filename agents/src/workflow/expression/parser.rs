//! The parser of expressions, by recursive descent with the precedence of Jinja.

use serde_json::Value;

use super::{
    Binary, DEPTH_MAX, Expr, FILTERS, FILTERS_MAX, JOINS_MAX, Part, SOURCE_BYTES_MAX, Step, TESTS,
    lexer::{Kind, Misread, Problem, Token, tokens},
};

/// Parses an expression. With `until_close`, the source is the rest of a template after `{{`, and
/// the result has the byte of the closing `}}`.
///
/// # Errors
/// Returns the first problem with its byte.
pub(crate) fn parse(source: &str, until_close: bool) -> Result<(Part, usize), Misread> {
    let (tokens, end) = tokens(source, until_close)?;
    if end > SOURCE_BYTES_MAX {
        return Err(Misread { at: 0, problem: Problem::TooLong });
    }
    if until_close && end >= source.len() {
        return Err(Misread { at: 0, problem: Problem::Missing("}}") });
    }
    let mut parser = Parser { tokens: &tokens, next: 0, end, depth: 0, joins: 0, filters: 0 };
    let part = parser.conditional()?;
    match parser.peek() {
        None => Ok((part, end)),
        Some(extra) => Err(Misread { at: extra.at, problem: Problem::Extra(extra.kind.shown()) }),
    }
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    next: usize,
    end: usize,
    depth: usize,
    joins: usize,
    /// Filters so far.
    filters: usize,
}

/// Words that are no variables.
const WORDS: &[&str] = &["and", "or", "not", "in", "is", "if", "else"];

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token<'a>> {
        self.tokens.get(self.next)
    }

    fn at(&self) -> usize {
        self.peek().map_or(self.end, |token| token.at)
    }

    fn is_mark(&self, mark: &str) -> bool {
        self.peek().is_some_and(|token| matches!(token.kind, Kind::Mark(found) if found == mark))
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().is_some_and(|token| matches!(token.kind, Kind::Name(found) if found == word))
    }

    fn take_mark(&mut self, mark: &str) -> bool {
        let is_there = self.is_mark(mark);
        self.next += usize::from(is_there);
        is_there
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = self.is_word(word);
        self.next += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, mark: &'static str) -> Result<(), Misread> {
        if self.take_mark(mark) {
            return Ok(());
        }
        Err(Misread { at: self.at(), problem: Problem::Missing(mark) })
    }

    fn name(&mut self, what: &'static str) -> Result<(usize, &'a str), Misread> {
        match self.peek() {
            Some(Token { at, kind: Kind::Name(name) }) => {
                self.next += 1;
                Ok((*at, name))
            }
            Some(_) | None => Err(Misread { at: self.at(), problem: Problem::Missing(what) }),
        }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Misread>,
    ) -> Result<T, Misread> {
        if self.depth >= DEPTH_MAX {
            return Err(Misread { at: self.at(), problem: Problem::TooDeep });
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn conditional(&mut self) -> Result<Part, Misread> {
        self.deeper(|parser| {
            let value = parser.or()?;
            if !parser.take_word("if") {
                return Ok(value);
            }
            let condition = Box::new(parser.or()?);
            if !parser.take_word("else") {
                return Err(Misread { at: parser.at(), problem: Problem::Missing("else") });
            }
            let other = Box::new(parser.conditional()?);
            Ok(Part { at: value.at, expr: Expr::If { value: Box::new(value), condition, other } })
        })
    }

    fn or(&mut self) -> Result<Part, Misread> {
        let mut left = self.and()?;
        while self.take_word("or") {
            left = binary(Binary::Logic, left, self.and()?);
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Part, Misread> {
        let mut left = self.not()?;
        while self.take_word("and") {
            left = binary(Binary::Logic, left, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Part, Misread> {
        let at = self.at();
        if !self.take_word("not") {
            return self.comparison();
        }
        self.deeper(|parser| Ok(Part { at, expr: Expr::Not(Box::new(parser.not()?)) }))
    }

    fn comparison(&mut self) -> Result<Part, Misread> {
        let mut left = self.sum()?;
        loop {
            let marks = ["==", "!=", "<=", ">=", "<", ">"];
            let is_in = |parser: &mut Self| {
                let follows = parser.tokens.get(parser.next + 1);
                let is_negated = parser.is_word("not")
                    && follows.is_some_and(|token| token.kind == Kind::Name("in"));
                parser.next += usize::from(is_negated);
                parser.take_word("in")
            };
            if marks.iter().any(|mark| self.take_mark(mark)) || is_in(self) {
                left = binary(Binary::Comparison, left, self.sum()?);
            } else {
                return Ok(left);
            }
        }
    }

    fn sum(&mut self) -> Result<Part, Misread> {
        let mut left = self.term()?;
        loop {
            let operator = if self.take_mark("+") {
                Binary::Plus
            } else if self.take_mark("-") {
                Binary::Arithmetic
            } else if self.take_mark("~") {
                Binary::Concatenation
            } else {
                return Ok(left);
            };
            self.joins += usize::from(operator != Binary::Arithmetic);
            if self.joins > JOINS_MAX {
                return Err(Misread { at: self.at(), problem: Problem::TooManyJoins });
            }
            left = binary(operator, left, self.term()?);
        }
    }

    fn term(&mut self) -> Result<Part, Misread> {
        let mut left = self.negative()?;
        while ["//", "/", "%"].iter().any(|mark| self.take_mark(mark)) {
            left = binary(Binary::Arithmetic, left, self.negative()?);
        }
        Ok(left)
    }

    fn negative(&mut self) -> Result<Part, Misread> {
        let at = self.at();
        let value = if self.take_mark("-") {
            let inner = self.deeper(Self::negative)?;
            Part { at, expr: Expr::Negative(Box::new(inner)) }
        } else {
            let value = self.primary()?;
            self.steps(value)?
        };
        self.filters(value)
    }

    fn filters(&mut self, mut value: Part) -> Result<Part, Misread> {
        loop {
            let at = value.at;
            if self.take_mark("|") {
                let (place, name) = self.name("a filter")?;
                self.filters = self.filters.saturating_add(1);
                if self.filters > FILTERS_MAX {
                    return Err(Misread { at: place, problem: Problem::TooManyFilters });
                }
                if !FILTERS.contains(&name) {
                    return Err(Misread { at: place, problem: Problem::Filter(name.to_owned()) });
                }
                let args = if self.take_mark("(") { self.list(")")? } else { Vec::new() };
                value = Part { at, expr: Expr::Filter(Box::new(value), name.to_owned(), args) };
            } else if self.take_word("is") {
                let is_negated = self.take_word("not");
                let (place, name) = self.name("a test")?;
                if !TESTS.contains(&name) {
                    return Err(Misread { at: place, problem: Problem::Test(name.to_owned()) });
                }
                let argument = if self.take_mark("(") {
                    let argument = self.conditional()?;
                    self.expect(")")?;
                    Some(Box::new(argument))
                } else {
                    None
                };
                value = Part { at, expr: Expr::Test(Box::new(value), name.to_owned(), argument) };
                if is_negated {
                    value = Part { at, expr: Expr::Not(Box::new(value)) };
                }
            } else {
                return Ok(value);
            }
        }
    }

    fn steps(&mut self, value: Part) -> Result<Part, Misread> {
        let mut steps = Vec::new();
        loop {
            if self.take_mark(".") {
                let (at, name) = self.name("a name")?;
                steps.push(Step::Field { at, name: name.to_owned() });
            } else if self.is_mark("[") {
                self.next += 1;
                steps.push(self.item()?);
            } else if self.is_mark("(") {
                return Err(Misread { at: self.at(), problem: Problem::Call });
            } else {
                break;
            }
        }
        Ok(match (value, steps) {
            (value, steps) if steps.is_empty() => value,
            (Part { at, expr: Expr::Path { root, steps: _ } }, steps) => {
                Part { at, expr: Expr::Path { root, steps } }
            }
            (value, steps) => Part { at: value.at, expr: Expr::Into(Box::new(value), steps) },
        })
    }

    /// Reads the rest of `[key]` or `[from:to]`.
    fn item(&mut self) -> Result<Step, Misread> {
        let mut bounds = Vec::new();
        let mut is_slice = false;
        loop {
            if self.take_mark("]") {
                break;
            }
            if self.take_mark(":") {
                is_slice = true;
                continue;
            }
            if !bounds.is_empty() && !is_slice {
                return Err(Misread { at: self.at(), problem: Problem::Missing("]") });
            }
            bounds.push(self.conditional()?);
        }
        let at = self.at();
        if is_slice {
            return Ok(Step::Slice(bounds));
        }
        match bounds.pop() {
            Some(Part { at, expr: Expr::Literal(Value::String(name)) }) => {
                Ok(Step::Field { at, name })
            }
            Some(part) => Ok(Step::Item(part)),
            None => Err(Misread { at, problem: Problem::NoValue("]".to_owned()) }),
        }
    }

    fn list(&mut self, close: &'static str) -> Result<Vec<Part>, Misread> {
        let mut items = Vec::new();
        while !self.take_mark(close) {
            if !items.is_empty() {
                self.expect(",")?;
                if self.take_mark(close) {
                    break;
                }
            }
            items.push(self.conditional()?);
        }
        Ok(items)
    }

    fn object(&mut self) -> Result<Vec<(Part, Part)>, Misread> {
        let mut fields = Vec::new();
        while !self.take_mark("}") {
            if !fields.is_empty() {
                self.expect(",")?;
                if self.take_mark("}") {
                    break;
                }
            }
            let key = self.conditional()?;
            self.expect(":")?;
            fields.push((key, self.conditional()?));
        }
        Ok(fields)
    }

    fn primary(&mut self) -> Result<Part, Misread> {
        let at = self.at();
        let Some(token) = self.peek() else {
            return Err(Misread { at, problem: Problem::Ends });
        };
        self.next += 1;
        let expr = match &token.kind {
            Kind::Text(text) => Expr::Literal(Value::from(text.as_str())),
            Kind::Integer(n) => Expr::Literal(Value::from(*n)),
            Kind::Float(n) => Expr::Literal(Value::from(*n)),
            Kind::Name("true" | "True") => Expr::Literal(Value::Bool(true)),
            Kind::Name("false" | "False") => Expr::Literal(Value::Bool(false)),
            Kind::Name("none" | "None") => Expr::Literal(Value::Null),
            Kind::Name(word) if WORDS.contains(word) => {
                return Err(Misread { at, problem: Problem::NoValue((*word).to_owned()) });
            }
            Kind::Name(name) => Expr::Path { root: (*name).to_owned(), steps: Vec::new() },
            Kind::Mark("(") => {
                let inner = self.conditional()?;
                self.expect(")")?;
                inner.expr
            }
            Kind::Mark("[") => Expr::List(self.list("]")?),
            Kind::Mark("{") => Expr::Object(self.object()?),
            Kind::Mark(mark) => {
                return Err(Misread { at, problem: Problem::NoValue((*mark).to_owned()) });
            }
        };
        Ok(Part { at, expr })
    }
}

fn binary(operator: Binary, left: Part, right: Part) -> Part {
    Part { at: left.at, expr: Expr::Binary(operator, Box::new(left), Box::new(right)) }
}
