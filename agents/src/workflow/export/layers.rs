//! Places of the nodes of a drawing: layers for the way forwards, and lanes beside them for the lines
//! back. The console has the same layout in `gateway/web/layout.js` and `flowlayout.js`.

use std::collections::{BTreeMap, BTreeSet};

/// Distances, in pixels.
const GAP_X: f64 = 36.0;
const GAP_Y: f64 = 58.0;
const LANE: f64 = 18.0;
/// Sweeps that order layers, and that move nodes towards their neighbours.
const SWEEPS: usize = 8;
/// Layers that a line passes with a bend in each.
const MOST_BENDS: usize = 16;

/// The size of a node, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A point, in pixels.
pub(super) type Point = (f64, f64);

/// The places of nodes and lines.
#[derive(Debug)]
pub(super) struct Layout {
    /// Centres of the nodes.
    pub(super) nodes: Vec<Point>,
    /// Lines, in the order in which they were given.
    pub(super) lines: Vec<Route>,
    pub(super) size: Size,
}

/// The course of a line.
#[derive(Debug)]
pub(super) enum Route {
    /// Points from the lower side of a node to the upper side of another one.
    Forwards(Vec<Point>),
    /// From the right side of a node over a lane to the right side of an earlier one.
    Back { from: Point, lane: f64, to: Point },
}

/// Places nodes, of which the first is the start. `above` has pairs of which the second is below the
/// first without a line.
pub(super) fn layout(sizes: &[Size], lines: &[(usize, usize)], above: &[(usize, usize)]) -> Layout {
    let all: Vec<(usize, usize)> = lines.iter().chain(above).copied().collect();
    let back = backwards(sizes.len(), &all);
    let forwards: Vec<(usize, usize)> =
        all.iter().copied().filter(|line| !back.contains(line)).collect();
    let ranks = ranks(sizes.len(), &forwards);
    let mut grid = Grid::new(sizes, &ranks);
    let routes: BTreeMap<(usize, usize), Vec<usize>> =
        forwards.iter().map(|&(from, to)| ((from, to), grid.chain(from, to))).collect();
    grid.order();
    grid.spread();
    let x = grid.centres();
    let tops = grid.tops(sizes);
    let height = |rank: usize| tops.get(rank).map_or(0.0, |(_, height)| *height);
    let top = |rank: usize| tops.get(rank).map_or(0.0, |(top, _)| *top);
    let at = |list: &[f64], place: usize| list.get(place).copied().unwrap_or_default();
    let rank = |node: usize| grid.ranks.get(node).copied().unwrap_or_default();
    let size = |node: usize| sizes.get(node).copied().unwrap_or(Size { width: 0.0, height: 0.0 });
    let centre = |node: usize| (at(&x, node), top(rank(node)) + height(rank(node)) / 2.0);
    let mut right =
        (0..sizes.len()).map(|node| at(&x, node) + size(node).width / 2.0).fold(0.0, f64::max);
    let mut lanes: Vec<(f64, usize, usize)> = Vec::new();
    let mut order: Vec<usize> = (0..lines.len()).collect();
    // Short lines back are inside of long ones.
    order.sort_by_key(|place| lines.get(*place).map(|&(a, b)| rank(a).abs_diff(rank(b))));
    let mut courses: BTreeMap<usize, Route> = BTreeMap::new();
    for place in order {
        let Some(&(from, to)) = lines.get(place) else { continue };
        let (start, end) = (centre(from), centre(to));
        let course = match routes.get(&(from, to)) {
            Some(chain) => {
                let inner = chain.iter().map(|&dummy| {
                    let rank = rank(dummy);
                    (at(&x, dummy), top(rank) + height(rank) / 2.0)
                });
                let first = (start.0, start.1 + size(from).height / 2.0);
                let last = (end.0, end.1 - size(to).height / 2.0);
                Route::Forwards(std::iter::once(first).chain(inner).chain([last]).collect())
            }
            None => {
                let (low, high) = (rank(from).min(rank(to)), rank(from).max(rank(to)));
                let beside = (0..sizes.len()).filter(|node| (low..=high).contains(&rank(*node)));
                let edge = |node| at(&x, node) + size(node).width / 2.0;
                let mut lane = beside.map(edge).fold(0.0, f64::max) + LANE;
                let taken = |lanes: &[(f64, usize, usize)], x: f64| {
                    lanes.iter().any(|(at, a, b)| (at - x).abs() < LANE && *a <= high && *b >= low)
                };
                while taken(&lanes, lane) {
                    lane += LANE;
                }
                lanes.push((lane, low, high));
                right = right.max(lane);
                let side = |(x, y): Point, node: usize, part: f64| {
                    (x + size(node).width / 2.0, y + size(node).height * part)
                };
                Route::Back { from: side(start, from, 0.2), lane, to: side(end, to, -0.2) }
            }
        };
        courses.insert(place, course);
    }
    let bottom = tops.last().map_or(0.0, |(top, height)| top + height);
    Layout {
        nodes: (0..sizes.len()).map(centre).collect(),
        lines: courses.into_values().collect(),
        size: Size { width: right, height: bottom },
    }
}

