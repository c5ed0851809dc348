//! The view of the dungeon.

use formic::inspect::{Cheat, Scene, TerrainMap, Touch, View};
use formic_ecs::Entity;
use formic_nav::{Cell, Wander};
use glam::Vec2;

use crate::dungeon::world::Dungeon;
use crate::simulation::Simulation;
use crate::walkers;

const BUTTONS: [Cheat; 5] = [
    Cheat { name: "dig", label: "Dig", key: "d", touch: Touch::Brush },
    Cheat { name: "fill", label: "Fill", key: "f", touch: Touch::Brush },
    Cheat { name: "spawn", label: "Spawn an imp", key: "i", touch: Touch::Place },
    Cheat { name: "spawn100", label: "Spawn a hundred", key: "h", touch: Touch::Place },
    Cheat { name: "send", label: "Send all here", key: "s", touch: Touch::Place },
];

impl View for Dungeon {
    fn scene(&self) -> Scene {
        Scene { ticks_per_second: 20.0, ..self.map().scene() }
    }

    fn base(&self) -> Option<Box<dyn View + '_>> {
        Some(Box::new(self.map()))
    }

    fn why(&self, agent: Entity) -> Vec<String> {
        let world = &self.engine.world;
        let rest_seconds = world.get::<Wander>(agent).map_or(0.0, Wander::rest_seconds);
        Vec::from_iter(walkers::doing(world, agent, rest_seconds))
    }

    fn cheats(&self) -> &'static [Cheat] {
        &BUTTONS
    }

    fn cheat(&mut self, name: &str, at: Vec2) -> Result<String, String> {
        let cell = Cell::containing(at).ok_or("there is no tile")?;
        let name = match name {
            "spawn" => "spawn 1",
            "spawn100" => "spawn 100",
            other => other,
        };
        let input = format!("{name} {} {}", cell.x, cell.y);
        self.input(&input).map(|()| format!("Done: {input}."))
    }
}

impl Dungeon {
    fn map(&self) -> TerrainMap<'_> {
        TerrainMap::of(&self.engine.world).expect("a dungeon has a terrain")
    }
}
