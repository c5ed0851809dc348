//! The live view of the crowds, side by side: each forager is shown at its needs.

use formic::inspect::{Axes, Cheat, Ground, Kind, Landmark, Mark, Marks, Scene, Touch, View};
use formic_ai::prelude::*;
use glam::Vec2;

use super::Minds;
use super::crowd::Crowd;
use super::forager::{
    Basket, EAT, GATHER, HIDE, Needs, SLEEP, TICK_SECONDS, Wolf, has_berries, is_hungry, is_tired,
    is_wolf_near,
};
use crate::raster::Colour;
use crate::simulation::Simulation;

/// The number of panels in a row.
const COLUMNS: u16 = 3;
/// The side of a panel: needs go from 0 to 100.
const SIDE: u16 = 100;
/// The margin around each panel.
const MARGIN: u16 = 6;
/// The height above each panel, for its name.
const HEAD: u16 = 10;
const CELL: (u16, u16) = (SIDE + 2 * MARGIN, SIDE + HEAD + MARGIN);

pub(super) const NAMES: [&str; 5] = ["gathers", "eats", "sleeps", "hides", "idles"];
/// The colours of gathering, eating, sleeping, hiding and idling; colour-blind people can tell them
/// apart.
pub(super) const COLOURS: [Colour; 5] = [
    Colour([0, 158, 115]),
    Colour([230, 159, 0]),
    Colour([0, 114, 178]),
    Colour([204, 121, 167]),
    Colour([90, 90, 90]),
];
/// The colours around the panels, and in them: of the content, the hungry, the tired, and those who are
/// both.
const PALETTE: [Colour; 5] = [
    Colour::ROCK,
    Colour([26, 31, 39]),
    Colour([46, 38, 24]),
    Colour([22, 34, 50]),
    Colour([84, 78, 88]),
];

const GROUND: [Kind; 3] = [
    Kind::ground("where one is hungry", PALETTE[2]),
    Kind::ground("where one is tired", PALETTE[3]),
    Kind::ground("where one is both", PALETTE[4]),
];

const CHEATS: [Cheat; 1] =
    [Cheat { name: "wolf", label: "Let the wolf come", key: "w", touch: Touch::None }];

impl View for Minds {
    fn world_names(&self) -> Vec<&'static str> {
        self.crowds.iter().map(Crowd::name).collect()
    }

    fn focus(&self) -> u8 {
        u8::try_from(self.focus).unwrap_or_default()
    }

    fn set_focus(&mut self, world: u8) {
        self.focus = usize::from(world).min(self.crowds.len() - 1);
    }

    fn scene(&self) -> Scene {
        let (columns, rows) = size();
        Scene {
            size: Vec2::new(columns.into(), rows.into()),
            unit: "point of need",
            ticks_per_second: 1.0 / TICK_SECONDS,
            mark_radius: 0.6,
            kinds: NAMES
                .into_iter()
                .zip(COLOURS)
                .map(|(it, colour)| Kind::new(it, colour))
                .chain(GROUND)
                .collect(),
        }
    }

    /// Each panel has its own axes, so the map has none.
    fn axes(&self) -> Axes {
        Axes { names: ["", ""], is_upwards: false }
    }

    /// Hunger goes to the right and tiredness upwards, as in the cats demo.
    fn ground(&self) -> Ground {
        let (columns, rows) = size();
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
        let corners = (0..MINDS_MAX).map(corner);
        let landmark = |(corner, crowd): (Vec2, &Crowd)| Landmark {
            at: corner + Vec2::new(f32::from(SIDE) / 2.0, -0.5),
            radius: 0.0,
            colour: PALETTE[0],
            label: format!("{}: hunger to the right, tiredness up", crowd.name()),
        };
        Ground {
            columns,
            rows,
            palette: PALETTE.to_vec(),
            tiles: places.map(tile).collect(),
            landmarks: corners.zip(&self.crowds).map(landmark).collect(),
        }
    }

    fn marks(&self, marks: &mut Marks) {
        for (crowd, number) in self.crowds.iter().zip(0..) {
            let corner = corner(number);
            let world = &crowd.engine.world;
            world.query_ref::<(Entity, &Needs)>().for_each(|(entity, needs)| {
                if !marks.wants(entity) {
                    return;
                }
                let at = corner + Vec2::new(needs.hunger, f32::from(SIDE) - needs.tiredness);
                let deed = crowd.deed(entity).unwrap_or(NAMES.len() - 1);
                let kind = u8::try_from(deed).unwrap_or_default();
                let number = u8::try_from(number).unwrap_or_default();
                marks.push(Mark { entity, at, kind, world: number });
            });
        }
    }

    fn why(&self, agent: Entity) -> Vec<String> {
        let (crowd, world) = (self.in_focus(), self.world());
        let (Ok(needs), Ok(basket), Ok(wolf)) =
            (world.get::<Needs>(agent), world.get::<Basket>(agent), world.get::<Wolf>(agent))
        else {
            return Vec::new();
        };
        let senses = &(needs, basket, wolf);
        let deed = crowd.deed(agent);
        let name = NAMES[deed.unwrap_or(NAMES.len() - 1)];
        let because = match (crowd.name(), deed) {
            ("sequence", Some(_)) => "it was the turn of that, come what may".to_owned(),
            (_, deed) => reason(deed, senses),
        };
        let (wolf, hunger, tiredness) =
            (if is_wolf_near(senses) { "near" } else { "far" }, needs.hunger, needs.tiredness);
        vec![
            format!("It {name}, because {because}. Its mind: {}.", crowd.name()),
            format!(
                "Its hunger is {hunger:.0} (hungry above 40), its tiredness {tiredness:.0} (tired \
                 above 60), it has {} of {} berries, and the wolf is {wolf}.",
                basket.0,
                Basket::FULL
            ),
        ]
    }

    fn cheats(&self) -> &'static [Cheat] {
        &CHEATS
    }

    /// The wolf comes in the next tick, in every crowd.
    fn cheat(&mut self, _: &str, _: Vec2) -> Result<String, String> {
        for crowd in &mut self.crowds {
            let wolves = crowd.engine.world.query::<&mut Wolf>();
            wolves.for_each(|wolf| wolf.ticks = Wolf::PERIOD - 1);
        }
        Ok("The wolf comes.".to_owned())
    }
}

