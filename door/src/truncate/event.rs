//! Truncation of events: texts keep both of their ends, and large values are replaced by their
//! size. Ids, phases and states are never changed.

use proto::{
    event::{Happened, InteractionEvent, NodePhase, PlanEvent, ToolPhase},
    excerpt::ends,
    interaction::QuestionKind,
    limits,
};
use serde_json::{Value, json};

/// Cuts every text to `chars` characters at each end, and leaves large values out.
pub(super) fn shorten(happened: &mut Happened, chars: usize) {
    let cut = |text: &mut String| *text = ends(text, chars);
    match happened {
        Happened::Error(error) => cut(&mut error.message),
        Happened::Message(message) => cut(&mut message.text),
        Happened::Tool(tool) => match &mut tool.phase {
            ToolPhase::Calling { args, remembered: _ } => leave_out(args),
            ToolPhase::Called { result, error, message, .. } => {
                result.iter_mut().for_each(leave_out);
                error.iter_mut().chain(message).for_each(cut);
            }
        },
        Happened::Interaction(interaction) => self::interaction(interaction, chars),
        Happened::Usage(_) | Happened::Turn(_) | Happened::Artifact(_) => {}
        Happened::Plan(plan) => self::plan(plan, chars),
        Happened::Step(step) => {
            cut(&mut step.label);
            step.response.iter_mut().for_each(cut);
        }
        Happened::Notice(notice) => cut(&mut notice.message),
        Happened::Node(node) => match &mut node.phase {
            NodePhase::Ended { error, .. } => error.iter_mut().for_each(cut),
            NodePhase::Entered { .. } | NodePhase::Routed { .. } => {}
        },
        Happened::Job(job) => job.reason.iter_mut().chain(&mut job.goal).for_each(cut),
    }
}

fn interaction(interaction: &mut InteractionEvent, chars: usize) {
    let cut = |text: &mut String| *text = ends(text, chars);
    match interaction {
        InteractionEvent::Asked { question, below: _ } => {
            cut(&mut question.prompt);
            match &mut question.kind {
                QuestionKind::PlanCheck { plan, .. } => {
                    plan.steps.iter_mut().for_each(|step| cut(&mut step.description));
                }
                QuestionKind::ToolApproval { args, .. } => leave_out(args),
                QuestionKind::Question
                | QuestionKind::Choice { .. }
                | QuestionKind::Form { .. } => {}
            }
        }
        InteractionEvent::Answered { answer, .. } => {
            answer.value.iter_mut().for_each(leave_out);
            answer.text.iter_mut().for_each(cut);
        }
        InteractionEvent::Told { text, reason, .. } => {
            cut(text);
            reason.iter_mut().for_each(cut);
        }
        InteractionEvent::Signaled { reason, .. } => reason.iter_mut().for_each(cut),
        InteractionEvent::Closed { .. } | InteractionEvent::Settled { .. } => {}
    }
}

fn plan(plan: &mut PlanEvent, chars: usize) {
    let cut = |text: &mut String| *text = ends(text, chars);
    cut(&mut plan.title);
    for step in &mut plan.steps {
        cut(&mut step.title);
        cut(&mut step.description);
    }
}

fn leave_out(value: &mut Value) {
    let bytes = value.to_string().len();
    if bytes > limits::REPLY_BYTES_MAX / 4 {
        *value = json!({"left_out": {"bytes": bytes}});
    }
}
