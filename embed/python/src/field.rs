//! A field where foragers look for berries and wolves for foragers, and a dungeon where thieves dig
//! for gold and guards chase them: two environments to learn in, of one kind.
//!
//! Foragers, wolves and berries are the words for both.

use bytemuck::{Pod, Zeroable};
use formic::ecs::{Component, Entity, RandomStream, World};
use formic::nav::{Cell, Grid, MoveRule, Path, PathScratch, Terrain, generate};
use formic::prelude::{Curve, Input, Reasoner, Utility, With};

/// How far a forager sees in each direction, in cells.
const SIGHT: i32 = 3;
/// What it sees: cells in rows, each with [`CHANNELS`] numbers of 0 or 1.
pub(crate) const SEEN: usize = ((2 * SIGHT + 1) * (2 * SIGHT + 1)) as usize * CHANNELS;
/// Is it closed, has it a berry, a wolf, another forager?
const CHANNELS: usize = 4;
const CLOSED: usize = 0;
const BERRIES: usize = 1;
const WOLVES: usize = 2;
const FORAGERS: usize = 3;
/// Stay, north, east, south, west; in a dungeon also to close the cell that was left last.
const MOVES: u8 = 5;
const CLOSE: u8 = 5;

const CAUGHT: f32 = -5.0;
const BERRY: f32 = 1.0;
/// To dig a cell, or to close one.
const WORK: f32 = -0.05;
/// How far a wolf sees, and how far a guard hears, in steps.
const WOLF_SIGHT: u32 = 8;
const GUARD_HEARS: u32 = 30;

/// The sizes of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// A dungeon, with rock that can be dug, rather than a field.
    pub(crate) dungeon: bool,
    /// From 8 to 256.
    pub(crate) side: u16,
    pub(crate) foragers: usize,
    pub(crate) wolves: usize,
    pub(crate) berries: usize,
    pub(crate) ticks: u32,
}

#[derive(Component, Clone, Copy, Pod, Zeroable, PartialEq)]
#[repr(transparent)]
struct Place(Cell);

/// A forager, and what the last tick brought it.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Forager {
    reward: f32,
    /// 1 once a wolf has caught it.
    caught: u32,
    /// The cell that it left last.
    behind: Cell,
}

#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Berry {
    eaten: u32,
}

/// A wolf, which tires of chasing.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Wolf {
    tired: f32,
    /// The option that it took, and the scores of all.
    chosen: u32,
    scores: [f32; 3],
}

const CHASE: u32 = 0;
const PROWL: u32 = 2;

/// How wolves decide.
pub(crate) fn wolf_mind() -> Reasoner {
    let [nearness, tiredness] = Input::named(["nearness", "tiredness"]);
    Reasoner::new()
        .option("chase", Utility::of(nearness, Curve::linear(0.8, 0.1)))
        .option("rest", Utility::of(tiredness, Curve::exponential(2.0)))
        .option("prowl", Utility::of(nearness, Curve::linear(0.0, 0.2)))
}

/// The tick, the place of what was chosen, and the scores of all options with their names.
pub(crate) type Decision = (u32, usize, Vec<(String, f32)>);

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    world: World,
    terrain: Terrain,
    random: RandomStream,
    rules: Rules,
    foragers: Vec<Entity>,
    tick: u32,
    seen: Vec<f32>,
}

/// The memory of a search for a path. It is larger than a field, so fields share those of threads.
#[derive(Debug, Default)]
pub(crate) struct Search {
    scratch: PathScratch,
    path: Path,
}

/// The numbers that a forager sees of the cells around it.
struct View<'a> {
    seen: &'a mut [f32],
    middle: Place,
}

impl View<'_> {
    fn mark(&mut self, place: Place, channel: usize) {
        let by = |there: u16, middle: u16| i32::from(there) - i32::from(middle);
        let (x, y) = (by(place.0.x, self.middle.0.x), by(place.0.y, self.middle.0.y));
        if x.abs() <= SIGHT && y.abs() <= SIGHT {
            self.set(x, y, channel);
        }
    }

    /// Sets a number of the cell that lies so far from the middle, at most [`SIGHT`].
    fn set(&mut self, x: i32, y: i32, channel: usize) {
        let cell = (y + SIGHT) * (2 * SIGHT + 1) + x + SIGHT;
        self.seen[usize::try_from(cell).expect("it is in sight") * CHANNELS + channel] = 1.0;
    }
}