/// The maximum number of crowds, for which there are panels.
const MINDS_MAX: usize = super::MINDS.len();

/// Describes what a forager that can see does, and why.
fn reason(deed: Option<usize>, senses: &(&Needs, &Basket, &Wolf)) -> String {
    let (needs, basket, _) = senses;
    match deed {
        Some(HIDE) if is_wolf_near(senses) => "the wolf is near".to_owned(),
        Some(HIDE) => "the wolf was near when it last looked".to_owned(),
        Some(EAT) => {
            format!("its hunger is {:.0} and it has {} berries", needs.hunger, basket.0)
        }
        Some(SLEEP) if is_tired(senses) => "it is tired".to_owned(),
        Some(SLEEP) => "it was tired, and sleeps until it is rested".to_owned(),
        Some(GATHER) if is_hungry(senses) && !has_berries(senses) => {
            "it is hungry and has no berries".to_owned()
        }
        Some(_) => "nothing is more urgent".to_owned(),
        None => "its mind has not decided yet".to_owned(),
    }
}

fn size() -> (u16, u16) {
    let count = u16::try_from(MINDS_MAX).unwrap_or(u16::MAX);
    (COLUMNS * CELL.0, count.div_ceil(COLUMNS) * CELL.1)
}

/// Returns the upper left corner of a crowd's panel.
fn corner(crowd: usize) -> Vec2 {
    let crowd = u16::try_from(crowd).unwrap_or_default();
    let (column, row) = (crowd % COLUMNS, crowd / COLUMNS);
    Vec2::new((column * CELL.0 + MARGIN).into(), (row * CELL.1 + HEAD).into())
}

fn tile((column, row): (u16, u16)) -> u8 {
    let (x, y) = (column % CELL.0, row % CELL.1);
    let is_inside = (MARGIN..MARGIN + SIDE).contains(&x) && (HEAD..HEAD + SIDE).contains(&y);
    if !is_inside {
        return 0;
    }
    let needs = Needs {
        hunger: f32::from(x - MARGIN) + 0.5,
        tiredness: f32::from(SIDE - (y - HEAD)) - 0.5,
    };
    let senses = &(&needs, &Basket(0), &Wolf { ticks: Wolf::PERIOD / 2 });
    1 + u8::from(is_hungry(senses)) + 2 * u8::from(is_tired(senses))
}
