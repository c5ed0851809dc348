//! The view of the dungeon.

use formic::inspect::{Cheat as Button, Scene, TerrainMap, Touch, View};
use formic_ecs::Entity;
use formic_nav::{Cell, Wander};
use glam::Vec2;

use crate::dungeon::cheat::Cheat;
use crate::dungeon::world::Dungeon;
use crate::walkers;

const BUTTONS: [Button; 5] = [
    Button { name: "dig", label: "Dig", key: "d", touch: Touch::Brush },
    Button { name: "fill", label: "Fill", key: "f", touch: Touch::Brush },
    Button { name: "spawn", label: "Spawn an imp", key: "i", touch: Touch::Place },
    Button { name: "spawn100", label: "Spawn a hundred", key: "h", touch: Touch::Place },
    Button { name: "send", label: "Send all here", key: "s", touch: Touch::Place },
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
    fn map(&self) -> TerrainMap<'_> {
        TerrainMap::of(&self.engine.world).expect("a dungeon has a terrain")
    }
}
