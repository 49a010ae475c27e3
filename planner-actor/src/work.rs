//! The planner as a worker: one command, one question to the model, one fact.

use std::sync::Arc;

use async_trait::async_trait;
use model::{Asked, Delta, Model, ModelRequest, TooLarge};
use proto::{
    decision::{Decision, Detect, PlanTalk, PlanWork},
    fact::{Fact, PlanReply, Planned},
    family,
    message::{Message, Usage},
    policy::Detected,
    tool::ToolSpec,
    toolbox::Toolbox,
    wire::Said,
};
use runtime::{
    arguments::{self, Placeholders},
    registry::Registry,
    schema::Schemas,
    telemetry::{self, Kind, Span, keys},
    worker::{Speaker, Task, Work},
};
use serde_json::Value;

use crate::{
    conversation, detect,
    reply::{self, Understood},
};

/// The name of the role, in configuration, presence and logs.
pub const ROLE: &str = "planner";

/// Answers `do.plan`. Keeps nothing between commands but compiled schemas.
pub struct Planner {
    model: Arc<dyn Model>,
    registry: Registry,
    schemas: Schemas,
}

impl Planner {
    /// A planner that asks `model` and plans with the tools of `registry`.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, registry: Registry) -> Self {
        Self { model, registry, schemas: Schemas::new() }
    }

    async fn plan(&self, work: &PlanWork, speaker: Speaker) -> Planned {
        let registered = self.registry.all();
        let presets = &work.model.presets;
        let specs: Vec<_> = registered.iter().map(|tool| presets.without(&tool.spec)).collect();
        let agents = family::as_tools(&work.model.agents, work.language);
        let tools = Toolbox::new(specs.iter().map(AsRef::as_ref), work.model.tools.as_deref())
            .with_agents(&agents);
        let mut usage = Usage::default();
        let detected = match &work.detect {
            None => None,
            Some(detect) => Some(self.detect(work, detect, &tools, &mut usage).await),
        };
        let simple = detected.as_ref().is_some_and(|detected| !detected.complex);
        let Understood { reply, outline } = if simple {
            PlanReply::Simple.into()
        } else {
            self.ask(work, &tools, speaker, &mut usage).await
        };
        let (work, attempt) = (work.work.clone(), work.attempt);
        Planned { work, attempt, reply, usage, detected, outline }
    }

    async fn ask(
        &self,
        work: &PlanWork,
        tools: &Toolbox<'_>,
        speaker: Speaker,
        usage: &mut Usage,
    ) -> Understood {
        let mut request = conversation::request(work, tools);
        match self.fitted(work, tools, &mut request) {
            Ok(messages) => request.messages = messages,
            Err(large) => return reply::too_large(&large).into(),
        }
        let show = move |delta: &Delta| match delta {
            Delta::Text(text) => speaker.say(Said::Text(text.clone())),
            Delta::Thought(text) => speaker.say(Said::Thought(text.clone())),
            Delta::Call(_) | Delta::End { .. } => {}
        };
        match model::complete(&*self.model, request, show).await {
            Ok(said) => {
                *usage += said.usage;
                let check = |tool: &ToolSpec, args: &Value| {
                    let language = work.language;
                    arguments::check_in(language, &self.schemas, tool, args, Placeholders::Open)
                };
                reply::understand(&said, work, tools, &check)
            }
            Err(error) => reply::failed(&error).into(),
        }
    }

    /// What of a conversation the model has room for. What people told the job always is of it.
    fn fitted(
        &self,
        work: &PlanWork,
        tools: &Toolbox<'_>,
        request: &mut ModelRequest,
    ) -> Result<Vec<Message>, TooLarge> {
        let said = std::mem::take(&mut request.messages);
        let (offers, window, language) = (&request.tools, work.window, work.language);
        let asked = Asked { model: &*self.model, name: request.params.model.as_deref() };
        let fit = |messages| model::fit(messages, offers, window, language, asked);
        let fitted = fit(said)?;
        let told = work.dialogue.iter().any(|talk| matches!(talk, PlanTalk::Steered { .. }));
        if fitted.left_out == 0 || !told {
            return Ok(fitted.messages);
        }
        let pinned = conversation::with_instructions(work);
        Ok(fit(conversation::request(&pinned, tools).messages)?.messages)
    }

    /// Whether the goal needs a plan. Nothing that goes wrong here ends the work: then it does.
    async fn detect(
        &self,
        work: &PlanWork,
        wanted: &Detect,
        tools: &Toolbox<'_>,
        usage: &mut Usage,
    ) -> Detected {
        if let Some(detected) = detect::at_once(work, wanted, tools) {
            return detected;
        }
        match model::complete(&*self.model, detect::request(work, wanted), |_| {}).await {
            Ok(said) => {
                *usage += said.usage;
                Detected { usage: said.usage, ..detect::understood(Ok(&said.text)) }
            }
            Err(error) => detect::understood(Err(error.to_string())),
        }
    }
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner").field("registry", &self.registry).finish_non_exhaustive()
    }
}

#[async_trait]
impl Work for Planner {
    fn name(&self) -> &'static str {
        ROLE
    }

    async fn run(&self, task: Task) -> Option<Fact> {
        let work = match task.decision {
            Decision::Plan(work) => work,
            other @ (Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Finish(_)) => {
                tracing::error!(
                    kind = other.kind().as_str(),
                    "a planner was handed another command"
                );
                return None;
            }
        };
        let own = telemetry::child_of(task.trace);
        let mut span = Span::start(own, Some(task.trace), Kind::Internal, || "plan".to_owned());
        span.set(keys::GEN_AI_OPERATION_NAME, "plan");
        span.work(&task.job, &work.work, work.attempt);
        // A plan that nobody wants any more is not waited for: dropping the reply ends the call.
        let plan = telemetry::within(own, self.plan(&work, task.live.speaker()));
        let planned = task.canceled.run_until_cancelled(plan).await;
        let (outcome, error) = outcome(planned.as_ref().map(|planned| &planned.reply));
        span.set(keys::OUTCOME, outcome);
        if error {
            span.fail(outcome);
        }
        planned.map(Fact::Planned)
    }
}

/// What a plan came to, and whether that is an error.
fn outcome(reply: Option<&PlanReply>) -> (&'static str, bool) {
    match reply {
        Some(PlanReply::Plan { .. }) => ("plan", false),
        Some(PlanReply::Question { .. }) => ("question", false),
        Some(PlanReply::Simple) => ("simple", false),
        Some(PlanReply::Noted { .. }) => ("noted", false),
        Some(PlanReply::Finished { .. }) => ("finished", false),
        Some(PlanReply::Unparseable { .. }) => ("unparseable", true),
        Some(PlanReply::Failed { .. }) => ("failed", true),
        None => ("canceled", true),
    }
}
