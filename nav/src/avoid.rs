//! Avoiding: agents among agents do not pile up.
//!
//! Every agent that has [`Avoid`] says where it would like to go, sees the nearest
//! others within three cells, and chooses the velocity closest to its wish that all of
//! them can live with, if they choose alike: optimal reciprocal collision avoidance
//! (J. van den Berg, S. Guy, M. Lin and D. Manocha, "Reciprocal n-Body Collision
//! Avoidance", 2011). Bodies do not talk to each other; that both sides follow one rule is
//! enough. Walls are half-planes as well, hard ones, and whatever comes out is
//! stopped at solid cells in the end.
//!
//! ```text
//!   follow, follow_flow ──> wish ─┐
//!   the nearest ten ──> half-planes of others ─┴─> velocity ──> slide ──> position
//!   the cell's ring ──> half-planes of walls ──┘
//! ```
//!
//! All see the world as it was at the beginning of the tick, and ties are broken by
//! entity, so the result is the same for any number of threads and in whatever order
//! agents lie in memory.
//!
//! Two things are on top of the paper, since mazes of cells are tighter than plazas.
//! Agents whose goal is taken by others who rest there are content with being next to
//! them, if they get no nearer for a while. Those who rest step aside for one that they
//! block. And one that has been stuck for seconds squeezes past: until it gets on, it
//! and those who go another way take no notice of each other.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

pub(crate) mod body;
pub(crate) mod crowd;
pub(crate) mod half_plane;
pub(crate) mod reciprocal;
pub(crate) mod walls;

use std::f32::consts::PI;

use formic_ecs::Entity;
use formic_jobs::{Local, Query, Res};
use glam::Vec2;

use crate::agent::{Facing, Position, Speed, TimeStep};
use crate::avoid::body::{Avoid, Crowding, NOWHERE};
use crate::avoid::crowd::{Crowd, Member};
use crate::avoid::half_plane::{HalfPlane, PLANE_COUNT_MAX, nearest};
use crate::avoid::reciprocal::{Disc, half_plane};
use crate::avoid::walls::{half_planes, slide};
use crate::cell::Cell;
use crate::class::ClassId;
use crate::direction::Direction;
use crate::grid::Grid;
use crate::obstacle::Obstacle;
use crate::terrain::Terrain;

/// Agents that nearly touch do, in cells.
const TOUCH: f32 = 0.1;
/// The distance that bodies keep from each other, in cells for each of the two: in a press
/// the rules leave no velocity that is quite right, and bodies come as much too near.
const SKIN: f32 = 0.04;
/// The part of giving way that one at rest takes over from one that goes to the same
/// goal: a crowd that gathers must not push those before it away.
const SHARE_AT_REST: f32 = 0.1;
/// How long one has to be blocked before those at rest step out of its way.
const MAKE_WAY_SECONDS: f32 = 1.0;
/// How fast they do, as a part of their speed.
const MAKE_WAY_SPEED: f32 = 0.5;
/// A crowd around a goal is taken to be this much wider than if it were packed as densely
/// as squares.
const CROWD_LOOSENESS: f32 = 1.2;
/// Every body keeps a little to the right: those who meet head-on, in perfect symmetry,
/// would otherwise stop and stare at each other. The part of the wish that is turned.
const KEEP_RIGHT: f32 = 0.05;
/// Slower than this an agent turns no more, in cells per second.
const TURN_SPEED_MIN: f32 = 0.05;

/// What [`avoid`] keeps from tick to tick, for its memory.
#[derive(Debug, Default)]
pub struct AvoidState {
    crowd: Crowd,
}

