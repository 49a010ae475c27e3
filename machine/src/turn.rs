//! A step that is a loop: model turns, and the calls each of them asks for.

use jiff::Timestamp;
use proto::{
    agent::Agent,
    decision::{CallReply, Whole},
    fact::{Asked, CallTarget, TurnCall, WorkError},
    id::{AskId, Attempt, Seq, WorkId},
    lang::Language,
    limits,
    notice::Notice,
    observe::{Observe, Shortened, Summary},
    tool::ToolResult,
};
use serde_json::Value;

use super::{
    attempts::Attempts,
    call::{Call, CallEnd, why},
    loops::{Came, Ended, signature},
    names,
    text::{self, Text},
};

/// A model turn that should be taken, or is.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// Which run of the step; the first is 1.
    pub(super) run: u32,
    /// Which turn of the run; the first is 1.
    pub(super) number: u32,
    pub(super) work: WorkId,
    pub(super) attempts: Attempts,
    /// The record of the turn before.
    pub(super) after: Option<Seq>,
    /// What came of its calls.
    pub(super) replies: Vec<CallReply>,
    /// Why the run before failed.
    pub(super) previous_error: Option<String>,
    /// What the guards have the model told.
    pub(super) notices: Vec<Notice>,
    /// Whether nothing but an answer is wanted; what its command says, once that is stored.
    pub(super) must_answer: bool,
    /// How much of what people told the job the turns before it of the run carried.
    pub(super) told: usize,
    /// How much its own command carries, once that is stored.
    pub(super) carries: usize,
    /// Whether something was summarised for it. The command that led to that was the turn's first:
    /// it is sent once more, under a name of its own, and is the same turn for all that counts turns.
    pub(super) summarised: bool,
    /// What stands in place of the oldest turns.
    pub(super) summary: Option<Summary>,
}

impl Turn {
    /// Whether its next command may be answered by a summary: once for each turn.
    pub(super) fn may_be_summarised(&self, agent: &Agent) -> bool {
        agent.observe.summarises() && !self.summarised
    }

    /// Whether a command of this attempt is not the first of the turn.
    pub(super) fn was_begun(&self, attempt: Attempt) -> bool {
        attempt != Attempt::FIRST || self.summarised
    }

    /// The oldest turns were summarised: the turn is to be taken with the summary. A summary that
    /// nobody wanted is a broken attempt, so that no worker can make a turn go on for ever.
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
            let error = WorkError { message, transient: true, retry_after_ms: None };
            return self.attempts.broke(error, at);
        }
        self.work = names::summarised(&self.work);
        self.attempts = Attempts::Idle;
        self.summarised = true;
        for (reply, text) in self.replies.iter_mut().zip(texts) {
            let Some(text) = text else { continue };
            (reply.text, reply.whole) = (text, None);
        }
        self.summary = summary.cloned();
    }
}

/// The calls of a turn, being carried out.
#[derive(Debug, Clone)]
pub(super) struct Acting {
    pub(super) run: u32,
    pub(super) number: u32,
    /// The turn's record.
    pub(super) heard: Seq,
    /// How much of what people told the job the turns of the run carried so far.
    told: usize,
    pub(super) units: Vec<Unit>,
}

/// How many questions a turn may ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asks {
    /// In the life of the job; none when there is no limit.
    pub(super) left: Option<u32>,
    /// Beside those that are open.
    pub(super) open: usize,
}

/// One call of a turn.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// The model's id for it.
    pub(super) id: String,
    /// The name as the model wrote it.
    pub(super) name: String,
    /// The same for the same tool and arguments.
    pub(super) signature: u64,
    /// Whether it was not carried out because no more could be, of calls or of questions.
    pub(super) withheld: bool,
    pub(super) kind: UnitKind,
}

/// What a call of a turn is.
#[derive(Debug, Clone)]
pub(super) enum UnitKind {
    /// A tool.
    Tool(Box<Call>),
    /// A question to a person.
    Person { work: WorkId, asked: Asked, ask: Option<AskId>, reply: Option<String> },
    /// A change of the list the loop keeps, which was made; the model is told so.
    Noted(String),
    /// Nothing; the model is told why.
    Refused(String),
}

impl Acting {
    /// The calls of a turn. `asks` says how many questions are still allowed, `agent` how many calls
    /// of one turn; the model is told of those that are not.
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
                let withheld = !fits || is_question && left == Some(0);
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

    /// Ends calls that broke for good.
    pub(super) fn settle(&mut self, agent: &Agent) {
        for unit in &mut self.units {
            if let UnitKind::Tool(call) = &mut unit.kind {
                call.settle(agent);
            }
        }
    }

    /// The turn that follows, once every call has ended: their results in the order of the calls,
    /// whatever the order they came in.
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
            attempts: Attempts::Idle,
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

    /// The call that was carried out, of a turn that may have one.
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

    /// Whether nothing but people and the clock can move it on.
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

    /// The calls of the turn, once all have ended, in the model's order.
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

    /// What the model is told of it, once it has ended.
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

    /// Where the result of a tool stands in the log.
    fn whole(&self) -> Option<Whole> {
        let UnitKind::Tool(call) = &self.kind else { return None };
        let attempt = Attempt(call.attempts.count());
        let is_stored = !call.is_agent() && matches!(call.end, Some(CallEnd::Answered(_)));
        is_stored.then(|| Whole { work: call.work.clone(), attempt })
    }

    fn ended(&self) -> Ended<'_> {
        let (call, came) = match &self.kind {
            // It says nothing of the tool that there was no room for the call.
            UnitKind::Refused(_) if self.withheld => (None, Came::Neither),
            UnitKind::Refused(_) => (None, Came::Failure),
            // A list that changed is progress; the same list written again is not.
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
