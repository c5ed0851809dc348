//! All flow fields of a world, each by its number.

use std::num::NonZeroU32;

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Codec, CodecError, HashState};

use crate::bytes::{get, get_count, get_u32, put, take};
use crate::cell::Cell;
use crate::class::ClassId;
use crate::flow::FlowField;
use crate::terrain::Terrain;

/// A flow field of [`FlowFields`].
///
/// Slots are used again, generations make the difference: the id of a field that was
/// removed names nothing ever after.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Pod, Zeroable, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct FlowId {
    slot: u32,
    generation: u32,
}

/// The flow fields that agents follow, and how much work a tick may put into them. A
/// resource.
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
    /// Cells that may be worked out in a tick, in all fields together.
    ///
    /// Agents whose way is not known yet wait; those whose way an edit has made uncertain walk on
    /// as before while it is worked out. Fields are served in turns, each as far as
    /// its agents need it: a tick begins behind the field with which the one before has
    /// ended. To forget what an edit has made wrong is part of this.
    pub expansions_per_tick: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    generation: NonZeroU32,
    /// The class of agents that the field is for.
    class: ClassId,
    /// `None` if the slot is free.
    field: Option<FlowField>,
    /// Cells of agents that have to wait.
    wanted: Vec<Cell>,
}

impl Default for FlowFields {
    /// No fields, and some three milliseconds of work a tick on one thread.
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), first: 0, expansions_per_tick: 20_000 }
    }
}

impl FlowFields {
    /// How they are saved with a game: each as far as it is worked out.
    pub const CODEC: Codec<Self> = Codec::custom(
        |fields, out| {
            put(out, fields.first as u64);
            put(out, fields.expansions_per_tick);
            put(out, fields.free.len() as u64);
            fields.free.iter().for_each(|&slot| put(out, slot.into()));
            put(out, fields.slots.len() as u64);
            for slot in &fields.slots {
                put(out, slot.generation.get().into());
                out.push(slot.class.0);
                out.push(slot.field.is_some().into());
                slot.field.iter().for_each(|field| field.write(out));
            }
            Ok(())
        },
        |bytes| {
            let first = usize::try_from(get(bytes)?).map_err(|_| CodecError)?;
            let expansions_per_tick = get(bytes)?;
            let mut fields = Self { first, expansions_per_tick, ..Self::default() };
            for _ in 0..get_count(bytes, 8)? {
                fields.free.push(get_u32(bytes)?);
            }
            for _ in 0..get_count(bytes, 10)? {
                let generation = NonZeroU32::new(get_u32(bytes)?).ok_or(CodecError)?;
                let [class, has_field] = take(bytes)?;
                let field = match has_field {
                    0 => None,
                    _ => Some(FlowField::read(bytes)?),
                };
                let class = ClassId(class);
                fields.slots.push(Slot { generation, class, field, wanted: Vec::new() });
            }
            let is_free = |&slot: &u32| {
                fields.slots.get(slot as usize).is_some_and(|slot| slot.field.is_none())
            };
            let is_sound = first <= fields.slots.len() && fields.free.iter().all(is_free);
            if is_sound { Ok(fields) } else { Err(CodecError) }
        },
    );

    /// Adds a field to the nearest of some goals, as by [`FlowField::new`]. Nothing of it
    /// is worked out before agents need it.
    ///
    /// # Panics
    /// Panics if there are 2^32 fields already.
    pub fn add(&mut self, terrain: &Terrain, goals: &[Cell]) -> FlowId {
        self.add_for(ClassId::default(), terrain, goals)
    }

    /// Adds a field for a class of agents, which those that follow it should be of.
    ///
    /// # Panics
    /// Panics if the terrain has no such class, or if there are 2^32 fields already.
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

    /// Removes a field. False if it is no more. Its agents stand still.
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

    /// A field, or `None` if it is no more.
    #[must_use]
    pub fn get(&self, id: FlowId) -> Option<&FlowField> {
        let slot = self.slots.get(id.slot as usize)?;
        slot.field.as_ref().filter(|_| slot.generation.get() == id.generation)
    }

    /// A field to change, or `None` if it is no more: [`FlowField::restart`] gives it
    /// other goals.
    pub fn get_mut(&mut self, id: FlowId) -> Option<&mut FlowField> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        slot.field.as_mut().filter(|_| slot.generation.get() == id.generation)
    }

    /// Lets all fields follow the edits of the terrain.
    pub(crate) fn update(&mut self, terrain: &Terrain) {
        for slot in &mut self.slots {
            slot.wanted.clear();
            if let Some(field) = &mut slot.field {
                let terrain = terrain.for_agents(slot.class);
                field.fit(terrain);
                field.update(terrain);
            }
        }
    }

    /// A field, and the terrain of the agents that it is for.
    pub(crate) fn get_on<'a>(
        &'a self,
        id: FlowId,
        terrain: &'a Terrain,
    ) -> Option<(&'a FlowField, &'a Terrain)> {
        Some((self.get(id)?, terrain.for_agents(self.slots[id.slot as usize].class)))
    }

    /// Notes that an agent waits in a cell.
    pub(crate) fn want(&mut self, id: FlowId, cell: Cell) {
        if let Some(slot) = self.slots.get_mut(id.slot as usize) {
            slot.wanted.push(cell);
        }
    }

    /// Works the fields out as far as agents want it, within the budget.
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
            // A wave is the same in whatever order its cells are asked for, be it
            // halted or not: it goes on until the last of them is final.
            for &cell in &slot.wanted {
                left -= field.settle_within(terrain.for_agents(slot.class), cell, left);
            }
            if left == 0 {
                self.first = number + 1;
            }
        }
    }
}
