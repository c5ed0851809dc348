//! The world: entities, their components, and resources.

mod access;
mod bulk;
mod cell;
mod change;
mod check;
mod lifecycle;
mod resources;
mod spawn;
mod stats;

use alloc::sync::Arc;
use core::alloc::GlobalAlloc;

use crate::archetype::{Archetype, Archetypes};
use crate::component::{Component, ComponentId, ComponentInfo, Registry};
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::error::UnknownComponent;
use crate::name::Name;
use crate::query::{Borrows, PlanCache, PlanSource, Source};
use crate::storage::{BlockPool, ChangeWindow, Chunks};
use crate::sync::{AtomicU64, Ordering, Serial};
use crate::transfer::{Bundles, MoveContext, MoveScratch};
use crate::user_code::finish;

pub use bulk::Bulk;
pub(crate) use bulk::Matches;
pub use cell::{DeclaredAccess, SerialCells, WorldCell};
pub use change::NotInserted;
pub(crate) use lifecycle::{
    AfterDespawn, Callbacks, CleanupGuard, DEPTH_MAX, EntitySet, Extensions, Lifecycle,
};
pub(crate) use resources::Resources;
pub use resources::{MissingResource, Res, ResMut, ResourceError};
pub use stats::{ArchetypeStats, EntityPlace, WorldStats};

/// A container for entities with their components, and for resources.
///
/// A world is a plain value. Methods that change it take `&mut self`. Methods that only read take `&self`
/// and may be called by many threads. To let many threads write different components at once, use a
/// [`cell`](Self::cell).
///
/// ```
/// use formic_ecs::prelude::*;
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Health(u32);
/// #[derive(Component)]
/// #[component(enableable)]
/// struct Burning;
///
/// let mut world = World::new();
/// let imp = world.spawn((Health(10), Burning));
/// world.set_enabled::<Burning>(imp, false)?;
/// assert_eq!(world.query_filtered::<Entity, With<Burning>>().count(), 0);
/// assert_eq!(world.get::<Health>(imp)?, &Health(10));
/// world.despawn(imp)?;
/// assert!(world.get::<Health>(imp).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limits
/// A world has at most 2^32 - 3 slots for entities and 2,097,151 chunks: 32 GiB of rows, or as many
/// combinations of components that have entities at once. A call that needs one more panics before
/// anything has changed, including [`restore`](Self::restore).
pub struct World {
    /// Unique among the worlds of a process.
    id: u64,
    pub(crate) registry: Registry,
    pub(crate) entities: Entities,
    pub(crate) archetypes: Archetypes,
    pub(crate) blocks: BlockPool,
    pub(crate) bundles: Bundles,
    pub(crate) plans: PlanCache,
    pub(crate) borrows: Borrows,
    pub(crate) resources: Resources,
    pub(crate) extensions: Extensions,
    pub(crate) callbacks: Callbacks,
    /// Increases with every change and every query, and never wraps. Columns are stamped with it.
    version: u64,
    /// The version of the first slot of the newest cell; `version` is that of the last slot.
    cell_version: u64,
    /// Scratch memory for moving runs of rows, empty between moves.
    pub(crate) scratch: MoveScratch,
    /// The version at which any query last ran (see [`ChangeWindow::newest_run`]).
    newest_run: AtomicU64,
    /// The version of the list of archetypes (I-21): increases when archetypes are removed or reordered.
    epoch: u64,
    /// The first epoch after the last restore.
    restored: u64,
}

static WORLD_IDS: Serial = Serial::starting_at(1);

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

debug_fields!([] World: id; entities = |it| it.len());

impl World {
    /// Creates an empty world.
    #[must_use]
    pub fn new() -> Self {
        let registry = Registry::default();
        let archetypes = Archetypes::new(&registry);
        Self {
            id: WORLD_IDS.next(),
            registry,
            entities: Entities::new(),
            archetypes,
            blocks: BlockPool::default(),
            bundles: Bundles::default(),
            plans: PlanCache::default(),
            borrows: Borrows::default(),
            resources: Resources::default(),
            extensions: Extensions::default(),
            callbacks: Callbacks::default(),
            version: 0,
            cell_version: 0,
            scratch: MoveScratch::default(),
            newest_run: AtomicU64::new(0),
            epoch: 0,
            restored: 0,
        }
    }

