//! Open questions as interrupts of a run, and the answers that the next run brings. Pure.
//!
//! An interrupt names its question by three ids: the job of the run, the job that asks, and the
//! question. The next run therefore needs no memory of the one before it.

use client::answer_form;
use proto::{
    id::{AskId, JobId},
    interaction::{Answer, Question, QuestionKind},
};
use serde_json::json;

use super::{
    events::Interrupt,
    input::{ResumeEntry, ResumeStatus},
    run::Asked,
};

/// Returns the interrupt of a question.
pub(super) fn of(job: &JobId, (asks, ask): &Asked, question: &Question) -> Interrupt {
    let reason = match &question.kind {
        QuestionKind::PlanCheck { .. } => "confirmation",
        QuestionKind::ToolApproval { .. } => "tool_call",
        QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {
            "input_required"
        }
    };
    Interrupt {
        id: format!("{job}:{asks}:{ask}"),
        reason,
        message: question.prompt.clone(),
        response_schema: answer_form::schema(question),
        expires_at: question.deadline.map(|deadline| deadline.to_string()),
        metadata: json!({"callboard": {"job": asks, "question": question}}),
    }
}

/// Reads the id of an interrupt: the job of the run, and the question.
pub(super) fn parse(id: &str) -> Option<(JobId, Asked)> {
    let mut parts = id.split(':');
    let (job, asks, ask) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none();
    let read = (job.parse().ok()?, (asks.parse().ok()?, ask.parse::<AskId>().ok()?));
    is_whole.then_some(read)
}

/// Returns the answer in an entry; `None` if its payload has another form than the schema.
pub(super) fn answer(question: &Question, entry: &ResumeEntry) -> Option<Answer> {
    match entry.status {
        ResumeStatus::Cancelled => Some(answer_form::decline()),
        ResumeStatus::Resolved => answer_form::answer(question, &entry.payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_read_as_it_is_written() {
        let question = json!({"id": "q1", "prompt": "Whom?", "kind": "question"});
        let question: Question = serde_json::from_value(question).unwrap();
        let job: JobId = "j1".parse().unwrap();
        let asked: Asked = ("j1-c2".parse().unwrap(), "q1".parse().unwrap());
        let interrupt = of(&job, &asked, &question);
        assert_eq!(parse(&interrupt.id), Some((job, asked)));
        for wrong in ["", "j1", "j1:q1", "j1:j1:q1:x", "j1:j 1:q1", "::"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
