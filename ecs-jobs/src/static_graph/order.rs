//! Topological orders, and cycles in graphs that have none.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Returns the nodes in topological order, with the lowest number first among the ready ones. Nodes of a
/// cycle, and those that depend on one, are left out.
///
/// This is Kahn's algorithm with a heap (A. B. Kahn, "Topological sorting of large networks",
/// 1962).
pub(crate) fn topological_order(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting_for = vec![0; successors.len()];
    successors.iter().flatten().for_each(|&to| waiting_for[to] += 1);
    let is_free = |(node, &count): (usize, &usize)| (count == 0).then_some(Reverse(node));
    let mut free: BinaryHeap<_> = waiting_for.iter().enumerate().filter_map(is_free).collect();
    let mut order = Vec::with_capacity(successors.len());
    while let Some(Reverse(node)) = free.pop() {
        order.push(node);
        for &successor in &successors[node] {
            waiting_for[successor] -= 1;
            if waiting_for[successor] == 0 {
                free.push(Reverse(successor));
            }
        }
    }
    order
}

/// Returns a cycle among the nodes that `order` lacks: each depends on the one before it, and the last is
/// the first again. Empty if the order has all nodes.
pub(crate) fn cycle(successors: &[Vec<usize>], order: &[usize]) -> Vec<usize> {
    let mut is_left = vec![true; successors.len()];
    order.iter().for_each(|&node| is_left[node] = false);
    // Each left-out node depends on another left-out node, so a walk along these ends in a cycle.
    let mut waits_for = vec![None; successors.len()];
    for (node, to) in successors.iter().enumerate().filter(|&(node, _)| is_left[node]) {
        to.iter().for_each(|&successor| _ = waits_for[successor].get_or_insert(node));
    }
    let Some(mut at) = is_left.iter().position(|&is_left| is_left) else { return Vec::new() };
    let mut path = Vec::new();
    let mut places = vec![None; successors.len()];
    while places[at].is_none() {
        places[at] = Some(path.len());
        path.push(at);
        at = waits_for[at].expect("a node that was left out waits for another one that was");
    }
    let mut cycle = path.split_off(places[at].unwrap_or(0));
    // The walk found it backwards. The lowest number comes first, so that the result does not depend on
    // the start of the walk.
    cycle.reverse();
    let lowest = (0..cycle.len()).min_by_key(|&place| cycle[place]).unwrap_or(0);
    cycle.rotate_left(lowest);
    cycle.extend_from_within(..1);
    cycle
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_the_waits_and_else_the_order_of_numbers() {
        let successors = [vec![], vec![0], vec![4], vec![1], vec![]];
        let row = topological_order(&successors);
        assert_eq!(row, [2, 3, 1, 0, 4]);
        assert!(cycle(&successors, &row).is_empty());
    }

    #[test]
    fn a_cycle_is_found_without_those_that_only_wait_for_it() {
        // 5 -> 2 -> 4 -> 1 -> 2, and 1 -> 0, which is before the cycle in number.
        let successors = [vec![], vec![2, 0], vec![4], vec![], vec![1], vec![2]];
        let row = topological_order(&successors);
        assert_eq!(row, [3, 5]);
        assert_eq!(cycle(&successors, &row), [1, 2, 4, 1]);
        assert_eq!(cycle(&[vec![0]], &[]), [0, 0]);
    }
}