    /// Creates a world whose rows are stored in memory of this allocator, such as huge pages or the
    /// memory of one level of a game.
    ///
    /// The world allocates blocks of 1 KiB at first and of up to 2 MiB as an archetype grows. Other sizes
    /// occur if a single row is larger, or a component has an alignment of its own. An empty ordinary
    /// block is kept for other rows until [`compact`](Self::compact). Memory that values own, and the
    /// world's own data beside the rows, come from the program's global allocator.
    ///
    /// The world returns all blocks before it drops the allocator. If the allocator has no memory, the
    /// process ends ([`handle_alloc_error`](alloc::alloc::handle_alloc_error)), as it does if the global
    /// allocator has none. An allocator that may run out should fall back on another.
    ///
    /// ```
    /// use std::alloc::{GlobalAlloc, Layout, System};
    /// use std::sync::Arc;
    /// use formic_ecs::prelude::*;
    ///
    /// /// Puts large blocks on borders of 2 MiB, where Linux has huge pages for them.
    /// struct HugePages;
    /// const HUGE: usize = 2 << 20;
    ///
    /// fn layout_of(block: Layout) -> Layout {
    ///     let is_huge = block.size() > HUGE / 2;
    ///     if is_huge { block.align_to(HUGE).unwrap().pad_to_align() } else { block }
    /// }
    ///
    /// unsafe impl GlobalAlloc for HugePages {
    ///     unsafe fn alloc(&self, block: Layout) -> *mut u8 {
    ///         // A host on Linux calls `mmap` and `madvise(MADV_HUGEPAGE)` here.
    ///         unsafe { System.alloc(layout_of(block)) }
    ///     }
    ///
    ///     unsafe fn dealloc(&self, start: *mut u8, block: Layout) {
    ///         unsafe { System.dealloc(start, layout_of(block)) }
    ///     }
    /// }
    ///
    /// # #[derive(Component)] struct Skeleton([[f32; 16]; 4]);
    /// let mut world = World::with_block_memory(Arc::new(HugePages));
    /// drop(world.spawn_batch((0..20_000).map(|i| Skeleton([[i as f32; 16]; 4]))));
    /// ```
    #[must_use]
    pub fn with_block_memory(memory: Arc<dyn GlobalAlloc + Send + Sync>) -> Self {
        Self { blocks: BlockPool::new(memory), ..Self::new() }
    }

    /// Returns a number that is unique among the worlds of this process.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Returns the number of entities that are alive.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entities.live_count()
    }

    /// Whether no entity is alive.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reserves the handles of `additional` more entities at once, for spawning them one by one or in
    /// parts. [`spawn_batch`](Self::spawn_batch) does so by itself.
    #[doc(alias = "reserve_entities")]
    pub fn reserve(&mut self, additional: usize) {
        self.entities.reserve(additional);
    }

    /// Whether this entity is alive in this world.
    ///
    /// A handle of another world cannot be told apart from one of this world.
    #[must_use]
    pub fn contains(&self, entity: Entity) -> bool {
        self.entities.get(entity).is_some()
    }

    /// Returns the live entity with this index, if any: the handle behind a bare number.
    #[must_use]
    pub fn entity_at(&self, index: u32) -> Option<Entity> {
        self.entities.at(index)
    }

    /// Returns all archetypes, including empty ones, in order of first use.
    #[must_use]
    pub fn archetypes(&self) -> &[Archetype] {
        self.archetypes.list()
    }

    /// Iterates over all entities that are alive, archetype by archetype.
    pub fn entities(&self) -> impl Iterator<Item = Entity> + '_ {
        self.archetypes().iter().flat_map(Archetype::all_entities)
    }

    /// The location of this entity, if it is alive.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        self.entities.locate(entity, &self.blocks.directory)
    }

    /// Returns the current version. Later changes have a greater one.
    ///
    /// Keep it, and pass it to [`Query::since`](crate::Query::since) later.
    #[must_use]
    pub fn version(&self) -> u64 {
        // Relaxed: a hint, which publishes nothing and only selects a code path.
        self.newest_run.store(self.version, Ordering::Relaxed);
        self.version
    }

    /// Returns a number that changes each time the world is [restored](World::restore). Versions that
    /// were read before a restore are meaningless after it.
    #[must_use]
    pub const fn restored(&self) -> u64 {
        self.restored
    }

    /// The version of the last change, for callers that will not run a query with it.
    pub(crate) fn last_version(&self) -> u64 {
        self.version
    }

    /// Increases the version and returns it, for the next change.
    pub(crate) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Borrows the parts of the world that a structural change needs.
    #[inline(always)]
    pub(crate) fn moves(&mut self) -> MoveContext<'_> {
        let newest_run = *self.newest_run.get_mut();
        let Self { bundles, registry, archetypes, entities, blocks, scratch, version, .. } = self;
        MoveContext {
            bundles,
            registry,
            archetypes,
            entities,
            blocks,
            scratch,
            version,
            newest_run,
        }
    }

    /// A window in which writes are stamped with the current version, and every value counts as new.
    #[inline]
    pub(crate) fn window(&self) -> ChangeWindow {
        let newest_run = self.newest_run.load(Ordering::Relaxed);
        ChangeWindow { version: self.version, newest_run, ..ChangeWindow::default() }
    }

    pub(crate) fn plan_source(&self) -> PlanSource<'_> {
        PlanSource {
            world: self.id,
            epoch: self.epoch,
            restored: self.restored,
            archetypes: self.archetypes.list(),
            directory: &self.blocks.directory,
        }
    }

    #[inline]
    pub(crate) fn source_at(&self, window: ChangeWindow) -> Source<'_> {
        let directory = &self.blocks.directory;
        Source { archetypes: self.archetypes.list(), entities: &self.entities, directory, window }
    }
}

