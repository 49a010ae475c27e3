//! What does not fit a schema, in Chinese: the library says it in English alone.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// What is wrong; nothing where there are no words for it.
pub(super) fn why(kind: &ValidationErrorKind) -> Option<String> {
    use ValidationErrorKind as Kind;
    Some(match kind {
        Kind::Required { property } => format!("缺少必需的 {property}"),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("含有不允许的字段：{}", unexpected.join("、"))
        }
        Kind::Type { kind: TypeKind::Single(wanted) } => format!("类型必须是 {wanted}"),
        Kind::Type { kind: TypeKind::Multiple(wanted) } => {
            let wanted: Vec<_> = wanted.iter().map(|one| one.to_string()).collect();
            format!("类型必须是以下之一：{}", wanted.join("、"))
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let options: Vec<_> = options.iter().map(Value::to_string).collect();
            format!("必须是以下之一：{}", options.join("、"))
        }
        Kind::Constant { expected_value } => format!("必须等于 {expected_value}"),
        Kind::Minimum { limit } => format!("不能小于 {limit}"),
        Kind::Maximum { limit } => format!("不能大于 {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("必须大于 {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("必须小于 {limit}"),
        Kind::MinLength { limit } => format!("至少需要 {limit} 个字符"),
        Kind::MaxLength { limit } => format!("最多 {limit} 个字符"),
        Kind::MinItems { limit } => format!("至少需要 {limit} 项"),
        Kind::MaxItems { limit } => format!("最多 {limit} 项"),
        Kind::MinProperties { limit } => format!("至少需要 {limit} 个字段"),
        Kind::MaxProperties { limit } => format!("最多 {limit} 个字段"),
        Kind::MultipleOf { multiple_of } => format!("必须是 {multiple_of} 的倍数"),
        Kind::Pattern { pattern } => format!("不符合格式 {pattern}"),
        Kind::Format { format } => format!("不是有效的 {format}"),
        Kind::UniqueItems => "含有重复的项".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => "不符合任何一种允许的形式".to_owned(),
        Kind::OneOfMultipleValid { .. } => "同时符合多种形式，只能符合一种".to_owned(),
        Kind::FalseSchema => "不允许任何值".to_owned(),
        Kind::Not { .. } => "是不允许的形式".to_owned(),
        // Rare, or about the schema itself.
        Kind::AdditionalItems { .. }
        | Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::Contains
        | Kind::ContentEncoding { .. }
        | Kind::ContentMediaType { .. }
        | Kind::Custom { .. }
        | Kind::FromUtf8 { .. }
        | Kind::PropertyNames { .. }
        | Kind::UnevaluatedItems { .. }
        | Kind::Referencing(_) => return None,
    })
}