/// Returns the lines that close a circle, in a walk from the first node.
fn backwards(count: usize, lines: &[(usize, usize)]) -> BTreeSet<(usize, usize)> {
    let next = |node: usize| {
        lines.iter().filter(move |(from, _)| *from == node).map(|(_, to)| *to).collect::<Vec<_>>()
    };
    let (mut back, mut open, mut done) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for first in 0..count {
        if done.contains(&first) {
            continue;
        }
        open.insert(first);
        let mut stack = vec![(first, next(first).into_iter())];
        while let Some((node, rest)) = stack.last_mut() {
            let node = *node;
            match rest.next() {
                None => {
                    open.remove(&node);
                    done.insert(node);
                    stack.pop();
                }
                Some(to) if open.contains(&to) => {
                    back.insert((node, to));
                }
                Some(to) if !done.contains(&to) => {
                    open.insert(to);
                    stack.push((to, next(to).into_iter()));
                }
                Some(_) => {}
            }
        }
    }
    back
}

/// Returns the layer of each node: one below the lowest node before it.
fn ranks(count: usize, forwards: &[(usize, usize)]) -> Vec<usize> {
    let mut ranks = vec![0_usize; count];
    // Without circles, the longest path has fewer lines than there are nodes.
    for _ in 0..count {
        let mut has_moved = false;
        for &(from, to) in forwards {
            let below = ranks.get(from).copied().unwrap_or_default() + 1;
            if let Some(rank) = ranks.get_mut(to).filter(|rank| **rank < below) {
                *rank = below;
                has_moved = true;
            }
        }
        if !has_moved {
            break;
        }
    }
    ranks
}

/// Nodes and the bends of long lines, by layer.
struct Grid {
    /// Layer of each node, then of each bend.
    ranks: Vec<usize>,
    /// Width of each node and bend, with the gap beside it.
    widths: Vec<f64>,
    layers: Vec<Vec<usize>>,
    up: Vec<Vec<usize>>,
    down: Vec<Vec<usize>>,
    x: Vec<f64>,
}

impl Grid {
    fn new(sizes: &[Size], ranks: &[usize]) -> Self {
        let count = sizes.len();
        let mut layers = vec![Vec::new(); ranks.iter().max().map_or(0, |most| most + 1)];
        for (node, rank) in ranks.iter().enumerate() {
            if let Some(layer) = layers.get_mut(*rank) {
                layer.push(node);
            }
        }
        Self {
            ranks: ranks.to_vec(),
            widths: sizes.iter().map(|size| size.width + GAP_X).collect(),
            layers,
            up: vec![Vec::new(); count],
            down: vec![Vec::new(); count],
            x: Vec::new(),
        }
    }

