//! The hierarchy of pieces, groups (components of these in larger and larger squares), and regions.
//!
//! ```text
//!   level 0   pieces    what hangs together within a sector, 32 cells along a side
//!   level 1   groups    what hangs together within 8 x 8 sectors
//!   level 2   groups    within 8 x 8 of these squares
//!   the last  regions   the square is the whole map
//! ```
//!
//! Maps of up to 1,024 cells along a side have pieces and regions, those of up to 2,048 one level of
//! groups between them, and larger ones two. A node of one level is a set of nodes of the level
//! below, its *members*. Nodes of two squares that touch have an *edge*, with the number of pairs of
//! cells that touch, so that an edit knows when the last of them is gone.

use smallvec::SmallVec;

use crate::bytes::{Saved, ensure, is_set};
use crate::grid::count_u32;
use crate::region::chunks::Chunks;
use crate::region::sector::Sectors;

/// The parent of nodes that have none yet.
const NONE: u32 = u32::MAX;
/// Squares of one level along a side of one of the next, as a power of two.
const LEVEL_SHIFT: usize = 3;
/// More sectors along a side than any map has, as a power of two.
const WHOLE_MAP_SHIFT: usize = 10;
/// The maximum number of sectors along a side of a map without groups. Edits of such a map seldom split
/// or join a region, so groups would cost them more than the flood fills that they spare.
const UNGROUPED_SIDE_MAX: usize = 32;

/// A contact of one node with another one of its level, by a number of pairs of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    to: u32,
    pair_count: u32,
}

/// A piece, group or region. The fields that a flood fill reads come first.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) parent: u32,
    /// The mark of the last flood fill that was here.
    mark: u32,
    /// The nodes of other squares that this one touches, by number.
    edges: SmallVec<[Edge; 2]>,
    /// `members[position]` of the parent is this node.
    position: u32,
    /// A sector in the square of the node.
    pub(crate) sector: u32,
    /// Zero if and only if the number belongs to no node: it is free, or its generations are used up.
    pub(crate) cell_count: u32,
    pub(crate) piece_count: u32,
    /// Nodes of the level below; a piece has none.
    pub(crate) members: Vec<u32>,
}

/// The nodes of a level by their numbers, which are reused.
///
/// Invariant: the positions of one level and the members of the next are inverse to each other, so
/// removal by swapping needs no search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    nodes: Chunks<Node>,
    /// The parent of each node once more, since look-ups need no other field, and a table of these alone
    /// stays in the caches.
    parents: Chunks<u32>,
    /// Free numbers, the one freed last on top, which makes numbers deterministic.
    pub(crate) free: Vec<u32>,
}

/// The nodes of one level, with the marks that flood fills set.
pub(crate) struct Flooded<'a>(&'a mut Chunks<Node>);

/// All levels, pieces first.
#[derive(Clone, Debug)]
pub(crate) struct Hierarchy {
    sectors: Sectors,
    pub(crate) levels: Vec<Level>,
}

impl Node {
    fn new(sector: u32, cell_count: u32, piece_count: u32) -> Self {
        let (parent, mark, position) = (NONE, 0, 0);
        let (edges, members) = (SmallVec::new(), Vec::new());
        Self { parent, mark, edges, position, sector, cell_count, piece_count, members }
    }

    fn is_listed(&self) -> bool {
        self.parent != NONE
    }

    /// Changes the number of pairs of cells by which this node touches another one.
    fn change_edge(&mut self, to: u32, by: i64) {
        match self.edges.binary_search_by_key(&to, |edge| edge.to) {
            Ok(at) => {
                let left = i64::from(self.edges[at].pair_count) + by;
                self.edges[at].pair_count =
                    u32::try_from(left).expect("no more pairs than there are");
                if left == 0 {
                    self.edges.remove(at);
                }
            }
            Err(at) => {
                let pair_count = u32::try_from(by).expect("no more pairs than there are");
                self.edges.insert(at, Edge { to, pair_count });
            }
        }
    }
}

impl Level {
    fn push(&mut self, node: Node) -> u32 {
        self.parents.push(node.parent);
        self.nodes.push(node);
        count_u32(self.nodes.len() - 1)
    }

