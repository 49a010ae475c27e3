//! The executor's work: one command, one model call, one reply. Only compiled schemas are kept
//! between commands.

use std::sync::Arc;

use agents::toolbox::Toolbox;
use broker::Broker;
use machine::transcript::Run;
use model::{Delta, Model, ModelRequest, TooLarge};
use proto::{
    decision::TurnWork,
    fact::{TurnReply, Turned},
    family,
    id::JobId,
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
        let (reply, usage) = match self.run_so_far(job, work).await {
            Ok(run) => self.take(work, &run, live).await,
            Err(unread) => (unread, Usage::default()),
        };
        Turned { work: work.work.clone(), attempt: work.attempt, reply, usage }
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
    async fn take(&self, work: &TurnWork, run: &Run, live: LiveChannel) -> (TurnReply, Usage) {
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
            let Summaries { summary, results, .. } = made;
            return (TurnReply::Summarised { summary, results }, spent);
        }
        let (reply, usage) = self.ask(work, run, request, &tools, live).await;
        spent += usage;
        (reply, spent)
    }

    async fn ask(
        &self,
        work: &TurnWork,
        run: &Run,
        mut request: ModelRequest,
        tools: &Toolbox<'_>,
        live: LiveChannel,
    ) -> (TurnReply, Usage) {
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
            return (
                resolve::failed(&large.text(work.language), ErrorClass::Permanent),
                Usage::default(),
            );
        }
        let show = move |delta: &Delta| delta.update().into_iter().for_each(|said| live.send(said));
        match model::complete(&*self.model, request, show).await {
            Ok(said) => {
                let check = |tool: &ToolSpec, args: &Value| {
                    let language = work.language;
                    arguments::check_in(language, &self.schemas, tool, args, Placeholders::Literal)
                };
                (resolve::resolve(&said, work, &told, tools, &check), said.usage)
            }
            Err(error) => (resolve::no_reply(&error, work.language), Usage::default()),
        }
    }
}
