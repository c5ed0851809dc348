//! The view of the miners.

use formic::inspect::{Ground, Kind, Landmark, Mark, Marks, Scene, View, actions};
use formic_ai::prelude::*;
use glam::Vec2;

use super::components::{
    Animator, Books, Clip, Inventory, Item, MoveTo, Place, PlayAnimation, Position, Workplace,
};
use super::{CASTLE, CROWD_RADIUS, MINES, Miners, SIZE, TICK_SECONDS};
use crate::raster::Colour;
use crate::simulation::Simulation;

const CASTLE_GROUND: Colour = Colour([62, 78, 116]);
const MINE_GROUND: Colour = Colour([92, 88, 84]);

const WALKS_EMPTY: u8 = 0;
const WALKS_LADEN: u8 = 1;
const MINES_GOLD: u8 = 2;

impl View for Miners {
    fn scene(&self) -> Scene {
        Scene {
            size: SIZE,
            unit: "metre",
            ticks_per_second: 1.0 / TICK_SECONDS,
            mark_radius: 0.25,
            kinds: vec![
                Kind::new("empty-handed", Colour([130, 200, 230])),
                Kind::new("laden", Colour([250, 200, 60])),
                Kind::new("mining", Colour([240, 110, 80])),
                Kind::ground("the castle", CASTLE_GROUND),
                Kind::ground("mines", MINE_GROUND),
            ],
        }
    }

    fn ground(&self) -> Ground {
        let place =
            |at, colour, label: String| Landmark { at, radius: CROWD_RADIUS + 1.0, colour, label };
        let mines =
            (1..).zip(MINES).map(|(number, at)| place(at, MINE_GROUND, format!("mine {number}")));
        Ground {
            palette: vec![Colour([32, 44, 36])],
            landmarks: std::iter::once(place(CASTLE, CASTLE_GROUND, "castle".to_owned()))
                .chain(mines)
                .collect(),
            ..Ground::default()
        }
    }

    fn marks(&self, marks: &mut Marks) {
        let workers = self.world().query_ref::<(Entity, &Position, &Inventory, &Animator)>();
        workers.for_each(|(entity, position, inventory, animator)| {
            if !marks.wants(entity) {
                return;
            }
            let kind = match (animator.clip, inventory.count(Item::GOLD)) {
                (Clip::Mine, _) => MINES_GOLD,
                (_, 0) => WALKS_EMPTY,
                (_, _) => WALKS_LADEN,
            };
            marks.push(Mark { entity, at: position.0, kind, world: 0 });
        });
    }

    fn path(&self, agent: Entity) -> Vec<Vec2> {
        let Ok(position) = self.world().get::<Position>(agent) else { return Vec::new() };
        let walk = self.current_action(agent).and_then(|it| self.world().get::<MoveTo>(it).ok());
        walk.map_or_else(Vec::new, |walk| vec![position.0, walk.to])
    }

    fn why(&self, agent: Entity) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(action) = self.current_action(agent) {
            lines.push(self.doing(agent, action));
        }
        if let Ok(books) = self.world().get::<Books>(agent) {
            lines.push(format!("So far it delivered {} gold.", books.delivered));
        }
        lines
    }
}

impl Miners {
    /// Returns the action that is executing, or will begin to in the next tick.
    fn current_action(&self, agent: Entity) -> Option<Entity> {
        let body = self.world().get::<Body>(agent).ok()?;
        let mut actions = actions(self.world(), agent).into_iter().enumerate();
        actions.find(|&(place, _)| body.is_running(place)).map(|(_, action)| action)
    }

    /// Describes the purpose of an action, in a sentence.
    fn doing(&self, agent: Entity, action: Entity) -> String {
        let world = self.world();
        let place = world.get::<Action>(action).map_or(0, Action::index) + 1;
        let count = actions(world, agent).len();
        let plan = format!("action {place} of the {count} of its plan");
        if let Ok(walk) = world.get::<MoveTo>(action) {
            let left = (walk.seconds_total - walk.seconds).max(0.0);
            let (to, goal) = match walk.place {
                Place::Castle => ("the castle".to_owned(), "leave its gold there"),
                Place::Mine => {
                    let mine = world.get::<Workplace>(agent).map_or(0, |it| it.0) + 1;
                    (format!("mine {mine}"), "mine there")
                }
            };
            return format!(
                "It walks to {to} for {left:.1} s more, {plan}, because it is to {goal} next."
            );
        }
        if world.get::<PlayAnimation>(action).is_ok() {
            let left = world.get::<Animator>(agent).map_or(0.0, |it| it.seconds_left.max(0.0));
            return format!("It swings its pickaxe for {left:.1} s more, {plan}.");
        }
        format!("It handles its gold, {plan}: this takes one tick.")
    }
}
