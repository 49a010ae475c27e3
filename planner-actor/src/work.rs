//! The planner's work: one command, one reply. Compiled schemas and the parts of requests that do not
//! depend on the job are kept between commands.

use std::{sync::Arc, time::Duration};

use agents::toolbox::Toolbox;
use broker::kv::Kv;
use model::{Delta, Model, ModelRequest, TooLarge};
use proto::{
    decision::{Detect, PlanTalk, PlanWork, pools},
    excerpt,
    fact::{PlanReply, Planned},
    fallback::AnsweredBy,
    family, limits,
    message::Usage,
    policy::{Detected, PlanProtocol},
    tool::ToolSpec,
};
use runtime::{
    arguments::{self, Placeholders},
    registry::Registry,
    schema::Schemas,
    worker::LiveChannel,
};
use serde_json::Value;

use crate::{
    conversation::{
        self,
        opening::{Opening, Openings},
    },
    detect,
    reply::{self, Understood},
    tasks::{self, LIST_TOOL},
};

/// Longest wait for the task list.
const TASKS_WITHIN: Duration = Duration::from_secs(3);

#[derive(derive_more::Debug)]
#[debug("Planner({registry:?})")]
pub(crate) struct Planner {
    kv: Arc<dyn Kv>,
    model: Arc<dyn Model>,
    registry: Registry,
    schemas: Schemas,
    openings: Openings,
}

impl Planner {
    pub(crate) fn new(kv: Arc<dyn Kv>, model: Arc<dyn Model>, registry: Registry) -> Self {
        Self { kv, model, registry, schemas: Schemas::new(), openings: Openings::default() }
    }

    pub(crate) async fn plan(&self, work: &PlanWork, live: LiveChannel) -> Planned {
        let (registered, digest) = self.registry.all_with_digest();
        let presets = &work.model.presets;
        let offered = registered.iter().map(|tool| presets.offered(&tool.spec, work.language));
        let specs: Vec<_> = offered.collect();
        let agents = family::as_tools(&work.model.agents, work.language);
        let tools = Toolbox::new(specs.iter().map(AsRef::as_ref), work.model.tools.as_deref())
            .with_agents(&agents);
        let (mut usage, mut reasoning) = (Usage::default(), String::new());
        let mut answered = None;
        let detected = match &work.detect {
            None => None,
            Some(detect) => Some(self.detect(work, detect, &tools, &mut usage).await),
        };
        let simple = detected.as_ref().is_some_and(|detected| !detected.complex);
        let Understood { reply, outline } = if simple {
            PlanReply::Simple.into()
        } else {
            let spent = (&mut usage, &mut reasoning, &mut answered);
            self.ask(work, (&tools, &digest), live, spent).await
        };
        let (work, attempt) = (work.work.clone(), work.attempt);
        Planned { work, attempt, reply, usage, detected, outline, reasoning, answered }
    }

    async fn ask(
        &self,
        work: &PlanWork,
        (tools, registered): (&Toolbox<'_>, &str),
        live: LiveChannel,
        (usage, reasoning, answered): (&mut Usage, &mut String, &mut Option<AnsweredBy>),
    ) -> Understood {
        let tasks = self.tasks(work, tools).await;
        let opening = self.openings.get(work, registered, tools);
        let request = self.request(work, &opening, &tasks).or_else(|large| {
            if tasks.is_empty() { Err(large) } else { self.request(work, &opening, "") }
        });
        let request = match request {
            Ok(request) => request,
            Err(large) => return reply::too_large(&large, work.language).into(),
        };
        let show = move |delta: &Delta| delta.update().into_iter().for_each(|said| live.send(said));
        match model::complete(&*self.model, request, show).await {
            Ok(said) => {
                *usage += said.usage;
                answered.clone_from(&said.answered);
                *reasoning = excerpt::ends(said.thought.trim(), limits::REASONING_CHARS);
                let check = |tool: &ToolSpec, args: &Value| {
                    arguments::check(&self.schemas, tool, args, Placeholders::Open)
                };
                reply::understand(&said, work, tools, &check)
            }
            Err(error) => reply::failed(&error, work.language).into(),
        }
    }

    /// Returns the text about the pending tasks for plans whose steps are tool calls, if the agent
    /// may list tasks. Without the text the model can still plan a call that lists them.
    async fn tasks(&self, work: &PlanWork, tools: &Toolbox<'_>) -> String {
        let builtin = pools::builtin();
        let lists = |tool: &&ToolSpec| tool.name.as_str() == LIST_TOOL && tool.pool == builtin;
        if work.protocol != PlanProtocol::ActionSteps
            || !tools.offered().iter().copied().any(|tool| lists(&tool))
        {
            return String::new();
        }
        match tokio::time::timeout(TASKS_WITHIN, tasks::pending(&*self.kv)).await {
            Ok(Ok(pending)) => tasks::told(work.language, &pending),
            Err(_) => {
                tracing::warn!("the task list takes too long to read; the plan is made without it");
                String::new()
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "the task list cannot be read; the plan is made without it");
                String::new()
            }
        }
    }

    /// Builds the model request, reduced to the model's context. People's instructions always stay.
    fn request(
        &self,
        work: &PlanWork,
        opening: &Opening,
        tasks: &str,
    ) -> Result<ModelRequest, TooLarge> {
        let mut request = conversation::request(work, opening, tasks);
        let told = work.dialogue.iter().any(|talk| matches!(talk, PlanTalk::Steered { .. }));
        let instructed = || conversation::with_instructions(work);
        let pinned = told.then(|| conversation::request(&instructed(), opening, tasks).messages);
        model::fit_request(
            &mut request,
            pinned.as_deref(),
            work.window,
            work.language,
            &*self.model,
        )?;
        Ok(request)
    }

    /// Determines whether the goal needs a plan. An error here does not fail the command: the goal
    /// then needs one.
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
            Err(error) => detect::understood(Err(error.reason(work.language))),
        }
    }
}