    fn change_edge(&mut self, a: u32, b: u32, by: i64) {
        self.nodes[a as usize].change_edge(b, by);
        self.nodes[b as usize].change_edge(a, by);
    }
}

impl Flooded<'_> {
    pub(crate) fn mark(&mut self, node: u32) -> &mut u32 {
        &mut self.0[node as usize].mark
    }

    /// Calls a function with the number and the mark of each node that a node touches and that has the
    /// same parent.
    #[inline]
    pub(crate) fn for_each_touched(&mut self, node: u32, mut call: impl FnMut(u32, &mut u32)) {
        let &Node { parent, ref edges, .. } = &self.0[node as usize];
        for at in 0..edges.len() {
            let to = self.0[node as usize].edges[at].to;
            let other = &mut self.0[to as usize];
            if other.parent == parent {
                call(to, &mut other.mark);
            }
        }
    }
}

impl Hierarchy {
    /// Creates the levels, without nodes.
    pub(crate) fn new(sectors: Sectors) -> Self {
        let side = sectors.per_row.max(sectors.count / sectors.per_row.max(1));
        let mut group_levels = 0;
        if side > UNGROUPED_SIDE_MAX {
            while side > 1 << (LEVEL_SHIFT * (group_levels + 1)) {
                group_levels += 1;
            }
        }
        Self { sectors, levels: vec![Level::default(); group_levels + 2] }
    }

    /// The level of the regions.
    pub(crate) fn top(&self) -> usize {
        self.levels.len() - 1
    }

    /// The number of sectors along a side of a square of a level, as a power of two.
    pub(crate) fn square_shift(&self, level: usize) -> usize {
        if level == self.top() { WHOLE_MAP_SHIFT } else { LEVEL_SHIFT * level }
    }

    /// The square of a level that contains a sector.
    fn square(&self, level: usize, sector: u32) -> (usize, usize) {
        let (sector, shift) = (sector as usize, self.square_shift(level));
        ((sector % self.sectors.per_row) >> shift, (sector / self.sectors.per_row) >> shift)
    }

    /// Builds the nodes of all levels from pieces and their edges. Regions are numbered in the order of
    /// `pieces`, groups in that of their first members.
    pub(crate) fn build(&mut self, pieces: impl Iterator<Item = u32>) {
        for level in 1..self.top() {
            for member in 0..count_u32(self.number_end(level - 1)) {
                self.build_node(level, member);
            }
            self.link(level);
        }
        let top = self.top();
        for piece in pieces {
            self.build_node(top, self.ancestor(piece, top - 1));
        }
    }

    /// Builds a node of a member that has none, and of everything connected to it. The list of the
    /// members is the queue of the flood fill.
    fn build_node(&mut self, level: usize, member: u32) {
        let &Node { sector, .. } = self.node(level - 1, member);
        if self.node(level - 1, member).is_listed() {
            return;
        }
        let node = self.create(level, sector);
        self.insert(level - 1, member, node);
        let mut head = 0;
        while let Some(&member) = self.node(level, node).members.get(head) {
            head += 1;
            self.count_member(level, node, member);
            for at in 0..self.node(level - 1, member).edges.len() {
                let next = self.node(level - 1, member).edges[at].to;
                let other = self.node(level - 1, next);
                let is_inside = self.square(level, other.sector) == self.square(level, sector);
                if is_inside && !other.is_listed() {
                    self.insert(level - 1, next, node);
                }
            }
        }
    }

    /// Computes the edges of a level from those of the one below.
    fn link(&mut self, level: usize) {
        let [below, level] = &mut self.levels[level - 1..=level] else { return };
        for node in below.nodes.iter() {
            for edge in &node.edges {
                let to = below.nodes[edge.to as usize].parent;
                if to != node.parent {
                    level.nodes[node.parent as usize].change_edge(to, edge.pair_count.into());
                }
            }
        }
    }

    #[inline]
    pub(crate) fn node(&self, level: usize, node: u32) -> &Node {
        &self.levels[level].nodes[node as usize]
    }

