//! The path of a jump point search, from its nodes.

use crate::cell::Cell;
use crate::direction::MoveRule;
use crate::path::frontier::{Frontier, Place};

/// The corners of the path from the goal's node back to the start, both included. The path is straight
/// between corners.
pub(crate) fn trace_back<'a>(
    frontier: &'a Frontier,
    rule: MoveRule,
    goal: u32,
) -> impl Iterator<Item = Cell> + 'a {
    let mut number = goal;
    let mut corner: Option<Place> = None;
    std::iter::once(frontier.node(goal).place().cell()).chain(std::iter::from_fn(move || {
        if let Some(parent) = corner.take() {
            return Some(parent.cell());
        }
        let node = frontier.node(number);
        if node.parent() == number {
            return None;
        }
        number = node.parent();
        let parent = frontier.node(number).place();
        let bend = bend(rule, parent, node.place());
        if bend != parent && bend != node.place() {
            corner = Some(parent);
        }
        Some(if bend == node.place() { parent.cell() } else { bend.cell() })
    }))
}

/// The bend of the path from a node to another: the diagonal comes first, or the row if there are no
/// diagonals.
fn bend(rule: MoveRule, from: Place, to: Place) -> Place {
    if rule == MoveRule::Orthogonal {
        return Place { x: to.x, y: from.y };
    }
    let steps = from.x.abs_diff(to.x).min(from.y.abs_diff(to.y));
    let toward = |from: u32, to: u32| if to > from { from + steps } else { from - steps };
    Place { x: toward(from.x, to.x), y: toward(from.y, to.y) }
}
