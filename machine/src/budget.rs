//! What a job has spent, and whether it may go on. Folded from the log like everything else: units
//! of work are counted when the decision for their first attempt is stored, tokens when the answer
//! that cost them counts. A limit is looked at before something is decided that spends on its axis,
//! never afterwards: a decision that is stored is carried out.

use proto::{
    agent::{Agent, OnFailure},
    budget::{AtLimit, Axis, Budget, Gauge, Price, Spend},
    cost::{Cost, Paid, ToolCost},
    decision::PlanTalk,
    fact::{PlanPhase, Planned},
    id::{Attempt, ToolName},
    job::FailReason,
    message::Usage,
    notice::Notice,
    policy::{Detector, PlanProtocol},
    rules::Rules,
};

use super::{
    call::Call,
    state::{Job, Open, Stage},
    step::{Exec, StepRun},
    text,
    turn::UnitKind,
};

/// What was spent in units of work. Tokens are in the job's usage, questions are counted with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    plans: u32,
    replans: u32,
    thoughts: u32,
    turns: u32,
    calls: u32,
    steps: u32,
    /// Model turns of jobs below: turns as those of this job, and none of its steps.
    below: u32,
}

impl Spent {
    /// A unit of work is sent for the first time.
    pub(super) fn count(&mut self, what: Spend) {
        if let Some(counter) = self.of(what) {
            *counter = counter.saturating_add(1);
        }
    }

    /// A unit of work that was sent will be sent for the first time once more, by another name.
    pub(super) fn uncount(&mut self, what: Spend) {
        if let Some(counter) = self.of(what) {
            *counter = counter.saturating_sub(1);
        }
    }

    fn of(&mut self, what: Spend) -> Option<&mut u32> {
        Some(match what {
            Spend::Plan => &mut self.plans,
            Spend::Replan => &mut self.replans,
            Spend::Thought => &mut self.thoughts,
            Spend::Turn => &mut self.turns,
            Spend::Tool => &mut self.calls,
            Spend::Step => &mut self.steps,
            // Spent with the questions themselves.
            Spend::Ask => return None,
        })
    }

    /// Model turns, those of jobs below included.
    pub(super) fn turns(&self) -> u32 {
        self.turns.saturating_add(self.below)
    }

    /// A job below has ended, and took some turns.
    pub(super) fn below(&mut self, turns: u32, rules: Rules) {
        // By the first rules they were counted like the job's own.
        let counter = if rules >= Rules::SECOND { &mut self.below } else { &mut self.turns };
        *counter = counter.saturating_add(turns);
    }
}

/// Something that the next decisions would spend.
#[derive(Debug, Clone, Copy)]
struct Wish {
    what: Spend,
    /// Whether it was counted before: another attempt, or another reply of the same round.
    again: bool,
    /// Whether it is a call of a tool that has cost something before.
    costs: bool,
}

impl Wish {
    fn new(what: Spend, attempt: Attempt) -> Self {
        Self { what, again: attempt != Attempt::FIRST, costs: false }
    }

    fn spends(self, axis: Axis, budget: &Budget) -> bool {
        match axis {
            Axis::Steps => !self.again && budget.counts.contains(&self.what),
            Axis::Turns => !self.again && self.what == Spend::Turn,
            Axis::TokensIn | Axis::TokensOut | Axis::Tokens | Axis::Money => match self.what {
                Spend::Plan | Spend::Replan | Spend::Thought | Spend::Turn => true,
                Spend::Tool => self.costs,
                Spend::Ask | Spend::Step => false,
            },
            // The deadline has a timer of its own, and a child is no unit of work like others.
            Axis::Time | Axis::Depth | Axis::Children => false,
        }
    }
}

impl Open {
    /// A result of a tool counts, and with it what it cost.
    pub(super) fn cost_of_tool(&mut self, tool: ToolName, cost: &Cost) {
        if cost.is_nothing() {
            return;
        }
        self.usage += cost.usage;
        self.paid.add(cost);
        self.tools.entry(tool.clone()).or_insert_with(|| ToolCost::new(tool)).add(cost);
    }

