//! A step that runs as a loop of model turns, each followed by the calls that it asks for.

use jiff::Timestamp;
use proto::{
    agent::Agent,
    decision::{CallReply, FullResult},
    fact::{Asked, CallTarget, TurnCall},
    id::{AskId, Attempt, Seq, WorkId},
    lang::Language,
    limits,
    notice::Notice,
    observe::{Observe, Shortened, Summary},
    tool::ToolResult,
    work_error::{ErrorClass, WorkError},
};
use serde_json::Value;

use super::{
    attempts::Attempts,
    call::{Call, CallEnd, why},
    loops::{Came, Ended, signature},
    names,
    text::{self, Text},
};

/// A model turn that is to be sent, or is with a worker.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// Number of the run of the step, from 1.
    pub(super) run: u32,
    /// Number of the turn within the run, from 1.
    pub(super) number: u32,
    pub(super) work: WorkId,
    pub(super) attempts: Attempts,
    /// Position of the previous turn's record; `None` for the first turn of a run.
    pub(super) after: Option<Seq>,
    /// Results of the previous turn's calls, in the model's order.
    pub(super) replies: Vec<CallReply>,
    /// Error of the previous run, told to the first turn of a new run.
    pub(super) previous_error: Option<String>,
    /// Notices of the guards for the model.
    pub(super) notices: Vec<Notice>,
    /// `true` if the model must answer and may not call tools. Taken from the stored command.
    pub(super) must_answer: bool,
    /// Number of instructions that earlier turns of the run carried.
    pub(super) told: usize,
    /// Number of instructions that this turn's stored command carries.
    pub(super) carries: usize,
    /// `true` once a worker replied with a summary. The turn is then sent again under a name of its
    /// own, but still counts as one turn.
    pub(super) summarised: bool,
    /// Summary that replaces the oldest turns in the prompt.
    pub(super) summary: Option<Summary>,
}

impl Turn {
    /// Returns `true` if a worker may reply with a summary, which it may do once per turn.
    pub(super) fn may_be_summarised(&self, agent: &Agent) -> bool {
        agent.observe.summarises() && !self.summarised
    }

    /// Returns `true` if the command of this attempt is not the first one of the turn.
    pub(super) fn was_begun(&self, attempt: Attempt) -> bool {
        attempt != Attempt::FIRST || self.summarised
    }

    /// Prepares the turn to be sent again with the summary. An unsolicited or empty summary is a
    /// broken attempt, so that no worker can repeat a turn without end.
    pub(super) fn heard_summary(
        &mut self,
        (summary, results): (Option<&Summary>, &[Shortened]),
        agent: &Agent,
        language: Language,
        at: Timestamp,
    ) {
        let summary = summary.filter(|summary| !summary.text.trim().is_empty());
        let in_short = |reply: &CallReply| {
            let short =
                results.iter().find(|short| short.id == reply.id && reply.whole.is_some())?;
            (!short.text.trim().is_empty()).then(|| agent.observe.cut(&short.text))
        };
        let texts: Vec<_> = self.replies.iter().map(in_short).collect();
        let is_nothing = summary.is_none() && texts.iter().all(Option::is_none);
        if !self.may_be_summarised(agent) || is_nothing {
            let message = Text::NoSummaryWanted.text(language);
            return self.attempts.broke(WorkError::new(message, ErrorClass::Transient), at);
        }
        self.work = names::summarised(&self.work);
        self.attempts = Attempts::default();
        self.summarised = true;
        for (reply, text) in self.replies.iter_mut().zip(texts) {
            let Some(text) = text else { continue };
            (reply.text, reply.whole) = (text, None);
        }
        self.summary = summary.cloned();
    }
}

/// The calls of a turn, while they are carried out.
#[derive(Debug, Clone)]
pub(super) struct Acting {
    pub(super) run: u32,
    pub(super) number: u32,
    /// Position of the turn's record.
    pub(super) heard: Seq,
    /// Number of instructions that the run's turns have carried so far.
    told: usize,
    pub(super) units: Vec<Unit>,
}

/// The number of questions that a turn may ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asks {
    /// Questions left in the job's lifetime; `None` if unlimited.
    pub(super) left: Option<u32>,
    /// Questions that may be opened in addition to those already open.
    pub(super) open: usize,
}

/// One call of a turn.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// Id of the call, chosen by the model.
    pub(super) id: String,
    /// Tool name as the model wrote it.
    pub(super) name: String,
    /// Hash of tool and arguments, equal for equal calls.
    pub(super) signature: u64,
    /// `true` if the call was refused for lack of room: too many calls in the turn, no question
    /// left, or too many open questions.
    pub(super) withheld: bool,
    pub(super) kind: UnitKind,
}

