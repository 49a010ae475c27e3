//! The ends of paths, and the joins that wait for them.

use std::collections::BTreeMap;

use proto::workflow::{Key, Move, Node, Path, Paths, Visit, Work, Yield};
use serde_json::Value;

use super::planner::{Over, Planner};
use crate::{nodes::VisitEnd, state::Split, text::Text};

impl Planner<'_> {
    /// Ends a path: the main one with the workflow, another one at its join.
    pub(super) fn arrive(
        &mut self,
        path: &Path,
        last: Option<&Visit>,
        error: Option<String>,
    ) -> Result<(), Over> {
        let Path::Of { split: visit, .. } = path else {
            return Err(Over(match error {
                None => self.output(),
                Some(message) => self.failed(last, &message),
            }));
        };
        let node = self.node(visit);
        let (error, collected) = match error {
            Some(error) => (Some(error), BTreeMap::new()),
            None => match self.collect(path, &node) {
                Ok(collected) => (None, collected),
                Err(error) => (Some(error), BTreeMap::new()),
            },
        };
        self.make(Move::Arrive { path: path.clone(), error, collected });
        self.settle_join(visit, &node)
    }

    /// Evaluates the values that an item of a map contributes.
    fn collect(&self, path: &Path, node: &Node) -> Result<BTreeMap<Key, Value>, String> {
        let Work::Map(map) = &node.work else { return Ok(BTreeMap::new()) };
        let last = self.last_outcome(path);
        let outcome = last.as_ref().map(|(name, value)| (*name, value));
        let each = map.collect.iter().map(|(key, template)| {
            let value = self.scoped(path, outcome, |eval, scope| eval.value(template, scope))?;
            Ok((key.clone(), value))
        });
        let collected = each.collect::<Result<BTreeMap<_, _>, String>>()?;
        self.fits_bound(collected.values())?;
        Ok(collected)
    }

    /// Returns the outcome of the node that a path visited last.
    fn last_outcome(&self, path: &Path) -> Option<(Yield, Value)> {
        let visit = self.graph.paths().get(path)?.last.as_ref()?;
        let name = self.graph.node(&visit.node)?.work.kind().yields()?;
        if let Some(event) = self.received(visit) {
            return Some((name, event.clone()));
        }
        match self.open.step_of(visit)?.visit_end()? {
            VisitEnd::Done(value) => Some((name, value)),
            VisitEnd::Failed(_) | VisitEnd::TimedOut => None,
        }
    }

    /// Joins the paths of a split that has what it waits for, or can no longer have it.
    pub(super) fn settle_join(&mut self, visit: &Visit, node: &Node) -> Result<(), Over> {
        let Some(split) = self.graph.split(visit) else { return Ok(()) };
        let Some(join) = node.work.paths().map(Paths::join) else { return Ok(()) };
        let needed = join.needed(usize::try_from(split.paths).unwrap_or(usize::MAX));
        if !split.is_settled(join) {
            return Ok(());
        }
        let good = split.succeeded();
        let is_met = good >= needed;
        let error = split.first_error().map(str::to_owned);
        let error = match (is_met, error) {
            (true, _) => self.collected_fit(split).err(),
            (false, Some(error)) => Some(error),
            (false, None) => {
                let text = Text::TooFewPaths { good: &good, needed: &needed };
                Some(text.text(self.open.language()))
            }
        };
        let path = self.graph.path_at(visit).cloned();
        let path = path.expect("a split is held by a path");
        self.make(Move::Join { visit: visit.clone(), failed: error.is_some() });
        match error {
            Some(error) => self.fail(&path, visit, node, error),
            None => self.follow(&path, visit, node, None),
        }
    }

    /// Checks the state that would hold the values of a map's items.
    fn collected_fit(&self, split: &Split) -> Result<(), String> {
        let state = self.graph.with_collected(split)?;
        for key in split.collected_keys() {
            let Some(value) = state.get(key) else { continue };
            self.fits_schema(key, value)?;
        }
        self.fits_bound(state.values())
    }
}
