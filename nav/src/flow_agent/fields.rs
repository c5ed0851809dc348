//! The flow fields of a world, each with an id.

use std::num::NonZeroU32;

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Codec, HashState};

use crate::bytes::{Bytes, Saved, bytes_by_field, ensure, is_set};
use crate::cell::Cell;
use crate::class::ClassId;
use crate::flow::FlowField;
use crate::terrain::Terrain;

/// The id of a flow field in [`FlowFields`].
///
/// Slots are reused, and generations tell their fields apart: the id of a removed field never names
/// another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Pod, Zeroable, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct FlowId {
    slot: u32,
    generation: u32,
}

/// The flow fields that agents follow, and the work that a tick may spend on them. A resource.
///
/// ```
/// use formic_nav::{Cell, FlowFields, Grid, MoveRule, Terrain};
/// let terrain = Terrain::new(Grid::from_fn(9, 9, |_| true)?, MoveRule::default());
/// let mut fields = FlowFields::default();
/// let camp = fields.add(&terrain, &[Cell::new(4, 4)]);
/// assert_eq!(fields.get(camp).unwrap().goals(), [Cell::new(4, 4)]);
/// assert!(fields.remove(camp));
/// assert!(fields.get(camp).is_none());
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FlowFields {
    slots: Vec<Slot>,
    /// Free slots, the one freed last on top.
    free: Vec<u32>,
    /// The slot that is served first in the next tick.
    first: usize,
    /// The number of cells that may be computed in a tick, in all fields together.
    ///
    /// Agents whose path is not known yet wait. Agents whose path an edit has made uncertain walk on as
    /// before while it is computed. Fields are served in turns, each as far as its agents need it; a tick
    /// begins after the field with which the previous one ended. Forgetting what an edit has made wrong
    /// counts as well.
    ///
    /// If edits in every tick keep a field from ever coming to an agent that has no direction, not even an
    /// old one, it heeds edits only after it has come there: for three quarters of the time at most.
    pub expansions_per_tick: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    generation: NonZeroU32,
    /// The class of agents that the field is for.
    class: ClassId,
    /// `None` if the slot is free.
    field: Option<FlowField>,
    /// The cells of agents that have to wait.
    wanted: Vec<Cell>,
}

bytes_by_field!(Slot { generation, class, field; wanted: Vec::new() });
bytes_by_field!(FlowFields { first, expansions_per_tick, free, slots });

impl Default for FlowFields {
    /// No fields, and some three milliseconds of work per tick on one thread.
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), first: 0, expansions_per_tick: 20_000 }
    }
}

impl FlowFields {
    /// The format of the fields in a saved game: each as far as it is computed.
    pub const CODEC: Codec<Self> = Codec::custom(
        |fields, out| {
            fields.write(out);
            Ok(())
        },
        |bytes| {
            let fields = Self::read(bytes)?;
            let is_free = |&slot: &u32| {
                fields.slots.get(slot as usize).is_some_and(|slot| slot.field.is_none())
            };
            ensure(fields.first <= fields.slots.len())?;
            ensure(is_set(&fields.free) && fields.free.iter().all(is_free))?;
            Ok(fields)
        },
    );

    /// Adds a field to the nearest of some goals, as by [`FlowField::new`]. Nothing of it is computed
    /// before agents need it.
    ///
    /// # Panics
    /// Panics if the rule of the terrain [cuts corners](crate::MoveRule::cuts_corners), or if there are
    /// 2^32 fields already.
    pub fn add(&mut self, terrain: &Terrain, goals: &[Cell]) -> FlowId {
        self.add_for(ClassId::default(), terrain, goals)
    }

