//! The verb that says what a signal or a fork would do.

use serde::{Deserialize, Serialize};

use super::SendSignal;
use crate::{
    consequence::{self, Sentence},
    error::Failure,
    id::{JobId, Seq, StepId, ToolName},
    lang::Language,
    point::Fork,
    tool::Effect,
};

/// The request to say what another request would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Preview {
    /// The request to send a signal.
    Signal(SendSignal),
    /// The fork of a submission.
    Fork(Fork),
}

/// The effect that a request would have now. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Previewed {
    /// Id of the job.
    pub job: JobId,
    /// Last record of the job that was taken into account.
    pub seq: Seq,
    /// Sentences for users, in English.
    pub text: String,
    /// The same sentences by their names in the language files.
    pub sentences: Vec<Sentence>,
    /// Number of records that no longer count; for a fork, of those that it does not take along.
    pub records: u64,
    /// Steps that began and run again, in plan order.
    pub steps: Vec<StepAgain>,
    /// `true` if the planner makes the plan again, so that the steps are not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plans: bool,
    /// Effects of tools outside that stay, although their calls no longer count.
    pub effects: Vec<EffectDone>,
    /// Jobs below that end, at every depth.
    pub ends: Vec<JobId>,
    /// Refusal that the request would get; absent if it would be taken. After `would_repeat`, the
    /// other fields say what the request would do with `again`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Box<Failure>>,
}

/// A step that runs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepAgain {
    /// Id of the step.
    pub id: StepId,
    /// Title of the step.
    pub title: String,
}

/// Calls of a tool that had effects outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EffectDone {
    /// Tool that was called.
    pub tool: ToolName,
    /// Effect class of the tool: `idempotent` or `once`.
    pub effect: Effect,
    /// Number of calls that began.
    pub calls: u32,
}

impl Previewed {
    /// Returns the preview with its texts in a language. A text that this program does not know
    /// stays as the server wrote it.
    #[must_use]
    pub fn in_language(mut self, language: Language) -> Self {
        if let Some(text) = consequence::text_of(&self.sentences, language) {
            self.text = text;
        }
        if let Some(failure) = &mut self.refused {
            failure.message = failure.message_in(language);
            failure.hint = failure.hint_in(language);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{consequence::Consequence, error::Code, refusal::Text, strict};

    #[test]
    fn a_request_is_the_one_that_it_is_about() {
        let of = |body: &str| strict::request::<Preview>(body.as_bytes());
        let signal = of(r#"{"signal":{"job":"j","signal":{"roll_back":{"to":5}}}}"#).unwrap();
        assert!(matches!(signal, Preview::Signal(SendSignal { .. })));
        let fork = of(r#"{"fork":{"job":"j","at":"here"}}"#).unwrap();
        assert!(matches!(fork, Preview::Fork(Fork { .. })));
        for (body, at) in [
            (r#"{"signal":{"job":"j","signal":{"restart":{"again":true}}}}"#, "step"),
            (r#"{"signal":{"job":"j","signal":"cancel","when":1}}"#, "when"),
            (r#"{"batch":{}}"#, "."),
        ] {
            let Err(strict::Refused::Field { field, .. }) = of(body) else { panic!("{body}") };
            assert!(field.ends_with(at), "{field}, not {at}");
        }
        assert!(of("").is_err() && of(r#"{"fork":{"job":"j"},"signal":{}}"#).is_err());
    }

    #[test]
    fn texts_are_those_of_the_language() {
        let job = JobId::new("j").unwrap();
        let consequence = Consequence::Pause;
        let previewed = Previewed {
            text: consequence.text(Language::En),
            sentences: consequence.sentences(),
            job: job.clone(),
            seq: Seq(7),
            records: 0,
            steps: Vec::new(),
            plans: false,
            effects: Vec::new(),
            ends: Vec::new(),
            refused: Some(Box::new(Failure::of(Code::NotFound, Text::NoJob { job: &job }))),
        };
        let shown = previewed.clone().in_language(Language::Zh);
        assert_eq!(shown.text, consequence.text(Language::Zh));
        assert_eq!(shown.refused.unwrap().message, Text::NoJob { job: &job }.text(Language::Zh));
        assert_eq!(previewed.clone().in_language(Language::En), previewed);
        let newer = Sentence { name: "newer".to_owned(), args: Default::default() };
        let newer = Previewed { sentences: vec![newer], ..previewed.clone() };
        assert_eq!(newer.in_language(Language::Zh).text, previewed.text);
    }
}