    /// Adds a line with a bend in each layer that it passes, and returns the bends.
    fn chain(&mut self, from: usize, to: usize) -> Vec<usize> {
        let rank = |ranks: &[usize], node: usize| ranks.get(node).copied().unwrap_or_default();
        let (first, last) = (rank(&self.ranks, from) + 1, rank(&self.ranks, to));
        // A line across very many layers is drawn straight.
        let last = if last.saturating_sub(first) > MOST_BENDS { first } else { last };
        let mut bends = Vec::new();
        let mut at = from;
        for layer in first..last {
            let bend = self.ranks.len();
            self.ranks.push(layer);
            self.widths.push(GAP_X);
            self.up.push(Vec::new());
            self.down.push(Vec::new());
            if let Some(layer) = self.layers.get_mut(layer) {
                layer.push(bend);
            }
            self.join(at, bend);
            bends.push(bend);
            at = bend;
        }
        self.join(at, to);
        bends
    }

    fn join(&mut self, above: usize, below: usize) {
        if let Some(down) = self.down.get_mut(above) {
            down.push(below);
        }
        if let Some(up) = self.up.get_mut(below) {
            up.push(above);
        }
    }

    /// Orders each layer by the mean places of the neighbours.
    fn order(&mut self) {
        let mut place = vec![0.0; self.ranks.len()];
        self.place(&mut place);
        for sweep in 0..SWEEPS {
            let count = self.layers.len();
            for step in 0..count {
                let (at, near) = match sweep % 2 {
                    0 => (step, &self.up),
                    _ => (count - 1 - step, &self.down),
                };
                let Some(layer) = self.layers.get_mut(at) else { continue };
                let weight = |node: &usize| {
                    let near = near.get(*node).map(Vec::as_slice).unwrap_or_default();
                    mean(near, &place).or_else(|| place.get(*node).copied()).unwrap_or_default()
                };
                layer.sort_by(|a, b| weight(a).total_cmp(&weight(b)));
                for (n, node) in layer.iter().enumerate() {
                    if let Some(place) = place.get_mut(*node) {
                        *place = number(n);
                    }
                }
            }
        }
    }

    fn place(&self, place: &mut [f64]) {
        for (n, node) in self.layers.iter().flat_map(|layer| layer.iter().enumerate()) {
            if let Some(place) = place.get_mut(*node) {
                *place = number(n);
            }
        }
    }

    /// Moves nodes towards the mean of their neighbours; those of a layer keep order and distance.
    fn spread(&mut self) {
        self.x = vec![0.0; self.ranks.len()];
        for sweep in 0..=SWEEPS {
            let count = self.layers.len();
            for step in 0..count {
                let (at, near) = match sweep % 2 {
                    0 => (step, &self.up),
                    _ => (count - 1 - step, &self.down),
                };
                let Some(layer) = self.layers.get(at) else { continue };
                let wish = |node: &usize| {
                    let near = near.get(*node).map(Vec::as_slice).unwrap_or_default();
                    mean(near, &self.x).or_else(|| self.x.get(*node).copied()).unwrap_or_default()
                };
                let wishes: Vec<f64> = layer.iter().map(wish).collect();
                let widths: Vec<f64> =
                    layer.iter().filter_map(|node| self.widths.get(*node).copied()).collect();
                let placed = pack(&wishes, &widths);
                for (node, x) in layer.iter().zip(placed) {
                    if let Some(place) = self.x.get_mut(*node) {
                        *place = x;
                    }
                }
            }
        }
    }

    /// Returns the centres of nodes and bends, with the leftmost side at zero.
    fn centres(&self) -> Vec<f64> {
        let left = |(x, width): (&f64, &f64)| x - (width - GAP_X) / 2.0;
        let least = self.x.iter().zip(&self.widths).map(left).fold(f64::INFINITY, f64::min);
        self.x.iter().map(|x| x - least).collect()
    }