    /// Adds a field for a class of agents. The agents that follow it should be of that class.
    ///
    /// # Panics
    /// Panics if the terrain has no such class, if its rule
    /// [cuts corners](crate::MoveRule::cuts_corners), or if there are 2^32 fields already.
    pub fn add_for(&mut self, class: ClassId, terrain: &Terrain, goals: &[Cell]) -> FlowId {
        let field = Some(FlowField::new(terrain.for_agents(class), goals));
        if let Some(number) = self.free.pop() {
            let slot = &mut self.slots[number as usize];
            (slot.class, slot.field) = (class, field);
            return FlowId { slot: number, generation: slot.generation.get() };
        }
        let number = u32::try_from(self.slots.len()).expect("fewer than 2^32 fields");
        let generation = NonZeroU32::MIN;
        self.slots.push(Slot { generation, class, field, wanted: Vec::new() });
        FlowId { slot: number, generation: generation.get() }
    }

    /// Removes a field. Its agents stand still. Returns false if it no longer exists.
    pub fn remove(&mut self, id: FlowId) -> bool {
        if self.get(id).is_none() {
            return false;
        }
        let slot = &mut self.slots[id.slot as usize];
        slot.field = None;
        // A slot whose generations are used up is retired, never wrapped.
        if let Some(generation) = slot.generation.checked_add(1) {
            slot.generation = generation;
            self.free.push(id.slot);
        }
        true
    }

    /// Returns a field, or `None` if it no longer exists.
    #[must_use]
    pub fn get(&self, id: FlowId) -> Option<&FlowField> {
        let slot = self.slots.get(id.slot as usize)?;
        slot.field.as_ref().filter(|_| slot.generation.get() == id.generation)
    }

    /// Returns a field for changes, or `None` if it no longer exists: [`FlowField::restart`] gives it
    /// other goals.
    pub fn get_mut(&mut self, id: FlowId) -> Option<&mut FlowField> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        slot.field.as_mut().filter(|_| slot.generation.get() == id.generation)
    }

    /// Begins a tick, in which no cells are wanted yet. Returns whether edits may have to wait for agents
    /// that follow a field and have no direction.
    pub(crate) fn begin(&mut self, terrain: &Terrain) -> bool {
        self.slots.iter_mut().fold(false, |may_hold, Slot { class, field, wanted, .. }| {
            wanted.clear();
            let field = field.as_mut();
            may_hold | field.is_some_and(|field| field.may_hold(terrain.for_agents(*class)))
        })
    }

    /// Lets all fields follow the edits of the terrain, except those that must first come to an agent in
    /// one of the wanted cells. No cells are wanted afterwards.
    pub(crate) fn update(&mut self, terrain: &Terrain) {
        for Slot { class, field, wanted, .. } in &mut self.slots {
            if let Some(field) = field {
                let terrain = terrain.for_agents(*class);
                let may_hold = field.may_hold(terrain);
                if may_hold {
                    field.hold(terrain);
                }
                if !may_hold || !wanted.iter().any(|&cell| field.is_stuck(terrain, cell)) {
                    field.update(terrain);
                }
            }
            wanted.clear();
        }
    }

    /// Returns a field, and the terrain of the agents that it is for.
    pub(crate) fn get_on<'a>(
        &'a self,
        id: FlowId,
        terrain: &'a Terrain,
    ) -> Option<(&'a FlowField, &'a Terrain)> {
        Some((self.get(id)?, terrain.for_agents(self.slots[id.slot as usize].class)))
    }

    /// Notes that an agent waits in a cell.
    pub(crate) fn want(&mut self, id: FlowId, cell: Cell) {
        let slot = self.slots.get_mut(id.slot as usize);
        if let Some(slot) = slot.filter(|slot| slot.generation.get() == id.generation) {
            slot.wanted.push(cell);
        }
    }

    /// Computes the fields as far as agents want, within the budget.
    pub(crate) fn serve(&mut self, terrain: &Terrain) {
        let mut left = self.expansions_per_tick;
        let count = self.slots.len();
        for turn in 0..count {
            if left == 0 {
                return;
            }
            let number = (self.first + turn) % count;
            let slot = &mut self.slots[number];
            let Some(field) = &mut slot.field else { continue };
            // A wave is the same for any order in which its cells are asked for, halted or not: it goes
            // on until the last of them is final.
            for &cell in &slot.wanted {
                left -= field.settle_within(terrain.for_agents(slot.class), cell, left);
            }
            if left == 0 {
                self.first = number + 1;
            }
        }
    }
}