/// Moves all agents that give way to others.
///
/// Each chooses the velocity that is nearest to its wish among those that lead to no
/// collision with the nearest ten others within a second, if these choose alike: optimal
/// reciprocal collision avoidance (J. van den Berg, S. Guy, M. Lin and D. Manocha,
/// "Reciprocal n-Body Collision Avoidance", 2011). Solid cells around it are constraints as
/// well, and whatever comes out is stopped at them, so no body is ever pushed into rock. In
/// a press, where no velocity is quite right, bodies may overlap a little: by a twentieth of
/// their width in the scenes that the tests run (head-on, circle, doorway, two crowds).
///
/// On top of the paper, since mazes of cells are tighter than plazas:
///
/// * those whose goal is taken by others who rest there are content with being next to
///   them, if they get no nearer for half a second; three if there is room around them;
/// * those who rest step aside for one that they have blocked for a second;
/// * one that has been stuck for twelve seconds, or for two in a corridor of one cell,
///   [squeezes past](Avoid::is_squeezing): until it
///   gets on, it and those who go another way, or rest, take no notice of each other. That
///   is the emergency in which bodies overlap by more, and it is why everyone arrives.
///
/// To an [`Obstacle`] that moves they give all of the way.
///
/// Agents without a wish stand, and so do those without speed and all of them in ticks
/// without time.
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
    mut state: Local<AvoidState>,
) {
    let seconds = step.elapsed();
    let crowd = &mut state.crowd;
    crowd.begin(terrain.grid().height());
    agents.for_each(|(entity, position, _, _, body, class)| {
        crowd.add(Member {
            number: entity.to_bits(),
            disc: disc(*position, body, half_span(&terrain, class)),
            goal: body.goal,
            is_at_rest: body.is_at_rest(),
            is_blocked: body.blocked_seconds() > MAKE_WAY_SECONDS,
            wish: body.wish,
            is_squeezing: body.is_squeezing(),
            is_obstacle: false,
        });
    });
    obstacles.for_each(|(entity, obstacle)| {
        if obstacle.velocity() != Vec2::ZERO {
            crowd.add(moving(entity, obstacle));
        }
    });
    crowd.sort();
    let crowd = &state.crowd;
    agents.par_for_each(|(entity, position, facing, speed, body, class)| {
        let half_span = half_span(&terrain, class);
        let terrain = terrain.for_agents(class.copied().unwrap_or_default());
        let surroundings = Surroundings { crowd, terrain, seconds, half_span };
        let chosen = surroundings.choose(entity.to_bits(), *position, speed.0, body);
        let motion = body.with_carry(position.0, chosen.velocity * seconds);
        let place = slide(terrain.grid(), position.0, motion);
        // Of a tick without time there is no velocity.
        let walked = if seconds > 0.0 { (place - position.0) / seconds } else { Vec2::ZERO };
        position.0 = place;
        let is_narrow = position.cell().is_some_and(|cell| is_narrow(terrain.grid(), cell));
        body.moved(walked, chosen.crowding, is_narrow, seconds);
        if let Some(direction) = walked.try_normalize().filter(|_| walked.length() > TURN_SPEED_MIN)
        {
            facing.0 = direction;
        }
    });
}

/// An obstacle that moves, as bodies see it: as wide as its sides.
fn moving(entity: Entity, obstacle: &Obstacle) -> Member {
    let (velocity, radius) = (obstacle.velocity(), obstacle.size() * 0.5 + SKIN);
    Member {
        number: entity.to_bits(),
        disc: Disc { position: obstacle.place(), velocity, radius },
        goal: NOWHERE,
        is_at_rest: false,
        is_blocked: false,
        wish: velocity,
        is_squeezing: false,
        is_obstacle: true,
    }
}

/// From the middle of the cell of an agent to the middle of all that it covers, along an axis.
fn half_span(terrain: &Terrain, class: Option<&ClassId>) -> f32 {
    let class = class.and_then(|&class| terrain.class(class));
    f32::from(class.map_or(0, |class| class.size() - 1)) * 0.5
}

fn disc(position: Position, body: &Avoid, half_span: f32) -> Disc {
    let radius = body.radius() + half_span + SKIN;
    Disc { position: position.0 + half_span, velocity: body.velocity(), radius }
}

/// What an agent chose.
struct Choice {
    velocity: Vec2,
    crowding: Crowding,
}

/// What an agent sees.
struct Surroundings<'a> {
    crowd: &'a Crowd,
    /// That of the class of the agent.
    terrain: &'a Terrain,
    seconds: f32,
    half_span: f32,
}

