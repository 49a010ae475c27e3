//! The mark and colour of every state, the same in all output.

use client::spans::SpanState;
use proto::{
    job::{JobState, SubStatus},
    step::StepState,
    view::{CallState, StepView},
};

use crate::style::Tone;

/// Returns the mark and colour of a job.
pub(crate) fn job(state: JobState) -> (&'static str, Tone) {
    match state {
        JobState::Submitted => ("○", Tone::Dim),
        JobState::Working => ("▸", Tone::Busy),
        JobState::InputRequired | JobState::AuthRequired => ("⏸", Tone::Wait),
        JobState::Completed => ("✓", Tone::Good),
        JobState::Failed | JobState::Rejected => ("✗", Tone::Bad),
        JobState::Canceled => ("⊘", Tone::Dim),
    }
}

/// Returns the colour of a sub-status.
pub(crate) fn sub_status(status: SubStatus) -> Tone {
    match status {
        SubStatus::Planning | SubStatus::Executing | SubStatus::Replanning => Tone::Busy,
        SubStatus::Parked | SubStatus::BackingOff | SubStatus::Paused => Tone::Wait,
        SubStatus::Poisoned => Tone::Bad,
    }
}

/// Returns the mark and colour of a step. An unsuccessful one looks like a failed one.
pub(crate) fn step(step: &StepView) -> (&'static str, Tone) {
    match step.state {
        StepState::Completed if step.success == Some(false) => ("✗", Tone::Bad),
        StepState::Completed => ("✓", Tone::Good),
        StepState::Pending => ("○", Tone::Dim),
        StepState::Ready => ("○", Tone::Plain),
        StepState::Running => ("▸", Tone::Busy),
        StepState::Waiting => ("⏸", Tone::Wait),
        StepState::Failed => ("✗", Tone::Bad),
        StepState::Blocked | StepState::Canceled => ("⊘", Tone::Dim),
        StepState::Skipped => ("–", Tone::Dim),
    }
}

/// Returns the mark and colour of a bar.
pub(crate) fn span(state: SpanState) -> (&'static str, Tone) {
    match state {
        SpanState::Open => ("▸", Tone::Busy),
        SpanState::Done => ("✓", Tone::Good),
        SpanState::Failed => ("✗", Tone::Bad),
        SpanState::Canceled => ("⊘", Tone::Dim),
    }
}

/// Returns the mark and colour of a tool call.
pub(crate) fn call(state: CallState) -> (&'static str, Tone) {
    match state {
        CallState::Waiting => ("⏸", Tone::Wait),
        CallState::Running => ("▸", Tone::Busy),
        CallState::Succeeded => ("✓", Tone::Good),
        CallState::Failed => ("✗", Tone::Bad),
        CallState::Unknown => ("?", Tone::Wait),
    }
}
