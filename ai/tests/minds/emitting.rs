//! Actions that put commands and events somewhere: the same on any number of threads.

use std::sync::Mutex;

use formic_ai::action::{self, Ended, WideProcessor};
use formic_ai::prelude::*;
use formic_ecs::CommandBuffer;
use formic_jobs::{GatherSlot, ParallelSink};

/// An action that fires so many shots, one per tick.
#[derive(Component, Clone)]
struct Fire {
    shots: u32,
    left: u32,
}

/// Spreads the actions over archetypes, and is handed to the processor.
#[derive(Component, Clone)]
struct Calibre(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Bullet {
    by: Entity,
    calibre: u32,
    shot: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Noise(Bullet);

/// What was heard, in order.
#[derive(Default)]
struct Heard(Vec<Bullet>);

struct Firing;

/// Where a shot goes.
trait Out {
    fn put(&mut self, bullet: Bullet);
}

impl Out for CommandBuffer {
    fn put(&mut self, bullet: Bullet) {
        self.spawn(bullet);
    }
}

impl Out for GatherSlot<Noise> {
    fn put(&mut self, bullet: Bullet) {
        self.send(Noise(bullet));
    }
}

fn shot(agent: Agent<'_>, fire: &Fire, calibre: &Calibre) -> Bullet {
    Bullet { by: agent.entity, calibre: calibre.0, shot: fire.shots - fire.left }
}

impl<O: Out> WideProcessor<&'static Calibre, O> for Firing {
    type Action = Fire;

    fn start(&self, _: Agent<'_>, fire: &mut Fire, _: &Calibre, _: &mut O) -> ActionResult {
        fire.left = fire.shots;
        ActionResult::Running
    }

    fn update(
        &self,
        agent: Agent<'_>,
        fire: &mut Fire,
        calibre: &Calibre,
        out: &mut O,
    ) -> ActionResult {
        out.put(shot(agent, fire, calibre));
        fire.left -= 1;
        if fire.left == 0 { ActionResult::Success } else { ActionResult::Running }
    }

    /// The last one, whatever ends it.
    fn cleanup(&self, agent: Agent<'_>, fire: &mut Fire, calibre: &Calibre, _: Ended, out: &mut O) {
        out.put(shot(agent, fire, calibre));
    }
}

fn by_commands(mut actions: Actions<Fire, &'static Calibre>, mut commands: Commands) {
    actions.with(&mut commands).process(&Firing);
}

fn by_events(mut actions: Actions<Fire, &'static Calibre>, mut noises: EventWriter<Noise>) {
    actions.with(&mut noises).process(&Firing);
}

fn hear(mut noises: EventReader<Noise>, mut heard: ResMut<Heard>) {
    heard.0.extend(noises.read().map(|noise| noise.0));
}

const AGENTS: u32 = 700;

/// Bullets in the order of their entities, and what was heard, after eight ticks.
fn play(threads: Threads, with_events: bool) -> (Vec<Bullet>, Vec<Bullet>) {
    let mut world = World::new();
    world.insert_resource(Heard::default());
    let agents: Vec<Entity> = (0..AGENTS)
        .map(|it| {
            let fire = Fire { shots: 1 + it % 5, left: 0 };
            Sequence::new().then_with(fire, Calibre(it % 7)).spawn(&mut world, ()).unwrap()
        })
        .collect();
    let schedule = action::add(Schedule::builder());
    let schedule = match with_events {
        true => schedule.add(by_events.as_action()).add(hear.after(by_events)),
        false => schedule.add(by_commands.as_action()),
    };
    let mut schedule = schedule.build(&mut world).unwrap();
    assert_eq!(schedule.ambiguities(), []);
    let pool = Pool::new(threads).unwrap();
    for tick in 0..8 {
        if tick == 6 {
            // Those that go in the middle of it fire once more as they are cleaned up.
            agents.iter().step_by(3).for_each(|&agent| world.despawn(agent).unwrap());
        }
        let report = schedule.run(&mut world, &pool);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    }
    let mut bullets: Vec<(Entity, Bullet)> =
        world.query::<(Entity, &Bullet)>().map(|(entity, &bullet)| (entity, bullet)).collect();
    bullets.sort_unstable();
    let bullets = bullets.into_iter().map(|(_, bullet)| bullet).collect();
    (bullets, std::mem::take(&mut world.resource_mut::<Heard>().unwrap().0))
}

#[test]
fn what_actions_put_somewhere_does_not_depend_on_threads() {
    for with_events in [false, true] {
        let alone = play(Threads::None, with_events);
        let put = if with_events { &alone.1 } else { &alone.0 };
        assert!(put.len() > 4_000, "{}", put.len());
        for count in 1..=3 {
            assert!(play(Threads::Own(count), with_events) == alone, "{count} workers");
        }
    }
}

/// How many actions of a chunk were announced, and how many were carried out since.
#[derive(Default)]
struct Window {
    announced: usize,
    carried: usize,
}

/// Something of a user's own to write to: what is prepared for a chunk is there for its actions.
#[derive(Default)]
struct Windows(Vec<Mutex<Window>>);

impl ParallelSink for Windows {
    type Slot = Window;

    fn begin_loop(&mut self, batch_count: usize) {
        self.0.resize_with(batch_count, Mutex::default);
    }

    fn with_slot<R>(&self, _: usize, batch: usize, body: impl FnOnce(&mut Window) -> R) -> R {
        body(&mut self.0[batch].lock().unwrap())
    }
}

#[test]
fn what_is_prepared_for_a_chunk_is_there_for_its_actions() {
    fn count(mut actions: Actions<Fire>, mut windows: ResMut<Windows>) {
        let actions = actions.with(&mut *windows);
        actions.before_chunk(|chunk, window| window.announced += chunk.action_count).update(
            |_, _, window| {
                assert!(window.carried < window.announced, "it was prepared before");
                window.carried += 1;
                ActionResult::Success
            },
        );
    }
    for threads in [Threads::None, Threads::Own(3)] {
        let mut world = World::new();
        for number in 0..3000 {
            let fire = Sequence::new().then_with(Fire { shots: 1, left: 0 }, Calibre(number));
            fire.spawn(&mut world, ()).unwrap();
        }
        world.insert_resource(Windows::default());
        let mut schedule =
            action::add(Schedule::builder()).add(count.as_action()).build(&mut world).unwrap();
        schedule.run(&mut world, &Pool::new(threads).unwrap());
        let Windows(windows) = world.remove_resource().unwrap();
        let windows: Vec<Window> = windows.into_iter().map(|it| it.into_inner().unwrap()).collect();
        assert!(windows.len() > 1 && windows.iter().all(|it| it.announced == it.carried));
        assert_eq!(windows.iter().map(|it| it.carried).sum::<usize>(), 3000);
    }
}
