//! The progress of planning one action at a time, derived from the dialogue and stored nowhere.

use proto::{
    decision::PlanTalk,
    fact::PlanPhase,
    outline::{Item, ItemStatus},
};

use crate::parse::choice::Phase;

/// The progress of a job that plans one action at a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course<'a> {
    /// Next phase of the `phased` protocol.
    pub(crate) phase: Phase,
    /// The intended items, as last reported.
    pub(crate) outline: &'a [Item],
    /// The last result of an item: the final answer if the model gives no other.
    pub(crate) reached: Option<&'a str>,
}

impl<'a> Course<'a> {
    /// Derives the progress from a dialogue.
    pub(crate) fn of(dialogue: &'a [PlanTalk]) -> Self {
        let mut course = Self { phase: Phase::Plan, outline: &[], reached: None };
        dialogue.iter().for_each(|talk| course.after(talk));
        course
    }

    /// Applies the next entry of the dialogue.
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
            // A person's message may change the remaining work.
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

    /// Returns the current item and its index, counted from 1.
    pub(crate) fn current(&self) -> Option<(usize, &'a Item)> {
        let open = |(_, item): &(usize, &Item)| item.status.is_open();
        self.outline.iter().enumerate().find(open).map(|(n, item)| (n + 1, item))
    }

    /// Returns the outline with its current item set to a status.
    pub(crate) fn with_current(&self, status: ItemStatus) -> Vec<Item> {
        let mut items = self.outline.to_vec();
        if let Some(item) = items.iter_mut().find(|item| item.status.is_open()) {
            item.status = status;
        }
        items
    }

    /// Returns the outline with every open item done, for a reached goal.
    pub(crate) fn closed(&self) -> Vec<Item> {
        let mut items = self.outline.to_vec();
        items
            .iter_mut()
            .filter(|item| item.status.is_open())
            .for_each(|item| item.status = ItemStatus::Done);
        items
    }
}
