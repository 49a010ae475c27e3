//! The result of a call: a server's content as the result of a tool.

use proto::{lang::Language, tool::ToolResult};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use runtime::schema::Schema;
use serde_json::Value;

use crate::{launch::escaped, words::Text};

/// Converts a server's result. `output` is the schema that the server gave for structured content.
pub(crate) fn of(
    answer: &CallToolResult,
    output: Option<&Schema>,
    language: Language,
) -> ToolResult {
    let text = joined(&answer.content, language);
    let structured = answer.structured_content.as_ref();
    if answer.is_error == Some(true) {
        let why = match (text.is_empty(), structured) {
            (false, _) => text,
            (true, Some(value)) => value.to_string(),
            (true, None) => Text::NoReason.text(language),
        };
        return ToolResult::failed(why);
    }
    let Some(value) = structured else {
        return ToolResult::ok(Value::from(text)).flattened();
    };
    let misfits = output.map(|schema| schema.check(value)).unwrap_or_default();
    if let Some(misfit) = misfits.first() {
        let (field, why) = (&misfit.field, &misfit.why_in(language));
        return ToolResult::failed(Text::OutputMisfit { field, why }.text(language));
    }
    let result = ToolResult::ok(value.clone()).flattened();
    // Servers repeat structured content as JSON text, for older clients.
    let is_repeated = serde_json::from_str::<Value>(&text).is_ok_and(|other| other == *value);
    if text.is_empty() || is_repeated { result } else { result.with_message(text) }
}

/// Joins the texts of the content. Anything else becomes a line that names it.
fn joined(content: &[ContentBlock], language: Language) -> String {
    let lines = content.iter().map(|block| line(block, language));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(block: &ContentBlock, language: Language) -> String {
    if let ContentBlock::Text(text) = block {
        return text.text.clone();
    }
    if let ContentBlock::Image(image) = block {
        return binary(&image.mime_type, &image.data, language);
    }
    if let ContentBlock::Audio(audio) = block {
        return binary(&audio.mime_type, &audio.data, language);
    }
    if let ContentBlock::ResourceLink(link) = block {
        let (name, uri) = (&escaped(&link.name), &escaped(&link.uri));
        return Text::Link { name, uri }.text(language);
    }
    if let ContentBlock::Resource(embedded) = block {
        if let ResourceContents::TextResourceContents { text, .. } = &embedded.resource {
            return text.clone();
        }
        if let ResourceContents::BlobResourceContents { mime_type, blob, .. } = &embedded.resource {
            return binary(mime_type.as_deref().unwrap_or_default(), blob, language);
        }
    }
    // The library may add kinds of content.
    Text::UnknownContent.text(language)
}

/// Names binary content by its type and size. The type is the server's word for it.
fn binary(media_type: &str, base64: &str, language: Language) -> String {
    let bytes = base64.trim_end_matches('=').len().saturating_mul(3) / 4;
    let short: String = escaped(media_type).chars().take(100).collect();
    let media_type: &str = if short.is_empty() { "application/octet-stream" } else { &short };
    Text::Binary { media_type: &media_type, bytes: &bytes }.text(language)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(value: Value) -> CallToolResult {
        serde_json::from_value(value).unwrap()
    }

    fn english(value: Value) -> ToolResult {
        of(&answer(value), None, Language::En)
    }

    #[test]
    fn texts_are_joined_and_other_content_is_named() {
        let result = english(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAAAA==", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "two"}},
            {"type": "resource", "resource": {"uri": "a:b", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "file:///x", "name": "x"},
        ]}));
        let data = result.data.unwrap();
        let lines: Vec<&str> = data.as_str().unwrap().lines().collect();
        assert_eq!([lines[0], lines[2]], ["one", "two"]);
        assert!(lines[1].contains("image/png") && lines[1].contains('4'), "{lines:?}");
        assert!(lines[3].contains("application/octet-stream") && lines[3].contains('3'));
        assert!(lines[4].contains("file:///x"));
    }

    #[test]
    fn an_error_is_a_failure_with_its_text() {
        let text = json!([{"type": "text", "text": "disk full"}]);
        let result = english(json!({"content": text, "isError": true, "structuredContent": {}}));
        assert_eq!(result, ToolResult::failed("disk full"));
        assert!(english(json!({"content": [], "isError": true})).error.is_some());
    }

    #[test]
    fn structured_content_is_the_data_and_its_copy_is_left_out() {
        let copy = json!([{"type": "text", "text": "{\"n\": 1}"}]);
        let result = english(json!({"content": copy, "structuredContent": {"n": 1}}));
        assert_eq!(result, ToolResult::ok(json!({"n": 1})));
        let said = json!([{"type": "text", "text": "one"}]);
        let result = english(json!({"content": said, "structuredContent": {"n": 1}}));
        assert_eq!(result.message.as_deref(), Some("one"));
    }

    #[test]
    fn structured_content_that_does_not_fit_its_schema_is_a_failure() {
        let schema = Schema::compile(&json!({
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        }));
        let wrong = answer(json!({"content": [], "structuredContent": {"n": "x"}}));
        let result = of(&wrong, Some(&schema.unwrap()), Language::En);
        assert!(!result.success && result.error.unwrap().contains('n'));
    }
}
