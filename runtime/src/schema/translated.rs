//! The translations of a misfit's reason, which the library gives in English only.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use proto::lang::Language;
use serde_json::Value;

messages::translations!(schema);

/// Returns the reason in a language; `None` when the language has no translation.
pub(super) fn why(kind: &ValidationErrorKind, language: Language) -> Option<String> {
    use ValidationErrorKind as Kind;
    let comma = Text::Comma.text(language)?;
    let text = match kind {
        Kind::Required { property } => Text::Required { property },
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            return Text::AdditionalProperties { names: &unexpected.join(&comma) }.text(language);
        }
        Kind::Type { kind: TypeKind::Single(wanted) } => Text::Type { wanted },
        Kind::Type { kind: TypeKind::Multiple(wanted) } => {
            let wanted: Vec<_> = wanted.iter().map(|one| one.to_string()).collect();
            return Text::Types { wanted: &wanted.join(&comma) }.text(language);
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let options: Vec<_> = options.iter().map(Value::to_string).collect();
            return Text::Enum { options: &options.join(&comma) }.text(language);
        }
        Kind::Constant { expected_value } => Text::Constant { value: expected_value },
        Kind::Minimum { limit } => Text::Minimum { limit },
        Kind::Maximum { limit } => Text::Maximum { limit },
        Kind::ExclusiveMinimum { limit } => Text::ExclusiveMinimum { limit },
        Kind::ExclusiveMaximum { limit } => Text::ExclusiveMaximum { limit },
        Kind::MinLength { limit } => Text::MinLength { limit },
        Kind::MaxLength { limit } => Text::MaxLength { limit },
        Kind::MinItems { limit } => Text::MinItems { limit },
        Kind::MaxItems { limit } => Text::MaxItems { limit },
        Kind::MinProperties { limit } => Text::MinProperties { limit },
        Kind::MaxProperties { limit } => Text::MaxProperties { limit },
        Kind::MultipleOf { multiple_of } => Text::MultipleOf { number: multiple_of },
        Kind::Pattern { pattern } => Text::Pattern { pattern },
        Kind::Format { format } => Text::Format { format },
        Kind::UniqueItems => Text::UniqueItems,
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => Text::AnyOf,
        Kind::OneOfMultipleValid { .. } => Text::OneOf,
        Kind::FalseSchema => Text::FalseSchema,
        Kind::Not { .. } => Text::Not,
        // Rare, or errors of the schema itself.
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
    };
    text.text(language)
}
