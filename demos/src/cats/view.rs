//! The view of the cats: each at its needs, with hunger to the right and tiredness upwards.

use formic::inspect::{Axes, Ground, Kind, Mark, Marks, Scene, View};
use formic_ai::prelude::*;
use formic_ai::utility::UtilityAgent;
use glam::Vec2;

use super::mind::{OPTIONS, inputs};
use super::needs::{Hunger, Tiredness};
use super::{CatWorld, TICK_SECONDS};
use crate::raster::Colour;
use crate::simulation::Simulation;

/// In points of need: cats never exceed these.
const HUNGER_MAX: f32 = 100.0;
const TIREDNESS_MAX: f32 = 40.0;
/// The colours of eating, sleeping and playing; colour-blind people can tell them apart.
pub(super) const COLOURS: [Colour; 3] =
    [Colour([230, 159, 0]), Colour([0, 114, 178]), Colour([0, 158, 115])];
/// The number of tiles per point of need.
const TILES: u16 = 4;

impl View for CatWorld {
    fn scene(&self) -> Scene {
        let chosen = OPTIONS.into_iter().zip(COLOURS).map(|(name, colour)| Kind::new(name, colour));
        Scene {
            size: Vec2::new(HUNGER_MAX, TIREDNESS_MAX),
            unit: "point of need",
            ticks_per_second: 1.0 / TICK_SECONDS,
            mark_radius: 0.25,
            kinds: chosen
                .chain([
                    Kind::new("undecided", Colour::WHITE),
                    Kind::ground("dark: what scores most there", darker(COLOURS[0])),
                ])
                .collect(),
        }
    }

    fn axes(&self) -> Axes {
        Axes { names: ["hunger", "tiredness"], is_upwards: true }
    }

    /// The colour of a tile is that of the option that scores most there.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "needs are at most 100"
    )]
    fn ground(&self) -> Ground {
        let (columns, rows) = (HUNGER_MAX as u16 * TILES, TIREDNESS_MAX as u16 * TILES);
        let tile = |(column, row): (u16, u16)| {
            let need = |at: u16| (f32::from(at) + 0.5) / f32::from(TILES);
            let scores = self.reasoner().scores(&inputs(need(column), TIREDNESS_MAX - need(row)));
            let best = (0..COLOURS.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            u8::try_from(best.unwrap_or_default()).unwrap_or_default()
        };
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
        Ground {
            columns,
            rows,
            palette: COLOURS.map(darker).to_vec(),
            tiles: places.map(tile).collect(),
            landmarks: Vec::new(),
        }
    }

    fn marks(&self, marks: &mut Marks) {
        let cats = self.world().query_ref::<(Entity, &Hunger, &Tiredness, &UtilityAgent)>();
        cats.for_each(|(entity, hunger, tiredness, agent)| {
            if !marks.wants(entity) {
                return;
            }
            let at = Vec2::new(hunger.0, TIREDNESS_MAX - tiredness.0);
            let kind = u8::try_from(agent.current().unwrap_or(OPTIONS.len())).unwrap_or_default();
            marks.push(Mark { entity, at, kind, world: 0 });
        });
    }

    fn why(&self, agent: Entity) -> Vec<String> {
        let world = self.world();
        let (Ok(hunger), Ok(tiredness)) =
            (world.get::<Hunger>(agent), world.get::<Tiredness>(agent))
        else {
            return Vec::new();
        };
        let scores = self.reasoner().scores(&inputs(hunger.0, tiredness.0));
        let chosen = world.get::<UtilityAgent>(agent).ok().and_then(UtilityAgent::current);
        let mut scored: Vec<_> = OPTIONS.into_iter().zip(scores).collect();
        scored.sort_by(|one, other| other.1.total_cmp(&one.1));
        let list: Vec<_> =
            scored.iter().map(|(name, score)| format!("{name} {score:.2}")).collect();
        let best = scored[0].0;
        let now = match chosen.map(|option| OPTIONS[option]) {
            Some(name) if name == best => {
                format!("It chose to {name}, because nothing else is worth more to it.")
            }
            Some(name) => format!(
                "It goes on with what it has begun, to {name}, because it does so until that need \
                 is gone, or because it chose before its needs were what they are now."
            ),
            None => "It has not chosen yet.".to_owned(),
        };
        let needs = format!("hunger {:.0}, tiredness {:.0}", hunger.0, tiredness.0);
        vec![now, format!("As its needs are now ({needs}), its options score {}.", list.join(", "))]
    }
}

fn darker(Colour(channels): Colour) -> Colour {
    Colour(channels.map(|channel| channel / 4))
}
