//! Truncation of replies to the broker's size limit. A very large job is shown shortened, and the
//! reply says so. Stored records are never changed.

mod event;

use bytes::Bytes;
use proto::{
    error::{Code, Failure},
    event::Event,
    excerpt::ends,
    interaction::QuestionKind,
    limits,
    record::{Record, Unreadable},
    refusal::Text,
    view::{JobView, QuestionEnd},
    workflow::{VisitView, WorkflowGraph, shown},
};
use serde::Serialize;
use serde_json::{Value, json};

/// Returns a view that fits one reply, shortened if necessary.
pub(super) fn view(mut view: JobView) -> Result<JobView, Failure> {
    for chars in [usize::MAX, 500, 100, 20] {
        if chars < usize::MAX {
            shorten(&mut view, chars);
        }
        if bytes(&view)?.len() <= limits::REPLY_BYTES_MAX {
            return Ok(view);
        }
    }
    Err(Failure::of(Code::TooLarge, Text::JobTooLarge { job: &view.job }))
}

/// Returns a graph that fits one reply: if necessary with the values of its visits shortened, and
/// without its oldest visits.
pub(super) fn graph(mut graph: WorkflowGraph) -> Result<WorkflowGraph, Failure> {
    for most in [usize::MAX, 1000, 100, 0] {
        if most < usize::MAX {
            shorten_visits(&mut graph, most);
        }
        if bytes(&graph)?.len() <= limits::REPLY_BYTES_MAX {
            return Ok(graph);
        }
    }
    while !graph.visits.is_empty() {
        leave_out_half(&mut graph);
        if bytes(&graph)?.len() <= limits::REPLY_BYTES_MAX {
            return Ok(graph);
        }
    }
    Err(Failure::of(Code::TooLarge, Text::JobTooLarge { job: &graph.job }))
}

/// Leaves out the older half of the visits: of those that have ended, as long as there are any.
fn leave_out_half(graph: &mut WorkflowGraph) {
    let has_ended = |visit: &VisitView| visit.ended.is_some();
    let ended = graph.visits.iter().filter(|visit| has_ended(visit)).count();
    let all = graph.visits.len();
    let mut left = if ended == 0 { all } else { ended }.div_ceil(2);
    graph.visits.retain(|visit| {
        let is_out = left > 0 && (ended == 0 || has_ended(visit));
        left -= usize::from(is_out);
        !is_out
    });
    let left_out = all - graph.visits.len();
    graph.visits_left_out += u32::try_from(left_out).unwrap_or(u32::MAX);
}

fn shorten_visits(graph: &mut WorkflowGraph, most: usize) {
    let cut = |value: &mut Value| *value = shown(value, most);
    for visit in &mut graph.visits {
        [&mut visit.input, &mut visit.output].into_iter().filter(|it| !it.is_null()).for_each(cut);
        visit.error.iter_mut().for_each(|error| *error = ends(error, most.max(20)));
    }
    let values = [&mut graph.input, &mut graph.state];
    values.into_iter().filter_map(Value::as_object_mut).flatten().for_each(|(_, it)| cut(it));
}

/// Returns an event that fits one message, shortened if necessary. Its id does not change.
pub(super) fn event(mut event: Event) -> Result<Event, Failure> {
    for chars in [usize::MAX, limits::EXCERPT_CHARS, 100, 20] {
        if chars < usize::MAX {
            event::shorten(&mut event.happened, chars);
        }
        if bytes(&event)?.len() <= limits::REPLY_BYTES_MAX {
            return Ok(event);
        }
    }
    Err(Failure::of(Code::TooLarge, Text::EventTooLarge { event: &event.id }))
}

/// Returns a record as JSON, without its body if that is too large for one reply.
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

