//! The map of a world that has a terrain of `nav`.

use formic_ecs::{Entity, World};
use formic_nav::{
    Cell, PathRequest, Position, RequestStatus, Route, Terrain, Weight, region_colour,
};
use glam::Vec2;

#[cfg(not(target_family = "wasm"))]
use super::inspector::Attached;
use super::{Colour, Ground, Kind, Mark, Scene, View};

/// The side of rock that is turned towards us.
const FACE: Colour = Colour([66, 60, 70]);
const ROCK_TILE: usize = 0;
const FACE_TILE: usize = 1;
const FIRST_REGION_TILE: usize = 2;
/// Regions that are so many numbers apart look the same, and weights beyond the last step.
const REGION_TILES: usize = 48;
const WEIGHT_STEPS: usize = 5;

const RESTS: u8 = 0;
const WALKS: u8 = 1;
const WAITS: u8 = 2;
const STUCK: u8 = 3;

/// The map of a world with the resource [`Terrain`]: its regions, the agents that have a [`Position`],
/// and their paths. It is what [`Inspector::poll`](super::Inspector::poll) shows of such a world.
#[derive(Clone, Copy, Debug)]
pub struct TerrainMap<'w> {
    world: &'w World,
    terrain: &'w Terrain,
}

impl<'w> TerrainMap<'w> {
    /// The map, if the world has a terrain.
    #[must_use]
    pub fn of(world: &'w World) -> Option<Self> {
        world.resource().ok().map(|terrain| Self { world, terrain })
    }

    /// The place of a cell in the palette.
    fn tile(&self, cell: Cell) -> usize {
        if let Some(region) = self.terrain.region(cell) {
            let weight = self.terrain.grid().weight(cell).map_or(0, |weight| weight.get() - 1);
            let step = usize::from(weight).div_ceil(3).min(WEIGHT_STEPS - 1);
            return FIRST_REGION_TILE + region.slot() % REGION_TILES * WEIGHT_STEPS + step;
        }
        let below = cell.y.checked_add(1).map(|y| Cell::new(cell.x, y));
        match below.is_some_and(|cell| self.terrain.is_open(cell)) {
            true => FACE_TILE,
            false => ROCK_TILE,
        }
    }
}

impl View for TerrainMap<'_> {
    fn scene(&self) -> Scene {
        let grid = self.terrain.grid();
        Scene {
            size: Vec2::new(grid.width().into(), grid.height().into()),
            unit: "cell",
            ticks_per_second: 0.0,
            mark_radius: 0.3,
            kinds: vec![
                Kind::new("rests", Colour([150, 160, 180])),
                Kind::new("walks", Colour::WHITE),
                Kind::new("waits for a path", Colour([255, 214, 90])),
                Kind::new("no path", Colour([255, 98, 98])),
            ],
        }
    }

    fn ground_version(&self) -> u64 {
        self.terrain.version().get()
    }

    fn ground(&self) -> Ground {
        let grid = self.terrain.grid();
        let regions = (0..REGION_TILES * WEIGHT_STEPS).map(|tile| {
            let weight = u8::try_from(1 + tile % WEIGHT_STEPS * 3).ok().and_then(Weight::new);
            Colour(region_colour(tile / WEIGHT_STEPS, weight.unwrap_or_default()))
        });
        let tile = |cell| u8::try_from(self.tile(cell)).unwrap_or_default();
        Ground {
            columns: grid.width(),
            rows: grid.height(),
            palette: [Colour::ROCK, FACE].into_iter().chain(regions).collect(),
            tiles: grid.cells().map(tile).collect(),
            landmarks: Vec::new(),
        }
    }

    fn marks(&self, marks: &mut Vec<Mark>) {
        let agents = self.world.query_ref::<(Entity, &Position, Option<&PathRequest>)>();
        agents.for_each(|(entity, position, request)| {
            let kind = match request.map(PathRequest::status) {
                Some(RequestStatus::Idle | RequestStatus::Arrived | RequestStatus::Nearby(_)) => {
                    RESTS
                }
                None | Some(RequestStatus::Found | RequestStatus::Partial(_)) => WALKS,
                Some(RequestStatus::Pending) => WAITS,
                Some(RequestStatus::Unreachable(_)) => STUCK,
            };
            marks.push(Mark { entity, at: position.0, kind, world: 0 });
        });
    }

    fn path(&self, agent: Entity) -> Vec<Vec2> {
        let world = self.world;
        let (Ok(position), Ok(request), Ok(route)) = (
            world.get::<Position>(agent),
            world.get::<PathRequest>(agent),
            world.get::<Route>(agent),
        ) else {
            return Vec::new();
        };
        let Some((goal, (_, between))) = request.goal().zip(route.rest().split_last()) else {
            return Vec::new();
        };
        let middles = between.iter().map(|cell| cell.centre());
        std::iter::once(position.0).chain(middles).chain([goal]).collect()
    }
}

/// The map of the terrain, if the world has one.
#[cfg(not(target_family = "wasm"))]
impl View for Attached<'_> {
    fn base(&self) -> Option<Box<dyn View + '_>> {
        Some(Box::new(TerrainMap::of(self.world)?))
    }
}
