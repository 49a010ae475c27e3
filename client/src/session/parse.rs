//! Parsing of typed lines into answers. Pure. The server validates every answer again; this check
//! only spares the user a round trip.

use proto::{
    interaction::{Choice, Field, Input},
    lang::Language,
};
use serde_json::{Number, Value, json};

messages::texts!(answer);

/// An answer to a plan, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnPlan {
    /// Run the plan.
    Confirm,
    /// Cancel the job.
    Cancel,
    /// Make a different plan; holds the requested change.
    Revise(String),
    /// An empty line.
    Nothing,
}

/// Parses a reply to a plan.
#[must_use]
pub fn on_plan(line: &str) -> OnPlan {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "" => OnPlan::Nothing,
        "c" | "y" | "yes" | "ok" | "confirm" | "approve" | "确认" | "确认执行" | "好" | "是" => {
            OnPlan::Confirm
        }
        "x" | "n" | "no" | "cancel" | "reject" | "取消" | "否" => OnPlan::Cancel,
        _ => OnPlan::Revise(line.to_owned()),
    }
}

/// Parses a yes or no; `None` for anything else.
#[must_use]
pub fn yes(line: &str) -> Option<bool> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "true" | "1" | "是" | "好" => Some(true),
        "n" | "no" | "false" | "0" | "否" | "不" => Some(false),
        _ => None,
    }
}

/// Returns `true` for the reply that approves a call and has the approval remembered for its job.
#[must_use]
pub fn always(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "a" | "always" | "总是" | "不再询问")
}

/// Parses one or several options, given by value, label or number.
///
/// # Errors
/// The word that matches no option.
pub fn choice(
    language: Language,
    options: &[Choice],
    multiple: bool,
    line: &str,
) -> Result<Value, String> {
    if !multiple {
        return Ok(json!(option(language, options, line)?));
    }
    let mut chosen: Vec<&str> = Vec::new();
    for word in line.split([',', '，', '、']).filter(|word| !word.trim().is_empty()) {
        let value = option(language, options, word)?;
        if !chosen.contains(&value) {
            chosen.push(value);
        }
    }
    if chosen.is_empty() {
        return Err(Text::ChooseSome.text(language));
    }
    Ok(json!(chosen))
}

fn option<'a>(language: Language, options: &'a [Choice], word: &str) -> Result<&'a str, String> {
    let word = word.trim();
    let by_value = options.iter().find(|option| option.value == word);
    let by_label = || options.iter().find(|option| option.label.as_deref() == Some(word));
    let by_number = || {
        let number: usize = word.parse().ok()?;
        options.get(number.checked_sub(1)?)
    };
    let found = by_value.or_else(by_label).or_else(by_number);
    found.map(|option| option.value.as_str()).ok_or_else(|| {
        let why = if word.is_empty() { Text::ChooseOne } else { Text::NoOption { word: &word } };
        why.text(language)
    })
}

/// Parses a form field. An empty line selects the default, or omits an optional field.
///
/// # Errors
/// The values that the field accepts.
pub fn field(language: Language, field: &Field, line: &str) -> Result<Option<Value>, String> {
    let line = line.trim();
    if line.is_empty() {
        return match (&field.default, field.required) {
            (Some(default), _) => Ok(Some(default.clone())),
            (None, false) => Ok(None),
            (None, true) => Err(Text::Empty.text(language)),
        };
    }
    input(language, &field.input, line).map(Some)
}

fn input(language: Language, input: &Input, line: &str) -> Result<Value, String> {
    match input {
        Input::Text { max_length, min_length, multiline: _ } => {
            let chars = line.chars().count();
            let wide = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
            if let Some(min) = min_length.filter(|min| chars < wide(*min)) {
                return Err(Text::TooShort { min: &min, chars: &chars }.text(language));
            }
            if let Some(max) = max_length.filter(|max| chars > wide(*max)) {
                return Err(Text::TooLong { max: &max, chars: &chars }.text(language));
            }
            Ok(json!(line))
        }
        Input::Number { min, max, integer } => number(language, line, *min, *max, *integer),
        Input::Boolean => yes(line).map(Value::from).ok_or_else(|| Text::YesOrNo.text(language)),
        Input::Select { options, multiple } => choice(language, options, *multiple, line),
    }
}

