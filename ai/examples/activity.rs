//! A villager who fetches firewood, and runs when the wolf comes.
//!
//! `cargo run -p formic-ai --example activity` prints what she does, and how seldom she is asked.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use std::borrow::Cow;

use formic_ai::activity::{
    self, Activities, Activity, ActivityDomain, ActivitySlot, Blocking, Current, Effects, Ending,
    Event, EventKinds, Finished, Notice, Posted, Response, Status, Tick,
};
use formic_ai::prelude::*;
use formic_ecs::HashRule;

#[derive(Component)]
struct Position(i32);
#[derive(Component)]
struct Walk {
    to: i32,
}
/// The load of a carrier.
#[derive(Component)]
struct Carries(Entity);
#[derive(Component)]
struct Wolf;

struct Arrived;
const ARRIVED: EventKinds = EventKinds::one(0);

impl Event for Arrived {
    fn kind(&self) -> EventKinds {
        ARRIVED
    }
}

/// What activities read.
type Places<'w> = ComponentLookup<'w, &'static Position>;

enum Village {}

impl ActivityDomain for Village {
    type World<'w> = Places<'w>;
    type Event = Arrived;
    type Failure = &'static str;
}

/// The sub-activities.
#[derive(HashState)]
enum Step {
    GoTo(i32),
    PickUp(Entity),
    Haul { thing: Entity, to: i32 },
}

impl Activity for Step {
    type Domain = Village;
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::GoTo(place) => format!("going to {place}").into(),
            Self::PickUp(_) => "picking it up".into(),
            Self::Haul { to, .. } => format!("hauling it to {to}").into(),
        }
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Village>, places: &Places) -> Status<&'static str> {
        let agent = tick.agent();
        let Ok(&Position(here)) = places.get(agent) else {
            return Status::Finished(Ending::Failed("nowhere"));
        };
        match *self {
            Self::GoTo(place) | Self::Haul { to: place, .. } if here != place => {
                tick.subscribe(agent, ARRIVED);
                tick.commands().insert(agent, Walk { to: place });
                return Status::Blocked;
            }
            Self::PickUp(thing) => tick.commands().insert(agent, Carries(thing)),
            Self::GoTo(_) | Self::Haul { .. } => {}
        }
        Status::Finished(Ending::Success)
    }

    fn on_finish(
        self,
        ending: &Ending<&'static str>,
        effects: &mut Effects<'_, Village>,
        places: &Places,
    ) {
        let agent = effects.agent();
        if let (Self::Haul { thing, to }, Ok(here)) = (&self, places.get(agent)) {
            let place = if *ending == Ending::Success { *to } else { here.0 };
            effects.commands().insert(*thing, Position(place));
            effects.commands().remove::<Carries>(agent);
        }
        if !matches!(self, Self::PickUp(_)) {
            effects.commands().remove::<Walk>(agent);
        }
    }
}

/// The activities.
#[derive(HashState)]
struct Chore {
    kind: Kind,
    now: Current<Step>,
    steps: u32,
}

#[derive(HashState)]
enum Kind {
    Fetch { thing: Entity, from: i32, to: i32 },
    Flee,
}

impl Chore {
    fn new(kind: Kind) -> Self {
        Self { kind, now: Current::default(), steps: 0 }
    }

    fn next(&mut self) -> Option<Step> {
        self.steps += 1;
        match (&self.kind, self.steps) {
            (Kind::Fetch { from, .. }, 1) => Some(Step::GoTo(*from)),
            (Kind::Fetch { thing, .. }, 2) => Some(Step::PickUp(*thing)),
            (Kind::Fetch { thing, to, .. }, 3) => Some(Step::Haul { thing: *thing, to: *to }),
            (Kind::Flee, 1) => Some(Step::GoTo(0)),
            _ => None,
        }
    }
}

impl Activity for Chore {
    type Domain = Village;
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        match self.kind {
            Kind::Fetch { .. } => "fetching firewood".into(),
            Kind::Flee => "running home".into(),
        }
    }

    fn step(&self) -> Option<Cow<'_, str>> {
        self.now.name()
    }

    fn on_tick(&mut self, tick: &mut Tick<'_, Village>, places: &Places) -> Status<&'static str> {
        loop {
            match self.now.on_tick(tick, places) {
                None | Some(Status::Finished(Ending::Success)) => match self.next() {
                    Some(step) => self.now.begin(step),
                    None => return Status::Finished(Ending::Success),
                },
                Some(status) => return status,
            }
        }
    }

    fn on_event(&mut self, notice: Notice<'_, Arrived>, subject: Entity) -> Response {
        self.now.on_event(notice, subject)
    }

    fn on_finish(
        self,
        _: &Ending<&'static str>,
        effects: &mut Effects<'_, Village>,
        places: &Places,
    ) {
        self.now.finish(effects, places);
    }
}

/// The mind: a wolf comes before everything.
fn think(
    mut minds: Query<(&Position, &mut ActivitySlot<Chore>, EnabledMut<Blocking>)>,
    wolves: ComponentLookup<&Wolf>,
    woods: Res<Woods>,
) {
    minds.for_each(|(position, slot, mut blocking)| {
        let is_wolf_near = wolves.contains(woods.wolf);
        if is_wolf_near && position.0 > 0 && slot.takes(9) {
            _ = slot.propose(9, Chore::new(Kind::Flee), &mut blocking);
        } else if !is_wolf_near && slot.takes(1) {
            let fetch = Kind::Fetch { thing: woods.wood, from: 8, to: 2 };
            _ = slot.propose(1, Chore::new(fetch), &mut blocking);
        }
    });
}

struct Woods {
    wood: Entity,
    wolf: Entity,
    tick: u64,
    ticked: usize,
}

fn live(activities: Activities<Chore>, places: Places, mut woods: ResMut<Woods>) {
    woods.tick += 1;
    woods.ticked += activities.run(woods.tick, &places).awake;
}

fn walk(mut all: Query<(Entity, &Walk, &mut Position)>, mut posts: EventWriter<Posted<Arrived>>) {
    all.par_for_each_with(&mut posts, |(walker, walk, position), posts| {
        if position.0 != walk.to {
            position.0 += (walk.to - position.0).signum();
            if position.0 == walk.to {
                posts.send(Posted::about(walker, Arrived));
            }
        }
    });
}

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn tell(
    mut all: Query<(&ActivitySlot<Chore>, &Position, Option<&Carries>)>,
    mut ends: EventReader<Finished<&'static str>>,
) {
    all.for_each(|(slot, position, carries)| {
        let load = carries.map_or(String::new(), |carries| format!(", carrying {}", carries.0));
        println!("    at {:2}, {slot}{load}", position.0);
    });
    ends.read().for_each(|end| println!("    ended: {:?}", end.ending));
}

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    world.spawn((Position(0), activity::idle::<Chore>()));
    let (wood, wolf) = (world.spawn(Position(8)), world.spawn(Wolf));
    world.despawn(wolf)?;
    world.insert_resource(Woods { wood, wolf, tick: 0, ticked: 0 });
    let mut schedule = Schedule::builder().add((think, live, walk, tell)).build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    for tick in 0..32 {
        if tick == 12 {
            println!("a wolf!");
            world.resource_mut::<Woods>()?.wolf = world.spawn(Wolf);
        }
        println!("tick {tick}");
        schedule.run(&mut world, &pool);
    }
    println!("{} ticks of hers in 32", world.resource::<Woods>()?.ticked);
    Ok(())
}
