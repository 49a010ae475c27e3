//! How far planning one action at a time has come: read from the dialogue, kept nowhere else.

use proto::{
    decision::PlanTalk,
    fact::PlanPhase,
    outline::{Item, ItemStatus},
};

use crate::parse::choice::Phase;

/// Where a job stands that is planned one action at a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course<'a> {
    /// What `phased` wants next.
    pub(crate) phase: Phase,
    /// What is intended, as it was said last.
    pub(crate) outline: &'a [Item],
    /// The last result of an item: the final answer, when nothing else is said.
    pub(crate) reached: Option<&'a str>,
}

impl<'a> Course<'a> {
    /// Reads it from what has been said and done.
    pub(crate) fn of(dialogue: &'a [PlanTalk]) -> Self {
        let mut course = Self { phase: Phase::Plan, outline: &[], reached: None };
        dialogue.iter().for_each(|talk| course.after(talk));
        course
    }

    /// Takes in what was said or done next.
    pub(crate) fn after(&mut self, talk: &'a PlanTalk) {
        match talk {
            PlanTalk::Noted { note } => {
                self.outline = &note.outline;
                self.reached = note.response.as_deref().or(self.reached);
                self.phase = match note.phase {
                    PlanPhase::Planned | PlanPhase::Acting | PlanPhase::Replanned => Phase::Thought,
                    PlanPhase::ItemDone => Phase::Replan,
                };
            }
            PlanTalk::Progressed { .. } if self.phase != Phase::Plan => self.phase = Phase::Thought,
            // What a person says may change what remains to be done.
            PlanTalk::Asked { .. } | PlanTalk::Steered { .. } if self.phase != Phase::Plan => {
                self.phase = Phase::Replan;
            }
            PlanTalk::Progressed { .. }
            | PlanTalk::Asked { .. }
            | PlanTalk::Steered { .. }
            | PlanTalk::Revised { .. }
            | PlanTalk::Rejected { .. } => {}
        }
    }

    /// The current item and its place among all, counted from 1.
    pub(crate) fn current(&self) -> Option<(usize, &'a Item)> {
        let open = |(_, item): &(usize, &Item)| item.status.is_open();
        self.outline.iter().enumerate().find(open).map(|(n, item)| (n + 1, item))
    }

    /// The outline with its current item set to a status.
    pub(crate) fn with_current(&self, status: ItemStatus) -> Vec<Item> {
        let mut items = self.outline.to_vec();
        if let Some(item) = items.iter_mut().find(|item| item.status.is_open()) {
            item.status = status;
        }
        items
    }

    /// The outline when the goal is reached.
    pub(crate) fn closed(&self) -> Vec<Item> {
        let mut items = self.outline.to_vec();
        items
            .iter_mut()
            .filter(|item| item.status.is_open())
            .for_each(|item| item.status = ItemStatus::Done);
        items
    }
}
