//! Avoidance: agents among agents do not pile up.
//!
//! Every agent with [`Avoid`] has a *wish*, the velocity that it would like to have. It sees the nearest
//! others within three cells, and chooses the velocity closest to its wish that avoids collisions with
//! all of them, if they choose by the same rule: optimal reciprocal collision avoidance (J. van den Berg,
//! S. Guy, M. Lin and D. Manocha, "Reciprocal n-Body Collision Avoidance", 2011). Bodies do not
//! communicate; it is enough that both sides follow one rule. Walls are half-planes as well, hard ones,
//! and the result is stopped at solid cells in the end.
//!
//! ```text
//!   follow, follow_flow ──> wish ─┐
//!   the nearest ten ──> half-planes of others ─┴─> velocity ──> slide ──> position
//!   the cell's ring ──> half-planes of walls ──┘
//! ```
//!
//! All agents see the world as it was at the beginning of the tick, and ties are broken by entity. So the
//! result is the same for any number of threads, and for any order of agents in memory.
//!
//! Three rules go beyond the paper, because mazes of cells are tighter than plazas. Agents whose goal is
//! taken by others that rest there accept a place next to them, if they come no nearer for a while.
//! Bodies at rest step aside for an agent that they block, and go back when they are no longer pushed. An
//! agent that has been blocked for seconds squeezes past: until it has made progress, it and the others
//! ignore each other.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

pub(crate) mod body;
pub(crate) mod crowd;
pub(crate) mod half_plane;
pub(crate) mod reciprocal;
pub(crate) mod walls;

use std::array::from_fn;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use formic_ecs::Entity;
use formic_jobs::{Local, Pool, Query, Res};
use glam::{Vec2, Vec4};

use crate::agent::{Facing, Position, Speed, TimeStep};
use crate::avoid::body::{Avoid, NOWHERE};
use crate::avoid::crowd::{Crowd, Lookout, Member, Neighbours, lanes};
use crate::avoid::half_plane::{HalfPlanes, LANE_COUNT, Vectors};
use crate::avoid::reciprocal::{Discs, half_planes};
use crate::avoid::walls::{add_half_planes, slide};
use crate::cell::Cell;
use crate::class::ClassId;
use crate::direction::Direction;
use crate::grid::Grid;
use crate::obstacle::Obstacle;
use crate::terrain::Terrain;

/// The gap below which agents count as touching, in cells.
const TOUCH: f32 = 0.1;
/// The share of giving way that an agent at rest takes over if it meets one that goes to the same goal: a
/// crowd that gathers must not push away those that came first.
const SHARE_AT_REST: f32 = 0.1;
/// How long an agent has to be blocked before those at rest step out of its way.
const MAKE_WAY_SECONDS: f32 = 1.0;
/// The speed at which they step aside, as a part of their own.
const MAKE_WAY_SPEED: f32 = 0.5;
/// Every body keeps a little to the right. Otherwise two that meet head-on, in perfect symmetry, would
/// stand still before each other. This is the part of the wish that is turned.
const KEEP_RIGHT: f32 = 0.05;
/// Below this speed an agent does not turn, in cells per second.
const TURN_SPEED_MIN: f32 = 0.05;

/// The number of members that one thread takes at a time.
const BATCH_SIZE: usize = 128;

/// The state of [`avoid`], kept from tick to tick to reuse its memory.
#[derive(Debug, Default)]
pub struct AvoidState {
    crowd: Crowd,
    /// Those of consecutive members.
    batches: Vec<Mutex<Vec<Choice>>>,
    /// By the index of each agent among the members.
    choices: Vec<Choice>,
}

