//! Orders that keep all waits, and circles that keep them from existing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Puts nodes in a row that keeps all waits: the lowest number comes first where nothing speaks
/// against it. Nodes of a circle, and those that wait for one, are left out.
///
/// This is Kahn's algorithm with a heap (A. B. Kahn, "Topological sorting of large networks",
/// 1962).
pub(crate) fn in_a_row(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting_for = vec![0; successors.len()];
    successors.iter().flatten().for_each(|&to| waiting_for[to] += 1);
    let is_free = |(node, &count): (usize, &usize)| (count == 0).then_some(Reverse(node));
    let mut free: BinaryHeap<_> = waiting_for.iter().enumerate().filter_map(is_free).collect();
    let mut row = Vec::with_capacity(successors.len());
    while let Some(Reverse(node)) = free.pop() {
        row.push(node);
        for &successor in &successors[node] {
            waiting_for[successor] -= 1;
            if waiting_for[successor] == 0 {
                free.push(Reverse(successor));
            }
        }
    }
    row
}

/// A circle among those that `row` had to leave out: each member is waited for by the next, and the
/// last one is the first again. Empty if the row has all nodes.
pub(crate) fn circle(successors: &[Vec<usize>], row: &[usize]) -> Vec<usize> {
    let mut is_left = vec![true; successors.len()];
    row.iter().for_each(|&node| is_left[node] = false);
    // A node that was left out waits for another one that was. So going back for long enough leads
    // into a circle.
    let mut waits_for = vec![None; successors.len()];
    for (node, to) in successors.iter().enumerate().filter(|&(node, _)| is_left[node]) {
        to.iter().for_each(|&successor| _ = waits_for[successor].get_or_insert(node));
    }
    let Some(mut at) = is_left.iter().position(|&is_left| is_left) else { return Vec::new() };
    let mut way = Vec::new();
    let mut places = vec![None; successors.len()];
    while places[at].is_none() {
        places[at] = Some(way.len());
        way.push(at);
        at = waits_for[at].expect("whoever was left out waits for another one that was");
    }
    let mut circle = way.split_off(places[at].unwrap_or(0));
    // It was found against the order. The lowest number first, so that it does not matter where
    // the way back began.
    circle.reverse();
    let lowest = (0..circle.len()).min_by_key(|&place| circle[place]).unwrap_or(0);
    circle.rotate_left(lowest);
    circle.extend_from_within(..1);
    circle
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_the_waits_and_else_the_order_of_numbers() {
        let successors = [vec![], vec![0], vec![4], vec![1], vec![]];
        let row = in_a_row(&successors);
        assert_eq!(row, [2, 3, 1, 0, 4]);
        assert!(circle(&successors, &row).is_empty());
    }

    #[test]
    fn a_circle_is_found_without_those_that_only_wait_for_it() {
        // 5 -> 2 -> 4 -> 1 -> 2, and 1 -> 0, which is before the circle in number.
        let successors = [vec![], vec![2, 0], vec![4], vec![], vec![1], vec![2]];
        let row = in_a_row(&successors);
        assert_eq!(row, [3, 5]);
        assert_eq!(circle(&successors, &row), [1, 2, 4, 1]);
        assert_eq!(circle(&[vec![0]], &[]), [0, 0]);
    }
}
