//! The slash commands of the command line and of the console have one grammar: both read the cases of
//! the console's test.

use callboard_tests::root;
use proto::{slash, tool::ToolSpec};
use serde::Deserialize;
use serde_json::Value;

/// A file with lines, and what they mean.
#[derive(Deserialize)]
struct Cases {
    tools: Vec<ToolSpec>,
    calls: Vec<Call>,
    /// Lines of a command that has other arguments.
    unfit: Vec<String>,
    /// Lines that name no declared command.
    texts: Vec<String>,
}

#[derive(Deserialize)]
struct Call {
    line: String,
    tool: String,
    args: Value,
}

fn cases() -> Cases {
    let file = std::fs::read_to_string(root().join("gateway/web/tests/slash.cases.js")).unwrap();
    let json = file.trim().strip_prefix("export default").and_then(|json| json.strip_suffix(';'));
    serde_json::from_str(json.expect("a module with one value")).unwrap()
}

#[test]
fn a_slash_line_is_the_call_that_the_console_makes_of_it() {
    let Cases { tools, calls, unfit, texts } = cases();
    let resolved = |line: &str| {
        let (name, rest) = slash::read(line)?;
        slash::resolve(&tools, name, rest)
    };
    for Call { line, tool, args } in calls {
        let call = resolved(&line).expect("a command").expect("its arguments");
        assert_eq!((call.tool.as_str(), call.args), (tool.as_str(), args), "{line}");
    }
    for line in unfit {
        assert!(resolved(&line).is_some_and(|call| call.is_err()), "{line}");
    }
    for line in texts {
        assert_eq!(resolved(&line), None, "{line}");
    }
}
