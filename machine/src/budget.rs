//! The budget of a job: gauges of its limits, and the failure once a limit is used up. A limit is
//! checked before a decision that would spend on its axis, never afterwards: a stored decision is
//! carried out. [`Spending`](super::state::Spending) keeps the account.

use proto::{
    agent::{Agent, OnFailure},
    budget::{AtLimit, Axis, Budget, Gauge, Spend},
    decision::PlanTalk,
    fact::{PlanPhase, Planned},
    id::Attempt,
    job::FailReason,
    message::Usage,
    notice::Notice,
    policy::{Detector, PlanProtocol},
};

use super::{
    call::Call,
    state::{ActiveJob, Job, Stage},
    step::{Exec, StepRun},
    text,
    turn::UnitKind,
};

/// A decision that would follow without a budget, as far as it spends something.
#[derive(Debug, Clone, Copy)]
struct Wish {
    what: Spend,
    /// `true` if it was counted before: a further attempt, or a further reply in the same round.
    again: bool,
    /// `true` if it is a call of a tool that has reported a cost before.
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
            // The deadline has its own timer, and children are counted apart from units of work.
            Axis::Time | Axis::Depth | Axis::Children => false,
        }
    }
}

impl ActiveJob {
    /// Adds the cost of a planning round. Detection and planning may use models with different
    /// prices.
    pub(super) fn spent_on_planning(&mut self, planned: &Planned) {
        let found_out = planned.detected.as_ref().map(|found| found.usage).unwrap_or_default();
        let planning = planned.usage.without(found_out);
        let found_out = planned.usage.without(planning);
        let plan = &self.brief.agent.plan;
        let answered = planned.answered.as_ref().map(|answered| answered.model.as_str());
        let asked = plan.model.as_deref().or(self.brief.agent.model.as_deref());
        let planner = answered.or(asked);
        let detector = plan.detect_model.as_deref().filter(|_| plan.detect == Detector::Model);
        self.spending.model(&self.brief, detector.or(asked), found_out);
        self.spending.model(&self.brief, planner, planning);
    }

    /// Fails the job if its next decision would exceed a limit.
    pub(super) fn settle_budget(&mut self) {
        if self.brief.agent.budget.is_unlimited() && self.family.callees().is_none() {
            return;
        }
        if matches!(self.planning.stage(), Stage::Failing { .. } | Stage::Rejected { .. }) {
            return;
        }
        let Some(gauge) = self.refusal() else { return };
        let message = text::used_up(self.language(), &gauge);
        self.planning.fail(FailReason::BudgetExceeded, message);
    }

    /// Returns `true` if commands that are out are abandoned when the job fails for this reason.
    pub(super) fn abandons(&self, reason: FailReason) -> bool {
        match reason {
            FailReason::BudgetExceeded => self.brief.agent.budget.at_limit == AtLimit::Abandon,
            FailReason::StepFailed | FailReason::NoProgress => {
                self.brief.agent.step.on_failure == OnFailure::FailRun
            }
            FailReason::PlanFailed
            | FailReason::DeadlineExceeded
            | FailReason::QuestionExpired
            | FailReason::ReplanLimit
            | FailReason::HistoryFull
            | FailReason::QuestionRepeated
            | FailReason::TooManyQuestions
            | FailReason::OutputInvalid => false,
        }
    }

    /// Returns the used-up limit on which the next decision would spend.
    fn refusal(&self) -> Option<Gauge> {
        let used_up = |axis| self.gauge(axis, 0).filter(Gauge::is_used_up);
        if Axis::ALL.iter().all(|axis| used_up(*axis).is_none()) {
            return None;
        }
        let wishes = self.wishes();
        let wants_child = self.planning.is_executing() && self.wants_child();
        Axis::ALL.iter().copied().filter_map(used_up).find(|gauge| {
            wants_child && spent_by_children(gauge.axis)
                || wishes.iter().any(|wish| wish.spends(gauge.axis, &self.brief.agent.budget))
        })
    }

