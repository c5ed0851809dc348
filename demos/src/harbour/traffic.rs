//! The traffic of the harbour: carts on their tracks, and all others on errands.

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Bundle, Component, RandomStream};
use formic_jobs::{Query, Res};
use formic_nav::{Cell, ClassId, Obstacle, PathRequest, Position, Terrain, TimeStep};
use glam::Vec2;

use super::map::somewhere;

/// The two ends of each cart's track: along the quay, into a door, and a barrel in the gap of the
/// breakwater.
pub(super) const CARTS: [[Cell; 2]; 3] = [
    [Cell::new(14, 9), Cell::new(46, 9)],
    [Cell::new(28, 9), Cell::new(28, 12)],
    [Cell::new(22, 6), Cell::new(22, 3)],
];
/// In cells per second.
const CART_SPEED: f32 = 1.5;
/// How long a cart stands, in seconds.
const CART_REST: f32 = 6.0;
/// How long an agent rests between two errands, in seconds.
const RESTS: (f32, f32) = (1.0, 4.0);

/// A cart, which is not an agent and rolls back and forth.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Cart {
    from: Vec2,
    to: Vec2,
    rest_seconds: f32,
}

pub(super) fn cart(from: Cell, to: Cell) -> impl Bundle {
    let [from, to] = [from, to].map(Cell::centre);
    (Cart { from, to, rest_seconds: CART_REST }, Position(from), Obstacle::new(0.9))
}

/// Moves the carts.
pub(super) fn haul(mut carts: Query<(&mut Cart, &mut Position)>, step: Res<TimeStep>) {
    carts.for_each(|(cart, position)| {
        if cart.rest_seconds > 0.0 {
            cart.rest_seconds -= step.seconds;
            return;
        }
        position.0 = position.0.move_towards(cart.to, CART_SPEED * step.seconds);
        if position.0 == cart.to {
            cart.rest_seconds = CART_REST;
            std::mem::swap(&mut cart.from, &mut cart.to);
        }
    });
}

/// Sends an agent to one place after another, each a random one where its class can be.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Errand {
    random_state: u64,
    /// The goal of the current or the last errand.
    goal: Vec2,
    rest_seconds: f32,
    /// The number of ticks since it began.
    ticks: u32,
    ticks_max: u32,
    unused: u32,
}

impl Errand {
    pub(super) fn new(mut random: RandomStream) -> Self {
        let rest_seconds = random.between(0.0, RESTS.1);
        let random_state = random.state();
        Self { random_state, goal: Vec2::ZERO, rest_seconds, ticks: 0, ticks_max: 0, unused: 0 }
    }

    pub(super) fn goal(&self) -> Vec2 {
        self.goal
    }

    /// Returns how much longer the agent rests, in seconds.
    pub(super) fn rest_seconds(&self) -> f32 {
        self.rest_seconds
    }

    /// Returns how long the longest errand has taken so far, in ticks.
    pub(super) fn ticks_max(&self) -> u32 {
        self.ticks_max
    }
}

/// Lets agents rest after an errand, and then sends them to another place. If there is no path, they wait
/// for as long as they rest.
pub(super) fn send(
    mut agents: Query<(&mut Errand, &mut PathRequest, &ClassId)>,
    terrain: Res<Terrain>,
    step: Res<TimeStep>,
) {
    agents.par_for_each(|(errand, request, &class)| {
        if !request.status().is_at_rest() {
            errand.ticks += 1;
            errand.ticks_max = errand.ticks_max.max(errand.ticks);
            return;
        }
        errand.ticks = 0;
        errand.rest_seconds -= step.seconds;
        if errand.rest_seconds > 0.0 {
            return;
        }
        let mut random = RandomStream::new(errand.random_state);
        let ground = terrain.for_class(class).expect("every kind has a class");
        if let Some(cell) = somewhere(ground, &mut random) {
            errand.goal = cell.centre();
            request.ask(errand.goal).keep_trying();
        }
        errand.rest_seconds = random.between(RESTS.0, RESTS.1);
        errand.random_state = random.state();
    });
}