    /// A model answered. Tokens of one that has a price of its own are paid for at that.
    pub(super) fn spent_on(&mut self, model: Option<&str>, usage: Usage) {
        self.usage += usage;
        if let Some(price) = model.and_then(|model| self.agent.budget.own_price(model)) {
            self.paid.below(&Paid { money: price.of(usage), usage });
        }
    }

    /// A round of planning counts: what was spent on the plan, and on whether one is needed.
    pub(super) fn spent_on_planning(&mut self, planned: &Planned) {
        let found_out = planned.detected.as_ref().map(|found| found.usage).unwrap_or_default();
        let planning = planned.usage.without(found_out);
        let found_out = planned.usage.without(planning);
        let plan = &self.agent.plan;
        let planner = plan.model.clone().or_else(|| self.agent.model.clone());
        let detector = plan.detect_model.clone().filter(|_| plan.detect == Detector::Model);
        self.spent_on(detector.or_else(|| planner.clone()).as_deref(), found_out);
        self.spent_on(planner.as_deref(), planning);
    }

    /// Once something is wanted that the budget has nothing left for, nothing new is started.
    pub(super) fn settle_budget(&mut self) {
        if self.agent.budget.is_unlimited() && self.family.callees.is_none() {
            return;
        }
        match &self.stage {
            Stage::Plan { .. }
            | Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. }
            | Stage::Execute => {}
            Stage::Failing { .. } | Stage::Rejected { .. } => return,
        }
        let Some(gauge) = self.refusal() else { return };
        let message = text::used_up(self.language, &gauge);
        self.stage = Stage::Failing { reason: FailReason::BudgetExceeded, message };
    }

    /// Whether work that is out is abandoned when the job fails.
    pub(super) fn abandons(&self, reason: FailReason) -> bool {
        match reason {
            FailReason::BudgetExceeded => self.agent.budget.at_limit == AtLimit::Abandon,
            FailReason::StepFailed | FailReason::NoProgress => {
                self.agent.step.on_failure == OnFailure::FailRun
            }
            FailReason::PlanFailed
            | FailReason::DeadlineExceeded
            | FailReason::QuestionExpired
            | FailReason::ReplanLimit
            | FailReason::HistoryFull
            | FailReason::QuestionRepeated
            | FailReason::TooManyQuestions => false,
        }
    }

    /// The limit that holds back what is wanted next.
    fn refusal(&self) -> Option<Gauge> {
        let used_up = |axis| self.gauge(axis, 0).filter(Gauge::is_used_up);
        if Axis::ALL.into_iter().all(|axis| used_up(axis).is_none()) {
            return None;
        }
        let wishes = self.wishes();
        let wants_child = matches!(self.stage, Stage::Execute) && self.wants_child();
        Axis::ALL.into_iter().filter_map(used_up).find(|gauge| {
            wants_child && spent_by_children(gauge.axis)
                || wishes.iter().any(|wish| wish.spends(gauge.axis, &self.agent.budget))
        })
    }

    /// What would be decided now, were there no budget.
    fn wishes(&self) -> Vec<Wish> {
        match &self.stage {
            Stage::Plan { tries } => {
                let again = self.rejected > 0;
                let round = |attempt| Wish {
                    what: self.round_kind(),
                    again: again || attempt != Attempt::FIRST,
                    costs: false,
                };
                tries.to_send().map(round).into_iter().collect()
            }
            Stage::Clarify { ask: None, .. } => {
                vec![Wish { what: Spend::Ask, again: false, costs: false }]
            }
            // The plan is ended first, and then it is thought about what has come of it.
            Stage::Execute if self.wants_replan() => {
                let what = match self.agent.plan.protocol {
                    PlanProtocol::Phased => Spend::Thought,
                    PlanProtocol::Steps
                    | PlanProtocol::TaskSteps
                    | PlanProtocol::TitleSteps
                    | PlanProtocol::ActionSteps
                    | PlanProtocol::Decision
                    | PlanProtocol::InlineTools => Spend::Replan,
                };
                vec![Wish { what, again: false, costs: false }]
            }
            Stage::Execute => {
                self.active_steps().into_iter().flat_map(|step| self.wishes_of(step)).collect()
            }
            Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. }
            | Stage::Failing { .. }
            | Stage::Rejected { .. } => Vec::new(),
        }
    }

    /// What a step would have decided now.
    fn wishes_of(&self, step: &StepRun) -> Vec<Wish> {
        // What a tool costs is known once it has said so.
        let call_of = |call: &Call| {
            let attempt = call.would_send()?;
            let costs = self.tools.contains_key(&call.tool);
            Some(Wish { costs, ..Wish::new(Spend::Tool, attempt) })
        };
        let mut wishes: Vec<Wish> = match &step.exec {
            Exec::Tool(call) => call_of(call).into_iter().collect(),
            Exec::Turn(turn) => turn
                .tries
                .to_send()
                .map(|attempt| Wish {
                    again: turn.was_begun(attempt),
                    ..Wish::new(Spend::Turn, attempt)
                })
                .into_iter()
                .collect(),
            Exec::Acting(acting) => acting
                .units
                .iter()
                .filter_map(|unit| match &unit.kind {
                    UnitKind::Tool(call) => call_of(call),
                    UnitKind::Person { ask: None, reply: None, .. } => {
                        Some(Wish { what: Spend::Ask, again: false, costs: false })
                    }
                    UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => None,
                })
                .collect(),
            Exec::NotBegun | Exec::Rerun(_) | Exec::Ended => Vec::new(),
        };
        if !step.counted && !wishes.is_empty() {
            wishes.push(Wish { what: Spend::Step, again: false, costs: false });
        }
        wishes
    }

    /// What the next round of planning is.
    pub(super) fn round_kind(&self) -> Spend {
        let last = self.dialogue.iter().rev().find_map(|talk| match talk {
            PlanTalk::Noted { note } => Some(match note.phase {
                PlanPhase::Planned | PlanPhase::Acting | PlanPhase::Replanned => Spend::Thought,
                PlanPhase::ItemDone => Spend::Replan,
            }),
            PlanTalk::Progressed { .. } => Some(Spend::Thought),
            // An answer leads to the plan being made anew, unless there was none yet.
            PlanTalk::Asked { .. } | PlanTalk::Steered { .. } => Some(Spend::Replan),
            PlanTalk::Rejected { .. } | PlanTalk::Revised { .. } => None,
        });
        let is_planned = self.revision > 0
            || self.dialogue.iter().any(|talk| matches!(talk, PlanTalk::Noted { .. }));
        match (is_planned, self.agent.plan.protocol) {
            (false, _) => Spend::Plan,
            (true, PlanProtocol::Phased) => last.unwrap_or(Spend::Replan),
            (
                true,
                PlanProtocol::Steps
                | PlanProtocol::TaskSteps
                | PlanProtocol::TitleSteps
                | PlanProtocol::ActionSteps
                | PlanProtocol::Decision
                | PlanProtocol::InlineTools,
            ) => Spend::Replan,
        }
    }

    /// How far an axis is used, when it is limited. `age_ms` is the age of the job.
    fn gauge(&self, axis: Axis, age_ms: u64) -> Option<Gauge> {
        let budget = &self.agent.budget;
        let Usage { input_tokens, output_tokens } = self.usage;
        let (used, limit) = match axis {
            Axis::Steps => (f64::from(self.steps_spent()), f64::from(budget.steps?)),
            Axis::Turns => (f64::from(self.spent.turns()), f64::from(budget.turns?)),
            Axis::TokensIn => (float(input_tokens), float(budget.tokens_in?)),
            Axis::TokensOut => (float(output_tokens), float(budget.tokens_out?)),
            Axis::Tokens => {
                (float(input_tokens.saturating_add(output_tokens)), float(budget.tokens?))
            }
            Axis::Money => (self.cost(&budget.price?), budget.money?),
            Axis::Time => (float(age_ms), float(self.agent.deadline_ms?)),
            Axis::Depth => {
                let above = self.family.callees.as_ref().map(|_| self.family.depth())?;
                (f64::from(above), f64::from(above.saturating_add(budget.depth)))
            }
            Axis::Children => {
                self.family.callees.as_ref()?;
                let children = u32::try_from(self.family.counted()).unwrap_or(u32::MAX);
                (f64::from(children), f64::from(budget.fan_out.total))
            }
        };
        // A job is as deep as it is: there is nothing to be careful about.
        let warned = axis != Axis::Depth && used >= limit * budget.warn_at;
        Some(Gauge { axis, used, limit, warned })
    }

    /// What was paid as the job above counts it: tokens at the price of this job's model, which may
    /// be another one than that one's.
    pub(super) fn paid_in_all(&self) -> Paid {
        let price = self.agent.budget.price;
        price.map_or(self.paid, |price| Paid { money: self.cost(&price), usage: self.usage })
    }

    fn cost(&self, price: &Price) -> f64 {
        price.with(self.usage, &self.paid)
    }

    fn steps_spent(&self) -> u32 {
        let Spent { plans, replans, thoughts, turns, calls, steps, below: _ } = self.spent;
        let each = self.agent.budget.counts.iter().map(|what| match what {
            Spend::Plan => plans,
            Spend::Replan => replans,
            Spend::Thought => thoughts,
            Spend::Turn => turns,
            Spend::Tool => calls,
            Spend::Ask => self.agent_asks,
            Spend::Step => steps,
        });
        each.fold(0, u32::saturating_add)
    }

    /// Every limit and how far it is used.
    pub(super) fn gauges(&self, age_ms: u64) -> impl Iterator<Item = Gauge> + '_ {
        let is_limited = is_limited(&self.agent);
        let axes = Axis::ALL.into_iter().filter(move |_| is_limited);
        axes.filter_map(move |axis| self.gauge(axis, age_ms))
    }

    /// What a model is told of limits that are near.
    pub(super) fn budget_notices(&self, age_ms: u64) -> impl Iterator<Item = Notice> + '_ {
        let near = self.gauges(age_ms).filter(|gauge| gauge.warned);
        near.map(|gauge| Notice::BudgetLow { gauge })
    }
}

