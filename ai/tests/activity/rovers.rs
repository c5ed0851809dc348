//! A crowd whose activities are plain data: they wait for each other, for the clock and for posts,
//! by a stream of random numbers of their own.

use std::borrow::Cow;

use bytemuck::{Pod, Zeroable};
use formic_ai::activity::{
    self, Activities, Activity, ActivityDomain, ActivitySlot, Blocking, Effects, Ending, Event,
    EventKinds, Notice, Posted, Response, Status, Tick, Token,
};
use formic_ai::prelude::*;
use formic_ecs::{Codec, HashRule};

/// A happening of a kind.
pub(crate) struct Ping(pub(crate) u32);

impl Event for Ping {
    fn kind(&self) -> EventKinds {
        EventKinds::one(self.0)
    }
}

pub(crate) enum Moon {}

impl ActivityDomain for Moon {
    type World<'w> = ComponentLookup<'w, &'static Rock>;
    type Event = Ping;
    type Failure = u32;
}

/// Something that is counted up, and posts as it is.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Rock {
    count: u32,
    token: u32,
    asked_by: u64,
}

/// What all rovers know: the rocks, which all get the same entities in every world.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Rover {
    random: u64,
    /// Of everything that has been heard, in its order.
    heard: u64,
    rocks: u64,
}

impl Rover {
    fn next(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(12_345);
        (self.random >> 33) % below
    }

    fn hear(&mut self, what: u64) {
        self.heard = (self.heard ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7);
    }
}

/// A rock by its number: they are spawned first, into an empty world, and never despawned.
pub(crate) fn rock(number: u64) -> Entity {
    Entity::from_bits(1 << 32 | number).unwrap()
}

impl Activity for Rover {
    type Domain = Moon;
    const HASH: HashRule<Self> = HashRule::Bytes(|rovers| bytemuck::cast_slice(rovers));
    const CODEC: Codec<Self> = Codec::plain();

    fn name(&self) -> Cow<'_, str> {
        "roving".into()
    }

    fn on_tick(
        &mut self,
        tick: &mut Tick<'_, Moon>,
        world: &ComponentLookup<'_, &'static Rock>,
    ) -> Status<u32> {
        if tick.subscriptions().len() > 3 {
            let token = tick.subscriptions()[0].token(tick.task());
            tick.unsubscribe(token);
        }
        let rock = rock(self.next(self.rocks));
        self.hear(world.get(rock).unwrap().count.into());
        match self.next(12) {
            0..4 => _ = tick.subscribe(rock, EventKinds::one(0) | EventKinds::one(1)),
            4..8 => _ = tick.wake_after(self.next(20)),
            8 => tick.post(Posted::about(rock, Ping(1))),
            9 => {
                let token = tick.subscribe(rock, EventKinds::one(2));
                let request = (token.task(), token.number());
                tick.commands().run(move |world| {
                    if let Ok(rock) = world.get_mut::<Rock>(rock) {
                        (rock.asked_by, rock.token) = (request.0.to_bits(), request.1);
                    }
                });
            }
            10 if self.next(4) == 0 => {
                return Status::Finished(match self.next(3) {
                    0 => Ending::Success,
                    1 => Ending::Failed(5),
                    _ => Ending::Interrupted,
                });
            }
            _ => {}
        }
        if self.next(3) == 0 { Status::Ongoing } else { Status::Blocked }
    }

    fn on_event(&mut self, notice: Notice<'_, Ping>, subject: Entity) -> Response {
        let what = match notice {
            Notice::Event(ping, _) => 10 + u64::from(ping.0),
            Notice::Died(_) => 1,
            Notice::Time(_) => 2,
            _ => unreachable!("nothing is missed"),
        };
        self.hear(what << 32 | u64::from(subject.index()));
        match self.next(4) {
            0 => Response::WAKE,
            1 => Response::SLEEP.unsubscribe(),
            2 => Response::WAKE.unsubscribe_all(),
            _ => Response::SLEEP,
        }
    }

    fn on_finish(
        self,
        ending: &Ending<u32>,
        effects: &mut Effects<'_, Moon>,
        _: &ComponentLookup<'_, &'static Rock>,
    ) {
        let agent = effects.agent();
        effects.commands().insert(agent, Heard(self.heard, ending.how() as u64));
    }
}

/// What an activity that has ended had heard.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Heard(u64, u64);

/// Which tick it is; the host's to save.
pub(crate) struct Now(pub(crate) u64);

fn think(
    mut minds: Query<(Entity, &mut ActivitySlot<Rover>, EnabledMut<Blocking>)>,
    now: Res<Now>,
) {
    let rocks = 50;
    minds.par_for_each(|(agent, slot, mut blocking)| {
        let random = (now.0 * 7 + u64::from(agent.index())).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let priority = (random >> 60) as u32;
        if slot.takes(priority) {
            _ = slot.propose(priority, Rover { random, heard: 0, rocks }, &mut blocking);
        }
    });
}

fn live(activities: Activities<Rover>, rocks: ComponentLookup<&'static Rock>, now: Res<Now>) {
    activities.run(now.0, &rocks);
}

fn weather(
    mut rocks: Query<(Entity, &mut Rock)>,
    mut posts: EventWriter<Posted<Ping>>,
    now: Res<Now>,
) {
    rocks.par_for_each_with(&mut posts, |(entity, rock), posts| {
        if (now.0 + u64::from(entity.index())) % 3 == 0 {
            rock.count += 1;
            posts.send(Posted::about(entity, Ping(0)));
        }
        if let Some(task) = Entity::from_bits(std::mem::take(&mut rock.asked_by)) {
            posts.send(Posted::about(entity, Ping(2)).answering(Token::new(task, rock.token)));
        }
    });
}

/// A world of rovers on a pool.
pub(crate) struct Crowd {
    pub(crate) world: World,
    schedule: Schedule,
    pool: Pool,
}

impl Crowd {
    pub(crate) fn new(threads: Threads, agents: u64) -> Self {
        let mut world = World::new();
        world.insert_resource(Now(0));
        world.register::<Heard>();
        for number in 0..50 {
            let spawned = world.spawn(Rock { count: 0, token: 0, asked_by: 0 });
            assert_eq!(spawned, rock(number));
        }
        for _ in 0..agents {
            world.spawn(activity::idle::<Rover>());
        }
        let systems = (think.every(10).staggered(), live, weather, activity::deliver::<Rover>);
        let schedule = Schedule::builder().add(systems).build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(threads).unwrap() }
    }

    pub(crate) fn tick(&mut self) -> u64 {
        self.world.resource_mut::<Now>().unwrap().0 += 1;
        let run = self.schedule.run(&mut self.world, &self.pool);
        assert!(run.failures.is_empty(), "{:?}", run.failures);
        activity::check::<Rover>(&self.world).unwrap();
        self.world.state_hash().value()
    }
}
