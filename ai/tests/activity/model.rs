//! Random crowds beside an oracle that knows the rules of a tick and nothing else.
#![expect(clippy::cast_possible_truncation, reason = "the numbers are below a few")]

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use formic_ai::activity::{
    self, Activities, Activity, ActivityDomain, ActivitySlot, Blocking, Effects, Ending, Event,
    EventKinds, Notice, Posted, Response, State, Status, Tick,
};
use formic_ai::prelude::*;
use formic_ecs::HashRule;

/// What one activity has been through, line by line; all of an agent's share one.
type Log = Arc<Mutex<Vec<String>>>;
type Outcome = Status<u64>;

struct Ping(u32);

impl Event for Ping {
    fn kind(&self) -> EventKinds {
        EventKinds::one(self.0)
    }
}

enum Play {}

impl ActivityDomain for Play {
    type World<'w> = Res<'w, Cast>;
    type Event = Ping;
    type Failure = u64;
}

/// All entities, by number; they may be dead.
struct Cast(Vec<Entity>);

/// One thing to do in a tick.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Subscribe(usize, u64),
    Timer(u64),
    /// Of its subscriptions, the one in this place.
    Unsubscribe(usize),
    UnsubscribeAll,
    Post(usize, u32),
}

/// What is decided, by actor and oracle alike, from a stream of random numbers.
#[derive(Clone)]
struct Role {
    random: RandomStream,
    cast: u64,
}

impl Role {
    fn deeds(&mut self) -> (Vec<Deed>, Outcome) {
        let random = &mut self.random;
        let someone = |random: &mut RandomStream, cast| random.below(cast) as usize;
        let deeds = (0..random.below(4))
            .map(|_| match random.below(8) {
                0..3 => Deed::Subscribe(someone(random, self.cast), random.below(16)),
                3 => Deed::Timer(random.below(6)),
                4 => Deed::Unsubscribe(someone(random, 4)),
                5 if random.below(3) == 0 => Deed::UnsubscribeAll,
                _ => Deed::Post(someone(random, self.cast), random.below(4) as u32),
            })
            .collect();
        let verdict = match random.below(10) {
            0 => Status::Finished(Ending::Success),
            1 => Status::Finished(Ending::Failed(random.below(9))),
            2..5 => Status::Ongoing,
            _ => Status::Blocked,
        };
        (deeds, verdict)
    }

    fn response(&mut self) -> Response {
        match self.random.below(6) {
            0 => Response::WAKE,
            1 => Response::WAKE.unsubscribe(),
            2 => Response::SLEEP.unsubscribe(),
            3 => Response::SLEEP.unsubscribe_all(),
            _ => Response::SLEEP,
        }
    }
}

struct Actor {
    role: Role,
    log: Log,
}

impl Activity for Actor {
    type Domain = Play;
    const HASH: HashRule<Self> = HashRule::Unhashed;

    fn name(&self) -> Cow<'_, str> {
        "acting".into()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Play>, cast: &Res<Cast>) -> Outcome {
        self.log.lock().unwrap().push("ticks".into());
        let (deeds, verdict) = self.role.deeds();
        for deed in deeds {
            match deed {
                Deed::Subscribe(whom, bits) => {
                    let kinds = (0..4).filter(|kind| bits >> kind & 1 == 1).map(EventKinds::one);
                    let kinds = kinds.fold(EventKinds::NONE, |all, kind| all | kind);
                    tick.subscribe(cast.0[whom], kinds);
                }
                Deed::Timer(ticks) => _ = tick.wake_after(ticks),
                Deed::Unsubscribe(place) => {
                    let task = tick.task();
                    if let Some(token) = tick.subscriptions().get(place).map(|it| it.token(task)) {
                        assert!(tick.unsubscribe(token));
                    }
                }
                Deed::UnsubscribeAll => tick.unsubscribe_all(),
                Deed::Post(whom, kind) => tick.post(Posted::about(cast.0[whom], Ping(kind))),
            }
        }
        verdict
    }

    fn on_event(&mut self, notice: Notice<'_, Ping>, subject: Entity) -> Response {
        self.log.lock().unwrap().push(match notice {
            Notice::Event(ping, _) => format!("hears {} of {subject}", ping.0),
            Notice::Died(_) => format!("hears that {subject} died"),
            Notice::Time(_) => "hears the clock".into(),
            _ => unreachable!("nothing is missed"),
        });
        self.role.response()
    }

    fn on_finish(self, ending: &Ending<u64>, _: &mut Effects<'_, Play>, _: &Res<Cast>) {
        self.log.lock().unwrap().push(format!("{ending:?}"));
    }
}

/// A subscription as the oracle has it: to kinds about a subject, or until a tick.
#[derive(Clone, Copy)]
struct Wait {
    whom: usize,
    bits: u64,
    due: Option<u64>,
    number: u32,
}