/// Moves all agents that give way to others.
///
/// Each chooses the velocity that is nearest to its wish among those that lead to no collision with the
/// nearest ten others within a second, if these choose by the same rule: optimal reciprocal collision
/// avoidance (J. van den Berg, S. Guy, M. Lin and D. Manocha, "Reciprocal n-Body Collision Avoidance",
/// 2011). Solid cells around it are constraints as well, and the result is stopped at them, so no body is
/// ever pushed into rock. In a press, if no velocity meets all constraints, bodies may overlap: by less
/// than a twentieth of their radius in the scenes that the tests run (head-on, circle, doorway, two
/// crowds), and by up to 0.64 cells in 480 dense crowds of random places, most of the widest bodies:
/// streams that meet in corridors and mazes, and queues before a door. With ticks of a fifth of a second,
/// in which they walk more than half a cell, it is up to 0.76 cells. Bodies that come out of a link,
/// or out of a cell that turned solid, overlap those that are there until they have moved apart.
///
/// Three rules go beyond the paper, because mazes of cells are tighter than plazas:
///
/// * Agents whose goal is taken by others that rest there accept a place next to them, if they come no
///   nearer for half a second. An agent at rest that was pushed away by more than a cell no longer counts
///   among those others.
/// * Bodies at rest step aside for an agent that they have blocked for a second. If that moved them by
///   more than a cell, they go back as soon as they are no longer pushed: their request is pending again,
///   and their arrival counts once more. On the way back they give way completely to bodies that stand at
///   rest, so each walk back leaves one less away from its goal, and crowds come to rest.
/// * An agent that has been [blocked](Avoid::blocked_seconds) for fourteen seconds, or for two in a
///   corridor of one cell, [squeezes past](Avoid::is_squeezing): until its progress is what it walks in
///   two seconds, it and the others ignore each other. In this emergency bodies overlap by more, and it
///   keeps crowds from jamming. Progress is measured by the path that is left, and the minimum of that so
///   far: an agent that moves and makes no progress is blocked as well.
///
/// Agents give way completely to an [`Obstacle`] that moves.
///
/// Agents without speed stand, and all of them do in ticks without time. Agents without a wish move only
/// as far as others push them.
///
/// ```
/// use formic_ecs::World;
/// use formic_jobs::{Pool, Schedule, Threads};
/// use glam::Vec2;
/// use formic_nav::{Avoid, Grid, MoveRule, PathRequest, Position, Terrain, systems};
///
/// let terrain = Terrain::new(Grid::from_fn(12, 5, |_| true)?, MoveRule::default());
/// let mut world = World::new();
/// systems::insert_resources(&mut world, terrain);
/// // Two that want to change places.
/// let ends = [Vec2::new(0.5, 2.5), Vec2::new(11.5, 2.5)];
/// let agents = ends.map(|place| world.spawn((systems::agent(place, 3.0), Avoid::new(0.3))));
/// for (agent, goal) in agents.into_iter().zip([ends[1], ends[0]]) {
///     world.get_mut::<PathRequest>(agent)?.ask(goal);
/// }
/// let pool = Pool::new(Threads::None)?;
/// let mut schedule = systems::add(Schedule::builder()).build(&mut world)?;
/// for _ in 0..200 {
///     schedule.run(&mut world, &pool);
///     let [a, b] = agents.map(|agent| world.get::<Position>(agent).unwrap().0);
///     assert!(a.distance(b) > 0.55);
/// }
/// assert!(world.get::<Position>(agents[0])?.0.distance(ends[1]) < 0.2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn avoid(
    mut agents: Query<(Entity, &mut Position, &mut Facing, &Speed, &mut Avoid, Option<&ClassId>)>,
    mut obstacles: Query<(Entity, &Obstacle)>,
    terrain: Res<Terrain>,
    step: Res<TimeStep>,
    pool: &Pool,
    mut state: Local<AvoidState>,
) {
    let seconds = step.elapsed();
    let crowd = &mut state.crowd;
    crowd.begin(terrain.grid().height());
    agents.for_each(|(entity, position, _, speed, body, class)| {
        let class = class.copied().unwrap_or_default();
        crowd.add(Member {
            entity,
            position: position.0,
            velocity: body.velocity(),
            radius: body.radius(),
            // The offset from the centre of a cell to that of the square that the agent covers.
            half_span: terrain.class(class).map_or(0.0, |class| f32::from(class.size() - 1) * 0.5),
            class,
            speed: speed.per_second(),
            goal: body.goal,
            is_blocked: body.blocked_seconds() > MAKE_WAY_SECONDS && !body.goes_back(),
            wish: body.wish,
            is_squeezing: body.is_squeezing(),
            goes_back: body.goes_back(),
            is_away: body.is_away(position.0),
            is_obstacle: false,
        });
    });
    obstacles.for_each(|(entity, obstacle)| {
        if obstacle.velocity() != Vec2::ZERO {
            crowd.add(moving(entity, obstacle));
        }
    });
    crowd.sort();
    state.choose(pool, &terrain, seconds);
    let AvoidState { crowd, choices, .. } = &*state;
    agents.par_for_each(|(entity, position, facing, speed, body, class)| {
        let grid = terrain.for_agents(class.copied().unwrap_or_default()).grid();
        let chosen = &choices[crowd.place(entity)];
        let motion = body.with_carry(position.0, chosen.velocity * seconds);
        let place = slide(grid, position.0, motion);
        // A tick without time has no velocity.
        let walked = if seconds > 0.0 { (place - position.0) / seconds } else { Vec2::ZERO };
        position.0 = place;
        let is_narrow = || position.cell().is_some_and(|cell| is_narrow(grid, cell));
        body.moved(walked, chosen.touches_crowd, is_narrow, speed.per_second(), seconds);
        if let Some(direction) = walked.try_normalize().filter(|_| walked.length() > TURN_SPEED_MIN)
        {
            facing.0 = direction;
        }
    });
}

