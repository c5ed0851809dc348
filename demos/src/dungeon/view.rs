//! The dungeon as it is shown.

use formic::inspect::{Cheat as Button, Ground, Kind, Mark, Scene, Touch, View};
use formic_ecs::Entity;
use formic_nav::{Cell, PathRequest, PathStats, Position, RequestStatus, Route, Wander};
use glam::Vec2;

use crate::dungeon::cheat::Cheat;
use crate::dungeon::world::Dungeon;
use crate::raster::{Colour, region_colour};
use crate::walkers;

/// The side of rock that is turned towards us.
const FACE: Colour = Colour([66, 60, 70]);
/// Rock and its face come before the regions in the palette.
const ROCK_TILE: u8 = 0;
const FACE_TILE: u8 = 1;
const FIRST_REGION_TILE: u8 = 2;
/// Regions that are so many numbers apart look the same.
const REGION_TILES: u8 = 250;

const RESTS: u8 = 0;
const WALKS: u8 = 1;
const WAITS: u8 = 2;
const STUCK: u8 = 3;

const BUTTONS: [Button; 5] = [
    Button { name: "dig", label: "Dig", key: "d", touch: Touch::Brush },
    Button { name: "fill", label: "Fill", key: "f", touch: Touch::Brush },
    Button { name: "spawn", label: "Spawn an imp", key: "i", touch: Touch::Place },
    Button { name: "spawn100", label: "Spawn a hundred", key: "h", touch: Touch::Place },
    Button { name: "send", label: "Send all here", key: "s", touch: Touch::Place },
];

impl View for Dungeon {
    fn scene(&self) -> Scene {
        let grid = self.terrain().grid();
        Scene {
            size: Vec2::new(grid.width().into(), grid.height().into()),
            unit: "cell",
            ticks_per_second: 20.0,
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
        self.terrain().version().get()
    }

    fn ground(&self) -> Ground {
        let terrain = self.terrain();
        let grid = terrain.grid();
        let regions = (0..u32::from(REGION_TILES)).map(|slot| floor_colour(region_colour(slot)));
        let tiles = grid.cells().map(|cell| self.tile(cell)).collect();
        Ground {
            columns: grid.width(),
            rows: grid.height(),
            palette: [Colour::ROCK, FACE].into_iter().chain(regions).collect(),
            tiles,
            landmarks: Vec::new(),
        }
    }

    fn marks(&self, marks: &mut Vec<Mark>) {
        let imps = self.engine.world.query_ref::<(Entity, &Position, &PathRequest)>();
        imps.for_each(|(entity, position, request)| {
            let kind = match request.status() {
                RequestStatus::Idle | RequestStatus::Arrived | RequestStatus::Nearby(_) => RESTS,
                RequestStatus::Found | RequestStatus::Partial(_) => WALKS,
                RequestStatus::Pending => WAITS,
                RequestStatus::Unreachable(_) => STUCK,
            };
            marks.push(Mark { entity, at: position.0, kind, world: 0 });
        });
    }

    fn path(&self, agent: Entity) -> Vec<Vec2> {
        walkers::path(&self.engine.world, agent)
    }

    fn why(&self, agent: Entity) -> Vec<String> {
        let world = &self.engine.world;
        let Ok(request) = world.get::<PathRequest>(agent) else { return Vec::new() };
        let mut lines = vec![self.doing(agent, request)];
        if let Ok(stats) = world.get::<PathStats>(agent) {
            let all = [
                (stats.arrivals, "reached its goal"),
                (stats.paths_broken, "lost its path to an edit"),
                (stats.paths_unreachable, "found no path"),
                (stats.pushed_out, "was pushed out of a new wall"),
            ];
            let known = all.iter().filter(|(count, _)| *count > 0);
            let known: Vec<String> = known
                .map(|(count, what)| match count {
                    1 => format!("{what} once"),
                    _ => format!("{what} {count} times"),
                })
                .collect();
            if !known.is_empty() {
                lines.push(format!("So far it {}.", known.join(", ")));
            }
        }
        lines
    }

    fn cheats(&self) -> &'static [Button] {
        &BUTTONS
    }

    fn cheat(&mut self, name: &str, at: Vec2) -> Result<String, String> {
        let cell = Cell::containing(at).ok_or("there is no tile")?;
        let cheat = match name {
            "dig" => Cheat::Dig(cell),
            "fill" => Cheat::Fill(cell),
            "spawn" => Cheat::Spawn { count: 1, cell },
            "spawn100" => Cheat::Spawn { count: 100, cell },
            "send" => Cheat::Send(cell),
            _ => return Err(format!("there is no cheat {name} here")),
        };
        let done = self.apply(cheat).map(|()| format!("Done: {cheat}."));
        done.map_err(|refusal| format!("{cheat}: {refusal}"))
    }
}

impl Dungeon {
    fn tile(&self, cell: Cell) -> u8 {
        let terrain = self.terrain();
        if let Some(region) = terrain.region(cell) {
            let slot = region.slot() % usize::from(REGION_TILES);
            return FIRST_REGION_TILE + u8::try_from(slot).unwrap_or_default();
        }
        let below = cell.y.checked_add(1).map(|y| Cell::new(cell.x, y));
        if below.is_some_and(|cell| terrain.is_open(cell)) { FACE_TILE } else { ROCK_TILE }
    }

    /// What an imp does, and what for.
    fn doing(&self, agent: Entity, request: &PathRequest) -> String {
        let rest_seconds = self.engine.world.get::<Wander>(agent).map_or(0.0, Wander::rest_seconds);
        let cells_ahead =
            self.engine.world.get::<Route>(agent).map_or(0, |route| route.rest().len());
        let goal = request.goal().map_or(String::new(), |goal| {
            format!(" ({:.0}, {:.0})", goal.x.floor(), goal.y.floor())
        });
        match request.status() {
            RequestStatus::Idle => {
                format!(
                    "It rests for {rest_seconds:.1} s more, because it has not been anywhere yet, \
                     and then chooses where to go."
                )
            }
            RequestStatus::Arrived => {
                format!("It rests for {rest_seconds:.1} s more, because it reached its goal{goal}.")
            }
            RequestStatus::Pending => format!(
                "It stands still, because the search has not answered its request for a path to\
                 {goal} yet: the budget of a tick goes to those who asked before."
            ),
            RequestStatus::Found => format!(
                "It walks to{goal}, {cells_ahead} cells ahead, because it picked that place of its \
                 region when it had rested."
            ),
            RequestStatus::Partial(reason) => format!(
                "It walks as near to{goal} as it can, {cells_ahead} cells ahead, because it \
                 cannot get there: {reason}."
            ),
            RequestStatus::Nearby(reason) => format!(
                "It rests for {rest_seconds:.1} s more, as near to{goal} as it could get: {reason}."
            ),
            RequestStatus::Unreachable(reason) => format!(
                "It rests for {rest_seconds:.1} s more, because it cannot get to{goal}: {reason}."
            ),
        }
    }
}

/// The colour of a floor, that of its region subdued, so that imps and paths stand out from it.
fn floor_colour(Colour(region): Colour) -> Colour {
    let channel = |place: usize| {
        (u16::from(region[place]) * 166 + u16::from(Colour::ROCK.0[place]) * 90) >> 8
    };
    Colour([0, 1, 2].map(|place| u8::try_from(channel(place)).unwrap_or(u8::MAX)))
}
