//! A world with terrain and agents that lives tick by tick.

use formic_ecs::{Entity, World};
use formic_jobs::{Pool, Schedule, Threads};
use formic_nav::{
    Grid, MoveRule, PathRequest, PathStats, Position, RequestStatus, SearchBudget, SearchReport,
    Terrain, TimeStep, systems,
};
use glam::Vec2;

pub(crate) struct Sim {
    pub(crate) world: World,
    pub(crate) schedule: Schedule,
    pub(crate) pool: Pool,
}

impl Sim {
    /// A world of the systems of this crate alone, on the calling thread.
    pub(crate) fn new(grid: Grid) -> Self {
        Self::on(grid, MoveRule::default(), Threads::None)
    }

    pub(crate) fn on(grid: Grid, rule: MoveRule, threads: Threads) -> Self {
        let mut world = World::new();
        systems::insert_resources(&mut world, Terrain::new(grid, rule));
        let schedule = systems::add(Schedule::builder()).build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(threads).unwrap() }
    }

    /// A map in rows of `.` and `@`.
    pub(crate) fn of(rows: &[&str]) -> Self {
        let is_open = |cell: formic_nav::Cell| {
            rows[usize::from(cell.y)].as_bytes()[usize::from(cell.x)] == b'.'
        };
        let size = (rows[0].len(), rows.len());
        let side = |length: usize| u32::try_from(length).unwrap();
        Self::new(Grid::from_fn(side(size.0), side(size.1), is_open).unwrap())
    }

    pub(crate) fn tick(&mut self) {
        let report = self.schedule.run(&mut self.world, &self.pool);
        assert!(report.failures.is_empty(), "{report:?}");
    }

    pub(crate) fn ticks(&mut self, count: usize) {
        (0..count).for_each(|_| self.tick());
    }

    /// Ticks until something holds, but no more than this many.
    pub(crate) fn ticks_until(&mut self, count_max: usize, holds: impl Fn(&Self) -> bool) {
        for _ in 0..count_max {
            if holds(self) {
                return;
            }
            self.tick();
        }
    }

    pub(crate) fn spawn(&mut self, x: f32, y: f32, speed: f32) -> Entity {
        self.world.spawn(systems::agent(Vec2::new(x, y), speed))
    }

    pub(crate) fn ask(&mut self, agent: Entity, x: f32, y: f32) {
        self.world.get_mut::<PathRequest>(agent).unwrap().ask(Vec2::new(x, y));
    }

    pub(crate) fn status(&self, agent: Entity) -> RequestStatus {
        self.world.get::<PathRequest>(agent).unwrap().status()
    }

    pub(crate) fn position(&self, agent: Entity) -> Vec2 {
        self.world.get::<Position>(agent).unwrap().0
    }

    pub(crate) fn stats(&self, agent: Entity) -> PathStats {
        *self.world.get::<PathStats>(agent).unwrap()
    }

    /// The sum of a count over some agents.
    pub(crate) fn total(&self, agents: &[Entity], count: fn(&PathStats) -> u32) -> u32 {
        agents.iter().map(|&agent| count(&self.stats(agent))).sum()
    }

    pub(crate) fn report(&self) -> SearchReport {
        *self.world.resource::<SearchReport>().unwrap()
    }

    pub(crate) fn terrain(&self) -> &Terrain {
        self.world.resource().unwrap()
    }

    pub(crate) fn terrain_mut(&mut self) -> &mut Terrain {
        self.world.resource_mut().unwrap()
    }

    pub(crate) fn set_time_step(&mut self, seconds: f32) {
        self.world.insert_resource(TimeStep { seconds });
    }

    pub(crate) fn set_budget(&mut self, expansions: u64) {
        self.world.insert_resource(SearchBudget { expansions });
    }
}
