//! The choice of the event that a visit receives.

use proto::workflow::Yield;

use super::{
    due::{Awaiting, Heard, awaiting},
    planner::Planner,
};

impl Planner<'_> {
    /// Returns the first wait that is over. An event that arrived before the decision takes
    /// precedence over the time. Events that do not fit stay for later visits and other nodes, and
    /// are looked at again when the state has changed.
    pub(super) fn next_event(&self) -> Option<Heard> {
        awaiting(self.open, &self.graph).find_map(|it| {
            // The moves of this advance end no step of the job.
            if self.received(&it.visit).is_some() {
                return None;
            }
            for number in it.events.iter().copied() {
                match self.fits(&it, number) {
                    Ok(true) => return Some(Heard::Event(it, number)),
                    Ok(false) => {}
                    Err(error) => return Some(Heard::Unmatched(it, number, error)),
                }
            }
            it.is_late.then_some(Heard::Nothing(it))
        })
    }

    fn fits(&self, it: &Awaiting, number: u32) -> Result<bool, String> {
        let Some(event) = self.graph.events().get(&number) else { return Ok(false) };
        let node = self.node(&it.visit);
        let Some(condition) = node.work.as_event().and_then(|event| event.matches.as_ref()) else {
            return Ok(true);
        };
        let outcome = Some((Yield::Event, &event.as_value()));
        self.scoped(&it.path, outcome, |eval, scope| eval.condition(condition, scope))
    }
}
