//! A world shared by many threads, in which each access is checked when it is taken; and the declared
//! access of one user.
#![expect(unsafe_code, reason = "turns checked borrows into rights to components and resources")]

use alloc::string::String;
use alloc::vec::Vec;
use core::any::{TypeId, type_name};

use super::{Res, ResMut, ResourceError, World};
use crate::entity::Entity;
use crate::error::AccessConflict;
use crate::query::{
    Access, BorrowedQuery, BorrowedToken, ExclusivePlan, ExclusiveView, LastRun, QueryData,
    QueryFilter, QueryPlan, Source, View, ViewPlan,
};
use crate::storage::ChangeWindow;
use crate::sync::Serial;

/// An exclusively borrowed world that can be shared: it can be copied to any number of threads, and each
/// requests from it what it needs.
///
/// A request that conflicts with another user's access to a component or a resource is refused, whatever
/// the schedule says: a wrong schedule is an error, never a data race. No structural change can happen
/// while a cell exists; record it in a [`CommandBuffer`](crate::CommandBuffer).
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Position(f32);
/// let mut world = World::new();
/// world.spawn_batch((0..100).map(|i| Position(i as f32)));
/// let mut mine = world.plan::<&mut Position>();
/// let mut yours = world.plan::<&Position>();
/// let cell = world.cell();
/// let writing = cell.query(&mut mine)?;
/// assert!(cell.query(&mut yours).is_err());
/// drop(writing);
/// assert_eq!(cell.query(&mut yours)?.count(), 100);
/// # Ok::<(), formic_ecs::AccessConflict>(())
/// ```
#[derive(Clone, Copy)]
pub struct WorldCell<'w> {
    pub(crate) world: &'w World,
    /// The version of this copy's slot, which stamps what is written through it.
    version: u64,
    /// What this copy may be asked for; `None` means everything.
    rights: Option<&'w DeclaredAccess>,
}

/// The maximum number of version slots of a cell. With it, no realistic number of calls uses up the
/// versions of a world.
const SLOTS_MAX: usize = 1 << 20;

debug_fields!([] WorldCell<'_>: world);

/// Cells: several users, each with access to some components.
impl World {
    /// Borrows the world as a cell, which threads can share.
    ///
    /// Everything in it happens at the same version: a plan that was run before another user wrote does
    /// not see that change the next time either. Where that matters, use
    /// [`cell_with_versions`](Self::cell_with_versions).
    pub fn cell(&mut self) -> WorldCell<'_> {
        self.cell_with_versions(1)
    }

    /// Borrows the world as a cell with `slot_count` version slots (at least one): see
    /// [`WorldCell::version_slot`].
    ///
    /// # Panics
    /// Panics if `slot_count` is more than 2^20. Each slot uses up a version whether or not it is used: a
    /// world has 2^62 of them in its life, and its snapshots are refused after that.
    pub fn cell_with_versions(&mut self, slot_count: usize) -> WorldCell<'_> {
        self.cell_with_slots(slot_count, None)
    }

    /// Borrows the world as a cell for users that together access no more than `declared`. Reading a
    /// component that `declared` only reads costs nothing: no user can write it, so none has to be kept
    /// out.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DeclaredAccess;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let (mut reader, mut writer) = (world.plan::<&Gold>(), world.plan::<&mut Gold>());
    /// let declared = DeclaredAccess::new("all of them", reader.access().clone());
    /// let cell = world.cell_for(&declared, 2);
    /// assert!(cell.version_slot(0).query(&mut reader).is_ok());
    /// assert!(cell.version_slot(1).query(&mut writer).is_err(), "none of them writes");
    /// ```
    ///
    /// # Panics
    /// Panics like [`cell_with_versions`](Self::cell_with_versions), and if `declared` writes a component
    /// that this world does not have because it was made for another one.
    pub fn cell_for(&mut self, declared: &DeclaredAccess, slot_count: usize) -> WorldCell<'_> {
        self.cell_with_slots(slot_count, Some(declared))
    }

    /// Creates `slot_count` cells, used one after the other, for users that together access no more than
    /// `declared`: see [`SerialCells`].
    ///
    /// # Panics
    /// Panics like [`cell_for`](Self::cell_for).
    pub fn serial_cells_for(
        &mut self,
        declared: &DeclaredAccess,
        slot_count: usize,
    ) -> SerialCells<'_> {
        self.cell_for(declared, slot_count);
        self.borrows.set_written(declared.components(), false);
        SerialCells(self)
    }

    fn cell_with_slots(
        &mut self,
        slot_count: usize,
        declared: Option<&DeclaredAccess>,
    ) -> WorldCell<'_> {
        assert!(slot_count <= SLOTS_MAX, "{slot_count} version slots of at most {SLOTS_MAX}");
        let slot_count = slot_count.max(1);
        // Queries in earlier cells ran at this version or before.
        *self.newest_run.get_mut() = self.version;
        let version = self.next_version();
        self.cell_version = version;
        self.version = version + (slot_count - 1) as u64;
        // The exclusive borrow shows that no guard of an earlier cell is in use.
        self.borrows.grow(self.registry.infos().len(), slot_count);
        self.borrows.reset(declared.map(DeclaredAccess::components));
        self.resources.reset(declared.map(DeclaredAccess::written_resources));
        WorldCell { world: self, version, rights: None }
    }
}