    /// Returns the top and the height of each layer.
    fn tops(&self, sizes: &[Size]) -> Vec<(f64, f64)> {
        let mut top = 0.0;
        let heights = self.layers.iter().map(|layer| {
            let heights = layer.iter().filter_map(|node| sizes.get(*node)).map(|size| size.height);
            heights.fold(0.0, f64::max)
        });
        heights
            .map(|height| {
                let at = top;
                top += height + GAP_Y;
                (at, height)
            })
            .collect()
    }
}

fn mean(nodes: &[usize], place: &[f64]) -> Option<f64> {
    let known: Vec<f64> = nodes.iter().filter_map(|node| place.get(*node).copied()).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / number(known.len()))
}

#[expect(clippy::cast_precision_loss, reason = "a drawing has at most a thousand nodes")]
fn number(count: usize) -> f64 {
    count as f64
}

/// Returns the places nearest to the wishes that keep order and distance: pool adjacent violators.
fn pack(wishes: &[f64], widths: &[f64]) -> Vec<f64> {
    let mut offsets = Vec::new();
    let mut offset = 0.0;
    for (n, width) in widths.iter().enumerate() {
        let before = n.checked_sub(1).and_then(|n| widths.get(n));
        offset += before.map_or(0.0, |before| (before + width) / 2.0);
        offsets.push(offset);
    }
    // Blocks of nodes that touch: the sum of their wishes, and their number.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (wish, offset) in wishes.iter().zip(&offsets) {
        blocks.push((wish - offset, 1));
        while let [.., (a, n), (b, m)] = blocks.as_slice() {
            if a / number(*n) <= b / number(*m) {
                break;
            }
            let joined = (a + b, n + m);
            blocks.truncate(blocks.len() - 2);
            blocks.push(joined);
        }
    }
    let places =
        blocks.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / number(*count), *count));
    places.zip(offsets).map(|(place, offset)| place + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { width: 100.0, height: 40.0 };

    fn placed(count: usize, lines: &[(usize, usize)]) -> Layout {
        layout(&vec![SIZE; count], lines, &[])
    }

    #[test]
    fn nodes_do_not_overlap_and_lie_inside_of_the_drawing() {
        let lines =
            [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (4, 5), (5, 1), (0, 5), (4, 4)];
        let Layout { nodes, size, .. } = placed(6, &lines);
        for (n, (x, y)) in nodes.iter().enumerate() {
            assert!(*x >= 49.0 && *x + 49.0 <= size.width && *y + 19.0 <= size.height, "{nodes:?}");
            for (other_x, other_y) in nodes.iter().skip(n + 1) {
                assert!((x - other_x).abs() >= 99.0 || (y - other_y).abs() >= 39.0, "{nodes:?}");
            }
        }
    }

    #[test]
    fn a_line_back_has_a_lane_beside_the_nodes_that_it_passes() {
        let lines = [(0, 1), (1, 2), (2, 0), (2, 1), (2, 3)];
        let Layout { nodes, lines, .. } = placed(4, &lines);
        let right = nodes.iter().map(|(x, _)| x + 50.0).fold(0.0, f64::max);
        let lanes: Vec<f64> = lines
            .iter()
            .filter_map(|route| match route {
                Route::Back { lane, .. } => Some(*lane),
                Route::Forwards(_) => None,
            })
            .collect();
        let [long, short] = lanes.as_slice() else { panic!("{lanes:?}") };
        assert!(*short > right && *long > *short, "{lanes:?}");
    }

    #[test]
    fn a_long_line_passes_beside_the_nodes_between() {
        let Layout { nodes, lines, .. } = placed(3, &[(0, 1), (1, 2), (0, 2)]);
        let Some(Route::Forwards(points)) = lines.last() else { panic!("{lines:?}") };
        let [_, bend, _] = points.as_slice() else { panic!("{points:?}") };
        let (x, y) = nodes[1];
        assert!((bend.1 - y).abs() < 1.0 && (bend.0 - x).abs() > 50.0, "{points:?} {nodes:?}");
    }
}
