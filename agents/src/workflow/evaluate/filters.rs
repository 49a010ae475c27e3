//! The vetted filters and tests of the engine. Those that could make a value much larger are bounded
//! here; the engine's own ones are used otherwise.

use minijinja::{Environment, Error, ErrorKind, Value, filters, tests};

use super::{
    bounds::OUTPUT_BYTES_MAX,
    error::{EvalFault, TOO_LARGE},
    output,
};

/// Adds the filters and tests that [`crate::workflow::expression`] names.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("abs", filters::abs);
    environment.add_filter("bool", filters::bool);
    environment.add_filter("default", filters::default);
    environment.add_filter("first", filters::first);
    environment.add_filter("float", filters::float);
    environment.add_filter("int", filters::int);
    environment.add_filter("join", join);
    environment.add_filter("keys", keys);
    environment.add_filter("last", filters::last);
    environment.add_filter("length", filters::length);
    environment.add_filter("list", filters::list);
    environment.add_filter("lower", filters::lower);
    environment.add_filter("max", filters::max);
    environment.add_filter("min", filters::min);
    environment.add_filter("replace", replace);
    environment.add_filter("reverse", filters::reverse);
    environment.add_filter("round", filters::round);
    environment.add_filter("sort", filters::sort);
    environment.add_filter("split", filters::split);
    environment.add_filter("string", filters::string);
    environment.add_filter("sum", filters::sum);
    environment.add_filter("times", times);
    environment.add_filter("tojson", tojson);
    environment.add_filter("trim", filters::trim);
    environment.add_filter("unique", filters::unique);
    environment.add_filter("upper", filters::upper);
    environment.add_filter("values", values);
    environment.add_test("boolean", tests::is_boolean);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("divisibleby", divisible_by);
    environment.add_test("endingwith", tests::is_endingwith);
    environment.add_test("even", tests::is_even);
    environment.add_test("false", tests::is_false);
    environment.add_test("float", tests::is_float);
    environment.add_test("integer", tests::is_integer);
    environment.add_test("mapping", tests::is_mapping);
    environment.add_test("none", tests::is_none);
    environment.add_test("number", tests::is_number);
    environment.add_test("odd", tests::is_odd);
    environment.add_test("sequence", tests::is_sequence);
    environment.add_test("startingwith", tests::is_startingwith);
    environment.add_test("string", tests::is_string);
    environment.add_test("true", tests::is_true);
    environment.add_test("undefined", tests::is_undefined);
}

/// The engine's own test panics for a zero divisor.
fn divisible_by(value: &Value, divisor: &Value) -> Result<bool, Error> {
    if divisor.as_i64() == Some(0) {
        return Err(no("a division by zero"));
    }
    Ok(tests::is_divisibleby(value, divisor))
}

fn too_large() -> Error {
    Error::new(ErrorKind::InvalidOperation, TOO_LARGE)
}

fn no(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

fn text(value: &Value) -> Result<&str, Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    value.as_str().ok_or_else(|| no("the value is no text"))
}

/// Returns the texts of a list with a separator between them.
fn join(list: &Value, separator: Option<String>) -> Result<String, Error> {
    let separator = separator.unwrap_or_default();
    let mut out = String::new();
    for (n, item) in list.try_iter()?.enumerate() {
        if n > 0 {
            out.push_str(&separator);
        }
        match item.as_str() {
            Some(text) => out.push_str(text),
            None => out.push_str(&tojson(&item)?),
        }
        if out.len() > OUTPUT_BYTES_MAX {
            return Err(too_large());
        }
    }
    Ok(out)
}

/// Returns a text with every occurrence of another text replaced.
fn replace(value: &Value, from: &str, to: &str) -> Result<String, Error> {
    let text = text(value)?;
    let grown = text.matches(from).count().saturating_mul(to.len());
    if text.len().saturating_add(grown) > OUTPUT_BYTES_MAX {
        return Err(too_large());
    }
    Ok(text.replace(from, to))
}

/// Returns the product of two numbers. The operator `*` would also repeat texts.
fn times(value: &Value, factor: &Value) -> Result<Value, Error> {
    if value.is_undefined() || factor.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let is_number = |value: &Value| value.is_number();
    if !is_number(value) || !is_number(factor) {
        return Err(no("times takes numbers"));
    }
    if value.is_integer() && factor.is_integer() {
        let (value, factor) = (i64::try_from(value.clone())?, i64::try_from(factor.clone())?);
        let product = value.checked_mul(factor).ok_or_else(|| no("the product is out of range"))?;
        return Ok(Value::from(product));
    }
    Ok(Value::from(f64::try_from(value.clone())? * f64::try_from(factor.clone())?))
}

/// Returns the JSON of a value.
fn tojson(value: &Value) -> Result<String, Error> {
    let json = output::json(value).map_err(|fault| match fault {
        EvalFault::Undefined => Error::from(ErrorKind::UndefinedError),
        EvalFault::TooLarge { .. } => too_large(),
        EvalFault::NoBoolean { .. }
        | EvalFault::NoList { .. }
        | EvalFault::TooManyItems { .. }
        | EvalFault::OutOfFuel
        | EvalFault::NoJson
        | EvalFault::Unreadable
        | EvalFault::Operation { .. } => no("the value has no form in JSON"),
    })?;
    let text = json.to_string();
    if text.len() > OUTPUT_BYTES_MAX { Err(too_large()) } else { Ok(text) }
}

/// Returns the names of an object's fields.
fn keys(value: &Value) -> Result<Vec<Value>, Error> {
    if value.kind() != minijinja::value::ValueKind::Map {
        return Err(no("the value is no object"));
    }
    Ok(value.try_iter()?.collect())
}

/// Returns the values of an object's fields.
fn values(value: &Value) -> Result<Vec<Value>, Error> {
    keys(value)?.iter().map(|key| value.get_item(key)).collect()
}