/// Cells of one user each, used one after the other, created by [`World::serial_cells_for`]. Their
/// versions are those of the [slots](WorldCell::version_slot) of one cell.
///
/// Each user has the world to itself, so reading a component that it only reads costs nothing, even if
/// other users write it.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::DeclaredAccess;
/// # #[derive(Component)] struct Gold(u32);
/// let mut world = World::new();
/// let (mut reader, mut writer) = (world.plan::<&Gold>(), world.plan::<&mut Gold>());
/// let [reads, writes] = [reader.access(), writer.access()].map(|access| {
///     DeclaredAccess::new("one of them", access.clone())
/// });
/// let mut cells = world.serial_cells_for(&writes, 2);
/// cells.lend(0, &writes, |cell| assert!(cell.query(&mut writer).is_ok()));
/// cells.lend(1, &reads, |cell| {
///     assert!(cell.query(&mut reader).is_ok());
///     assert!(cell.query(&mut writer).is_err(), "not this user");
/// });
/// ```
#[derive(Debug)]
pub struct SerialCells<'w>(&'w mut World);

impl SerialCells<'_> {
    /// Lends the cell with this version slot to a user that accesses no more than `declared`.
    ///
    /// # Panics
    /// Panics if there is no such slot, or `declared` writes a component that this world does not have.
    #[inline]
    pub fn lend<R>(
        &mut self,
        slot: usize,
        declared: &DeclaredAccess,
        user: impl FnOnce(WorldCell<'_>) -> R,
    ) -> R {
        // Each user has its own cell: the exclusive borrow shows that no guard of an earlier user is in
        // use.
        self.0.borrows.set_written(declared.components(), true);
        let lent = LentCell { world: &mut *self.0, declared };
        let world = &*lent.world;
        let cell = WorldCell { world, version: world.cell_version, rights: None };
        user(cell.version_slot(slot))
    }
}

/// A guard for a lent cell. Dropping it, also during a panic, ends the right to write.
struct LentCell<'a> {
    world: &'a mut World,
    declared: &'a DeclaredAccess,
}

impl Drop for LentCell<'_> {
    #[inline]
    fn drop(&mut self) {
        self.world.borrows.set_written(self.declared.components(), false);
    }
}

impl<'w> WorldCell<'w> {
    /// Returns the number of the world.
    #[must_use]
    pub const fn world_id(self) -> u64 {
        self.world.id()
    }