impl Place {
    fn near(self, other: Self) -> u32 {
        u32::from(self.0.x.abs_diff(other.0.x) + self.0.y.abs_diff(other.0.y))
    }

    /// Where an action leads.
    fn beside(self, action: u8) -> Self {
        let Cell { x, y } = self.0;
        Self(match action {
            1 => Cell::new(x, y.wrapping_sub(1)),
            2 => Cell::new(x + 1, y),
            3 => Cell::new(x, y + 1),
            4 => Cell::new(x.wrapping_sub(1), y),
            _ => self.0,
        })
    }
}

fn below(random: &mut RandomStream, bound: u16) -> u16 {
    u16::try_from(random.below(u64::from(bound))).expect("it is below the bound")
}

/// An open cell; of a field one that can be reached from the middle.
fn free_place(terrain: &Terrain, random: &mut RandomStream, rules: Rules) -> Place {
    let middle = Cell::new(rules.side / 2, rules.side / 2);
    loop {
        let [x, y] = [0; 2].map(|_: u8| below(random, rules.side));
        let cell = Cell::new(x, y);
        if if rules.dungeon { terrain.is_open(cell) } else { terrain.reachable(middle, cell) } {
            return Place(cell);
        }
    }
}

/// A place for a berry: in a dungeon rock hides it as well as a room.
fn berry_place(terrain: &Terrain, random: &mut RandomStream, rules: Rules) -> Place {
    if !rules.dungeon {
        return free_place(terrain, random, rules);
    }
    let [x, y] = [0; 2].map(|_: u8| 1 + below(random, rules.side - 2));
    Place(Cell::new(x, y))
}

/// The nearest forager that runs free, and how far it is.
fn nearest(foragers: &[(Place, Forager)], place: Place) -> Option<(Place, u32)> {
    let free = foragers.iter().filter(|(_, forager)| forager.caught == 0);
    free.map(|&(other, _)| (other, other.near(place))).min_by_key(|&(_, distance)| distance)
}

impl Field {
    /// A new field: one seed, one field.
    pub(crate) fn new(rules: Rules, seed: u64) -> Self {
        let (side, mut random) = (u32::from(rules.side), RandomStream::new(seed));
        // A tenth is closed, but never the row and the column in the middle.
        let middle = rules.side / 2;
        let open = |cell: Cell| random.below(10) > 0 || cell.x == middle || cell.y == middle;
        let grid = if rules.dungeon {
            generate::cavern(side, side, seed)
        } else {
            Grid::from_fn(side, side, open)
        };
        let terrain = Terrain::new(grid.expect("the side is at most 256"), MoveRule::Orthogonal);

        let mut world = World::new();
        let mut place = || free_place(&terrain, &mut random, rules);
        let forager = |place: Place| (place, Forager { reward: 0.0, caught: 0, behind: place.0 });
        let foragers: Vec<_> = (0..rules.foragers).map(|_| forager(place())).collect();
        for _ in 0..rules.wolves {
            // Of some places the one that is farthest from all foragers.
            let far = |it: &Place| nearest(&foragers, *it).map(|(_, distance)| distance);
            let place = core::array::from_fn::<_, 16, _>(|_| place()).into_iter().max_by_key(far);
            let wolf = Wolf { tired: 0.0, chosen: PROWL, scores: [0.0; 3] };
            world.spawn((place.expect("of sixteen"), wolf));
        }
        for _ in 0..rules.berries {
            world.spawn((berry_place(&terrain, &mut random, rules), Berry { eaten: 0 }));
        }
        let foragers = foragers.into_iter().map(|it| world.spawn(it)).collect();
        let seen = vec![0.0; rules.foragers * SEEN];
        let mut field = Self { world, terrain, random, rules, foragers, tick: 0, seen };
        field.observe();
        field
    }

