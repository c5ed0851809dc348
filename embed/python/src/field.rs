//! A field where foragers look for berries and wolves for foragers: one environment to learn in.

use bytemuck::{Pod, Zeroable};
use formic::ecs::{Component, Entity, RandomStream, World};
use formic::nav::{Cell, Grid, MoveRule, Path, PathScratch, Terrain};
use formic::prelude::{Curve, Input, Reasoner, Utility, With};

/// How far a forager sees in each direction, in cells.
pub(crate) const SIGHT: i32 = 3;
/// What it sees: cells in rows, each with [`CHANNELS`] numbers of 0 or 1.
pub(crate) const SEEN: usize = ((2 * SIGHT + 1) * (2 * SIGHT + 1)) as usize * CHANNELS;
/// Is it closed, has it a berry, a wolf, another forager?
pub(crate) const CHANNELS: usize = 4;
/// Stay, north, east, south, west.
pub(crate) const ACTIONS: u8 = 5;

const CAUGHT: f32 = -5.0;
const BERRY: f32 = 1.0;
/// How far a wolf sees, in steps.
const WOLF_SIGHT: u32 = 8;

/// The sizes of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
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

const NEARNESS: Input = Input(0);
const TIREDNESS: Input = Input(1);
const CHASE: u32 = 0;
const PROWL: u32 = 2;

/// How wolves decide.
pub(crate) fn wolf_mind() -> Reasoner {
    Reasoner::new()
        .option("chase", Utility::of(NEARNESS, Curve::linear(0.8, 0.1)))
        .option("rest", Utility::of(TIREDNESS, Curve::exponential(2.0)))
        .option("prowl", Utility::of(NEARNESS, Curve::linear(0.0, 0.2)))
}

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    world: World,
    terrain: Terrain,
    random: RandomStream,
    rules: Rules,
    foragers: Vec<Entity>,
    tick: u32,
    paths: PathScratch,
    path: Path,
}

impl Place {
    fn near(self, other: Self) -> u32 {
        u32::from(self.0.x.abs_diff(other.0.x) + self.0.y.abs_diff(other.0.y))
    }

    /// Where an action leads: nowhere, if that cell is closed.
    fn step(self, action: u16, terrain: &Terrain) -> Self {
        let Cell { x, y } = self.0;
        let to = match action {
            1 => Cell::new(x, y.wrapping_sub(1)),
            2 => Cell::new(x + 1, y),
            3 => Cell::new(x, y + 1),
            4 => Cell::new(x.wrapping_sub(1), y),
            _ => self.0,
        };
        if terrain.is_open(to) { Self(to) } else { self }
    }
}

fn below(random: &mut RandomStream, bound: u16) -> u16 {
    u16::try_from(random.below(u64::from(bound))).expect("it is below the bound")
}

/// An open cell that can be reached from the middle.
fn free_place(terrain: &Terrain, random: &mut RandomStream, side: u16) -> Place {
    let middle = Cell::new(side / 2, side / 2);
    loop {
        let [x, y] = [0; 2].map(|_: u8| below(random, side));
        if terrain.reachable(middle, Cell::new(x, y)) {
            return Place(Cell::new(x, y));
        }
    }
}

/// The nearest forager that runs free, and how far it is.
fn nearest(foragers: &[(Place, Forager)], place: Place) -> Option<(Place, u32)> {
    let free = foragers.iter().filter(|(_, forager)| forager.caught == 0);
    free.map(|&(other, _)| (other, other.near(place))).min_by_key(|&(_, distance)| distance)
}

impl Field {
    /// A new field: one seed, one field.
    pub(crate) fn new(rules: Rules, seed: u64) -> Self {
        let (side, mut random) = (rules.side, RandomStream::new(seed));
        // A tenth is closed, but never the row and the column in the middle.
        let middle = side / 2;
        let open = |cell: Cell| random.below(10) > 0 || cell.x == middle || cell.y == middle;
        let grid =
            Grid::from_fn(u32::from(side), u32::from(side), open).expect("the side is at most 256");
        let terrain = Terrain::new(grid, MoveRule::Orthogonal);

        let mut world = World::new();
        let mut place = || free_place(&terrain, &mut random, side);
        let forager = Forager { reward: 0.0, caught: 0 };
        let foragers: Vec<_> = (0..rules.foragers).map(|_| (place(), forager)).collect();
        for _ in 0..rules.wolves {
            // Of some places the one that is farthest from all foragers.
            let far = |it: &Place| nearest(&foragers, *it).map(|(_, distance)| distance);
            let place = core::array::from_fn::<_, 16, _>(|_| place()).into_iter().max_by_key(far);
            let wolf = Wolf { tired: 0.0, chosen: PROWL, scores: [0.0; 3] };
            world.spawn((place.expect("of sixteen"), wolf));
        }
        for _ in 0..rules.berries {
            world.spawn((place(), Berry { eaten: 0 }));
        }
        let foragers = foragers.into_iter().map(|it| world.spawn(it)).collect();
        let (paths, path) = (PathScratch::new(), Path::new());
        Self { world, terrain, random, rules, foragers, tick: 0, paths, path }
    }

