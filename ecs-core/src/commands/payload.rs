//! The payloads of commands: bundles and closures of any type in the memory of a buffer. Each is taken
//! out once.
#![expect(
    unsafe_code,
    reason = "moves values of any type in and out of words, and takes each out once"
)]

use alloc::vec::Vec;
use core::mem::{ManuallyDrop, MaybeUninit};

use super::deferred::{Deferred, Outcome};
use super::{Action, CommandBuffer};
use crate::archetype::{ArchetypeId, Archetypes};
use crate::bundle::{AnyParts, BundleColumns, Parts};
use crate::component::Registry;
use crate::entity::Entity;
use crate::error::CommandFailureReason;
use crate::transfer::{Bundles, Change, Transition};
use crate::world::World;

/// A bump allocator for values of any type, which are found by their offsets. It does not know their
/// types and drops none of them.
///
/// A buffer is `Sync` although its closures need not be: they are reached only through
/// `&mut CommandBuffer`.
#[derive(Debug, Default)]
pub(super) struct Arena {
    words: Vec<MaybeUninit<u64>>,
}

/// The position of a value in the arena, in words of 8 bytes. It can address 32 GiB.
type Offset = u32;

const fn word_count<T>() -> usize {
    size_of::<T>().div_ceil(size_of::<u64>())
}

impl Arena {
    /// Moves a value in, and returns its offset.
    ///
    /// Panics if the arena holds 32 GiB already.
    #[inline]
    fn push<T>(&mut self, value: T) -> Offset {
        let offset = self.words.len();
        let place = Offset::try_from(offset).expect("a command buffer has at most 32 GiB");
        self.words.reserve(word_count::<T>());
        let target = self.words.spare_capacity_mut().as_mut_ptr().cast::<T>();
        // SAFETY: `word_count` words were just reserved at the end, and `&mut self` makes this the only
        // access. No alignment is required.
        unsafe { target.write_unaligned(value) };
        // SAFETY: the words were reserved above, and a `MaybeUninit` is always initialised.
        unsafe { self.words.set_len(offset + word_count::<T>()) };
        place
    }

    /// Moves a value out.
    ///
    /// # Safety
    /// A value of this very type was moved to `offset` by `push`, `put_back` or `append` since the last
    /// `clear`, and has not been taken since (C-1).
    #[inline]
    unsafe fn take<T>(&self, offset: Offset) -> T {
        let offset = offset as usize;
        let source = self.words[offset..offset + word_count::<T>()].as_ptr().cast::<T>();
        // SAFETY: the caller guarantees that a `T` was put there and is taken once (C-1). The slice has
        // as many words. No alignment is required.
        unsafe { source.read_unaligned() }
    }

    /// Moves a value to the offset from which another of its type was taken.
    fn put_back<T>(&mut self, offset: Offset, value: T) {
        let offset = offset as usize;
        let target = self.words[offset..offset + word_count::<T>()].as_mut_ptr().cast::<T>();
        // SAFETY: the slice has that many words and is exclusively borrowed. No alignment is required.
        unsafe { target.write_unaligned(value) };
    }

    /// Moves the values of another arena behind those of this one. Returns the number to be added to
    /// their offsets.
    ///
    /// Panics if the two hold 32 GiB or more together.
    fn append(&mut self, other: &mut Self) -> Offset {
        let shift = Offset::try_from(self.words.len());
        let end = Offset::try_from(self.words.len() + other.words.len());
        let shift = shift.ok().filter(|_| end.is_ok());
        let shift = shift.expect("a command buffer has at most 32 GiB");
        self.words.append(&mut other.words);
        shift
    }

    /// Forgets all values. The memory is kept.
    pub(super) fn clear(&mut self) {
        self.words.clear();
    }
}

/// The bundle of a record, in the arena of the same buffer. A `Payload` cannot be copied, and the record
/// gives it up when it is taken, so the bundle is taken out once (C-1).
///
/// It is packed so that the tag of an action fits beside it in 16 bytes.
#[derive(Debug)]
#[repr(C, packed(4))]
pub(super) struct Payload {
    offset: Offset,
    pub(super) functions: &'static BundleFns,
}