fn number(
    language: Language,
    line: &str,
    min: Option<f64>,
    max: Option<f64>,
    integer: bool,
) -> Result<Value, String> {
    let number: Number = if let Ok(whole) = line.parse::<i64>() {
        whole.into()
    } else {
        let real = line.parse::<f64>().ok().filter(|_| !integer).and_then(Number::from_f64);
        real.ok_or_else(|| {
            let line: &dyn std::fmt::Display = &line;
            let why =
                if integer { Text::NotAWholeNumber { line } } else { Text::NotANumber { line } };
            why.text(language)
        })?
    };
    let size = number.as_f64().unwrap_or(f64::NAN);
    if let Some(min) = min.filter(|min| size < *min) {
        return Err(Text::TooSmall { min: &min }.text(language));
    }
    if let Some(max) = max.filter(|max| size > *max) {
        return Err(Text::TooBig { max: &max }.text(language));
    }
    Ok(Value::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<Choice> {
        serde_json::from_value(json!([
            {"value": "r", "label": "Red"}, {"value": "2"}, {"value": "b", "label": "蓝色"},
        ]))
        .unwrap()
    }

    #[test]
    fn an_option_is_named_by_value_label_or_number() {
        for (line, value) in
            [("r", "r"), (" Red ", "r"), ("1", "r"), ("2", "2"), ("3", "b"), ("蓝色", "b")]
        {
            assert_eq!(choice(Language::En, &options(), false, line), Ok(json!(value)), "{line}");
        }
        for bad in ["", "0", "4", "red!", "r,b"] {
            assert!(choice(Language::En, &options(), false, bad).is_err(), "{bad}");
        }
        assert_eq!(choice(Language::En, &options(), true, "1， 蓝色,r"), Ok(json!(["r", "b"])));
        assert!(choice(Language::En, &options(), true, " , ").is_err());
    }

    #[test]
    fn a_field_takes_what_it_says() {
        let of = |spec: Value| -> Field {
            let mut all = json!({"key": "k", "label": "K"});
            for (name, value) in spec.as_object().unwrap() {
                all[name] = value.clone();
            }
            serde_json::from_value(all).unwrap()
        };
        let text = of(json!({"type": "text", "required": true, "max_length": 3, "min_length": 2}));
        let number = of(json!({"type": "number", "min": 1.0, "max": 9.5}));
        let whole = of(json!({"type": "number", "integer": true, "default": 4}));
        let yes = of(json!({"type": "boolean"}));
        for (spec, line, expected) in [
            (&text, "标记", Ok(Some(json!("标记")))),
            (&text, "", Err("must be filled in")),
            (&text, "x", Err("at least 2 characters")),
            (&text, "标记任务", Err("at most 3 characters, has 4")),
            (&number, "", Ok(None)),
            (&number, "2.5", Ok(Some(json!(2.5)))),
            (&number, "3", Ok(Some(json!(3)))),
            (&number, "10", Err("at most 9.5")),
            (&number, "NaN", Err("is not a number")),
            (&number, "1e999", Err("is not a number")),
            (&whole, "", Ok(Some(json!(4)))),
            (&whole, "2.5", Err("is not a whole number")),
            (&whole, "9223372036854775808", Err("is not a whole number")),
            (&yes, "是", Ok(Some(json!(true)))),
            (&yes, "maybe", Err("type yes or no")),
        ] {
            match (field(Language::En, spec, line), expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{line}"),
                (Err(got), Err(part)) => assert!(got.contains(part), "{line}: {got}"),
                (got, expected) => panic!("{line}: {got:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn a_plan_is_confirmed_canceled_or_revised() {
        assert_eq!(on_plan("Y"), OnPlan::Confirm);
        assert_eq!(on_plan("确认执行"), OnPlan::Confirm);
        assert_eq!(on_plan(" x "), OnPlan::Cancel);
        assert_eq!(on_plan("  "), OnPlan::Nothing);
        assert_eq!(on_plan("no mail, please"), OnPlan::Revise("no mail, please".into()));
    }
}
