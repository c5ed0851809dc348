//! The view of the harbour, and why its agents go where they go.

use formic::inspect::{Ground, Kind as Legend, Mark, Marks, Scene, TerrainMap, View};
use formic_ecs::Entity;
use formic_nav::{Cell, ClassId, Obstacle, Path, PathOutcome, PathScratch, Position, Terrain};
use glam::Vec2;

use super::Harbour;
use super::map::{HEIGHT, KINDS, Kind, WIDTH, symbol};
use super::traffic::{Cart, Errand};
use crate::raster::Colour;
use crate::simulation::Simulation;
use crate::text::counted;
use crate::walkers;

const CART: Colour = Colour([170, 120, 70]);

/// The tiles of the map, and their lines in the legend.
const GROUND: [(u8, Legend); 7] = [
    (b'#', Legend::ground("rock", Colour::ROCK)),
    (b'.', Legend::ground("floor", Colour([92, 88, 84]))),
    (b'~', Legend::ground("water", Colour([36, 74, 128]))),
    (b',', Legend::ground("mud", Colour([84, 66, 44]))),
    (b'+', Legend::ground("door", Colour([150, 110, 70]))),
    (b'=', Legend::ground("locked door", Colour([190, 160, 60]))),
    // The ends of links.
    (b'a', Legend::ground("stairs, ramp or drop", Colour([170, 120, 200]))),
];

/// Returns the number of cells that an agent or a cart covers along a side.
fn size(terrain: &Terrain, class: Option<&ClassId>) -> u8 {
    class.and_then(|&class| terrain.class(class)).map_or(1, |class| class.size())
}

impl View for Harbour {
    fn scene(&self) -> Scene {
        Scene {
            size: Vec2::new(WIDTH.into(), HEIGHT.into()),
            unit: "cell",
            ticks_per_second: 20.0,
            mark_radius: 0.4,
            kinds: KINDS
                .map(Kind::legend)
                .into_iter()
                .chain([Legend::thing("carts", CART)])
                .chain(GROUND.map(|(_, legend)| legend))
                .collect(),
        }
    }

    fn ground(&self) -> Ground {
        let place = |cell| GROUND.iter().position(|&(tile, _)| tile == symbol(cell)).unwrap_or(6);
        let tile = |cell| u8::try_from(place(cell)).unwrap_or_default();
        Ground {
            columns: WIDTH,
            rows: HEIGHT,
            palette: GROUND.map(|(_, legend)| legend.colour).into(),
            tiles: self.terrain().grid().cells().map(tile).collect(),
            landmarks: Vec::new(),
        }
    }

    fn marks(&self, marks: &mut Marks) {
        let world = self.world();
        for (entity, position, class) in world.query_ref::<(Entity, &Position, Option<&ClassId>)>()
        {
            let kind = class.map_or(KINDS.len(), |class| usize::from(class.0) - 1);
            // The position is in the north-western cell of those that the agent covers.
            let at = position.0 + f32::from(size(self.terrain(), class) - 1) * 0.5;
            marks.push(Mark { entity, at, kind: u8::try_from(kind).unwrap_or_default(), world: 0 });
        }
    }

    fn noun(&self, entity: Entity) -> Option<&'static str> {
        let class = self.world().get::<ClassId>(entity).ok();
        class.and_then(|&class| Kind::of(class)).map_or_else(
            || self.world().has::<Cart>(entity).then_some("cart"),
            |kind| Some(kind.noun()),
        )
    }

    fn path(&self, agent: Entity) -> Vec<Vec2> {
        TerrainMap::of(self.world()).map_or_else(Vec::new, |map| map.path(agent))
    }

    fn why(&self, agent: Entity) -> Vec<String> {
        let world = self.world();
        if let Ok(cart) = world.get::<Obstacle>(agent) {
            return vec![match cart.velocity() == Vec2::ZERO {
                true => "It stands, so that the cell under it is solid to all.".to_owned(),
                false => "It rolls, and all others give way to it.".to_owned(),
            }];
        }
        let Ok(errand) = world.get::<Errand>(agent) else { return Vec::new() };
        let mut lines = Vec::from_iter(walkers::doing(world, agent, errand.rest_seconds()));
        lines.extend(self.detour(agent, Cell::containing(errand.goal())));
        lines
    }
}

impl Harbour {
    /// Describes why an agent does not take the path of a porter, which is small and has the key.
    pub(super) fn detour(&self, agent: Entity, goal: Option<Cell>) -> Option<String> {
        let world = self.world();
        let (terrain, &class) = (self.terrain(), world.get::<ClassId>(agent).ok()?);
        let (own, porter) = (terrain.for_class(class)?, terrain.for_class(Kind::Porter.class())?);
        let start = world.get::<Position>(agent).ok()?.cell()?;
        let mut path = Path::new();
        let outcome = PathScratch::new().find(porter, start, goal?, &mut path);
        let PathOutcome::Found { .. } = outcome else { return None };
        // Some square that the agent can be in contains the cell.
        let reach = u16::from(size(terrain, Some(&class)) - 1);
        let fits = |cell: &Cell| {
            (cell.y.saturating_sub(reach)..=cell.y).any(|y| {
                (cell.x.saturating_sub(reach)..=cell.x).any(|x| own.is_open(Cell::new(x, y)))
            })
        };
        let place = path.cells().iter().find(|cell| !fits(cell))?;
        let why = match symbol(*place) {
            b'=' => "has no key for the locked door",
            b'+' => "is too wide for the door",
            _ => "is too wide for the passage",
        };
        let cells = counted(path.steps().len() as u64, "cells");
        Some(format!(
            "It does not take the way of {cells} that a porter would, because it {why} at ({}, {}).",
            place.x, place.y
        ))
    }
}
