//! AG-UI 1.0: `POST /agui/{agent}` runs an agent and streams the run as server-sent events.
//!
//! A run is a view of a job. It ends at the job's next question, and the next run brings the answer;
//! a closed connection ends nothing but the run. A message to a job that works instructs it.

mod events;
mod input;
mod interrupts;
mod run;
mod steering;
mod stream;

use std::collections::BTreeMap;

use axum::extract::{Path, Request, State};
use bridges::derived;
use client::session::open_questions;
use proto::{
    door::{Filter, GiveAnswer, List},
    error::{Code, Failure},
    id::{AgentName, AskId, JobId},
    job::JobState,
    view::JobView,
};
use serde_json::Map;

pub(crate) use self::input::RunAgentInput;
use self::{
    input::NoGoal,
    run::{Run, Start},
};
use crate::{
    Desk,
    api::body::{self, Answered},
    caller::Caller,
    problem::Problem,
    words::Text,
};

/// `POST /agui/{agent}`.
pub(crate) async fn run(
    State(desk): State<Desk>,
    caller: Caller,
    Path(agent): Path<String>,
    request: Request,
) -> Answered {
    let agent: AgentName = body::named(&caller, &agent)?;
    let input: RunAgentInput = body::foreign(request, &desk).await?;
    let Some(place) = desk.limits.open(&caller.key) else {
        return Err(caller.overloads(Text::TooManyStreams { max: &desk.limits.streams_max() }));
    };
    let ids = (input.thread_id.clone(), input.run_id.clone());
    let begun = if input.resume.is_empty() {
        match steering::steered(&caller, &input, &agent).await {
            Ok(Some(steered)) => Ok(steered),
            Ok(None) => Ok((submitted(&caller, &input, agent).await?, Start::Beginning)),
            Err(failure) => Err(failure),
        }
    } else {
        answered(&caller, &input).await
    };
    match begun {
        Ok((job, start)) => {
            let run = Run::new(job.clone(), ids, input.state(), start);
            Ok(stream::response(&caller, &job, run, desk.shutdown, place))
        }
        // HTTP says what a caller may not do. Everything else is a part of the protocol.
        Err(failure) if failure.code == Code::Forbidden => Err(caller.refused(failure)),
        Err(failure) => {
            let run = Run::of_nothing(ids);
            Ok(stream::failed(&caller, run, &failure, desk.shutdown, place))
        }
    }
}

/// Returns the id of the job that a run submits.
fn job_of(caller: &Caller, input: &RunAgentInput) -> JobId {
    derived::job_id(caller.subject(), "agui", [&input.thread_id, &input.run_id])
}

/// Checks that a run which answers nothing finds no open interrupt in its thread.
async fn unresolved(caller: &Caller, input: &RunAgentInput) -> Result<(), Failure> {
    let states = vec![JobState::InputRequired, JobState::AuthRequired];
    let conversation = Some(input.conversation());
    let filter = Filter { states, conversation, ..Filter::default() };
    let list = List { filter, limit: Some(1), after: None };
    for summary in caller.client.call(&list).await?.jobs {
        let view = caller.client.get(&summary.job).await?;
        if let Some(open) = open_questions(&view).first() {
            return Err(still_open(&open.question.id));
        }
    }
    Ok(())
}

fn still_open(ask: &AskId) -> Failure {
    let why = Text::AguiOpenInterrupt { ask };
    Failure::composed(Code::InvalidRequest, &why.into()).at("resume")
}

/// Submits the job of a run. A repeated run finds its job.
async fn submitted(
    caller: &Caller,
    input: &RunAgentInput,
    agent: AgentName,
) -> Result<JobId, Problem> {
    let mut submit = input.submit(agent).map_err(|none| {
        let why = match none {
            NoGoal::NoText => Text::AguiNoGoal,
            NoGoal::OtherPart => Text::AguiOtherPart,
        };
        caller.wrong_field("messages", &why.into())
    })?;
    submit.id = Some(job_of(caller, input));
    let submitted = caller.client.submit(submit).await;
    Ok(submitted.map_err(|failure| caller.refused(failure))?.job)
}

/// Answers the interrupts of a run. Returns the job that goes on, and the answers after which the
/// run shows it.
async fn answered(caller: &Caller, input: &RunAgentInput) -> Result<(JobId, Start), Failure> {
    let unknown = |id: &str| {
        let why = Text::AguiUnknownInterrupt { id: &id };
        Failure::composed(Code::NotFound, &why.into()).at("resume")
    };
    let mut entries = BTreeMap::new();
    let mut root: Option<JobId> = None;
    for entry in &input.resume {
        let (job, asked) =
            interrupts::parse(&entry.interrupt_id).ok_or_else(|| unknown(&entry.interrupt_id))?;
        let is_other = root.replace(job.clone()).is_some_and(|other| other != job);
        if is_other || entries.insert(asked, entry).is_some() {
            return Err(unknown(&entry.interrupt_id));
        }
    }
    let root = root.ok_or_else(|| unknown(""))?;
    let mut views: BTreeMap<JobId, JobView> = BTreeMap::new();
    for job in entries.keys().map(|(job, _)| job).chain([&root]) {
        if !views.contains_key(job) {
            let view = caller.client.get(job).await?;
            let above = view.parent.as_ref().map_or(&view.job, |parent| &parent.root);
            let is_of_thread = view.conversation == Some(input.conversation());
            if *above != root || (*job == root && !is_of_thread) {
                return Err(unknown(job.as_str()));
            }
            views.insert(job.clone(), view);
        }
    }
    let mut answers = Vec::new();
    for ((job, ask), entry) in &entries {
        let view = views.get(job).ok_or_else(|| unknown(&entry.interrupt_id))?;
        let Some(question) = view.questions.iter().find(|question| question.id == *ask) else {
            let was_asked =
                view.older_questions > 0 || view.past_questions.iter().any(|past| past.id == *ask);
            // Somebody else answered it, or this run did before.
            if was_asked { continue } else { return Err(unknown(&entry.interrupt_id)) }
        };
        let misfit = |why: &proto::lang::Words| {
            Failure::composed(Code::InvalidAnswer, why).at("resume.payload")
        };
        let answer = interrupts::answer(question, entry)
            .ok_or_else(|| misfit(&Text::AguiOtherPayload { id: &entry.interrupt_id }.into()))?;
        question.check(&answer).map_err(|wrong| misfit(&wrong.words()))?;
        answers.push((job.clone(), ask.clone(), answer));
    }
    let open = views.get(&root).map(open_questions).unwrap_or_default();
    let left = open.iter().find(|question| !entries.contains_key(&question.key()));
    if let (Some(left), false) = (left, answers.is_empty()) {
        return Err(still_open(&left.question.id));
    }
    for (job, ask, answer) in answers {
        match caller.client.call(&GiveAnswer::new(job, ask, answer)).await {
            Ok(_) => {}
            Err(failure) if failure.code.is_settled_elsewhere() => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok((root, Start::Answers(entries.into_keys().collect())))
}

impl Run {
    /// Creates a run without a job, which fails at once.
    fn of_nothing((thread_id, run_id): (String, String)) -> Self {
        let none = JobId::new("none").expect("it is an id");
        Self::new(none, (thread_id, run_id), Map::new(), Start::Beginning)
    }
}
