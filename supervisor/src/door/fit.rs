//! Keeps answers below what the broker takes: a very large job is shown shortened rather than not
//! at all. What is shortened says so; the records themselves are whole.

use bytes::Bytes;
use proto::{
    error::{Code, Failure},
    excerpt::ends,
    interaction::QuestionKind,
    limits,
    record::{Record, Unreadable},
    view::JobView,
};
use serde::Serialize;
use serde_json::{Value, json};

/// A view in JSON, shortened when it must be.
pub(super) fn view(mut view: JobView) -> Result<Bytes, Failure> {
    for chars in [usize::MAX, 500, 100, 20] {
        if chars < usize::MAX {
            shorten(&mut view, chars);
        }
        let bytes = bytes(&view)?;
        if bytes.len() <= limits::REPLY_BYTES_MAX {
            return Ok(bytes);
        }
    }
    let why = format!("job {} is too large to be shown in one reply", view.job);
    Err(Failure::new(Code::TooLarge, why))
}

/// The same as a value, to stand inside another answer.
pub(super) fn view_value(view: JobView) -> Result<JobView, Failure> {
    let bytes = self::view(view)?;
    serde_json::from_slice(&bytes).map_err(|e| Failure::new(Code::Internal, e.to_string()))
}

/// A record in JSON, its body left out when it is too large for one reply.
pub(super) fn record(record: &Result<Record, Unreadable>) -> Value {
    let record = match record {
        Ok(record) => record,
        Err(unreadable) => return json!({"unreadable": unreadable.to_string()}),
    };
    let bytes = record.to_vec();
    if bytes.len() <= limits::REPLY_BYTES_MAX {
        return serde_json::from_slice(&bytes).unwrap_or_default();
    }
    json!({
        "v": record.v, "kind": record.kind, "id": record.id, "by": record.by,
        "left_out": {"bytes": bytes.len()},
    })
}

/// An answer in JSON.
pub(super) fn bytes(answer: &impl Serialize) -> Result<Bytes, Failure> {
    let written = serde_json::to_vec(answer);
    written.map(Bytes::from).map_err(|e| Failure::new(Code::Internal, e.to_string()))
}

fn shorten(view: &mut JobView, chars: usize) {
    let cut = |text: &mut String| *text = ends(text, chars);
    cut(&mut view.goal);
    for step in view.plan.iter_mut().flat_map(|plan| &mut plan.steps) {
        cut(&mut step.description);
        step.response.iter_mut().for_each(cut);
        step.calls.iter_mut().filter_map(|call| call.message.as_mut()).for_each(cut);
    }
    for question in &mut view.questions {
        cut(&mut question.prompt);
        if let QuestionKind::PlanCheck { plan, .. } = &mut question.kind {
            plan.steps.iter_mut().for_each(|step| cut(&mut step.description));
        }
    }
    if let Some(outcome) = &mut view.outcome {
        use proto::job::Outcome;
        match outcome {
            Outcome::Completed { summary: text, results }
            | Outcome::Failed { message: text, results, .. } => {
                cut(text);
                let large = results.to_string().len();
                if large > limits::REPLY_BYTES_MAX / 4 {
                    *results = json!({"left_out": {"bytes": large}});
                }
            }
            Outcome::Canceled { .. } => {}
        }
    }
}
