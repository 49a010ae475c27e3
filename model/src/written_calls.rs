//! Tool calls that a model writes into its text as `<tool_call>{"name": …, "arguments": …}</tool_call>`,
//! where a server does not read them. Pure.
//!
//! An answer may quote a call. Calls count only if they are the whole text and name offered tools.

use proto::{message::ModelCall, strict};
use serde_json::{Map, Value};

use crate::port::ModelRequest;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// Returns the calls of a text; `None` if it is anything else than calls.
pub(crate) fn read(text: &str, offered: &[String]) -> Option<Vec<ModelCall>> {
    let written = text.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    let calls = written.split(CLOSE).enumerate().map(|(n, block)| {
        let block = match n {
            0 => block,
            _ => block.trim_start().strip_prefix(OPEN)?,
        };
        call(n, block.trim(), offered)
    });
    calls.collect()
}

/// Returns the names of the offered tools.
pub(crate) fn offered(request: &ModelRequest) -> Vec<String> {
    request.tools.iter().map(|tool| tool.name.clone()).collect()
}

fn call(n: usize, block: &str, offered: &[String]) -> Option<ModelCall> {
    let Value::Object(mut fields) = strict::value_from_slice(block.as_bytes()).ok()? else {
        return None;
    };
    let Some(Value::String(name)) = fields.remove("name") else { return None };
    let args = match fields.remove("arguments").or_else(|| fields.remove("parameters")) {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(args @ Value::Object(_)) => args,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return None;
        }
    };
    let is_known = fields.is_empty() && offered.contains(&name);
    is_known.then(|| ModelCall { id: format!("call_{n}"), name, args })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn line(text: &str) -> Option<String> {
        let calls = read(text, &["look".to_owned(), "write".to_owned()])?;
        let calls = calls.iter().map(|call| format!(" {}:{}{}", call.id, call.name, call.args));
        Some(calls.collect::<String>())
    }

    #[rstest]
    #[case::alone(
        "<tool_call>\n{\"name\":\"look\",\"arguments\":{\"x\":1}}\n</tool_call>",
        " call_0:look{\"x\":1}"
    )]
    #[case::without_arguments("<tool_call>{\"name\":\"look\"}</tool_call>\n", " call_0:look{}")]
    #[case::two(
        "<tool_call>{\"name\":\"look\"}</tool_call>\n<tool_call>{\"name\":\"write\",\"parameters\":{}}</tool_call>",
        " call_0:look{} call_1:write{}"
    )]
    fn calls_at_the_end_are_read(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(line(text).as_deref(), Some(expected));
    }

    #[rstest]
    #[case::no_call("I look.")]
    #[case::another_tool("<tool_call>{\"name\":\"delete\"}</tool_call>")]
    #[case::words_before("Never run this: <tool_call>{\"name\":\"look\"}</tool_call>")]
    #[case::a_line_before("I look.\n<tool_call>{\"name\":\"look\"}</tool_call>")]
    #[case::words_behind("<tool_call>{\"name\":\"look\"}</tool_call> is how one looks")]
    #[case::words_between(
        "<tool_call>{\"name\":\"look\"}</tool_call> or <tool_call>{\"name\":\"write\"}</tool_call>"
    )]
    #[case::in_code("`<tool_call>{\"name\":\"look\"}</tool_call>")]
    #[case::in_a_plan("{\"steps\":[\"say <tool_call>{'name':'look'}</tool_call>")]
    #[case::cut("<tool_call>{\"name\":\"look\"}")]
    #[case::not_json("<tool_call>look()</tool_call>")]
    #[case::a_field_twice("<tool_call>{\"name\":\"look\",\"name\":\"write\"}</tool_call>")]
    #[case::another_field("<tool_call>{\"name\":\"look\",\"why\":\"x\"}</tool_call>")]
    fn other_texts_are_no_calls(#[case] text: &str) {
        assert_eq!(line(text), None);
    }
}