    fn foragers(&self) -> Vec<(Place, Forager)> {
        let both = |&it: &Entity| {
            let place = self.world.get::<Place>(it).expect("foragers stay");
            (*place, *self.world.get::<Forager>(it).expect("foragers stay"))
        };
        self.foragers.iter().map(both).collect()
    }

    /// One tick: foragers do as they are told and eat, then wolves decide, go and catch.
    pub(crate) fn step(&mut self, actions: &[u8], mind: &Reasoner, search: &mut Search) {
        let Search { scratch, path } = search;
        self.tick += 1;
        let mut foragers = self.foragers();
        for (number, &action) in actions.iter().enumerate() {
            foragers[number].1.reward = 0.0;
            if foragers[number].1.caught == 0 {
                self.act(&mut foragers, number, action);
            }
        }
        for (berry, eaten) in self.world.query::<(&mut Place, &mut Berry)>() {
            let by = foragers.iter_mut().find(|(place, it)| place == berry && it.caught == 0);
            if let Some((_, forager)) = by {
                forager.reward += BERRY;
                eaten.eaten += 1;
                *berry = berry_place(&self.terrain, &mut self.random, self.rules);
            }
        }
        let reach = if self.rules.dungeon { GUARD_HEARS } else { WOLF_SIGHT };
        for (place, wolf) in self.world.query::<(&mut Place, &mut Wolf)>() {
            let mut prey = nearest(&foragers, *place).filter(|&(_, distance)| distance <= reach);
            if let (Some((goal, distance)), true) = (prey, self.rules.dungeon) {
                // Through rock there is no way: what counts is how far it is to walk.
                let way = scratch.find(&self.terrain, place.0, goal.0, path);
                let steps = u32::try_from(path.steps().len()).unwrap_or(u32::MAX);
                prey = way.cost().map(|_| (goal, steps.max(distance)));
            }
            let nearness = prey.map_or(0.0, |(_, distance)| {
                1.0 - distance.min(reach + 1) as f32 / (reach + 1) as f32
            });
            let scores = mind.scores(&[nearness, wolf.tired]);
            // Of equals the first.
            let best = (0..3)
                .rev()
                .max_by(|&a: &u32, &b| scores[a as usize].total_cmp(&scores[b as usize]));
            wolf.chosen = best.expect("of three");
            wolf.scores.copy_from_slice(&scores);
            match (wolf.chosen, prey) {
                (CHASE, Some((goal, _))) => {
                    wolf.tired = (wolf.tired + 0.08).min(1.0);
                    // A guard knows the way already.
                    if !self.rules.dungeon {
                        _ = scratch.find(&self.terrain, place.0, goal.0, path);
                    }
                    place.0 = path.steps().first().copied().unwrap_or(place.0);
                }
                (PROWL, _) => {
                    wolf.tired = (wolf.tired - 0.05).max(0.0);
                    let to = place.beside(
                        u8::try_from(below(&mut self.random, u16::from(MOVES))).expect("of five"),
                    );
                    *place = if self.terrain.is_open(to.0) { to } else { *place };
                }
                _ => wolf.tired = (wolf.tired - 0.2).max(0.0),
            }
            for (_, forager) in foragers.iter_mut().filter(|it| it.0 == *place && it.1.caught == 0)
            {
                forager.reward += CAUGHT;
                forager.caught = 1;
            }
        }
        for (&entity, (place, forager)) in self.foragers.iter().zip(foragers) {
            *self.world.get_mut::<Place>(entity).expect("foragers stay") = place;
            *self.world.get_mut::<Forager>(entity).expect("foragers stay") = forager;
        }
        self.observe();
    }

    /// What a forager does: it goes, digs the rock that it cannot go to, or closes the cell behind.
    fn act(&mut self, foragers: &mut [(Place, Forager)], number: usize, action: u8) {
        let (from, to) = (foragers[number].0, foragers[number].0.beside(action));
        if to != from && self.terrain.is_open(to.0) {
            foragers[number].0 = to;
            foragers[number].1.behind = from.0;
            return;
        }
        let cell = if action == CLOSE { foragers[number].1.behind } else { to.0 };
        let inside = 1..self.rules.side - 1;
        if !self.rules.dungeon || !inside.contains(&cell.x) || !inside.contains(&cell.y) {
            return;
        }
        let changed = if action == CLOSE {
            let mut wolves = self.world.query_ref_filtered::<&Place, With<Wolf>>().into_iter();
            let taken =
                foragers.iter().any(|it| it.0.0 == cell) || wolves.any(|place| place.0 == cell);
            !taken && self.terrain.fill(cell)
        } else {
            self.terrain.dig(cell)
        };
        if changed {
            foragers[number].1.reward += WORK;
        }
    }

