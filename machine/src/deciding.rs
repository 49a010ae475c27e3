//! Planning one action at a time, and goals that need no plan: what a planner may say beside a plan
//! or a question, and what follows.

use proto::{
    agent::PlanWhen,
    decision::{Detect, PlanTalk},
    fact::{PlanNote, PlanPhase, Planned},
    outline::Item,
    policy::{Detector, PlanProtocol},
    rules::Rules,
};

use super::{
    state::{Open, Stage},
    text,
};

/// Rounds of planning in a row of which nothing comes that can be carried out.
const THOUGHTS_MAX: usize = 20;

impl Open {
    /// Whether the goal is carried out without asking a planner.
    pub(super) fn needs_no_planner(&self) -> bool {
        match self.agent.plan.when {
            PlanWhen::Never => true,
            PlanWhen::Always => self.agent.plan.protocol == PlanProtocol::InlineTools,
            PlanWhen::Auto => false,
        }
    }

    /// What the planner is to find out first.
    pub(super) fn detect(&self) -> Option<Detect> {
        let wanted = self.agent.plan.when == PlanWhen::Auto && self.detected.is_none();
        wanted.then(|| {
            let by = self.agent.plan.detect;
            let model = self.agent.plan.detect_model.clone();
            Detect { by, model: model.filter(|_| by == Detector::Model) }
        })
    }

    /// What a planner said beside its reply.
    pub(super) fn heard_beside(&mut self, planned: &Planned) {
        if self.detect().is_some() {
            self.detected.clone_from(&planned.detected);
        }
        if self.agent.plan.protocol.is_turn_by_turn()
            && !planned.outline.is_empty()
            && planned.outline != self.outline
        {
            let (phase, outline) = (PlanPhase::Acting, planned.outline.clone());
            self.intend(PlanNote { phase, outline, response: None });
        }
    }

    fn intend(&mut self, note: PlanNote) {
        self.outline.clone_from(&note.outline);
        self.dialogue.push(PlanTalk::Noted { note });
    }

    /// The planner says that the goal is one step.
    pub(super) fn found_simple(&mut self) {
        if self.detected.as_ref().is_some_and(|detected| !detected.complex) && self.revision == 0 {
            return self.adopt_goal_as_plan();
        }
        self.unusable(String::new(), text::needs_a_plan(self.language).to_owned());
    }

    /// The planner goes on by itself; but not for ever.
    pub(super) fn noted(&mut self, note: &PlanNote) {
        if self.agent.plan.protocol != PlanProtocol::Phased {
            return self.unusable(String::new(), text::needs_a_plan(self.language).to_owned());
        }
        self.intend(note.clone());
        self.rejected = 0;
        if self.thoughts() <= THOUGHTS_MAX {
            return self.next_round();
        }
        self.stage = self.no_plan(&text::only_thoughts(self.language, THOUGHTS_MAX));
    }

    /// Rounds in a row of which nothing came: no action, and no item that was done by thought alone.
    fn thoughts(&self) -> usize {
        let thought = |(at, talk): &(usize, &PlanTalk)| match talk {
            PlanTalk::Noted { note } => self.rules < Rules::SECOND || !self.gets_on(*at, note),
            PlanTalk::Rejected { .. } => true,
            PlanTalk::Asked { .. }
            | PlanTalk::Steered { .. }
            | PlanTalk::Revised { .. }
            | PlanTalk::Progressed { .. } => false,
        };
        self.dialogue.iter().enumerate().rev().take_while(thought).count()
    }

    /// Whether a note says that an item is done with which the outline stands as it never did.
    fn gets_on(&self, at: usize, note: &PlanNote) -> bool {
        let mut before = self.dialogue.iter().take(at);
        note.phase == PlanPhase::ItemDone
            && !before.any(|talk| {
                matches!(talk, PlanTalk::Noted { note: earlier } if earlier.outline == note.outline)
            })
    }

    /// Whether the planner may answer in place of a first plan.
    pub(super) fn may_answer_at_once(&self) -> bool {
        self.agent.plan.allow_empty && self.agent.has_planner() && self.revision == 0
    }

    /// The planner says that the goal is reached.
    pub(super) fn reached(&mut self, response: &str, outline: &[Item]) {
        if !self.agent.plan.protocol.is_turn_by_turn() && !self.may_answer_at_once() {
            return self
                .unusable(response.to_owned(), text::needs_a_plan(self.language).to_owned());
        }
        if !outline.is_empty() {
            self.outline = outline.to_vec();
        }
        self.rejected = 0;
        self.answer = Some(response.to_owned());
        self.stage = Stage::Execute;
    }
}
