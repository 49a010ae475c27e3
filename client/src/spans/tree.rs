//! The order in which a screen lists bars: each below the bar that it lies within.

use super::{Span, SpanId};

/// A bar with its place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch<'a> {
    /// The bar.
    pub span: &'a Span,
    /// Number of the bars around it.
    pub depth: usize,
}

/// Returns the bars in the order of a tree: a bar, then those within it, by begin.
#[must_use]
pub fn tree(spans: &[Span]) -> Vec<Branch<'_>> {
    let mut within: Vec<Vec<SpanId>> = vec![Vec::new(); spans.len()];
    let mut roots = Vec::new();
    for span in spans {
        match span.parent.and_then(|parent| within.get_mut(parent)) {
            Some(siblings) => siblings.push(span.id),
            None => roots.push(span.id),
        }
    }
    let by_begin = |ids: &mut Vec<SpanId>| {
        ids.sort_by_key(|id| spans.get(*id).map(|span| (span.begin, span.id)));
    };
    within.iter_mut().for_each(by_begin);
    by_begin(&mut roots);
    let mut open: Vec<(SpanId, usize)> = roots.into_iter().rev().map(|id| (id, 0)).collect();
    let mut branches = Vec::with_capacity(spans.len());
    while let Some((id, depth)) = open.pop() {
        let Some(span) = spans.get(id) else { continue };
        branches.push(Branch { span, depth });
        let below = within.get(id).into_iter().flatten();
        open.extend(below.rev().map(|id| (*id, depth + 1)));
    }
    branches
}