    /// Returns the cell for the user of this version slot. What the user writes is stamped with the
    /// version of the slot, and counts as changed for a query that ran in an earlier slot, or in this one
    /// in an earlier cell. Users that conflict must run in the order of their slots.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] #[component(tracked)] struct Health(u32);
    /// let mut world = World::new();
    /// world.spawn(Health(3));
    /// let mut asking = world.plan_filtered::<&Health, Changed<Health>>();
    /// let mut writing = world.plan::<&mut Health>();
    ///
    /// let cell = world.cell_with_versions(2);
    /// assert_eq!(cell.version_slot(0).query(&mut asking)?.count(), 1, "it is new");
    /// cell.version_slot(1).query(&mut writing)?.query().for_each(|health| health.0 += 1);
    ///
    /// let cell = world.cell_with_versions(2);
    /// assert_eq!(cell.version_slot(0).query(&mut asking)?.count(), 1, "it was written afterwards");
    /// let cell = world.cell_with_versions(2);
    /// assert_eq!(cell.version_slot(0).query(&mut asking)?.count(), 0);
    /// # Ok::<(), formic_ecs::AccessConflict>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the cell has no such slot.
    #[must_use]
    pub fn version_slot(self, slot: usize) -> Self {
        let World { version: last, cell_version: first, .. } = *self.world;
        let slot_count = last - first + 1;
        assert!((slot as u64) < slot_count, "version slot {slot} of a cell with {slot_count}");
        Self { version: first + slot as u64, ..self }
    }

    /// The index of the slot whose version this copy stamps with.
    fn slot_number(self) -> usize {
        usize::try_from(self.version - self.world.cell_version).expect("at most 2^20")
    }

    /// Restricts the cell to the declared access of a user.
    ///
    /// Any other access panics with the names of the user and of what it accessed, whether or not another
    /// user holds it at the time. A schedule gives each system such a cell.
    ///
    /// ```should_panic
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DeclaredAccess;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let mut writer = world.plan::<&mut Gold>();
    /// let rights = DeclaredAccess::new("the miner", world.plan::<&Gold>().access().clone());
    /// let cell = world.cell().restrict_to(&rights);
    /// let _query = cell.query(&mut writer); // the miner writes Gold, which it has not declared
    /// ```
    #[must_use]
    pub const fn restrict_to(self, rights: &'w DeclaredAccess) -> Self {
        Self { rights: Some(rights), ..self }
    }

