//! The executor's work: one command, one model call, one reply. Only compiled schemas are kept
//! between commands.

use std::sync::Arc;

use agents::toolbox::Toolbox;
use broker::Broker;
use machine::transcript::Run;
use model::{Delta, Model, ModelRequest, TooLarge};
use proto::{
    decision::TurnWork,
    excerpt,
    fact::{TurnReply, Turned},
    family,
    id::JobId,
    limits,
    message::Usage,
    tool::ToolSpec,
    work_error::ErrorClass,
};
use runtime::{
    arguments::{self, Placeholders},
    registry::Registry,
    schema::Schemas,
    worker::{LiveChannel, read_log},
};
use serde_json::Value;

use crate::{
    offer, resolve,
    summary::{self, Summaries},
    transcript,
};

/// The outcome of a turn, beside the unit of work that it belongs to.
struct Taken {
    reply: TurnReply,
    usage: Usage,
    reasoning: String,
}

impl From<TurnReply> for Taken {
    fn from(reply: TurnReply) -> Self {
        Self { reply, usage: Usage::default(), reasoning: String::new() }
    }
}

#[derive(derive_more::Debug)]
#[debug("Executor({broker:?})")]
pub(crate) struct Executor {
    broker: Broker,
    model: Arc<dyn Model>,
    registry: Registry,
    schemas: Schemas,
}

impl Executor {
    pub(crate) fn new(broker: Broker, model: Arc<dyn Model>, registry: Registry) -> Self {
        Self { broker, model, registry, schemas: Schemas::new() }
    }

    pub(crate) async fn turn(&self, job: &JobId, work: &TurnWork, live: LiveChannel) -> Turned {
        let Taken { reply, usage, reasoning } = match self.run_so_far(job, work).await {
            Ok(run) => self.take(work, &run, live).await,
            Err(unread) => unread.into(),
        };
        Turned { work: work.work.clone(), attempt: work.attempt, reply, usage, reasoning }
    }

    /// Reads the run so far, or returns the outcome of the turn if it cannot be read.
    async fn run_so_far(&self, job: &JobId, work: &TurnWork) -> Result<Run, TurnReply> {
        let entries = if machine::transcript::needs_log(work) {
            read_log(&*self.broker.log, job).await.map_err(|error| {
                let why = format!("the job's log could not be read: {error}");
                resolve::failed(&why, ErrorClass::Permanent)
            })?
        } else {
            Vec::new()
        };
        machine::transcript::read(work, &entries)
            .map_err(|broken| resolve::failed(&broken.to_string(), ErrorClass::Permanent))
    }

    /// Removes from a request whatever exceeds the model's context. People's instructions always
    /// stay.
    fn fit(&self, work: &TurnWork, request: &mut ModelRequest) -> Result<(), TooLarge> {
        let pinned = transcript::with_instructions(&request.messages);
        model::fit_request(request, pinned, work.window, work.language, &*self.model)
    }

    /// Runs the turn. If the whole run does not fit and the command permits it, summarises the
    /// oldest part.
    async fn take(&self, work: &TurnWork, run: &Run, live: LiveChannel) -> Taken {
        let registered = self.registry.all();
        let presets = &work.model.presets;
        let offered = registered.iter().map(|tool| presets.offered(&tool.spec, work.language));
        let specs: Vec<_> = offered.collect();
        let agents = family::as_tools(&work.model.agents, work.language);
        let tools = Toolbox::new(specs.iter().map(AsRef::as_ref), work.model.tools.as_deref())
            .with_agents(&agents);
        let request = offer::request(work, transcript::messages(work, run), &tools);
        let made = summary::make(work, run, &request, &*self.model).await;
        let usage = made.usage;
        if !made.is_nothing() {
            let Summaries { summary, results, .. } = made;
            return Taken { usage, ..TurnReply::Summarised { summary, results }.into() };
        }
        let mut taken = self.ask(work, run, request, &tools, live).await;
        taken.usage += usage;
        taken
    }

    async fn ask(
        &self,
        work: &TurnWork,
        run: &Run,
        mut request: ModelRequest,
        tools: &Toolbox<'_>,
        live: LiveChannel,
    ) -> Taken {
        // Advice counts as given even if its message no longer fits.
        let told = match work.outline {
            Some(_) => transcript::messages(work, &run.in_full()),
            None => Vec::new(),
        };
        let fitted = self.fit(work, &mut request).or_else(|large| {
            // A summary must never fail a turn that could run without it.
            request.messages = transcript::messages(work, &run.in_full());
            if run.has_past() { self.fit(work, &mut request) } else { Err(large) }
        });
        if let Err(large) = fitted {
            return resolve::failed(&large.text(work.language), ErrorClass::Permanent).into();
        }
        let show = move |delta: &Delta| delta.update().into_iter().for_each(|said| live.send(said));
        match model::complete(&*self.model, request, show).await {
            Ok(said) => {
                let check = |tool: &ToolSpec, args: &Value| {
                    arguments::check(&self.schemas, tool, args, Placeholders::Literal)
                };
                Taken {
                    reply: resolve::resolve(&said, work, &told, tools, &check),
                    usage: said.usage,
                    reasoning: excerpt::ends(said.thought.trim(), limits::REASONING_CHARS),
                }
            }
            Err(error) => resolve::no_reply(&error, work.language).into(),
        }
    }
}