impl Surroundings<'_> {
    fn choose(&self, number: u64, position: Position, speed: f32, body: &Avoid) -> Choice {
        let standing = Choice { velocity: Vec2::ZERO, crowding: Crowding::None };
        let speed = speed.max(0.0);
        // False for what is not a number as well.
        let may_move = self.seconds > 0.0 && speed > 0.0 && speed.is_finite();
        if !may_move {
            return standing;
        }
        let own = disc(position, body, self.half_span);
        let goal = body.goal + self.half_span;
        let mut planes = Planes::default();
        let (grid, radius) = (self.terrain.grid(), body.radius());
        half_planes(grid, position.0, radius, self.seconds, speed, |plane| planes.add(plane));
        let hard_count = planes.count;
        let (mut touches_crowd, mut is_taken) = (false, false);
        let is_at_rest = body.is_at_rest();
        let mut wish = body.wish + Vec2::new(-body.wish.y, body.wish.x) * KEEP_RIGHT;
        for other in self.crowd.neighbours(own.position, number).iter() {
            let gap = own.position.distance(other.disc.position) - own.radius - other.disc.radius;
            let side = if number < other.number { Vec2::X } else { Vec2::NEG_X };
            if other.is_obstacle {
                planes.add(half_plane(&own, &other.disc, 1.0, side, self.seconds));
                continue;
            }
            let has_same_goal = is_same_cell(other.goal, body.goal);
            if gap < TOUCH && other.is_at_rest {
                let beside_goal = other.disc.position.distance(goal);
                touches_crowd |= has_same_goal;
                is_taken |= beside_goal < own.radius + other.disc.radius;
            }
            if gap < TOUCH && is_at_rest && other.is_blocked && !has_same_goal {
                let away = (own.position - other.disc.position).normalize_or(side);
                wish = away * (speed * MAKE_WAY_SPEED);
            }
            if (body.is_squeezing() || other.is_squeezing)
                && (is_at_rest || other.is_at_rest || leads_elsewhere(body.wish, other.wish))
                && !(has_same_goal && (is_at_rest || other.is_at_rest))
            {
                continue;
            }
            let share = match (is_at_rest, other.is_at_rest) {
                (true, false) if has_same_goal => SHARE_AT_REST,
                (false, true) if has_same_goal => 1.0 - SHARE_AT_REST,
                _ => 0.5,
            };
            let plane = half_plane(&own, &other.disc, share, side, self.seconds);
            // Most leave all velocities that there are.
            if plane.violation(Vec2::ZERO) > -speed {
                planes.add(plane);
            }
        }
        let velocity = nearest(&planes.list[..planes.count], hard_count, speed, wish);
        // By rounding it may be a little more.
        let velocity = velocity.clamp_length_max(speed);
        let crowding = match touches_crowd {
            _ if is_taken => Crowding::Within,
            false => Crowding::None,
            true if self.is_within_crowd(&own, body.goal, goal) => Crowding::Within,
            true => Crowding::Outside,
        };
        Choice { velocity, crowding }
    }

    /// Whether a body is as near to its goal as those who rest there need for themselves.
    fn is_within_crowd(&self, own: &Disc, goal: Vec2, middle: Vec2) -> bool {
        let count = u16::try_from(self.crowd.count_at_rest(goal)).unwrap_or(u16::MAX);
        // Squares of the width of a body, around the goal.
        let reach = own.radius * 2.0 * (f32::from(count) + 1.0).sqrt() / PI.sqrt();
        own.position.distance(middle) < reach * CROWD_LOOSENESS + own.radius
    }
}

/// Whether a cell is of a corridor of one cell, where others cannot make room.
fn is_narrow(grid: &Grid, cell: Cell) -> bool {
    let is_wall =
        |direction: Direction| direction.step(cell).is_none_or(|beside| !grid.is_open(beside));
    (is_wall(Direction::North) && is_wall(Direction::South))
        || (is_wall(Direction::West) && is_wall(Direction::East))
}

/// Whether two wishes lead apart by more than sixty degrees. Those who go the same way queue.
fn leads_elsewhere(wish: Vec2, other: Vec2) -> bool {
    wish.dot(other) < 0.5 * wish.length() * other.length()
}

fn is_same_cell(a: Vec2, b: Vec2) -> bool {
    Cell::containing(a).is_some_and(|cell| Cell::containing(b) == Some(cell))
}

/// The constraints of one agent.
struct Planes {
    list: [HalfPlane; PLANE_COUNT_MAX],
    count: usize,
}

impl Default for Planes {
    fn default() -> Self {
        let all = HalfPlane { point: Vec2::ZERO, direction: Vec2::X };
        Self { list: [all; PLANE_COUNT_MAX], count: 0 }
    }
}

impl Planes {
    fn add(&mut self, plane: HalfPlane) {
        self.list[self.count] = plane;
        self.count += 1;
    }
}