#[derive(Default)]
struct Player {
    role: Option<Role>,
    next: Option<Option<Role>>,
    waits: Vec<Wait>,
    newest: u32,
    blocked: bool,
    log: Vec<String>,
}

/// What the oracle tells of.
#[derive(Clone, Copy)]
enum Told {
    Event(u32),
    Died,
    Time,
}

/// Who does what, by the rules alone.
struct Oracle {
    names: Vec<Entity>,
    alive: Vec<bool>,
    /// By number; things have none.
    players: Vec<Option<Player>>,
    posts: Vec<(usize, u32)>,
}

impl Oracle {
    fn tell(&mut self, player: usize, number: u32, told: Told) {
        let Some(it) = &mut self.players[player] else { return };
        let Some(place) = it.waits.iter().position(|wait| wait.number == number) else { return };
        let whom = self.names[it.waits[place].whom];
        it.log.push(match told {
            Told::Event(kind) => format!("hears {kind} of {whom}"),
            Told::Died => format!("hears that {whom} died"),
            Told::Time => "hears the clock".into(),
        });
        let response = it.role.as_mut().unwrap().response();
        let ends = response == Response::WAKE.unsubscribe()
            || response == Response::SLEEP.unsubscribe()
            || !matches!(told, Told::Event(_));
        if ends {
            it.waits.remove(place);
        }
        if response == Response::SLEEP.unsubscribe_all() {
            it.waits.clear();
        }
        let wakes = response == Response::WAKE || response == Response::WAKE.unsubscribe();
        if wakes || matches!(told, Told::Died) || it.waits.is_empty() {
            it.blocked = false;
        }
    }

    /// All that are in the play and match, as pairs of player and number.
    fn waiting(&self, matches: impl Fn(&Wait) -> bool) -> Vec<(usize, Wait)> {
        let players = self.players.iter().enumerate();
        let alive = players.filter(|(player, _)| self.alive[*player]);
        alive
            .filter_map(|(player, it)| Some((player, it.as_ref()?)))
            .flat_map(|(player, it)| it.waits.iter().map(move |&wait| (player, wait)))
            .filter(|(_, wait)| matches(wait))
            .collect()
    }

    /// One tick; `order` is the players in the order of their rows.
    fn tick(&mut self, now: u64, order: &[usize]) {
        for (whom, kind) in std::mem::take(&mut self.posts) {
            let is_it = |it: &Wait| it.due.is_none() && it.whom == whom && it.bits >> kind & 1 == 1;
            for (player, wait) in self.waiting(is_it) {
                self.tell(player, wait.number, Told::Event(kind));
            }
        }
        for (player, wait) in self.waiting(|it| it.due.is_none() && !self.alive[it.whom]) {
            self.tell(player, wait.number, Told::Died);
        }
        let mut due = self.waiting(|it| it.due.is_some_and(|due| due <= now));
        due.sort_by_key(|(player, wait)| (*player, wait.due, wait.number));
        for (player, wait) in due {
            self.tell(player, wait.number, Told::Time);
        }
        for player in 0..self.players.len() {
            if !self.alive[player] {
                self.finish(player, "Interrupted");
                self.players[player].iter_mut().for_each(|it| it.next = None);
            }
        }
        for &player in order {
            self.act(player, now);
        }
    }

    fn finish(&mut self, player: usize, ending: &str) {
        let Some(it) = &mut self.players[player] else { return };
        if it.role.take().is_some() {
            it.waits.clear();
            it.log.push(ending.into());
        }
    }

    fn act(&mut self, player: usize, now: u64) {
        if let Some(next) = self.players[player].as_mut().unwrap().next.take() {
            self.finish(player, "Interrupted");
            let it = self.players[player].as_mut().unwrap();
            (it.role, it.blocked) = (next, false);
        }
        let it = self.players[player].as_mut().unwrap();
        if it.blocked {
            return;
        }
        let Some(role) = &mut it.role else { return };
        it.log.push("ticks".into());
        let (deeds, verdict) = role.deeds();
        for deed in deeds {
            let mut wait = |whom, bits, due| {
                it.newest += 1;
                it.waits.push(Wait { whom, bits, due, number: it.newest });
            };
            match deed {
                Deed::Subscribe(whom, bits) => wait(whom, bits, None),
                Deed::Timer(ticks) => wait(player, 0, Some(now + ticks.max(1))),
                Deed::Unsubscribe(place) if place < it.waits.len() => _ = it.waits.remove(place),
                Deed::Unsubscribe(_) => {}
                Deed::UnsubscribeAll => it.waits.clear(),
                Deed::Post(whom, kind) => self.posts.push((whom, kind)),
            }
        }
        match verdict {
            Status::Ongoing => {}
            Status::Blocked => it.blocked = !it.waits.is_empty(),
            Status::Finished(ending) => self.finish(player, &format!("{ending:?}")),
        }
    }
}