impl Job {
    /// Milliseconds from the submission to the last record, by the server's clock, without what a
    /// roll-back has taken out.
    pub(super) fn age_ms(&self) -> u64 {
        let age = self.updated.duration_since(self.since).as_millis();
        self.lived_ms.saturating_add(u64::try_from(age).unwrap_or(0))
    }

    /// The limits that are near or reached, for whoever counts how often that happens.
    #[must_use]
    pub fn warnings(&self) -> Vec<Axis> {
        let Some(open) = &self.open else { return Vec::new() };
        open.gauges(self.age_ms()).filter(|gauge| gauge.warned).map(|gauge| gauge.axis).collect()
    }
}

fn is_limited(agent: &Agent) -> bool {
    !agent.budget.is_unlimited() || agent.deadline_ms.is_some() || !agent.agents.is_empty()
}

/// Whether handing a task to another agent spends on an axis.
fn spent_by_children(axis: Axis) -> bool {
    match axis {
        Axis::Turns
        | Axis::TokensIn
        | Axis::TokensOut
        | Axis::Tokens
        | Axis::Money
        | Axis::Depth
        | Axis::Children => true,
        // A call of an agent is a call.
        Axis::Steps | Axis::Time => false,
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens and milliseconds of a job are below 2^53")]
fn float(n: u64) -> f64 {
    n as f64
}
