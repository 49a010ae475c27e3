//! The words after `type`, and the fields that each type has.

use proto::workflow::WorkKind;

/// A type as a file writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typed {
    /// A type of the internal form.
    Kind(WorkKind),
    /// `plan_check` and `human_approval`: a question with yes or no and a reason.
    Approval,
    /// `form`: a question with a form, which must be there.
    Form,
    /// `workflow`: a sub-workflow.
    Workflow,
}

const WORDS: &[(&str, Typed)] = &[
    ("model", Typed::Kind(WorkKind::Model)),
    ("tool", Typed::Kind(WorkKind::Tool)),
    ("agent", Typed::Kind(WorkKind::Agent)),
    ("workflow", Typed::Workflow),
    ("human", Typed::Kind(WorkKind::Human)),
    ("ask", Typed::Kind(WorkKind::Human)),
    ("form", Typed::Form),
    ("plan_check", Typed::Approval),
    ("human_approval", Typed::Approval),
    ("branch", Typed::Kind(WorkKind::Branch)),
    ("parallel", Typed::Kind(WorkKind::Parallel)),
    ("map", Typed::Kind(WorkKind::Map)),
    ("wait", Typed::Kind(WorkKind::Wait)),
    ("event", Typed::Kind(WorkKind::Event)),
    ("set", Typed::Kind(WorkKind::Set)),
    ("end", Typed::Kind(WorkKind::End)),
    ("llm_call", Typed::Kind(WorkKind::Model)),
    ("tool_execution", Typed::Kind(WorkKind::Tool)),
    ("condition_node", Typed::Kind(WorkKind::Branch)),
];

impl Typed {
    /// Returns the type of a word, or `None` for the name of a tool or workflow and unknown words.
    pub(super) fn of(word: &str) -> Option<Self> {
        WORDS.iter().find(|(known, _)| *known == word).map(|(_, typed)| *typed)
    }

    /// Returns all words.
    pub(super) fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word)
    }
}
