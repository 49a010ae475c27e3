//! A step that is a loop: model turns, and the calls each of them asks for.

use proto::{
    agent::Agent,
    decision::CallReply,
    fact::{Asked, CallTarget, TurnCall},
    id::{AskId, Seq, WorkId},
    lang::Language,
    tool::ToolResult,
};

use super::{
    call::{Call, CallEnd, why},
    names, text,
    tries::Tries,
};

/// Characters of a call's result that the model is shown, at each end.
const REPLY_CHARS: usize = 5000;

/// A model turn that should be taken, or is.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// Which run of the step; the first is 1.
    pub(super) run: u32,
    /// Which turn of the run; the first is 1.
    pub(super) number: u32,
    pub(super) work: WorkId,
    pub(super) tries: Tries,
    /// The record of the turn before.
    pub(super) after: Option<Seq>,
    /// What came of its calls.
    pub(super) replies: Vec<CallReply>,
    /// Why the run before failed.
    pub(super) previous_error: Option<String>,
}

/// The calls of a turn, being carried out.
#[derive(Debug, Clone)]
pub(super) struct Acting {
    pub(super) run: u32,
    pub(super) number: u32,
    /// The turn's record.
    pub(super) heard: Seq,
    pub(super) units: Vec<Unit>,
}

/// One call of a turn.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// The model's id for it.
    pub(super) id: String,
    /// The name as the model wrote it.
    pub(super) name: String,
    pub(super) kind: UnitKind,
}

/// What a call of a turn is.
#[derive(Debug, Clone)]
pub(super) enum UnitKind {
    /// A tool.
    Tool(Box<Call>),
    /// A question to a person.
    Person { work: WorkId, asked: Asked, ask: Option<AskId>, reply: Option<String> },
    /// Nothing; the model is told why.
    Refused(String),
}

impl Acting {
    /// The calls of a turn. `may_ask` says how many questions are still allowed; the model is told
    /// of those that are not.
    pub(super) fn new(
        turn: &Turn,
        heard: Seq,
        calls: Vec<TurnCall>,
        may_ask: Option<u32>,
        language: Language,
    ) -> Self {
        let mut left = may_ask;
        let units = calls
            .into_iter()
            .enumerate()
            .map(|(index, call)| {
                let work = names::call(&turn.work, index);
                let kind = match call.target {
                    CallTarget::Tool { tool, binding } => {
                        UnitKind::Tool(Box::new(Call::new(work, tool, binding, call.args)))
                    }
                    CallTarget::Person { question } if left.is_none_or(|n| n > 0) => {
                        left = left.map(|n| n - 1);
                        UnitKind::Person { work, asked: question, ask: None, reply: None }
                    }
                    CallTarget::Person { .. } => {
                        UnitKind::Refused(text::no_more_questions(language).into())
                    }
                    CallTarget::Refused { error } => UnitKind::Refused(error),
                };
                Unit { id: call.id, name: call.name, kind }
            })
            .collect();
        Self { run: turn.run, number: turn.number, heard, units }
    }

    /// Ends calls that broke for good.
    pub(super) fn settle(&mut self, agent: &Agent) {
        for unit in &mut self.units {
            if let UnitKind::Tool(call) = &mut unit.kind {
                call.settle(agent);
            }
        }
    }

    /// The turn that follows, once every call has ended.
    pub(super) fn next(&self, turn: impl Fn(u32) -> WorkId, language: Language) -> Option<Turn> {
        let replies =
            self.units.iter().map(|unit| unit.reply(language)).collect::<Option<Vec<_>>>()?;
        let number = self.number.saturating_add(1);
        Some(Turn {
            run: self.run,
            number,
            work: turn(number),
            tries: Tries::Idle,
            after: Some(self.heard),
            replies,
            previous_error: None,
        })
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.units.iter().filter_map(|unit| match &unit.kind {
            UnitKind::Tool(call) => Some(call.as_ref()),
            UnitKind::Person { .. } | UnitKind::Refused(_) => None,
        })
    }

    pub(super) fn call_mut(&mut self, find: impl Fn(&Call) -> bool) -> Option<&mut Call> {
        self.units.iter_mut().find_map(|unit| match &mut unit.kind {
            UnitKind::Tool(call) if find(call) => Some(call.as_mut()),
            UnitKind::Tool(_) | UnitKind::Person { .. } | UnitKind::Refused(_) => None,
        })
    }

    /// Whether nothing but people and the clock can move it on.
    pub(super) fn is_waiting(&self) -> bool {
        let mut open = self.units.iter().filter(|unit| !unit.has_ended()).peekable();
        open.peek().is_some()
            && open.all(|unit| match &unit.kind {
                UnitKind::Tool(call) => call.is_waiting(),
                UnitKind::Person { ask, .. } => ask.is_some(),
                UnitKind::Refused(_) => false,
            })
    }

    pub(super) fn has_work_out(&self) -> bool {
        self.calls().any(Call::has_work_out)
    }
}

impl Unit {
    fn has_ended(&self) -> bool {
        match &self.kind {
            UnitKind::Tool(call) => call.end.is_some(),
            UnitKind::Person { reply, .. } => reply.is_some(),
            UnitKind::Refused(_) => true,
        }
    }

    /// What the model is told of it, once it has ended.
    fn reply(&self, language: Language) -> Option<CallReply> {
        let text = match &self.kind {
            UnitKind::Tool(call) => match call.end.as_ref()? {
                CallEnd::Answered(result) => as_text(result),
                CallEnd::Unknown(result) => text::effect_unknown(language, &why(result)),
                CallEnd::Refused(reason) => text::not_approved(language, reason),
            },
            UnitKind::Person { reply, .. } => reply.clone()?,
            UnitKind::Refused(error) => error.clone(),
        };
        let text = proto::excerpt::ends(&text, REPLY_CHARS);
        Some(CallReply { id: self.id.clone(), name: self.name.clone(), text })
    }
}

fn as_text(result: &ToolResult) -> String {
    serde_json::to_string(result).unwrap_or_else(|_| why(result))
}