    /// Returns the name of the user that the cell is [restricted to](Self::restrict_to), if any.
    #[must_use]
    pub fn user(self) -> Option<&'w str> {
        self.rights.map(DeclaredAccess::owner)
    }

    /// Takes the right to use components.
    #[inline(always)]
    pub(crate) fn take(
        self,
        access: &'w Access,
        last_run: &mut LastRun,
    ) -> Result<BorrowedToken<'w>, AccessConflict> {
        if let Some(rights) = self.rights.filter(|rights| rights.number != last_run.declared) {
            rights.check(access, self.world);
            last_run.declared = rights.number;
        }
        let World { borrows, registry, .. } = self.world;
        let guard = borrows.take(access, self.slot_number(), registry)?;
        let since = core::mem::replace(&mut last_run.version, self.version);
        // SAFETY: the guard is that of this access to this world. All users go through cells, since the
        // first cell borrows the world exclusively (I-10).
        Ok(unsafe { BorrowedToken::new(self.source(self.window(since)), access, guard) })
    }

    fn check_resource<T: 'static>(self, write: bool) {
        if let Some(rights) = self.rights {
            rights.check_resource::<T>(write);
        }
    }

    /// Returns the version of this slot, which stamps what its user writes. Later slots, and those of
    /// later cells, have greater versions.
    #[must_use]
    pub const fn version(self) -> u64 {
        self.version
    }

    /// The change window of this slot, for a user that last ran at version `since`.
    pub(crate) fn window(self, since: u64) -> ChangeWindow {
        let (version, newest_run) = (self.version, self.world.cell_version - 1);
        ChangeWindow { version, since, newest_run, ..ChangeWindow::default() }
    }

    pub(crate) fn source(self, window: ChangeWindow) -> Source<'w> {
        self.world.source_at(window)
    }

    /// Whether this entity is alive.
    #[must_use]
    pub fn contains(self, entity: Entity) -> bool {
        self.world.contains(entity)
    }

    /// Returns a query over all entities that match the plan. It holds its access until it is dropped.
    ///
    /// # Errors
    /// Returns an [`AccessConflict`] if another user's access to a component conflicts with the plan.
    ///
    /// # Panics
    /// Panics if the plan belongs to another world, or the cell is [restricted](Self::restrict_to) and
    /// the plan is not covered by the declared access.
    // Always inlined: a query is large, and passing it on in memory takes longer than creating it.
    #[inline(always)]
    pub fn query<Q: QueryData, F: QueryFilter>(
        self,
        plan: &'w mut QueryPlan<Q, F>,
    ) -> Result<BorrowedQuery<'w, Q, F>, AccessConflict> {
        let (plan, last_run) = plan.extend(self.world.plan_source());
        let token = self.take(&plan.access, last_run)?;
        Ok(BorrowedQuery::new(token, plan))
    }

    /// Returns a view: random access to some components, held until the view is dropped.
    ///
    /// # Errors
    /// Returns an [`AccessConflict`] if another user's access to a component conflicts with the plan.
    ///
    /// # Panics
    /// Panics if the plan belongs to another world, or the cell is [restricted](Self::restrict_to) and
    /// the plan is not covered by the declared access.
    pub fn view<Q: QueryData>(
        self,
        plan: &'w mut ViewPlan<Q>,
    ) -> Result<View<'w, Q>, AccessConflict> {
        plan.extend(self.world.plan_source());
        Ok(self.take(plan.access(), &mut LastRun::default())?.view(plan))
    }

    /// Returns an [`ExclusiveView`]: random access to some components from many threads at once, entity
    /// by entity, held until the view is dropped.
    ///
    /// ```
    /// use formic_ecs::ParallelScratch;
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let imps = world.spawn_batch((0..20_000).map(Gold));
    /// let (mut rows, mut plan) = (world.plan::<Claimant>(), world.claim_plan::<&mut Gold>());
    /// let mut scratch = ParallelScratch::default();
    /// let cell = world.cell();
    /// let (mut rows, purses) = (cell.query(&mut rows)?, cell.claims(&mut plan)?);
    /// let mut query = rows.query();
    /// let chunks = query.parallel(&mut scratch);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..2 {
    ///         scope.spawn(|| {
    ///             for imp in (0..chunks.len()).filter_map(|index| chunks.take(index)).flatten() {
    ///                 purses.claim(&imp, imp.entity()).expect("its own").get_mut().0 += 1;
    ///             }
    ///         });
    ///     }
    /// });
    /// # drop(query);
    /// # drop((rows, purses));
    /// assert_eq!(world.get::<Gold>(imps[1])?.0, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an [`AccessConflict`] if another user's access to a component conflicts with the plan.
    ///
    /// # Panics
    /// Panics if the plan belongs to another world, if the cell is [restricted](Self::restrict_to) and
    /// the plan is not covered by the declared access, or if the world has had 2^28 entities or more at a
    /// time.
    pub fn claims<Q: QueryData>(
        self,
        plan: &'w mut ExclusivePlan<Q>,
    ) -> Result<ExclusiveView<'w, Q>, AccessConflict> {
        let world = self.world;
        plan.view.extend(world.plan_source());
        plan.words.prepare(world.entities.slot_count());
        let plan = &*plan;
        let token = self.take(plan.access(), &mut LastRun::default())?;
        let loops = world.borrows.claim_loops(self.slot_number());
        Ok(ExclusiveView::new(token, plan, loops))
    }

    /// Returns a resource for reading.
    ///
    /// # Errors
    /// Returns an error if there is no such resource, or another user writes it.
    ///
    /// # Panics
    /// Panics if the cell is [restricted](Self::restrict_to) and this access is not declared.
    pub fn resource<T: Send + Sync + 'static>(self) -> Result<Res<'w, T>, ResourceError> {
        self.check_resource::<T>(false);
        // SAFETY: the first cell borrows the world exclusively, so all users go through cells (I-13).
        unsafe { self.world.resources.read() }
    }

    /// Returns the version at which a resource last changed: see [`World::resource_version`].
    ///
    /// # Panics
    /// Panics if the cell is [restricted](Self::restrict_to) and this access is not declared.
    #[must_use]
    pub fn resource_version<T: Send + Sync + 'static>(self) -> Option<u64> {
        self.check_resource::<T>(false);
        self.world.resources.version::<T>()
    }

    /// Whether there is a resource of this type, in use or not. Resources are inserted and removed only
    /// while no cell exists.
    #[must_use]
    pub fn has_resource<T: Send + Sync + 'static>(self) -> bool {
        self.world.resources.version::<T>().is_some()
    }

    /// Same as [`World::restored`].
    #[must_use]
    pub fn restored(self) -> u64 {
        self.world.restored()
    }

    /// Returns a resource for writing.
    ///
    /// # Errors
    /// Returns an error if there is no such resource, or another user holds it.
    ///
    /// # Panics
    /// Panics if the cell is [restricted](Self::restrict_to) and this access is not declared.
    pub fn resource_mut<T: Send + Sync + 'static>(self) -> Result<ResMut<'w, T>, ResourceError> {
        self.check_resource::<T>(true);
        // SAFETY: the first cell borrows the world exclusively, so all users go through cells (I-13).
        unsafe { self.world.resources.write(self.version()) }
    }
}