    fn foragers(&self) -> Vec<(Place, Forager)> {
        let both = |&it: &Entity| {
            let place = self.world.get::<Place>(it).expect("foragers stay");
            (*place, *self.world.get::<Forager>(it).expect("foragers stay"))
        };
        self.foragers.iter().map(both).collect()
    }

    /// One tick: foragers do as they are told and eat, then wolves decide, go and catch.
    pub(crate) fn step(&mut self, actions: &[u8], mind: &Reasoner) {
        self.tick += 1;
        let mut foragers = self.foragers();
        for ((place, forager), &action) in foragers.iter_mut().zip(actions) {
            forager.reward = 0.0;
            if forager.caught == 0 {
                *place = place.step(u16::from(action), &self.terrain);
            }
        }
        for (berry, eaten) in self.world.query::<(&mut Place, &mut Berry)>() {
            let by = foragers.iter_mut().find(|(place, it)| place == berry && it.caught == 0);
            if let Some((_, forager)) = by {
                forager.reward += BERRY;
                eaten.eaten += 1;
                *berry = free_place(&self.terrain, &mut self.random, self.rules.side);
            }
        }
        for (place, wolf) in self.world.query::<(&mut Place, &mut Wolf)>() {
            let prey = nearest(&foragers, *place).filter(|&(_, distance)| distance <= WOLF_SIGHT);
            let nearness =
                prey.map_or(0.0, |(_, distance)| 1.0 - distance as f32 / (WOLF_SIGHT + 1) as f32);
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
                    _ = self.paths.find(&self.terrain, place.0, goal.0, &mut self.path);
                    place.0 = self.path.steps().first().copied().unwrap_or(place.0);
                }
                (PROWL, _) => {
                    wolf.tired = (wolf.tired - 0.05).max(0.0);
                    *place = place.step(below(&mut self.random, u16::from(ACTIONS)), &self.terrain);
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
    pub(crate) fn observe(&self, seen: &mut [f32]) {
        let (picture, side) = (self.picture(), usize::from(self.rules.side));
        seen.fill(0.0);
        for (seen, (place, forager)) in seen.chunks_mut(SEEN).zip(self.foragers()) {
            if forager.caught != 0 {
                continue;
            }
            let window = (-SIGHT..=SIGHT).flat_map(|y| (-SIGHT..=SIGHT).map(move |x| (x, y)));
            for ((x, y), seen) in window.zip(seen.chunks_exact_mut(CHANNELS)) {
                let at =
                    |middle: u16, by: i32| usize::try_from(i32::from(middle) + by).unwrap_or(side);
                let (column, row) = (at(place.0.x, x), at(place.0.y, y));
                let inside = column < side && row < side;
                let kinds = if inside { picture[row * side + column] } else { 1 };
                // Itself it does not see.
                let kinds = if (x, y) == (0, 0) { kinds & !8 } else { kinds };
                for (bit, seen) in seen.iter_mut().enumerate() {
                    *seen = f32::from(kinds >> bit & 1);
                }
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

    /// Why each wolf did what it did in the last tick.
    pub(crate) fn reasons(&self, mind: &Reasoner) -> Vec<String> {
        let wolves = self.world.query_ref::<&Wolf>().into_iter();
        let reason = |(number, wolf): (usize, &Wolf)| {
            let scored = mind.names().zip(wolf.scores);
            let (chosen, others): (Vec<_>, Vec<_>) =
                scored.enumerate().partition(|(option, _)| *option == wolf.chosen as usize);
            let text = |it: &(usize, (&str, f32))| format!("{} {:.2}", it.1.0, it.1.1);
            let texts = |some: Vec<_>| some.iter().map(text).collect::<Vec<_>>().join(", ");
            format!(
                "tick {}: wolf {number} chose {} over {}",
                self.tick,
                texts(chosen),
                texts(others)
            )
        };
        wolves.enumerate().map(reason).collect()
    }
}