struct Now(u64);

fn live(activities: Activities<Actor>, cast: Res<Cast>, now: Res<Now>) {
    activities.run(now.0, &cast);
}

fn play(seed: u64, threads: Threads) {
    const THINGS: usize = 6;
    const CAST: usize = THINGS + 12;
    let mut random = RandomStream::new(seed);
    let mut world = World::new();
    world.insert_resource(Now(0));
    world.insert_resource(Events::<Posted<Ping>>::default());
    let names: Vec<Entity> =
        (0..CAST)
            .map(|number| {
                if number < THINGS {
                    world.spawn(())
                } else {
                    world.spawn(activity::idle::<Actor>())
                }
            })
            .collect();
    world.insert_resource(Cast(names.clone()));
    let logs: Vec<Log> = names.iter().map(|_| Log::default()).collect();
    let players = (0..CAST).map(|it| (it >= THINGS).then(Player::default)).collect();
    let mut oracle = Oracle { names, alive: vec![true; CAST], players, posts: Vec::new() };
    let mut schedule = Schedule::builder().add(live).build(&mut world).unwrap();
    let pool = Pool::new(threads).unwrap();
    for now in 1..60 {
        for _ in 0..random.below(5) {
            let whom = random.below(CAST as u64) as usize;
            let name = oracle.names[whom];
            match random.below(12) {
                0 if random.below(4) == 0 && oracle.alive[whom] => {
                    world.despawn(name).unwrap();
                    oracle.alive[whom] = false;
                }
                0..6 => {
                    let kind = random.below(4) as u32;
                    let events = world.resource_mut::<Events<Posted<Ping>>>().unwrap();
                    events.send(Posted::about(name, Ping(kind)));
                    oracle.posts.push((whom, kind));
                }
                6 if whom >= THINGS && oracle.alive[whom] => {
                    activity::stop::<Actor>(&mut world, name).unwrap();
                    oracle.players[whom].as_mut().unwrap().next = Some(None);
                }
                _ if whom >= THINGS && oracle.alive[whom] => {
                    let role = Role { random: random.fork(now), cast: CAST as u64 };
                    random.next_u64();
                    let actor = Actor { role: role.clone(), log: logs[whom].clone() };
                    activity::order(&mut world, name, 0, actor).unwrap();
                    oracle.players[whom].as_mut().unwrap().next = Some(Some(role));
                }
                _ => {}
            }
        }
        world.resource_mut::<Now>().unwrap().0 = now;
        let rows: Vec<Entity> =
            world.query_filtered::<Entity, With<ActivitySlot<Actor>>>().into_iter().collect();
        let number = |name: &Entity| oracle.names.iter().position(|it| it == name).unwrap();
        let order: Vec<usize> = rows.iter().map(number).collect();
        schedule.run(&mut world, &pool);
        oracle.tick(now, &order);

        world.check().unwrap();
        activity::check::<Actor>(&world).unwrap();
        for (number, log) in logs.iter().enumerate() {
            let Some(player) = &oracle.players[number] else { continue };
            assert_eq!(*log.lock().unwrap(), player.log, "{number}, seed {seed}, tick {now}");
            let Ok(slot) = world.get::<ActivitySlot<Actor>>(oracle.names[number]) else {
                assert!(!oracle.alive[number]);
                continue;
            };
            assert_eq!(slot.activity().is_some(), player.role.is_some());
            let is_blocked = player.role.is_some() && player.blocked;
            assert_eq!(slot.state() == State::Blocked, is_blocked, "{number}, seed {seed}");
            if oracle.alive[number] {
                let is_marked = world.is_enabled::<Blocking>(oracle.names[number]).unwrap();
                assert_eq!(is_marked, slot.state() != State::Active);
            }
        }
    }
    // An agent that is still at something is finished once as the world goes by the rules.
    for &name in &oracle.names {
        _ = world.despawn(name);
    }
    oracle.alive = vec![false; CAST];
    world.resource_mut::<Now>().unwrap().0 = 60;
    schedule.run(&mut world, &pool);
    oracle.tick(60, &[]);
    for (log, player) in logs.iter().zip(&oracle.players) {
        let player = player.as_ref().map_or(&[][..], |player| &player.log);
        assert_eq!(*log.lock().unwrap(), player);
    }
    schedule.run(&mut world, &pool);
    assert!(world.is_empty());
    assert!(world.resource::<activity::Subscriptions<Actor>>().unwrap().is_empty());
}

#[test]
fn a_crowd_does_what_the_rules_of_a_tick_say() {
    (0..150).for_each(|seed| play(seed, Threads::None));
}

#[test]
fn so_does_one_on_several_threads() {
    (0..20).for_each(|seed| play(1_000 + seed, Threads::Own(3)));
}