impl Payload {
    #[inline]
    pub(super) fn store<P: Parts>(bundle: P, arena: &mut Arena) -> Self {
        Self { offset: arena.push(bundle), functions: BundleFns::of::<P>() }
    }
}

/// The closure of a record, in the arena of the same buffer, as a bundle is (C-1).
#[derive(Debug)]
#[repr(C, packed(4))]
pub(super) struct StoredCall {
    offset: Offset,
    /// Takes the closure out, and calls it if arguments are given, or else drops it. Returns the name of
    /// the call and its outcome.
    take: unsafe fn(&Arena, Offset, Option<CalledWith<'_>>) -> (&'static str, Outcome),
}

/// The arguments of a stored call: the world, its target (a real entity), and the table that resolves
/// other deferred entities.
type CalledWith<'a> = (&'a mut World, Entity, &'a Deferred);

impl StoredCall {
    /// Stores a closure. `name` is for messages.
    pub(super) fn store<F>(name: &'static str, function: F, arena: &mut Arena) -> Self
    where
        F: FnOnce(&mut World, Entity, &Deferred) -> Outcome + Send + 'static,
    {
        Self { offset: arena.push((name, function)), take: take_call::<F> }
    }
}

/// # Safety
/// A name and an `F` are at this offset and have not been taken (C-1).
unsafe fn take_call<F>(
    arena: &Arena,
    offset: Offset,
    with: Option<CalledWith<'_>>,
) -> (&'static str, Outcome)
where
    F: FnOnce(&mut World, Entity, &Deferred) -> Outcome,
{
    // SAFETY: the caller guarantees that both are there and were not taken (C-1).
    let (name, function) = unsafe { arena.take::<(&'static str, F)>(offset) };
    (name, with.map_or(Ok(()), |(world, entity, deferred)| function(world, entity, deferred)))
}

/// A bundle that was taken from its record. It is dropped unless it is used.
#[derive(Debug)]
pub(super) struct TakenBundle<'a> {
    payload: ManuallyDrop<Payload>,
    arena: &'a Arena,
}

/// The use of a bundle that is taken out of the arena.
enum Use<'a> {
    /// Drops it.
    Drop,
    /// Spawns a reserved entity with it.
    Spawn(&'a mut World, Entity),
    /// Adds it to an entity.
    Insert(&'a mut World, Entity, &'a mut Outcome),
}

impl TakenBundle<'_> {
    #[inline]
    fn into_payload(self) -> (Offset, &'static BundleFns) {
        let this = ManuallyDrop::new(self);
        (this.payload.offset, this.payload.functions)
    }

    /// Spawns a reserved entity with the bundle.
    pub(super) fn spawn(self, world: &mut World, entity: Entity) {
        let (arena, (offset, functions)) = (self.arena, self.into_payload());
        // SAFETY: a bundle of this type is there and was not taken (`CommandBuffer::take`, C-1).
        unsafe { (functions.take)(arena, offset, Use::Spawn(world, entity)) };
    }

    /// Adds the bundle to an entity.
    pub(super) fn insert(self, world: &mut World, entity: Entity) -> Outcome {
        let (arena, (offset, functions)) = (self.arena, self.into_payload());
        let mut outcome = Ok(());
        // SAFETY: a bundle of this type is there and was not taken (`CommandBuffer::take`, C-1).
        unsafe { (functions.take)(arena, offset, Use::Insert(world, entity, &mut outcome)) };
        outcome
    }
}

// SAFETY: the value is a bundle of the type that the functions belong to. They check for that type, and
// write all of it as that type does (I-2, I-9).
unsafe impl AnyParts for TakenBundle<'_> {
    #[inline]
    unsafe fn write(self, columns: &BundleColumns, row: usize) {
        let (arena, (offset, functions)) = (self.arena, self.into_payload());
        // SAFETY: a bundle of this type is there and was not taken (`CommandBuffer::take`, C-1). The
        // caller guarantees the columns and the row (I-2, I-3, I-9).
        unsafe { (functions.write)(arena, offset, columns, row) };
    }
}

impl Drop for TakenBundle<'_> {
    fn drop(&mut self) {
        // SAFETY: a bundle of this type is there and was not taken (`CommandBuffer::take`, C-1). A bundle
        // that was used is forgotten, and does not get here.
        unsafe { (self.payload.functions.take)(self.arena, self.payload.offset, Use::Drop) };
    }
}