    fn node_mut(&mut self, level: usize, node: u32) -> &mut Node {
        &mut self.levels[level].nodes[node as usize]
    }

    /// All numbers of a level below this one belong to nodes or are free.
    pub(crate) fn number_end(&self, level: usize) -> usize {
        self.levels[level].nodes.len()
    }

    /// The node of a level that contains a piece.
    #[inline]
    pub(crate) fn ancestor(&self, piece: u32, level: usize) -> u32 {
        let levels = self.levels[..level].iter();
        levels.fold(piece, |node, level| level.parents[node as usize])
    }

    /// Whether two pieces are of one region.
    #[inline]
    pub(crate) fn is_same(&self, a: u32, b: u32) -> bool {
        // Without a look at the levels between, which is no faster for pieces far from each other.
        a == b || self.ancestor(a, self.top()) == self.ancestor(b, self.top())
    }

    /// The nodes of a level, for a flood fill.
    pub(crate) fn flooded(&mut self, level: usize) -> Flooded<'_> {
        Flooded(&mut self.levels[level].nodes)
    }

    /// Sets all marks to zero.
    pub(crate) fn clear_marks(&mut self) {
        let nodes = self.levels.iter_mut().flat_map(|level| level.nodes.iter_mut());
        nodes.for_each(|node| node.mark = 0);
    }

    /// The piece of a region with this rank.
    pub(crate) fn piece_at(&self, region: u32, rank: usize) -> u32 {
        let (node, rank) = self.find(region, rank, 1, |node| node.piece_count);
        self.node(1, node).members[rank]
    }

    /// The piece of a region that contains the cell with this rank, and the rank of the cell in the
    /// piece.
    pub(crate) fn piece_of_cell(&self, region: u32, rank: usize) -> (u32, usize) {
        self.find(region, rank, 0, |node| node.cell_count)
    }

    /// The node of a level, by the place in a region of something that it has, and the place in it.
    fn find(
        &self,
        region: u32,
        mut rank: usize,
        last: usize,
        size: impl Fn(&Node) -> u32,
    ) -> (u32, usize) {
        let mut node = region;
        for level in (last + 1..=self.top()).rev() {
            let mut members = self.node(level, node).members.iter().copied();
            node = loop {
                let member = members.next().expect("a place below the count of all");
                let size = size(self.node(level - 1, member)) as usize;
                if rank < size {
                    break member;
                }
                rank -= size;
            };
        }
        (node, rank)
    }

    /// Creates a node without cells. The caller gives it some at once, and a parent.
    pub(crate) fn create(&mut self, level: usize, sector: u32) -> u32 {
        let at = &mut self.levels[level];
        let node = at.free.pop().unwrap_or_else(|| at.push(Node::new(sector, 0, 0)));
        let is_piece = u32::from(level == 0);
        let it = self.node_mut(level, node);
        (it.sector, it.cell_count, it.piece_count) = (sector, 0, is_piece);
        node
    }

    /// Frees the number of a node without members and edges, if it can be used again.
    pub(crate) fn remove(&mut self, level: usize, node: u32, is_usable: bool) {
        self.node_mut(level, node).cell_count = 0;
        if is_usable {
            self.levels[level].free.push(node);
        }
    }

    /// Lists a node that has no parent. The caller counts its cells and pieces.
    pub(crate) fn insert(&mut self, level: usize, node: u32, parent: u32) {
        let members = &mut self.node_mut(level + 1, parent).members;
        let position = count_u32(members.len());
        members.push(node);
        self.levels[level].parents[node as usize] = parent;
        let node = self.node_mut(level, node);
        (node.parent, node.position) = (parent, position);
    }

    /// Removes a node from its parent. The caller counts its cells and pieces.
    pub(crate) fn take(&mut self, level: usize, node: u32) {
        let node = self.node_mut(level, node);
        let position = node.position;
        let parent = std::mem::replace(&mut node.parent, NONE);
        let members = &mut self.node_mut(level + 1, parent).members;
        members.swap_remove(position as usize);
        // The last member has moved into the gap, unless it was the gap.
        if let Some(&moved) = members.get(position as usize) {
            self.node_mut(level, moved).position = position;
        }
    }

    fn count_member(&mut self, level: usize, node: u32, member: u32) {
        let &Node { cell_count, piece_count, .. } = self.node(level - 1, member);
        let node = self.node_mut(level, node);
        node.cell_count += cell_count;
        node.piece_count += piece_count;
    }

    /// Adds `by` cells, or removes them, from a piece and its ancestors on all levels.
    pub(crate) fn resize(&mut self, piece: u32, by: i32) {
        self.count_up(0, piece, |node| {
            node.cell_count = node.cell_count.wrapping_add_signed(by);
        });
    }

    /// Adds pieces to a node of the first level and its ancestors, or removes them.
    pub(crate) fn count_pieces(&mut self, node: u32, by: i32) {
        self.count_up(1, node, |node| {
            node.piece_count = node.piece_count.wrapping_add_signed(by);
        });
    }

    fn count_up(&mut self, from: usize, node: u32, count: impl Fn(&mut Node)) {
        let mut node = node;
        for level in &mut self.levels[from..] {
            let counted = &mut level.nodes[node as usize];
            count(counted);
            node = counted.parent;
        }
    }

    /// Changes the number of touching pairs of cells of two pieces, on all levels on which these are in
    /// two nodes.
    pub(crate) fn change_edges(&mut self, a: u32, b: u32, by: i64) {
        let (mut a, mut b) = (a, b);
        for level in &mut self.levels {
            if a == b {
                return;
            }
            level.change_edge(a, b, by);
            (a, b) = (level.nodes[a as usize].parent, level.nodes[b as usize].parent);
        }
    }

    /// Moves cells of a piece to a new one, which has the same parent.
    pub(crate) fn move_cells(&mut self, from: u32, into: u32, cell_count: u32) {
        self.node_mut(0, from).cell_count -= cell_count;
        self.node_mut(0, into).cell_count += cell_count;
        let parent = self.node(0, from).parent;
        self.insert(0, into, parent);
        self.count_pieces(parent, 1);
    }

    /// Moves a pair of touching cells from one piece to another one of the same parent.
    pub(crate) fn move_edge(&mut self, from: u32, into: u32, to: u32) {
        self.levels[0].change_edge(from, to, -1);
        self.levels[0].change_edge(into, to, 1);
    }

    /// Moves members of a node to a new one, which is listed beside it. Returns their number of cells.
    pub(crate) fn move_members<'a>(
        &mut self,
        level: usize,
        from: u32,
        into: u32,
        members: impl Iterator<Item = &'a u32> + Clone,
    ) -> u32 {
        for &member in members.clone() {
            self.take(level - 1, member);
            self.insert(level - 1, member, into);
            self.count_member(level, into, member);
        }
        let &Node { cell_count, piece_count, .. } = self.node(level, into);
        let source = self.node_mut(level, from);
        source.cell_count -= cell_count;
        source.piece_count -= piece_count;
        if level == self.top() {
            return cell_count;
        }
        let [below, level] = &mut self.levels[level - 1..=level] else { return cell_count };
        for &member in members {
            for edge in &below.nodes[member as usize].edges {
                let to = below.nodes[edge.to as usize].parent;
                if to != into {
                    level.change_edge(from, to, -i64::from(edge.pair_count));
                    level.change_edge(into, to, edge.pair_count.into());
                }
            }
        }
        cell_count
    }

    /// Moves everything that a node has to another one of its square. The caller removes the node, and
    /// uncounts the pieces that no longer exist.
    pub(crate) fn absorb(&mut self, level: usize, into: u32, from: u32) {
        // The emptied lists go back, so that the next node of this number reuses their memory.
        let node = self.node_mut(level, from);
        let (cell_count, piece_count) = (node.cell_count, node.piece_count);
        let mut members = std::mem::take(&mut node.members);
        let mut edges = std::mem::take(&mut node.edges);
        let target = self.node_mut(level, into);
        target.cell_count += cell_count;
        target.piece_count += if level > 0 { piece_count } else { 0 };
        members.drain(..).for_each(|member| self.insert(level - 1, member, into));
        for Edge { to, pair_count } in edges.drain(..) {
            let count = i64::from(pair_count);
            self.node_mut(level, to).change_edge(from, -count);
            self.levels[level].change_edge(into, to, count);
        }
        let node = self.node_mut(level, from);
        (node.members, node.edges) = (members, edges);
    }

    /// Checks that two hierarchies of one grid are equal, except for numbers. `twins` has the piece of
    /// this one for each of the other. Returns a sector of a difference.
    pub(crate) fn check(&self, fresh: &Self, mut twins: Vec<u32>) -> Result<(), u32> {
        for (number, (level, fresh)) in self.levels.iter().zip(&fresh.levels).enumerate() {
            for (node, &twin) in fresh.nodes.iter().zip(&twins) {
                let is_alike = level.nodes.get(twin as usize).is_some_and(|kept| {
                    let edges =
                        node.edges.iter().map(|edge| (twins[edge.to as usize], edge.pair_count));
                    let mut edges: Vec<_> = edges.collect();
                    edges.sort_unstable();
                    (kept.cell_count, kept.piece_count, kept.members.len())
                        == (node.cell_count, node.piece_count, node.members.len())
                        && kept.edges.iter().map(|edge| (edge.to, edge.pair_count)).eq(edges)
                });
                if !is_alike {
                    return Err(node.sector);
                }
            }
            let live_count = level.nodes.iter().filter(|node| node.cell_count > 0).count();
            if live_count != fresh.nodes.len() {
                return Err(0);
            }
            let Some(above) = self.levels.get(number + 1) else { break };
            let mut next = vec![NONE; fresh.nodes.len()];
            for (node, &twin) in fresh.nodes.iter().zip(&twins) {
                let kept = &level.nodes[twin as usize];
                let listed = above.nodes.get(kept.parent as usize);
                let listed = listed.and_then(|it| it.members.get(kept.position as usize));
                let twin_of_parent = &mut next[node.parent as usize];
                if *twin_of_parent == NONE {
                    *twin_of_parent = kept.parent;
                }
                if listed != Some(&twin) || *twin_of_parent != kept.parent {
                    return Err(node.sector);
                }
            }
            twins = next;
        }
        Ok(())
    }

    /// Adds the next node of a level, with these members.
    pub(crate) fn push_node(&mut self, level: usize, members: Vec<u32>) -> Saved<()> {
        let node = self.levels[level].push(Node::new(0, 0, 0));
        for member in members {
            let below = self.levels[level - 1].nodes.get(member as usize);
            ensure(below.is_some_and(|below| below.cell_count > 0 && !below.is_listed()))?;
            self.node_mut(level, node).sector = self.node(level - 1, member).sector;
            self.insert(level - 1, member, node);
            self.count_member(level, node, member);
        }
        Ok(())
    }

    /// Adds the next number of a piece; it is free if it has no cells.
    pub(crate) fn push_piece(&mut self, sector: usize, cell_count: u32) -> u32 {
        self.levels[0].push(Node::new(count_u32(sector), cell_count, 1))
    }

    /// Checks a level that was read, and computes its edges. The free numbers must be those of nodes
    /// without cells, each once, and of pieces all of them; and all nodes of the level below must be
    /// listed.
    pub(crate) fn finish(&mut self, level: usize) -> Saved<()> {
        let Level { nodes, free, .. } = &self.levels[level];
        let is_dead =
            |&number: &u32| nodes.get(number as usize).is_some_and(|it| it.cell_count == 0);
        let dead_count = nodes.iter().filter(|node| node.cell_count == 0).count();
        let is_right = is_set(free) && free.iter().all(is_dead);
        let is_whole = match level.checked_sub(1).map(|below| &self.levels[below]) {
            None => free.len() == dead_count,
            Some(Level { nodes, .. }) => {
                nodes.iter().all(|node| node.cell_count == 0 || node.is_listed())
            }
        };
        ensure(is_right && is_whole)?;
        if (1..self.top()).contains(&level) {
            self.link(level);
        }
        Ok(())
    }
}