/// The target of a turn's call.
#[derive(Debug, Clone)]
pub(super) enum UnitKind {
    /// A tool or a sub-agent.
    Tool(Box<Call>),
    /// A question to a person.
    Person { work: WorkId, asked: Asked, ask: Option<AskId>, reply: Option<String> },
    /// A change of the step's outline, already applied. The text is told to the model.
    Noted(String),
    /// A refused call. The text tells the model why.
    Refused(String),
}

impl Acting {
    /// Prepares the calls of a turn. `asks` limits its questions and `agent` its calls; the model
    /// is told about refused ones.
    pub(super) fn new(
        turn: &Turn,
        heard: Seq,
        calls: Vec<TurnCall>,
        asks: Asks,
        agent: &Agent,
        language: Language,
    ) -> Self {
        let Asks { mut left, mut open } = asks;
        let mut room = agent.calls_per_turn();
        let units = calls
            .into_iter()
            .enumerate()
            .map(|(index, call)| {
                let work = names::call(&turn.work, index);
                let signature = signature(&call.name, &call.args);
                let is_run = match call.target {
                    CallTarget::Tool { .. } | CallTarget::Person { .. } => true,
                    CallTarget::Outline { .. } | CallTarget::Refused { .. } => false,
                };
                let fits = !is_run || room > 0;
                room = room.saturating_sub(u32::from(is_run));
                let is_question = matches!(call.target, CallTarget::Person { .. });
                let withheld = !fits || is_question && (left == Some(0) || open == 0);
                let kind = match call.target {
                    _ if !fits => {
                        let max = &agent.calls_per_turn();
                        UnitKind::Refused(Text::TooManyCalls { max }.text(language))
                    }
                    CallTarget::Tool { tool, binding } => {
                        let args = agent.tool.presets.fill(&tool, call.args);
                        UnitKind::Tool(Box::new(Call::new(work, tool, binding, args)))
                    }
                    CallTarget::Person { .. } if left == Some(0) => {
                        UnitKind::Refused(Text::NoMoreQuestions.text(language))
                    }
                    CallTarget::Person { .. } if open == 0 => {
                        let max = &limits::OPEN_QUESTIONS_MAX;
                        UnitKind::Refused(Text::TooManyOpenQuestions { max }.text(language))
                    }
                    CallTarget::Person { question } => {
                        left = left.map(|n| n - 1);
                        open -= 1;
                        UnitKind::Person { work, asked: question, ask: None, reply: None }
                    }
                    CallTarget::Outline { .. } => {
                        UnitKind::Noted(Text::OutlineTaken.text(language))
                    }
                    CallTarget::Refused { error } => UnitKind::Refused(error),
                };
                Unit { id: call.id, name: call.name, signature, withheld, kind }
            })
            .collect();
        let told = turn.told.saturating_add(turn.carries);
        Self { run: turn.run, number: turn.number, heard, told, units }
    }

    /// Ends calls whose last permitted attempt broke.
    pub(super) fn settle(&mut self, agent: &Agent) {
        for unit in &mut self.units {
            if let UnitKind::Tool(call) = &mut unit.kind {
                call.settle(agent);
            }
        }
    }

    /// Returns the next turn once every call has ended, or `None`. Results keep the order of the
    /// calls, whatever the order of arrival.
    pub(super) fn next(
        &self,
        turn: impl Fn(u32) -> WorkId,
        observe: &Observe,
        language: Language,
    ) -> Option<Turn> {
        let replies = self.units.iter().map(|unit| unit.reply(observe, language));
        let replies = replies.collect::<Option<Vec<_>>>()?;
        let number = self.number.saturating_add(1);
        Some(Turn {
            run: self.run,
            number,
            work: turn(number),
            attempts: Attempts::default(),
            after: Some(self.heard),
            replies,
            previous_error: None,
            notices: Vec::new(),
            must_answer: false,
            told: self.told,
            carries: 0,
            summarised: false,
            summary: None,
        })
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.units.iter().filter_map(|unit| match &unit.kind {
            UnitKind::Tool(call) => Some(call.as_ref()),
            UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => None,
        })
    }

    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Call> {
        self.units.iter_mut().filter_map(|unit| match &mut unit.kind {
            UnitKind::Tool(call) => Some(call.as_mut()),
            UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => None,
        })
    }