/// Returns a reply as JSON.
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
    let lines = view.revisions.iter_mut().flat_map(|revision| &mut revision.steps);
    lines.for_each(|line| cut(&mut line.label));
    view.instructions.iter_mut().for_each(|said| cut(&mut said.text));
    for question in &mut view.questions {
        cut(&mut question.prompt);
        if let QuestionKind::PlanCheck { plan, .. } = &mut question.kind {
            plan.steps.iter_mut().for_each(|step| cut(&mut step.description));
        }
    }
    for question in &mut view.past_questions {
        cut(&mut question.prompt);
        match &mut question.end {
            QuestionEnd::Answered { chosen, text, .. } => {
                chosen.iter_mut().chain(text).for_each(cut);
            }
            QuestionEnd::Closed { chosen, .. } => chosen.iter_mut().for_each(cut),
        }
    }
    if let Some(outcome) = &mut view.outcome {
        use proto::job::Outcome;
        match outcome {
            Outcome::Completed { summary: text, results, value: _ }
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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proto::{
        agent::Agent,
        id::{JobId, Seq, StepId, WorkerId},
        job::{JobState, Outcome},
        lang::Language,
        message::Usage,
        step::StepState,
        view::{PlanView, StepView},
        workflow::STEPS_MAX,
    };

    use super::*;

    fn job(steps: usize, description: &str) -> JobView {
        let step = |n| StepView {
            id: StepId::new(format!("s{n}")).unwrap(),
            title: String::new(),
            description: description.to_owned(),
            depends_on: Vec::new(),
            tool: None,
            state: StepState::Completed,
            success: Some(true),
            response: Some(description.to_owned()),
            attachments: Vec::new(),
            attempts: 1,
            turns: 0,
            calls: Vec::new(),
            notices: Vec::new(),
            outline: Vec::new(),
            started: None,
            ended: None,
        };
        JobView {
            job: JobId::new("j").unwrap(),
            state: JobState::Completed,
            sub_status: None,
            retries: Vec::new(),
            why: Vec::new(),
            reason: None,
            notices: Vec::new(),
            goal: "g".to_owned(),
            agent: Agent::default().name,
            language: Language::En,
            files: Vec::new(),
            artifacts: Vec::new(),
            labels: proto::label::Labels::default(),
            graph: None,
            plan: Some(PlanView {
                title: "t".to_owned(),
                revision: 0,
                confirmed: true,
                steps: (0..steps).map(step).collect(),
            }),
            successful_steps: u32::try_from(steps).unwrap(),
            failed_steps: 0,
            revisions: Vec::new(),
            instructions: Vec::new(),
            questions: Vec::new(),
            past_questions: Vec::new(),
            older_questions: 0,
            parent: None,
            children: Vec::new(),
            outcome: Some(Outcome::Completed {
                summary: description.to_owned(),
                results: json!({"s0": description.repeat(40)}),
                value: serde_json::Value::Null,
            }),
            detected: None,
            outline: Vec::new(),
            usage: Usage::default(),
            spent: proto::spent::Spent::default(),
            tools: Vec::new(),
            budget: Vec::new(),
            untrusted: None,
            remembered: Vec::new(),
            conversation: None,
            generation: proto::id::Generation::FIRST,
            forked: None,
            snapshots: Vec::new(),
            ignored: 0,
            records: 1,
            seq: Seq(1),
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
        }
    }

    /// The graph of a job with the most visits, with long names, large values and this condition.
    fn graph_of_most_visits(when: &str) -> WorkflowGraph {
        let (from, to) = (format!("node-{}", "a".repeat(25)), format!("next-{}", "b".repeat(25)));
        let large = "描".repeat(2_000);
        let visit = |n: u32| {
            json!({
                "visit": format!("{from}--1--{n}"), "path": format!("{to}--1/{n}"), "state": "completed",
                "input": {"args": {"text": large}}, "output": {"text": large}, "error": large,
                "writes": ["found"], "to": to, "when": when,
                "attempts": 2, "entered": "2026-01-01T00:00:00.123456789Z",
                "ended": "2026-01-01T00:00:01.123456789Z",
            })
        };
        serde_json::from_value(json!({
            "job": "j", "seq": 1, "digest": "d", "input": {}, "state": {"found": large},
            "definition": {"workflow": "w", "version": 1, "start": from, "nodes": {}},
            "nodes": [], "edges": [], "visits": (0..STEPS_MAX).map(visit).collect::<Vec<_>>(),
        }))
        .unwrap()
    }

    #[test]
    fn the_graph_and_the_view_of_a_job_with_the_most_visits_fit_one_reply() {
        let visits = usize::try_from(STEPS_MAX).unwrap();
        let fits = |shown: &WorkflowGraph| {
            assert!(bytes(shown).unwrap().len() <= limits::REPLY_BYTES_MAX);
        };
        let shown = graph(graph_of_most_visits("result.text == state.found")).unwrap();
        fits(&shown);
        assert_eq!((shown.visits.len(), shown.visits_left_out), (visits, 0));
        // A condition is part of a visit whatever its length.
        let mut whole = graph_of_most_visits(&format!("result.text == '{}'", "x".repeat(700)));
        whole.visits[0].ended = None;
        let shown = graph(whole.clone()).unwrap();
        fits(&shown);
        let left_out = usize::try_from(shown.visits_left_out).unwrap();
        assert_eq!((left_out, shown.visits.len()), (visits / 2, visits / 2));
        let ends = |graph: &WorkflowGraph| {
            let of = |visit: Option<&VisitView>| visit.unwrap().visit.clone();
            [of(graph.visits.first()), of(graph.visits.last())]
        };
        assert_eq!(ends(&shown), ends(&whole), "the open visit stays, and the newest one");
        let view = view(job(visits, &"描".repeat(500))).unwrap();
        assert!(bytes(&view).unwrap().len() <= limits::REPLY_BYTES_MAX);
        assert_eq!(view.plan.unwrap().steps.len(), visits);
    }

    #[test]
    fn a_job_of_any_size_fits_one_reply_and_says_what_is_missing() {
        let small = job(3, "short");
        assert_eq!(view(small.clone()).unwrap(), small);
        let most = "描".repeat(limits::DESCRIPTION_BYTES_MAX / 3);
        let large = view(job(limits::PLAN_STEPS_MAX, &most)).unwrap();
        assert!(bytes(&large).unwrap().len() <= limits::REPLY_BYTES_MAX);
        let steps = large.plan.unwrap().steps;
        assert_eq!(steps.len(), limits::PLAN_STEPS_MAX);
        assert!(steps[0].description.contains("characters cut"), "{}", steps[0].description);
        let Some(Outcome::Completed { results, .. }) = large.outcome else { panic!() };
        assert!(results["left_out"]["bytes"].as_u64() > Some(1_000_000));
    }

    #[test]
    fn a_record_of_any_size_is_shown_and_one_that_cannot_be_read_says_why() {
        let fact = |summary: &str| {
            proto::fact::Fact::Submitted(proto::fact::Submitted {
                goal: summary.to_owned(),
                agent: Agent::default(),
                language: Language::En,
                language_detected: false,
                digest: "d".to_owned(),
                by: None,
                conversation: None,
                parent: None,
                agents: Default::default(),
                forked: None,
                plan: None,
                workflow: None,
                files: Vec::new(),
                labels: proto::label::Labels::default(),
                rules: proto::rules::Rules::NOW,
            })
        };
        let by = WorkerId::new("w").unwrap();
        let written = |goal: &str| Record::of_fact(&fact(goal), "r", &by).map_err(|_| panic!());
        assert_eq!(record(&written("small"))["body"]["goal"], "small");
        let large = record(&written(&"x".repeat(limits::REPLY_BYTES_MAX)));
        assert_eq!((&large["kind"], large.get("body")), (&json!("submitted"), None));
        assert!(large["left_out"]["bytes"].as_u64() > Some(limits::REPLY_BYTES_MAX as u64));
        let unreadable = Err(Unreadable::Kind { kind: "dance".to_owned(), unit: None });
        assert_eq!(record(&unreadable)["unreadable"], "unknown kind \"dance\"");
    }
}