/// The declared access of a user, enforced by [`WorldCell::restrict_to`](crate::WorldCell::restrict_to).
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::DeclaredAccess;
/// # #[derive(Component)] struct Gold(u32);
/// let mut world = World::new();
/// world.insert_resource(5_u32);
/// let mut plan = world.plan::<&mut Gold>();
/// let mut rights = DeclaredAccess::new("the miner", plan.access().clone());
/// rights.add_resource::<u32>(false);
///
/// let cell = world.cell().restrict_to(&rights);
/// assert!(cell.query(&mut plan).is_ok());
/// assert_eq!(*cell.resource::<u32>()?, 5);
/// # Ok::<(), formic_ecs::ResourceError>(())
/// ```
#[derive(Clone)]
pub struct DeclaredAccess {
    owner: String,
    components: Access,
    /// Different for any two values that declare different components.
    number: u64,
    /// The declared resources, each with whether it may be written.
    resources: Vec<(TypeId, bool)>,
}

debug_fields!([] DeclaredAccess: owner);

static NUMBERS: Serial = Serial::starting_at(1);

impl Default for DeclaredAccess {
    fn default() -> Self {
        Self::new("", Access::default())
    }
}

impl DeclaredAccess {
    /// Declares access to these components. The name is used in messages.
    #[must_use]
    pub fn new(owner: impl Into<String>, components: Access) -> Self {
        let number = NUMBERS.next();
        Self { owner: owner.into(), components, number, resources: Vec::new() }
    }

    fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns the components that may be accessed.
    #[must_use]
    pub const fn components(&self) -> &Access {
        &self.components
    }

    /// Adds access to a resource, for reading or also for writing.
    pub fn add_resource<T: 'static>(&mut self, write: bool) {
        self.resources.push((TypeId::of::<T>(), write));
    }

    /// Adds the declared access of another user.
    pub fn merge(&mut self, other: &Self) {
        self.components.merge(&other.components);
        self.number = NUMBERS.next();
        let new = other.resources.iter().filter(|it| !self.resources.contains(it));
        self.resources.extend(new.copied().collect::<Vec<_>>());
    }

    fn written_resources(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.resources.iter().filter(|&&(_, may_write)| may_write).map(|&(id, _)| id)
    }

    /// # Panics
    /// Panics if `access` is not covered by the declaration.
    #[inline]
    fn check(&self, access: &Access, world: &World) {
        if let Some((id, does)) = self.components.first_uncovered(access) {
            let name = world.components()[id.index()].name();
            panic!("{} {does} {name}, which it has not declared", self.owner);
        }
    }

    /// # Panics
    /// Panics if the resource is not declared.
    #[inline]
    fn check_resource<T: 'static>(&self, write: bool) {
        let wanted = TypeId::of::<T>();
        if !self.resources.iter().any(|&(id, may_write)| id == wanted && may_write >= write) {
            let (does, name) = (if write { "writes" } else { "reads" }, type_name::<T>());
            panic!("{} {does} the resource {name}, which it has not declared", self.owner);
        }
    }
}
