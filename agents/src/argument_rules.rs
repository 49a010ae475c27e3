//! The argument schemas of rules for calls: their check, and the calls that they cover.

use jsonschema::{PatternOptions, Validator};
use proto::agent::{Agent, CallRule, Consequence};
use serde_json::Value;

/// Maximum size of a compiled pattern, in bytes.
const RULE_PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// Compiles a schema. Nothing is fetched, and patterns run in linear time.
fn compile(schema: &Value) -> Option<Validator> {
    let patterns = PatternOptions::regex()
        .size_limit(RULE_PATTERN_BYTES_MAX)
        .dfa_size_limit(RULE_PATTERN_BYTES_MAX);
    jsonschema::options().offline().with_pattern_options(patterns).build(schema).ok()
}

/// Returns the field of the first argument schema of an agent's rules that cannot be compiled.
#[must_use]
pub fn unusable(agent: &Agent) -> Option<String> {
    let mut rules = agent.approval.rules.iter();
    let n =
        rules.position(|rule| rule.args.as_ref().is_some_and(|args| compile(args).is_none()))?;
    Some(format!("approval.rules[{n}].args"))
}

/// Returns `true` if a rule covers these arguments. A schema that cannot be used covers all calls
/// for a rule that narrows, and no call for one that allows.
#[must_use]
pub fn covers(rule: &CallRule, args: &Value) -> bool {
    let Some(schema) = &rule.args else { return true };
    match (compile(schema), rule.then) {
        (Some(schema), _) => schema.is_valid(args),
        (None, Consequence::Ask | Consequence::Deny) => true,
        (None, Consequence::Allow) => false,
    }
}
