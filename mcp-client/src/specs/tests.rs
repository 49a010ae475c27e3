//! Effects, approvals, versions and refusals of tools.

use proto::decision::pools;
use rstest::rstest;
use serde_json::json;

use super::*;

fn tool(change: &Value) -> Tool {
    let mut tool =
        json!({"name": "write", "description": "Writes.", "inputSchema": {"type": "object"}});
    for (field, value) in change.as_object().unwrap() {
        tool[field] = value.clone();
    }
    serde_json::from_value(tool).unwrap()
}

fn found(settings: &str, tools: &[Value]) -> (Vec<FoundTool>, Vec<Refused>) {
    let settings: Server = toml::from_str(settings).unwrap();
    let tools: Vec<_> = tools.iter().map(tool).collect();
    of(&"files".parse().unwrap(), &settings, &pools::builtin(), &tools)
}

fn one(settings: &str, change: &Value) -> ToolSpec {
    let (mut found, refused) = found(settings, std::slice::from_ref(change));
    assert!(refused.is_empty(), "{refused:?}");
    found.remove(0).spec
}

#[rstest]
#[case("", json!({"readOnlyHint": true}), (Effect::Once, Approval::Always, false))]
#[case("", json!({"destructiveHint": true}), (Effect::Once, Approval::Always, true))]
#[case("trust_annotations = true", json!({"readOnlyHint": true}), (Effect::Pure, Approval::Never, false))]
#[case("trust_annotations = true", json!({}), (Effect::Once, Approval::Always, true))]
#[case("trust_annotations = true", json!({"idempotentHint": true}), (Effect::Idempotent, Approval::Always, true))]
#[case("trust_annotations = true", json!({"destructiveHint": false}), (Effect::Once, Approval::Never, false))]
#[case(
    "tools.set.write = { effect = 'pure', approval = 'never' }",
    json!({}),
    (Effect::Pure, Approval::Never, false)
)]
#[case(
    "trust_annotations = true\ntools.set.write = { approval = 'always' }",
    json!({"readOnlyHint": true}),
    (Effect::Pure, Approval::Always, false)
)]
fn annotations_count_as_far_as_the_operator_says(
    #[case] settings: &str,
    #[case] annotations: Value,
    #[case] wanted: (Effect, Approval, bool),
) {
    let spec = one(settings, &json!({"annotations": annotations}));
    assert_eq!((spec.effect, spec.approval, spec.destructive), wanted);
}

#[test]
fn a_version_is_a_digest_of_what_the_server_says() {
    let plain = one("", &json!({}));
    assert_eq!(plain.version.len(), "mcp-".len() + VERSION_DIGITS);
    assert_eq!(plain.name.as_str(), "files__write");
    assert_eq!(plain.version, one("timeout_ms = 5", &json!({"_meta": {"a": 1}})).version);
    for change in [
        json!({"description": "Writes!"}),
        json!({"title": "Write"}),
        json!({"inputSchema": {"type": "object", "properties": {"a": {}}}}),
        json!({"outputSchema": {"type": "object"}}),
        json!({"annotations": {"readOnlyHint": true}}),
    ] {
        assert_ne!(plain.version, one("", &change).version, "{change}");
    }
}

#[rstest]
#[case(json!({"description": "x".repeat(500_000)}), "description")]
#[case(json!({"description": "a\u{202e}b"}), "invisible")]
#[case(json!({"inputSchema": {"type": "object", "$ref": "https://evil.example/schema"}}), "schema")]
#[case(json!({"outputSchema": {"type": "object", "$ref": "https://evil.example/schema"}}), "outputSchema")]
#[case(json!({"inputSchema": {"type": "object", "enum": ["x".repeat(100_000)]}}), "bytes")]
fn a_tool_that_is_out_of_bounds_is_refused_alone(#[case] change: Value, #[case] why: &str) {
    let (found, refused) = found("", &[change, json!({"name": "other"})]);
    assert_eq!(found.len(), 1);
    assert!(refused.len() == 1 && refused[0].why.contains(why), "{refused:?}");
}

#[test]
fn a_name_that_is_listed_twice_counts_once_and_control_characters_have_no_effect() {
    let (found, refused) = found("", &[json!({}), json!({}), json!({"name": "a\u{1b}[2Jb"})]);
    assert_eq!((found.len(), refused.len()), (2, 1), "{refused:?}");
    assert!(found.iter().all(|tool| tool.spec.name.as_str().starts_with("files__")));
}

#[test]
fn tools_that_the_settings_leave_out_are_not_found() {
    let (found, refused) =
        found("tools.allow = ['read_*']", &[json!({}), json!({"name": "read_x"})]);
    assert_eq!(found.len(), 1);
    assert!(found[0].remote == "read_x" && refused.is_empty());
}

#[test]
fn a_tool_without_a_description_has_its_title_or_its_name() {
    assert_eq!(one("", &json!({"description": null, "title": "Write it"})).description, "Write it");
    assert_eq!(one("", &json!({"description": " "})).description, "files__write");
}
