//! Interleaved planning (one action at a time), and goals that need no plan.

use proto::{
    agent::PlanWhen,
    decision::Detect,
    fact::{PlanNote, PlanPhase, Planned},
    outline::Item,
    policy::{Detector, PlanProtocol},
};

use super::{state::ActiveJob, text::Text};

/// Limit on planning rounds in a row that lead to no action.
const THOUGHTS_MAX: usize = 20;

impl ActiveJob {
    /// Returns the detection that the planner performs first: whether the goal needs a plan at all.
    pub(super) fn detect(&self) -> Option<Detect> {
        let wanted =
            self.brief.agent.plan.when == PlanWhen::Auto && self.planning.detected().is_none();
        wanted.then(|| {
            let by = self.brief.agent.plan.detect;
            let model = self.brief.agent.plan.detect_model.clone();
            Detect { by, model: model.filter(|_| by == Detector::Model) }
        })
    }

    /// Takes the detection and the outline that came with a planner's reply.
    pub(super) fn heard_beside(&mut self, planned: &Planned) {
        if self.detect().is_some() {
            self.planning.detect(planned);
        }
        if self.brief.agent.plan.protocol.is_turn_by_turn()
            && !planned.outline.is_empty()
            && planned.outline != self.planning.outline()
        {
            let (phase, outline) = (PlanPhase::Acting, planned.outline.clone());
            self.planning.intend(PlanNote { phase, outline, response: None });
        }
    }

    /// Handles the planner's verdict that the goal is a single step.
    pub(super) fn found_simple(&mut self) {
        let is_simple = self.planning.detected().is_some_and(|detected| !detected.complex);
        if is_simple && self.execution.revision() == 0 {
            return self.adopt_goal_as_plan();
        }
        self.needs_a_plan(String::new());
    }

    /// Handles a note of a planner that continues by itself. After too many notes without an action
    /// the job fails.
    pub(super) fn noted(&mut self, note: &PlanNote) {
        if self.brief.agent.plan.protocol != PlanProtocol::Phased {
            return self.needs_a_plan(String::new());
        }
        self.planning.intend(note.clone());
        self.planning.accept();
        self.plan_on();
    }

    /// Begins the next round, unless too many rounds in a row led to no action.
    pub(super) fn plan_on(&mut self) {
        if self.planning.thoughts() <= THOUGHTS_MAX {
            return self.planning.next_round();
        }
        self.no_plan(&Text::OnlyThoughts { rounds: &THOUGHTS_MAX }.text(self.language()));
    }

    /// Returns `true` if the planner may answer instead of making a first plan.
    pub(super) fn may_answer_at_once(&self) -> bool {
        self.brief.agent.plan.allow_empty
            && self.brief.agent.has_planner()
            && self.execution.revision() == 0
    }

    /// Handles the planner's verdict that the goal is reached.
    pub(super) fn reached(&mut self, response: &str, outline: &[Item]) {
        if !self.brief.agent.plan.protocol.is_turn_by_turn() && !self.may_answer_at_once() {
            return self.needs_a_plan(response.to_owned());
        }
        self.planning.reach(response, outline);
    }

    fn needs_a_plan(&mut self, reply: String) {
        self.unusable(reply, Text::NeedsAPlan.text(self.language()));
    }
}
