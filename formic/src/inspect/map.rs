//! The map of a world that has a `nav` terrain.

use formic_ecs::{Entity, World};
use formic_nav::{DrawOptions, PathRequest, Position, RequestStatus, Route, Terrain, debug_draw};
use glam::Vec2;

#[cfg(not(target_family = "wasm"))]
use super::inspector::Attached;
use super::{Colour, Ground, Kind, Mark, Marks, Scene, View};

const RESTS: u8 = 0;
const WALKS: u8 = 1;
const WAITS: u8 = 2;
const STUCK: u8 = 3;

/// The map of a world with the resource [`Terrain`]: its regions, the agents that have a [`Position`],
/// and their paths. [`Inspector::poll`](super::Inspector::poll) shows it for such a world.
#[derive(Clone, Copy, Debug)]
pub struct TerrainMap<'w> {
    world: &'w World,
    terrain: &'w Terrain,
}

impl<'w> TerrainMap<'w> {
    /// Returns the map, if the world has a terrain.
    #[must_use]
    pub fn of(world: &'w World) -> Option<Self> {
        world.resource().ok().map(|terrain| Self { world, terrain })
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
                Kind::ground("rock; any other colour is a region", Colour::ROCK),
            ],
        }
    }

    fn ground_version(&self) -> u64 {
        self.terrain.version().get()
    }

    fn ground(&self) -> Ground {
        let grid = self.terrain.grid();
        let options = DrawOptions { cell_pixels: 1, agents: false, ..DrawOptions::default() };
        let picture = debug_draw(self.world, options);
        Ground {
            columns: grid.width(),
            rows: grid.height(),
            palette: picture.palette.into_iter().map(Colour).collect(),
            tiles: picture.pixels,
            landmarks: Vec::new(),
        }
    }

    fn marks(&self, marks: &mut Marks) {
        let agents = self.world.query_ref::<(Entity, &Position, Option<&PathRequest>)>();
        agents.for_each(|(entity, position, request)| {
            if !marks.wants(entity) {
                return;
            }
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
        request.goal().map_or_else(Vec::new, |goal| route.line(position.0, goal))
    }
}

/// The map of the terrain, if the world has one.
#[cfg(not(target_family = "wasm"))]
impl View for Attached<'_> {
    fn base(&self) -> Option<Box<dyn View + '_>> {
        Some(Box::new(TerrainMap::of(self.world)?))
    }
}