    /// Returns the first call that was carried out, for steps that are a single action.
    pub(super) fn action(&self) -> Option<&UnitKind> {
        let kinds = self.units.iter().map(|unit| &unit.kind);
        kinds.into_iter().find(|kind| !matches!(kind, UnitKind::Noted(_) | UnitKind::Refused(_)))
    }

    pub(super) fn call_mut(&mut self, find: impl Fn(&Call) -> bool) -> Option<&mut Call> {
        self.units.iter_mut().find_map(|unit| {
            let UnitKind::Tool(call) = &mut unit.kind else { return None };
            find(call).then_some(call.as_mut())
        })
    }

    /// Returns `true` if every unfinished call waits for a person or a timer.
    pub(super) fn is_waiting(&self) -> bool {
        let mut open = self.units.iter().filter(|unit| !unit.has_ended()).peekable();
        open.peek().is_some()
            && open.all(|unit| match &unit.kind {
                UnitKind::Tool(call) => call.is_waiting(),
                UnitKind::Person { ask, .. } => ask.is_some(),
                UnitKind::Noted(_) | UnitKind::Refused(_) => false,
            })
    }

    pub(super) fn has_work_out(&self) -> bool {
        self.calls().any(Call::has_work_out)
    }

    /// Returns the calls in the model's order, as the loop guard sees them. All of them must have
    /// ended.
    pub(super) fn ended(&self) -> Vec<Ended<'_>> {
        self.units.iter().map(Unit::ended).collect()
    }
}

impl Unit {
    fn has_ended(&self) -> bool {
        match &self.kind {
            UnitKind::Tool(call) => call.end.is_some(),
            UnitKind::Person { reply, .. } => reply.is_some(),
            UnitKind::Noted(_) | UnitKind::Refused(_) => true,
        }
    }

    /// Returns the text that the model is told about the call, or `None` while the call runs.
    fn reply(&self, observe: &Observe, language: Language) -> Option<CallReply> {
        let text = match &self.kind {
            UnitKind::Tool(call) => match call.end.as_ref()? {
                CallEnd::Answered(result) => as_text(result),
                CallEnd::Unknown(result) => {
                    Text::EffectUnknown { why: &why(result) }.text(language)
                }
                CallEnd::Refused(reason) => text::not_approved(language, reason),
            },
            UnitKind::Person { reply, .. } => reply.clone()?,
            UnitKind::Noted(text) | UnitKind::Refused(text) => text.clone(),
        };
        let shown = observe.cut(&text);
        let is_cut = shown != text;
        let whole = self.whole().filter(|_| is_cut && observe.summarise.results());
        Some(CallReply { id: self.id.clone(), name: self.name.clone(), text: shown, whole })
    }

    /// Returns the unit of work and attempt under which the log holds the full result of a tool.
    fn whole(&self) -> Option<FullResult> {
        let UnitKind::Tool(call) = &self.kind else { return None };
        let attempt = Attempt(call.attempts.count());
        let is_stored = !call.is_agent() && matches!(call.end, Some(CallEnd::Answered(_)));
        is_stored.then(|| FullResult { work: call.work.clone(), attempt })
    }

    fn ended(&self) -> Ended<'_> {
        let (call, came) = match &self.kind {
            // A call that was withheld says nothing about the tool.
            UnitKind::Refused(_) if self.withheld => (None, Came::Neither),
            UnitKind::Refused(_) => (None, Came::Failure),
            // A changed outline is progress; writing the same outline again is not.
            UnitKind::Noted(_) => (Some(self.signature), Came::Result(self.signature)),
            UnitKind::Person { reply, .. } => {
                let answer = Value::from(reply.as_deref().unwrap_or_default());
                (Some(self.signature), Came::Result(signature("", &answer)))
            }
            UnitKind::Tool(call) => match &call.end {
                Some(CallEnd::Answered(result)) if result.success => {
                    let data = result.data.as_ref().unwrap_or(&Value::Null);
                    let said = result.message.as_deref().unwrap_or_default();
                    (Some(self.signature), Came::Result(signature(said, data)))
                }
                Some(CallEnd::Answered(_)) => (Some(self.signature), Came::Failure),
                Some(CallEnd::Unknown(_) | CallEnd::Refused(_)) | None => {
                    (Some(self.signature), Came::Neither)
                }
            },
        };
        Ended { call, name: &self.name, came }
    }
}

fn as_text(result: &ToolResult) -> String {
    serde_json::to_string(result).unwrap_or_else(|_| why(result))
}
