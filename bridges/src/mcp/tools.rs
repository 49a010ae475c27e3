//! The tools, as models see them. Pure.

use std::sync::{Arc, LazyLock};

use proto::{
    door::{AnswerTaken, InboxPage, Listed, Signaled},
    lang::Language,
};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;
use strum::{EnumString, IntoStaticStr};

use super::{
    arguments::{AnswerQuestion, CancelJob, GetJob, ListJobs, ListQuestions, SubmitJob},
    object,
    status::Status,
    words::Text,
};

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum ToolName {
    /// Submits a job.
    SubmitJob,
    /// Shows a job.
    GetJob,
    /// Lists jobs.
    ListJobs,
    /// Lists open questions.
    ListQuestions,
    /// Answers a question.
    AnswerQuestion,
    /// Cancels a job.
    CancelJob,
}

/// The schemas of a tool.
struct Forms {
    arguments: Arc<JsonObject>,
    result: Arc<JsonObject>,
}

impl Forms {
    fn of<A: JsonSchema, R: JsonSchema>() -> Self {
        // Without a name of the dialect it is 2020-12, and clients of older ones do not refuse it.
        let settings = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.meta_schema = None;
            settings.with_transform(RecursiveTransform(unformatted))
        };
        let arguments = settings().for_deserialize().into_generator().into_root_schema_for::<A>();
        let result = settings().for_serialize().into_generator().into_root_schema_for::<R>();
        let shared = |schema: Schema| Arc::new(object(schema.into()));
        Self { arguments: shared(arguments), result: shared(result) }
    }
}

/// Removes formats that JSON Schema does not have: clients warn of each.
fn unformatted(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| format.starts_with("uint") || format.starts_with("int")) {
        schema.remove("format");
    }
}

static FORMS: LazyLock<[Forms; 6]> = LazyLock::new(|| {
    ToolName::ALL.map(|tool| match tool {
        ToolName::SubmitJob => Forms::of::<SubmitJob, Status>(),
        ToolName::GetJob => Forms::of::<GetJob, Status>(),
        ToolName::ListJobs => Forms::of::<ListJobs, Listed>(),
        ToolName::ListQuestions => Forms::of::<ListQuestions, InboxPage>(),
        ToolName::AnswerQuestion => Forms::of::<AnswerQuestion, AnswerTaken>(),
        ToolName::CancelJob => Forms::of::<CancelJob, Signaled>(),
    })
});

impl ToolName {
    /// All tools, in the order in which models see them.
    pub(super) const ALL: [Self; 6] = [
        Self::SubmitJob,
        Self::GetJob,
        Self::ListJobs,
        Self::ListQuestions,
        Self::AnswerQuestion,
        Self::CancelJob,
    ];

    /// Describes the tool for models.
    pub(super) fn describe(self, language: Language) -> Tool {
        let text = match self {
            Self::SubmitJob => Text::SubmitJob,
            Self::GetJob => Text::GetJob,
            Self::ListJobs => Text::ListJobs,
            Self::ListQuestions => Text::ListQuestions,
            Self::AnswerQuestion => Text::AnswerQuestion,
            Self::CancelJob => Text::CancelJob,
        };
        let hints = ToolAnnotations::new().open_world(false);
        let hints = match self {
            // Agents may use any tool, and reach whatever their tools reach.
            Self::SubmitJob => hints.destructive(false).idempotent(false).open_world(true),
            Self::GetJob | Self::ListJobs | Self::ListQuestions => hints.read_only(true),
            Self::AnswerQuestion => hints.destructive(true).idempotent(false).open_world(true),
            Self::CancelJob => hints.destructive(true).idempotent(true),
        };
        let name: &'static str = self.into();
        let place = Self::ALL.iter().position(|tool| *tool == self);
        let forms = place.and_then(|place| FORMS.get(place));
        let (arguments, result) = match forms {
            Some(forms) => (Arc::clone(&forms.arguments), Arc::clone(&forms.result)),
            None => (Arc::default(), Arc::default()),
        };
        Tool::new(name, text.text(language), arguments)
            .with_raw_output_schema(result)
            .with_annotations(hints)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_described_for_models() {
        for tool in ToolName::ALL {
            let described = tool.describe(Language::En);
            assert_eq!(described.name.parse::<ToolName>(), Ok(tool));
            assert_ne!(described.description, tool.describe(Language::Zh).description);
            let form = &described.input_schema;
            assert_eq!(form["type"], "object", "{form:?}");
            assert_eq!(form["additionalProperties"], false, "{form:?}");
            assert_eq!(described.output_schema.unwrap()["type"], "object");
        }
    }

    #[test]
    fn a_model_is_told_how_long_it_may_wait() {
        let form = ToolName::GetJob.describe(Language::En).input_schema;
        assert_eq!(form["properties"]["wait_ms"]["maximum"], 50_000, "{form:?}");
    }

    #[test]
    fn schemas_have_no_formats_of_numbers() {
        for tool in ToolName::ALL {
            let described = serde_json::to_string(&tool.describe(Language::En)).unwrap();
            assert!(!described.contains("\"uint") && !described.contains("\"int32"), "{tool:?}");
        }
    }

    #[test]
    fn only_tools_that_change_nothing_say_so() {
        for tool in ToolName::ALL {
            let hints = tool.describe(Language::En).annotations.unwrap();
            let name: &str = tool.into();
            let is_read = name.starts_with("get") || name.starts_with("list");
            assert_eq!(hints.read_only_hint == Some(true), is_read, "{name}");
        }
    }
}
