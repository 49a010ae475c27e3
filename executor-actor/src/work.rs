//! The executor's work: one command, one model call, one reply. Only compiled schemas are kept
//! between commands.

use std::sync::Arc;

use agents::toolbox::Toolbox;
use broker::Broker;
use machine::transcript::Run;
use model::{Delta, Model, ModelRequest, Reply, TooLarge};
use proto::{
    decision::TurnWork,
    excerpt,
    fact::{TurnReply, Turned},
    fallback::AnsweredBy,
    family,
    id::JobId,
    limits,
    message::Usage,
    opaque::Opaque,
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
    offer, output, resolve,
    summary::{self, Summaries},
    transcript,
};

/// The outcome of a turn, beside the unit of work that it belongs to.
struct Taken {
    reply: TurnReply,
    usage: Usage,
    reasoning: String,
    opaque: Option<Opaque>,
    answered: Option<AnsweredBy>,
}

impl From<TurnReply> for Taken {
    fn from(reply: TurnReply) -> Self {
        Self {
            reply,
            usage: Usage::default(),
            reasoning: String::new(),
            opaque: None,
            answered: None,
        }
    }
}

impl Taken {
    fn of(said: &Reply, reply: TurnReply) -> Self {
        let reasoning = excerpt::ends(said.thought.trim(), limits::REASONING_CHARS);
        // Only a turn that another one follows needs them.
        let goes_on = matches!(reply, TurnReply::Calls { .. });
        let opaque = said.opaque.clone().filter(|_| goes_on);
        Self { reply, usage: said.usage, reasoning, opaque, answered: said.answered.clone() }
    }
}

/// Returns a function that shows a reply while it arrives.
fn show(live: LiveChannel) -> impl FnMut(&Delta) + Send {
    move |delta| delta.update().into_iter().for_each(|said| live.send(said))
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
        let Taken { reply, usage, reasoning, opaque, answered } =
            match self.run_so_far(job, work).await {
                Ok(run) => self.take(work, &run, live).await,
                Err(unread) => unread.into(),
            };
        Turned {
            work: work.work.clone(),
            attempt: work.attempt,
            reply,
            usage,
            reasoning,
            opaque,
            answered,
        }
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
        model::fit_request(request, pinned.as_deref(), work.window, work.language, &*self.model)
    }

    /// Runs the turn. If the whole run does not fit and the command permits it, summarises the
    /// oldest part.
    async fn take(&self, work: &TurnWork, run: &Run, live: LiveChannel) -> Taken {
        if work.node || work.output.is_some() {
            return self.state_result(work, run, live).await;
        }
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

    /// Asks for the reply of a node or the structured result of the job, and checks it.
    async fn state_result(&self, work: &TurnWork, run: &Run, live: LiveChannel) -> Taken {
        let mut request = output::request(work, run.task(), work.output.as_ref());
        if let Err(large) = self.fit(work, &mut request) {
            return resolve::failed(&large.text(work.language), ErrorClass::Permanent).into();
        }
        match model::complete(&*self.model, request, show(live)).await {
            Ok(said) => {
                let reply = match &work.output {
                    Some(schema) => output::resolve(&said, work, schema, &self.schemas),
                    None => resolve::plain(&said),
                };
                Taken::of(&said, reply)
            }
            Err(error) => resolve::no_reply(&error, work.language).into(),
        }
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
        match model::complete(&*self.model, request, show(live)).await {
            Ok(said) => {
                let check = |tool: &ToolSpec, args: &Value| {
                    arguments::check(&self.schemas, tool, args, Placeholders::Literal)
                };
                Taken::of(&said, resolve::resolve(&said, work, &told, tools, &check))
            }
            Err(error) => resolve::no_reply(&error, work.language).into(),
        }
    }
}