    /// Returns the decisions that would follow without a budget.
    fn wishes(&self) -> Vec<Wish> {
        match self.planning.stage() {
            Stage::Plan { attempts } => {
                let again = self.planning.rejected() > 0;
                let round = |attempt| Wish {
                    what: self.round_kind(),
                    again: again || attempt != Attempt::FIRST,
                    costs: false,
                };
                attempts.to_send().map(round).into_iter().collect()
            }
            Stage::Clarify { ask: None, .. } => {
                vec![Wish { what: Spend::Ask, again: false, costs: false }]
            }
            // The command to plan ends the plan in force first, so it counts as a round after a
            // plan.
            Stage::Execute if self.wants_replan() => {
                let what = match self.brief.agent.plan.protocol {
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

    /// Returns the decisions that would follow for a step.
    fn wishes_of(&self, step: &StepRun) -> Vec<Wish> {
        // A tool's cost is known only after it has reported one.
        let call_of = |call: &Call| {
            let attempt = self.would_send(call)?;
            let costs = self.spending.has_cost(&call.tool);
            Some(Wish { costs, ..Wish::new(Spend::Tool, attempt) })
        };
        let mut wishes: Vec<Wish> = match &step.exec {
            Exec::Tool(call) => call_of(call).into_iter().collect(),
            Exec::Turn(turn) => turn
                .attempts
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
            Exec::NotBegun | Exec::Rerun(_) | Exec::Asked(_) | Exec::Sleep(_) | Exec::Ended => {
                Vec::new()
            }
        };
        if !step.counted && !wishes.is_empty() {
            wishes.push(Wish { what: Spend::Step, again: false, costs: false });
        }
        wishes
    }

    /// Returns the kind of the next planning round.
    pub(super) fn round_kind(&self) -> Spend {
        let last = self.planning.dialogue().iter().rev().find_map(|talk| match talk {
            PlanTalk::Noted { note } => Some(match note.phase {
                PlanPhase::Planned | PlanPhase::Acting | PlanPhase::Replanned => Spend::Thought,
                PlanPhase::ItemDone => Spend::Replan,
            }),
            PlanTalk::Progressed { .. } => Some(Spend::Thought),
            // An answer or an instruction leads to a replan, or to the first plan if there was none
            // yet.
            PlanTalk::Asked { .. } | PlanTalk::Steered { .. } => Some(Spend::Replan),
            PlanTalk::Rejected { .. } | PlanTalk::Revised { .. } => None,
        });
        let is_planned = self.execution.revision() > 0
            || self.planning.dialogue().iter().any(|talk| matches!(talk, PlanTalk::Noted { .. }));
        match (is_planned, self.brief.agent.plan.protocol) {
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

    /// Returns the gauge of an axis, or `None` if it has no limit. `age_ms` is the job's age.
    fn gauge(&self, axis: Axis, age_ms: u64) -> Option<Gauge> {
        let budget = &self.brief.agent.budget;
        let Usage { input_tokens, output_tokens, .. } = self.spending.usage();
        let (used, limit) = match axis {
            Axis::Steps => (f64::from(self.steps_spent()), f64::from(budget.steps?)),
            Axis::Turns => (f64::from(self.spending.turns()), f64::from(budget.turns?)),
            Axis::TokensIn => (float(input_tokens), float(budget.tokens_in?)),
            Axis::TokensOut => (float(output_tokens), float(budget.tokens_out?)),
            Axis::Tokens => {
                (float(input_tokens.saturating_add(output_tokens)), float(budget.tokens?))
            }
            Axis::Money => (self.spending.cost(&budget.price?), budget.money?),
            Axis::Time => (float(age_ms), float(self.brief.agent.deadline_ms?)),
            Axis::Depth => {
                let above = self.family.callees().map(|_| self.family.depth())?;
                (f64::from(above), f64::from(above.saturating_add(budget.depth)))
            }
            Axis::Children => {
                self.family.callees()?;
                let children = u32::try_from(self.family.counted()).unwrap_or(u32::MAX);
                (f64::from(children), f64::from(budget.fan_out.total))
            }
        };
        // The depth of a job cannot change, so it gives no warning.
        let warned = axis != Axis::Depth && used >= limit * budget.warn_at;
        Some(Gauge { axis, used, limit, warned })
    }

    /// Returns the gauge of steps if it is used up and actions count as steps.
    pub(super) fn no_more_actions(&self) -> Option<Gauge> {
        let counts = self.brief.agent.budget.counts.contains(&Spend::Tool);
        self.gauge(Axis::Steps, 0).filter(|gauge| counts && gauge.is_used_up())
    }

    fn steps_spent(&self) -> u32 {
        let asked = self.questions.of_agents();
        let each = self.brief.agent.budget.counts.iter();
        each.map(|what| self.spending.units(*what, asked)).fold(0, u32::saturating_add)
    }

    /// Returns the gauges of all limited axes.
    pub(super) fn gauges(&self, age_ms: u64) -> impl Iterator<Item = Gauge> + '_ {
        let is_limited = is_limited(&self.brief.agent);
        let axes = Axis::ALL.iter().copied().filter(move |_| is_limited);
        axes.filter_map(move |axis| self.gauge(axis, age_ms))
    }

    /// Returns the notices to the model about limits that are nearly used up.
    pub(super) fn budget_notices(&self, age_ms: u64) -> Vec<Notice> {
        let near = self.gauges(age_ms).filter(|gauge| gauge.warned);
        near.map(|gauge| Notice::BudgetLow { gauge }).collect()
    }
}

impl Job {
    /// Returns the milliseconds from the submission to the last record, by the server's clock. Time
    /// that a rollback removed does not count.
    pub(super) fn age_ms(&self) -> u64 {
        let age = self.updated.duration_since(self.since).as_millis();
        self.lived_ms.saturating_add(u64::try_from(age).unwrap_or(0))
    }

    /// Returns the limits that are nearly or completely used up, for metrics.
    #[must_use]
    pub fn warnings(&self) -> Vec<Axis> {
        let Some(open) = &self.open else { return Vec::new() };
        open.gauges(self.age_ms()).filter(|gauge| gauge.warned).map(|gauge| gauge.axis).collect()
    }
}

fn is_limited(agent: &Agent) -> bool {
    !agent.budget.is_unlimited() || agent.deadline_ms.is_some() || !agent.agents.is_empty()
}

/// Returns `true` if a child job spends on the axis.
fn spent_by_children(axis: Axis) -> bool {
    match axis {
        Axis::Turns
        | Axis::TokensIn
        | Axis::TokensOut
        | Axis::Tokens
        | Axis::Money
        | Axis::Depth
        | Axis::Children => true,
        // The call that spawns a child counts as a call of this job.
        Axis::Steps | Axis::Time => false,
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens and milliseconds of a job are below 2^53")]
fn float(n: u64) -> f64 {
    n as f64
}