type MapFn<'a> = dyn FnMut(Entity) -> Entity + 'a;

type TransitionFn = for<'a> fn(
    &'a mut Bundles,
    Change,
    ArchetypeId,
    &mut Registry,
    &mut Archetypes,
) -> Option<&'a Transition>;

/// The functions for a bundle type that commands need.
///
/// The unsafe ones take a payload. They require that a bundle of this type is at the offset in the arena,
/// and that it was not taken before (C-1).
#[derive(Debug)]
pub(super) struct BundleFns {
    pub(super) transition: TransitionFn,
    pub(super) remove: fn(&mut World, Entity) -> Outcome,
    /// Takes the payload out and uses it.
    take: unsafe fn(&Arena, Offset, Use<'_>),
    /// Moves the payload into a row, as [`AnyParts::write`] does and under its conditions. It is separate
    /// from the other uses because runs of commands spend their time here.
    write: unsafe fn(&Arena, Offset, &BundleColumns, usize),
    /// Replaces the entities in the payload. If that panics, the payload is gone.
    map_entities: Option<unsafe fn(&mut Arena, Offset, &mut MapFn<'_>)>,
}

/// Holds the functions as a constant, so that they can be borrowed as `'static`.
struct BundleFnsOf<P>(core::marker::PhantomData<P>);

impl<P: Parts> BundleFnsOf<P> {
    const BUNDLE: &'static BundleFns = &BundleFns {
        transition: Bundles::transition::<P>,
        remove: |world, entity| world.remove_parts::<P>(entity).map(drop).map_err(Into::into),
        take: take::<P>,
        write: write::<P>,
        map_entities: if P::MAPS_ENTITIES { Some(map_entities::<P>) } else { None },
    };
}

/// Compares addresses. A bundle type has one table, or one in each codegen unit that names it.
impl PartialEq for BundleFns {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl BundleFns {
    pub(super) fn of<P: Parts>() -> &'static Self {
        BundleFnsOf::<P>::BUNDLE
    }

    /// Returns the transition of a row to which the bundle is added.
    pub(super) fn insertion<'a>(
        &self,
        bundles: &'a mut Bundles,
        from: ArchetypeId,
        registry: &mut Registry,
        archetypes: &mut Archetypes,
    ) -> &'a Transition {
        let insertion = (self.transition)(bundles, Change::Insert, from, registry, archetypes);
        insertion.expect("it leads somewhere")
    }
}

/// # Safety
/// A `P` is at this offset and has not been taken (C-1).
unsafe fn take<P: Parts>(arena: &Arena, offset: Offset, use_: Use<'_>) {
    // SAFETY: the caller guarantees that a `P` is there and was not taken (C-1).
    let bundle = unsafe { arena.take::<P>(offset) };
    match use_ {
        Use::Drop => drop(bundle),
        Use::Spawn(world, entity) => _ = world.spawn_parts(Some(entity), bundle),
        Use::Insert(world, entity, outcome) => {
            let inserted = world.insert_by(entity, bundle, |bundle| bundle);
            *outcome = inserted.map_err(|_| CommandFailureReason::NoSuchEntity);
        }
    }
}

/// # Safety
/// A `P` is at this offset and has not been taken (C-1). The columns and the row meet the requirements of
/// [`AnyParts::write`].
unsafe fn write<P: Parts>(arena: &Arena, offset: Offset, columns: &BundleColumns, row: usize) {
    // SAFETY: the caller guarantees that a `P` is there and was not taken (C-1).
    let bundle = unsafe { arena.take::<P>(offset) };
    columns.expect::<P>();
    // SAFETY: the columns belong to the components of this type, as was just checked (I-9). The caller
    // guarantees a reserved row (I-2, I-3).
    unsafe { bundle.write(&columns.starts, row) };
}

