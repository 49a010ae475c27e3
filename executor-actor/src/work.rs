//! The executor as a worker: one command, one question to the model, one fact.

use std::sync::Arc;

use async_trait::async_trait;
use broker::Broker;
use machine::transcript::Run;
use model::{Asked, Delta, Model, ModelRequest, TooLarge};
use proto::{
    decision::{Decision, TurnWork},
    fact::{Fact, TurnReply, Turned},
    family,
    id::{JobId, Seq},
    message::{Message, Usage},
    tool::ToolSpec,
    toolbox::Toolbox,
    wire::Said,
};
use runtime::{
    arguments::{self, Placeholders},
    registry::Registry,
    schema::Schemas,
    worker::{Speaker, Task, Work},
};
use serde_json::Value;

use crate::{
    offer, resolve,
    summary::{self, InShort},
    transcript,
};

/// The name of the role, in configuration, presence and logs.
pub const ROLE: &str = "executor";

/// Answers `do.turn`. Keeps nothing between commands but compiled schemas.
pub struct Executor {
    broker: Broker,
    model: Arc<dyn Model>,
    registry: Registry,
    schemas: Schemas,
}

impl Executor {
    /// An executor that reads jobs from `broker`, asks `model` and offers the tools of `registry`.
    #[must_use]
    pub fn new(broker: Broker, model: Arc<dyn Model>, registry: Registry) -> Self {
        Self { broker, model, registry, schemas: Schemas::new() }
    }

    async fn turn(&self, job: &JobId, work: &TurnWork, speaker: Speaker) -> Turned {
        let (reply, usage) = match self.run_so_far(job, work).await {
            Ok(run) => self.take(work, &run, speaker).await,
            Err(unread) => (unread, Usage::default()),
        };
        Turned { work: work.work.clone(), attempt: work.attempt, reply, usage }
    }

    /// The run so far, or what the turn comes to when it cannot be read.
    async fn run_so_far(&self, job: &JobId, work: &TurnWork) -> Result<Run, TurnReply> {
        let entries = if machine::transcript::needs_log(work) {
            self.broker.log.read(job, Seq(0)).await.map_err(|error| {
                let why = format!("the job's log could not be read: {error}");
                resolve::failed(&why, error.is_transient())
            })?
        } else {
            Vec::new()
        };
        machine::transcript::read(work, &entries)
            .map_err(|broken| resolve::failed(&broken.to_string(), false))
    }

    /// What of a conversation the model has room for. What people told the job always is of it.
    fn fitted(
        &self,
        work: &TurnWork,
        request: &mut ModelRequest,
    ) -> Result<Vec<Message>, TooLarge> {
        let said = std::mem::take(&mut request.messages);
        let (offers, window, language) = (&request.tools, work.window, work.language);
        let asked = Asked { model: &*self.model, name: request.params.model.as_deref() };
        let fit = |messages| model::fit(messages, offers, window, language, asked);
        let pinned = transcript::with_instructions(&said);
        let fitted = fit(said)?;
        match pinned.filter(|_| fitted.left_out > 0) {
            None => Ok(fitted.messages),
            Some(pinned) => Ok(fit(pinned)?.messages),
        }
    }

    /// Takes the turn; or, when there is no room for all of the run and the command says so, puts its
    /// oldest part in short.
    async fn take(&self, work: &TurnWork, run: &Run, speaker: Speaker) -> (TurnReply, Usage) {
        let registered = self.registry.all();
        let presets = &work.model.presets;
        let specs: Vec<_> = registered.iter().map(|tool| presets.without(&tool.spec)).collect();
        let agents = family::as_tools(&work.model.agents, work.language);
        let tools = Toolbox::new(specs.iter().map(AsRef::as_ref), work.model.tools.as_deref())
            .with_agents(&agents);
        let request = offer::request(work, transcript::messages(work, run), &tools);
        let made = summary::make(work, run, &request, &*self.model).await;
        let mut spent = made.usage;
        if !made.is_nothing() {
            let InShort { summary, results, .. } = made;
            return (TurnReply::Summarised { summary, results }, spent);
        }
        let (reply, usage) = self.ask(work, run, request, &tools, speaker).await;
        spent += usage;
        (reply, spent)
    }

    async fn ask(
        &self,
        work: &TurnWork,
        run: &Run,
        mut request: ModelRequest,
        tools: &Toolbox<'_>,
        speaker: Speaker,
    ) -> (TurnReply, Usage) {
        // What the model was told before counts, whether or not it still fits.
        let told = match work.outline {
            Some(_) => transcript::messages(work, &run.in_full()),
            None => Vec::new(),
        };
        let fitted = self.fitted(work, &mut request).or_else(|large| {
            // A summary never makes a turn fail that could be taken without it.
            request.messages = transcript::messages(work, &run.in_full());
            if run.has_past() { self.fitted(work, &mut request) } else { Err(large) }
        });
        match fitted {
            Ok(messages) => request.messages = messages,
            Err(large) => return (resolve::failed(&large.to_string(), false), Usage::default()),
        }
        let show = move |delta: &Delta| match delta {
            Delta::Text(text) => speaker.say(Said::Text(text.clone())),
            Delta::Thought(text) => speaker.say(Said::Thought(text.clone())),
            Delta::Call(_) | Delta::End { .. } => {}
        };
        match model::complete(&*self.model, request, show).await {
            Ok(said) => {
                let check = |tool: &ToolSpec, args: &Value| {
                    let language = work.language;
                    arguments::check_in(language, &self.schemas, tool, args, Placeholders::Literal)
                };
                (resolve::resolve(&said, work, &told, tools, &check), said.usage)
            }
            Err(error) => (resolve::no_reply(&error), Usage::default()),
        }
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").field("broker", &self.broker).finish_non_exhaustive()
    }
}

#[async_trait]
impl Work for Executor {
    fn name(&self) -> &'static str {
        ROLE
    }

    async fn run(&self, task: Task) -> Option<Fact> {
        let work = match task.decision {
            Decision::Turn(work) => work,
            other @ (Decision::Plan(_)
            | Decision::Call(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Finish(_)) => {
                tracing::error!(
                    kind = other.kind().as_str(),
                    "an executor was handed another command"
                );
                return None;
            }
        };
        // A turn that nobody wants any more is not waited for: dropping the reply ends the call.
        let turn = self.turn(&task.job, &work, task.live.speaker());
        task.canceled.run_until_cancelled(turn).await.map(Fact::Turned)
    }
}