impl AvoidState {
    /// Lets all members choose. Those near each other choose on one thread.
    fn choose(&mut self, pool: &Pool, terrain: &Terrain, seconds: f32) {
        let (crowd, count) = (&self.crowd, self.crowd.len());
        let batch_count = count.div_ceil(BATCH_SIZE);
        self.batches.resize_with(self.batches.len().max(batch_count), Mutex::default);
        let batches = &mut self.batches[..batch_count];
        pool.for_each_index(batch_count, |number| {
            // If the lock is poisoned, only the memory of the batch is used.
            let mut choices = batches[number].lock().unwrap_or_else(PoisonError::into_inner);
            let (first, end) = (number * BATCH_SIZE, count.min((number + 1) * BATCH_SIZE));
            let lookout = Lookout::new(crowd);
            let mut chooser =
                Chooser { crowd, terrain, seconds, lookout, planes: HalfPlanes::new() };
            choices.clear();
            for first in (first..end).step_by(LANE_COUNT) {
                choices.extend(chooser.choose(first..end.min(first + LANE_COUNT)));
            }
            choices.truncate(end - first);
        });
        self.choices.clear();
        for batch in batches {
            self.choices.extend_from_slice(batch.get_mut().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Returns a moving obstacle as bodies see it: as wide as its sides.
fn moving(entity: Entity, obstacle: &Obstacle) -> Member {
    Member {
        entity,
        position: obstacle.place(),
        velocity: obstacle.velocity(),
        radius: obstacle.size() * 0.5,
        half_span: 0.0,
        class: ClassId::default(),
        // It chooses nothing.
        speed: 0.0,
        goal: NOWHERE,
        is_blocked: false,
        wish: obstacle.velocity(),
        is_squeezing: false,
        goes_back: false,
        is_away: false,
        is_obstacle: true,
    }
}

/// The choice of an agent.
#[derive(Clone, Copy, Debug)]
struct Choice {
    velocity: Vec2,
    touches_crowd: bool,
}

/// Lets four bodies after four choose.
struct Chooser<'a> {
    crowd: &'a Crowd,
    terrain: &'a Terrain,
    seconds: f32,
    lookout: Lookout<'a>,
    planes: HalfPlanes,
}

impl Chooser<'_> {
    /// The choices of up to four consecutive members.
    fn choose(&mut self, members: Range<usize>) -> [Choice; LANE_COUNT] {
        let Self { crowd, terrain, seconds, .. } = *self;
        let places = lanes(&members);
        let bodies = places.map(|place| crowd.member(place));
        self.planes.clear();
        let speeds = Vec4::from(bodies.map(|body| body.speed));
        let radii = bodies.map(|body| body.radius).into();
        let grounds = bodies.map(|body| (terrain.for_agents(body.class).grid(), body.position));
        add_half_planes(grounds, radii, seconds, speeds, &mut self.planes);
        let mut others = self.lookout.neighbours(members);
        let mut wishes = bodies.map(|body| turned(body.wish));
        let mut touches_crowd = [false; LANE_COUNT];
        for lane in 0..LANE_COUNT {
            let (place, others) = (places[lane], &mut others[lane]);
            let is_special = |place: usize| crowd.disc(place).is_special;
            // Most agents are on their way, and so are those around them.
            if others.get().iter().fold(is_special(place), |any, &other| any | is_special(other)) {
                touches_crowd[lane] = self.heed(place, others, &mut wishes[lane]);
            }
        }
        let counts = Vec4::from(others.each_ref().map(|others| others.count as f32));
        let own_discs = places.map(|place| crowd.disc(place));
        let own = Discs::new(own_discs);
        let ranks = others.iter().map(|others| others.count).max().unwrap_or(0);
        for rank in 0..ranks {
            let discs = others.each_ref().map(|others| crowd.disc(others.places[rank]));
            let sides = || from_fn(|lane| side(own_discs[lane].entity, discs[lane].entity)).into();
            let shares = others.each_ref().map(|others| others.shares[rank]).into();
            let row = half_planes(&own, &Discs::new(discs), shares, sides, seconds);
            self.planes.push(&row, counts.cmpgt(Vec4::splat(rank as f32)), speeds);
        }
        let velocities = self.planes.nearest(speeds, Vectors::new(wishes));
        from_fn(|lane| {
            if seconds == 0.0 || bodies[lane].speed == 0.0 {
                return Choice { velocity: Vec2::ZERO, touches_crowd: false };
            }
            Choice { velocity: velocities.get(lane), touches_crowd: touches_crowd[lane] }
        })
    }

    /// Sets what a body does for those of the others that are special, or for all if it is special itself:
    /// how far it gives way to each, and its wish if it makes way. Returns whether it touches a crowd at its
    /// goal.
    fn heed(&self, place: usize, others: &mut Neighbours, wish: &mut Vec2) -> bool {
        let (crowd, body, own) = (self.crowd, self.crowd.member(place), self.crowd.disc(place));
        let mut touches_crowd = false;
        let mut count = 0;
        for rank in 0..others.count {
            let place = others.places[rank];
            let disc = crowd.disc(place);
            let mut share = if disc.is_obstacle { 1.0 } else { 0.5 };
            if !disc.is_obstacle && (own.is_special || disc.is_special) {
                let other = crowd.member(place);
                let (rests, other_rests) = (body.is_at_rest(), other.is_at_rest());
                let (position, other_position) = (own.position(), disc.position());
                let gap = position.distance(other_position) - own.radius - disc.radius;
                let has_same_goal = is_same_cell(other.goal, body.goal);
                if gap < TOUCH && other_rests {
                    let goal = body.goal + body.half_span;
                    let is_in_place = other_position.distance(goal) < own.radius + disc.radius;
                    touches_crowd |= (has_same_goal && !other.is_away) || is_in_place;
                }
                if gap < TOUCH && rests && other.is_blocked && !has_same_goal {
                    let side = Vec2::X * side(own.entity, disc.entity);
                    let away = (position - other_position).normalize_or(side);
                    *wish = away * (body.speed * MAKE_WAY_SPEED);
                }
                if body.is_squeezing || other.is_squeezing {
                    continue;
                }
                share = match (rests, other_rests) {
                    // An agent that goes back moves none that stands, so that crowds come to rest. Those
                    // that move give way to it as to any other, or bodies would overlap.
                    (true, false) if other.goes_back && body.velocity == Vec2::ZERO => 0.0,
                    (true, false) if other.goes_back => 0.5,
                    (false, true) if body.goes_back => 1.0,
                    (true, false) if has_same_goal => SHARE_AT_REST,
                    (false, true) if has_same_goal => 1.0 - SHARE_AT_REST,
                    _ => 0.5,
                };
            }
            (others.places[count], others.shares[count]) = (place, share);
            count += 1;
        }
        others.count = count;
        touches_crowd
    }
}

/// A wish turned a little to the right.
fn turned(wish: Vec2) -> Vec2 {
    wish + Vec2::new(-wish.y, wish.x) * KEEP_RIGHT
}

/// The side on which a body is of another, if they are in the same place: one or minus one.
fn side(own: Entity, other: Entity) -> f32 {
    if own.to_bits() < other.to_bits() { 1.0 } else { -1.0 }
}

/// Whether a cell is in a corridor of one cell, where others cannot make room.
fn is_narrow(grid: &Grid, cell: Cell) -> bool {
    let is_wall =
        |direction: Direction| direction.step(cell).is_none_or(|beside| !grid.is_open(beside));
    (is_wall(Direction::North) && is_wall(Direction::South))
        || (is_wall(Direction::West) && is_wall(Direction::East))
}

fn is_same_cell(a: Vec2, b: Vec2) -> bool {
    Cell::containing(a).is_some_and(|cell| Cell::containing(b) == Some(cell))
}
