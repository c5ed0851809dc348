//! Wandering: the motion of agents without a goal.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Component, RandomStream};
use formic_jobs::{Query, Res};
use glam::Vec2;

use crate::agent::{Position, TimeStep};
use crate::class::ClassId;
use crate::request::PathRequest;
use crate::terrain::Terrain;

/// The duration of a rest between two walks, in seconds.
const PAUSE_SECONDS: f32 = 3.0;
/// The position of goals in their cell, from its north-western corner.
const GOAL_OFFSETS: (f32, f32) = (0.2, 0.8);

/// Makes an agent wander: it rests, walks to a random place in its region, and rests again, forever.
///
/// Every wanderer has a random stream of its own, so where it goes depends neither on the other agents
/// nor on the order in which they are visited.
///
/// ```
/// use formic_ecs::RandomStream;
/// let world_stream = RandomStream::new(7);
/// let wanderers: Vec<_> = (0..2).map(|i| formic_nav::Wander::new(world_stream.fork(i))).collect();
/// assert_ne!(wanderers[0], wanderers[1]);
/// ```
#[derive(Component, Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Wander {
    random_state: u64,
    rest_seconds: f32,
    pause_seconds: f32,
}

impl Wander {
    /// Creates a wanderer that rests for three seconds between walks. It first sets off after a random
    /// part of that, so that agents spawned together do not all move and search together.
    #[must_use]
    pub fn new(stream: RandomStream) -> Self {
        Self::with_pause(stream, PAUSE_SECONDS)
    }

    /// Like [`Wander::new`], with a rest of `pause_seconds`.
    #[must_use]
    pub fn with_pause(mut stream: RandomStream, pause_seconds: f32) -> Self {
        let rest_seconds = stream.between(0.0, pause_seconds);
        Self { random_state: stream.state(), rest_seconds, pause_seconds }
    }

    /// The seconds that this agent goes on resting. They count down while the request of the agent is at
    /// rest.
    #[must_use]
    pub const fn rest_seconds(&self) -> f32 {
        self.rest_seconds
    }

    /// Chooses a place in the region of the agent; all cells are equally likely. Returns `None` in a
    /// solid cell, which has no region.
    fn choose(&mut self, terrain: &Terrain, position: Position) -> Option<Vec2> {
        let region = terrain.region(position.cell()?)?;
        let mut stream = RandomStream::new(self.random_state);
        let cell = terrain.regions().random_cell(region, stream.next_u64())?;
        let (low, high) = GOAL_OFFSETS;
        let offset = Vec2::new(stream.between(low, high), stream.between(low, high));
        self.random_state = stream.state();
        Some(Vec2::new(cell.x.into(), cell.y.into()) + offset)
    }
}

/// Lets wanderers rest, and then choose their next goal.
///
/// An unreachable goal counts as reached: the agent rests and chooses another.
pub fn wander(
    mut agents: Query<(&Position, &mut Wander, &mut PathRequest, Option<&ClassId>)>,
    terrain: Res<Terrain>,
    step: Res<TimeStep>,
) {
    agents.par_for_each(|(position, wander, request, class)| {
        if !request.status().is_at_rest() {
            return;
        }
        wander.rest_seconds -= step.elapsed();
        if wander.rest_seconds > 0.0 {
            return;
        }
        wander.rest_seconds = wander.pause_seconds;
        if let Some(goal) =
            wander.choose(terrain.for_agents(class.copied().unwrap_or_default()), *position)
        {
            request.ask(goal);
        }
    });
}