    /// What the cells have: 1 if closed, 2 for berries, 4 for wolves, 8 for foragers that run free.
    pub(crate) fn picture(&self) -> Vec<u8> {
        let side = usize::from(self.rules.side);
        let mut cells: Vec<u8> =
            self.terrain.grid().cells().map(|cell| u8::from(!self.terrain.is_open(cell))).collect();
        let mut mark = |place: &Place, kind| {
            cells[usize::from(place.0.y) * side + usize::from(place.0.x)] |= kind;
        };
        for place in self.world.query_ref_filtered::<&Place, With<Berry>>() {
            mark(place, 2);
        }
        for place in self.world.query_ref_filtered::<&Place, With<Wolf>>() {
            mark(place, 4);
        }
        for (place, forager) in self.world.query_ref::<(&Place, &Forager)>() {
            mark(place, if forager.caught == 0 { 8 } else { 0 });
        }
        cells
    }

    /// What each forager sees, one behind the other: nothing, once it is caught.
    pub(crate) fn seen(&self) -> &[f32] {
        &self.seen
    }

    fn observe(&mut self) {
        self.seen.fill(0.0);
        let foragers = self.foragers();
        let views = self.seen.chunks_exact_mut(SEEN).zip(&foragers).filter(|it| it.1.1.caught == 0);
        for (seen, &(middle, _)) in views {
            let mut view = View { seen, middle };
            for (x, y) in (-SIGHT..=SIGHT).flat_map(|y| (-SIGHT..=SIGHT).map(move |x| (x, y))) {
                let at = |middle: u16, by: i32| u16::try_from(i32::from(middle) + by).ok();
                let cell = at(middle.0.x, x).zip(at(middle.0.y, y)).map(|(x, y)| Cell::new(x, y));
                if !cell.is_some_and(|cell| self.terrain.is_open(cell)) {
                    view.set(x, y, CLOSED);
                }
            }
            for place in self.world.query_ref_filtered::<&Place, With<Berry>>() {
                view.mark(*place, BERRIES);
            }
            for place in self.world.query_ref_filtered::<&Place, With<Wolf>>() {
                view.mark(*place, WOLVES);
            }
            // Itself it does not see, nor another one in the same cell.
            for (place, _) in foragers.iter().filter(|it| it.1.caught == 0 && it.0 != middle) {
                view.mark(*place, FORAGERS);
            }
        }
    }

    /// The reward of each forager in the last tick, and whether it is caught.
    pub(crate) fn rewards(&self) -> impl Iterator<Item = (f32, bool)> {
        self.foragers().into_iter().map(|(_, it)| (it.reward, it.caught != 0))
    }

    /// Whether the time is up.
    pub(crate) const fn is_over(&self) -> bool {
        self.tick >= self.rules.ticks
    }

    /// The hash of everything in the field.
    pub(crate) fn state_hash(&self) -> u64 {
        let hash = self.world.state_hash().and(|hasher| {
            hasher.write(&self.random.state().to_le_bytes());
            hasher.write(&self.tick.to_le_bytes());
            hasher.write(&self.picture());
        });
        hash.value()
    }

    /// What each wolf chose in the last tick, and the scores of all that it could choose.
    pub(crate) fn decisions(&self, mind: &Reasoner) -> Vec<Decision> {
        let decided = self.world.query_ref::<&Wolf>().into_iter().filter(|_| self.tick > 0);
        decided
            .map(|wolf| {
                let scored = mind.names().map(str::to_owned).zip(wolf.scores);
                (self.tick, wolf.chosen as usize, scored.collect())
            })
            .collect()
    }
}