/// Component types: their ids, names and capabilities in this world.
impl World {
    /// Returns the component types registered in this world, in order of first use.
    #[must_use]
    pub fn components(&self) -> &[ComponentInfo] {
        self.registry.infos()
    }

    /// Registers a component type and returns its id.
    pub fn register<T: Component>(&mut self) -> ComponentId {
        self.registry.register::<T>()
    }

    /// Declares that snapshots may contain a component that the program no longer has:
    /// [`restore`](Self::restore) drops its values and reports how many there were. Without this call an
    /// unknown component is an error, since its registration was more likely forgotten.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[component(name = "game.mana")]
    /// #[repr(C)]
    /// struct Mana(u32);
    /// let mut old = World::new();
    /// let wizard = old.spawn(Mana(7));
    /// let saved = old.snapshot()?;
    ///
    /// // The next version of the program has no such type.
    /// let mut world = World::new();
    /// assert!(world.restore(&saved).is_err());
    /// world.register_removed("game.mana");
    /// let report = world.restore(&saved)?;
    /// assert_eq!(report.to_string(), "game.mana of 1 entity: dropped, the program has it no more");
    /// assert!(world.contains(wizard));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_removed(&mut self, name: impl Into<Name>) {
        self.registry.register_removed(name.into());
    }

    /// Returns the id of a component type, if it is registered in this world.
    #[must_use]
    pub fn component_id<T: Component>(&self) -> Option<ComponentId> {
        self.registry.get::<T>()
    }

    /// Returns the component with this name. If several types have the same name, returns the first.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ComponentDescriptor;
    /// use core::alloc::Layout;
    /// #[derive(Component)]
    /// #[component(name = "game.gold")]
    /// struct Gold(u32);
    ///
    /// let mut world = World::new();
    /// let gold = world.register::<Gold>();
    /// let silver = world.by_id_mut().register(ComponentDescriptor::bytes("silver", Layout::new::<u32>()))?;
    /// assert_eq!(world.component_by_name("game.gold"), Some(gold));
    /// assert_eq!(world.component_info(silver)?.name(), "silver");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn component_by_name(&self, name: &str) -> Option<ComponentId> {
        self.registry.by_name(name)
    }

    /// Returns what the world knows about a component.
    ///
    /// # Errors
    /// Returns [`UnknownComponent`] if the id is not of this world.
    pub fn component_info(&self, id: ComponentId) -> Result<&ComponentInfo, UnknownComponent> {
        self.registry.find(id)
    }
}

impl World {
    /// Replaces all contents apart from resources. The old contents are dropped once the world is
    /// consistent. `pool` is the pool that the chunks of `archetypes` came from.
    pub(crate) fn replace_contents(
        &mut self,
        (archetypes, entities): (Archetypes, Entities),
        mut pool: BlockPool,
        version: u64,
    ) {
        pool.directory.succeed(&self.blocks.directory);
        let mut old = core::mem::replace(&mut self.archetypes, archetypes);
        let mut old_pool = core::mem::replace(&mut self.blocks, pool);
        self.entities = entities;
        self.version = version;
        *self.newest_run.get_mut() = version.min(*self.newest_run.get_mut());
        self.resources.bound_versions(version);
        self.forget_archetypes();
        self.restored = self.epoch;
        // The blocks belong to the world even if a drop panics.
        let mut archetypes = old.list_mut().iter_mut();
        finish(|| {
            archetypes.by_ref().for_each(|it| it.empty(&mut old_pool, Chunks::free_spare));
            self.blocks.absorb(&mut old_pool);
        });
    }

    /// Discards everything derived from the previous list of archetypes (I-21).
    fn forget_archetypes(&mut self) {
        self.epoch += 1;
        self.blocks.directory.count_change();
        self.bundles = Bundles::default();
        self.plans = PlanCache::default();
    }
}

/// Memory: freeing it.
impl World {
    /// Frees the memory that is kept for later use: spare chunks and blocks, and the reserved room for
    /// more entities and archetypes. Rows do not move, since they have no gaps.
    ///
    /// Use it after a peak; memory that is needed again soon is better kept.
    pub fn compact(&mut self) {
        for archetype in self.archetypes.list_mut() {
            archetype.chunks.free_spare(&mut self.blocks);
            archetype.chunks.shrink(&mut self.blocks.directory);
        }
        self.archetypes.shrink();
        self.entities.shrink();
        self.blocks.shrink();
    }

    /// Removes the archetypes that have no entities, and returns their number. Those behind them move up,
    /// so [`ArchetypeId`](crate::ArchetypeId)s change their meaning. Plans notice it and are updated when
    /// they are next used.
    ///
    /// Use it for worlds that have had many component sets which do not come back: every new query checks
    /// every archetype, and each takes about a kilobyte even if it is empty.
    pub fn collect_archetypes(&mut self) -> usize {
        let count = self.archetypes.collect(&mut self.blocks);
        if count > 0 {
            self.forget_archetypes();
        }
        count
    }
}