/// # Safety
/// A `P` is at this offset and has not been taken (C-1).
unsafe fn map_entities<P: Parts>(arena: &mut Arena, offset: Offset, map: &mut MapFn<'_>) {
    // SAFETY: the caller guarantees that a `P` is there and was not taken (C-1). Another one is put back
    // below.
    let mut bundle = unsafe { arena.take::<P>(offset) };
    bundle.map_entities(map);
    arena.put_back(offset, bundle);
}

impl CommandBuffer {
    /// Takes a command out of its record, which gives it up (C-1). A stored call is dropped.
    #[inline]
    pub(super) fn take(&mut self, record: usize) -> Action<TakenBundle<'_>> {
        // The record belongs to the same buffer as the arena, and gives the payload up here.
        let hold =
            |payload| TakenBundle { payload: ManuallyDrop::new(payload), arena: &self.arena };
        match core::mem::replace(&mut self.records[record].action, Action::Taken) {
            Action::Call(call) => {
                // SAFETY: the closure is there, has the type of the function, and was not taken (C-1).
                drop(unsafe { (call.take)(&self.arena, call.offset, None) });
                Action::Taken
            }
            Action::Spawn(payload) => Action::Spawn(hold(payload)),
            Action::Insert(payload) => Action::Insert(hold(payload)),
            Action::Remove(functions) => Action::Remove(functions),
            Action::SetEnabled(set, enabled) => Action::SetEnabled(set, enabled),
            Action::Despawn => Action::Despawn,
            Action::Taken => Action::Taken,
        }
    }

    /// Takes a stored call out of its record, which gives it up (C-1). Calls it with a world and its
    /// target, or else drops it.
    pub(super) fn take_call(
        &mut self,
        record: usize,
        world: Option<(&mut World, Entity)>,
    ) -> (&'static str, Outcome) {
        let Action::Call(StoredCall { offset, take }) = self.records[record].action else {
            unreachable!("it was seen to be a call");
        };
        self.records[record].action = Action::Taken;
        let with = world.map(|(world, entity)| (world, entity, &self.deferred));
        // SAFETY: the closure is there, has the type of the function, and was not taken (C-1).
        unsafe { take(&self.arena, offset, with) }
    }

    /// Moves the commands of another buffer behind those of this one.
    pub(super) fn append_records(&mut self, other: &mut Self) {
        // Memory comes first: if there is none, every payload is still where its record says.
        self.records.reserve(other.records.len());
        self.deferred.append(&mut other.deferred);
        // The last step that can panic: every payload has to be where its record says (C-1).
        let shift = self.arena.append(&mut other.arena);
        for mut record in other.records.drain(..) {
            match &mut record.action {
                Action::Spawn(payload) | Action::Insert(payload) => payload.offset += shift,
                Action::Call(call) => call.offset += shift,
                _ => {}
            }
            self.records.push(record);
        }
    }

    /// Replaces the deferred entities in all payloads by the real ones.
    pub(super) fn map_entities(&mut self) {
        let Self { records, arena, deferred, .. } = self;
        for record in records {
            // The record does not have the payload meanwhile: it is gone if the mapping panics.
            let action = core::mem::replace(&mut record.action, Action::Taken);
            if let Action::Spawn(payload) | Action::Insert(payload) = &action {
                let map = &mut |entity| deferred.resolve(entity);
                let (offset, functions) = (payload.offset, payload.functions);
                if let Some(map_entities) = functions.map_entities {
                    // SAFETY: the functions belong to the type that was stored, and the record belongs to
                    // the buffer of this arena. The payload was not taken, and the record does not have
                    // it meanwhile (C-1).
                    unsafe { map_entities(arena, offset, map) };
                }
            }
            record.action = action;
        }
    }
}
