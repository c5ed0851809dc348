//! Activities that are made of sub-activities: a porter goes somewhere, picks a thing up, and hauls
//! it to where it belongs.

use std::borrow::Cow;
use std::collections::VecDeque;

use formic_ai::action::Ended;
use formic_ai::activity::{
    self, Activities, Activity, ActivityDomain, ActivitySlot, Current, Effects, Ending, Event,
    EventKinds, Notice, Posted, Response, State, Status, Tick,
};
use formic_ai::prelude::*;
use formic_ecs::HashRule;

const ARRIVED: EventKinds = EventKinds::one(0);
const PICKED_UP: EventKinds = EventKinds::one(1);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Happening {
    Arrived,
    PickedUp { by: Entity },
}

impl Event for Happening {
    fn kind(&self) -> EventKinds {
        match self {
            Self::Arrived => ARRIVED,
            Self::PickedUp { .. } => PICKED_UP,
        }
    }
}

enum Yard {}

impl ActivityDomain for Yard {
    type World<'w> = ComponentLookup<'w, &'static Place>;
    type Event = Happening;
    type Failure = &'static str;
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Place(i32);
#[derive(Component)]
struct Walk(i32);
/// On a thing: a porter carries it.
#[derive(Component)]
struct Carried;
/// How often sub-activities have been finished, by kind: a resource.
#[derive(Default)]
struct Finishes([u32; 3]);

/// What porters do one after the other.
#[derive(Clone, Copy, HashState)]
enum Step {
    GoTo { place: i32 },
    PickUp { thing: Entity, by: Option<Entity> },
    Haul { thing: Entity, place: i32 },
}

/// Walks, and says whether it is there; otherwise it sleeps until it is.
fn walk(
    tick: &mut Tick<'_, Yard>,
    world: &ComponentLookup<'_, &'static Place>,
    place: i32,
) -> Outcome {
    let agent = tick.agent();
    if world.get(agent).is_ok_and(|at| at.0 == place) {
        return Status::Finished(Ending::Success);
    }
    tick.subscribe(agent, ARRIVED);
    tick.commands().insert(agent, Walk(place));
    Status::Blocked
}

type Outcome = Status<&'static str>;

impl Activity for Step {
    type Domain = Yard;
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::GoTo { place } => format!("going to {place}").into(),
            Self::PickUp { .. } => "picking it up".into(),
            Self::Haul { place, .. } => format!("hauling it to {place}").into(),
        }
    }

    fn on_tick(
        &mut self,
        tick: &mut Tick<'_, Yard>,
        world: &ComponentLookup<'_, &'static Place>,
    ) -> Outcome {
        match *self {
            Self::GoTo { place } | Self::Haul { place, .. } => walk(tick, world, place),
            Self::PickUp { thing, .. } if world.get(thing).is_err() => {
                Status::Finished(Ending::Failed("it is gone"))
            }
            Self::PickUp { by: Some(by), .. } if by == tick.agent() => {
                Status::Finished(Ending::Success)
            }
            Self::PickUp { by: Some(_), .. } => Status::Finished(Ending::Failed("another has it")),
            Self::PickUp { thing, .. } => {
                let agent = tick.agent();
                tick.subscribe(thing, PICKED_UP);
                tick.commands().run(move |world| {
                    if world.contains(thing) && !world.has::<Carried>(thing) {
                        world.insert(thing, Carried).unwrap();
                        let event = Posted::about(thing, Happening::PickedUp { by: agent });
                        world.resource_mut::<Events<Posted<Happening>>>().unwrap().send(event);
                    }
                });
                Status::Blocked
            }
        }
    }

    fn on_event(&mut self, notice: Notice<'_, Happening>, _: Entity) -> Response {
        if let (Self::PickUp { by, .. }, Notice::Event(&Happening::PickedUp { by: who }, _)) =
            (self, notice)
        {
            *by = Some(who);
        }
        Response::WAKE.unsubscribe_all()
    }

    fn on_finish(
        self,
        ending: &Ending<&'static str>,
        effects: &mut Effects<'_, Yard>,
        world: &ComponentLookup<'_, &'static Place>,
    ) {
        let kind = match self {
            Self::GoTo { .. } => 0,
            Self::PickUp { .. } => 1,
            Self::Haul { thing, place } => {
                // Set down where it belongs, or dropped where its porter is.
                let here = world.get(effects.agent()).map_or(Place(-1), |here| *here);
                let there = if *ending == Ending::Success { Place(place) } else { here };
                effects.commands().insert(thing, there);
                effects.commands().remove::<Carried>(thing);
                2
            }
        };
        effects.commands().run(move |world| {
            world.resource_mut::<Finishes>().unwrap().0[kind] += 1;
        });
    }
}

/// Brings a thing to where it belongs.
#[derive(HashState)]
struct Fetch {
    thing: Entity,
    to: i32,
    now: Current<Step>,
    steps: u32,
}

impl Activity for Fetch {
    type Domain = Yard;
    const HASH: HashRule<Self> = HashRule::Fields(Self::hash_state);

    fn name(&self) -> Cow<'_, str> {
        "fetching wood".into()
    }

    fn step(&self) -> Option<Cow<'_, str>> {
        self.now.name()
    }

    fn on_tick(
        &mut self,
        tick: &mut Tick<'_, Yard>,
        world: &ComponentLookup<'_, &'static Place>,
    ) -> Outcome {
        let thing = self.thing;
        loop {
            match self.now.on_tick(tick, world) {
                None | Some(Status::Finished(Ending::Success)) => {}
                Some(status) => return status,
            }
            assert_eq!(tick.subscriptions(), [], "they end with the sub-activity");
            self.steps += 1;
            self.now.begin(match self.steps {
                1 => match world.get(thing) {
                    Ok(there) => Step::GoTo { place: there.0 },
                    Err(_) => return Status::Finished(Ending::Failed("there is none")),
                },
                2 => Step::PickUp { thing, by: None },
                3 => Step::Haul { thing, place: self.to },
                _ => return Status::Finished(Ending::Success),
            });
        }
    }

    fn on_event(&mut self, notice: Notice<'_, Happening>, subject: Entity) -> Response {
        self.now.on_event(notice, subject)
    }

    fn on_finish(
        self,
        _: &Ending<&'static str>,
        effects: &mut Effects<'_, Yard>,
        world: &ComponentLookup<'_, &'static Place>,
    ) {
        self.now.finish(effects, world);
    }
}

fn live(
    activities: Activities<Fetch>,
    places: ComponentLookup<&'static Place>,
    mut now: Local<u64>,
) {
    *now += 1;
    activities.run(*now, &places);
}

fn walkers(
    mut all: Query<(Entity, &Walk, &mut Place)>,
    mut posts: EventWriter<Posted<Happening>>,
    mut commands: Commands,
) {
    all.for_each(|(walker, walk, place)| {
        place.0 += (walk.0 - place.0).signum();
        if place.0 == walk.0 {
            posts.send(Posted::about(walker, Happening::Arrived));
            commands.remove::<Walk>(walker);
        }
    });
}

struct Scene {
    world: World,
    schedule: Schedule,
    pool: Pool,
    wood: Entity,
}

impl Scene {
    fn new() -> Self {
        let mut world = World::new();
        world.insert_resource(Finishes::default());
        let wood = world.spawn(Place(3));
        let schedule = Schedule::builder().add((live, walkers)).build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap(), wood }
    }

    /// A porter who is to bring the wood to 7.
    fn porter(&mut self) -> Entity {
        let porter = self.world.spawn((Place(0), activity::idle::<Fetch>()));
        let fetch = Fetch { thing: self.wood, to: 7, now: Current::default(), steps: 0 };
        activity::order(&mut self.world, porter, 1, fetch).unwrap();
        porter
    }

    fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            let run = self.schedule.run(&mut self.world, &self.pool);
            assert!(run.failures.is_empty(), "{:?}", run.failures);
            activity::check::<Fetch>(&self.world).unwrap();
        }
    }

    fn slot(&self, porter: Entity) -> &ActivitySlot<Fetch> {
        self.world.get(porter).unwrap()
    }

    fn place(&self, of: Entity) -> i32 {
        self.world.get::<Place>(of).unwrap().0
    }

    fn finishes(&self) -> [u32; 3] {
        self.world.resource::<Finishes>().unwrap().0
    }
}

#[test]
fn a_porter_sleeps_through_its_steps_says_which_it_is_at_and_sets_the_thing_down() {
    let mut scene = Scene::new();
    let porter = scene.porter();
    let mut said = Vec::new();
    for _ in 0..20 {
        scene.ticks(1);
        let slot = scene.slot(porter);
        assert_ne!(slot.state(), State::Active, "there is nothing to ask in every tick");
        if said.last() != Some(&slot.to_string()) {
            said.push(slot.to_string());
        }
    }
    assert_eq!(
        said,
        [
            "fetching wood: going to 3",
            "fetching wood: picking it up",
            "fetching wood: hauling it to 7",
            "idle",
        ]
    );
    assert_eq!(scene.slot(porter).ended(), Some(Ended::Success));
    assert_eq!((scene.place(scene.wood), scene.place(porter)), (7, 7));
    assert!(!scene.world.has::<Carried>(scene.wood));
    assert_eq!(scene.finishes(), [1, 1, 1]);
}

#[test]
fn a_porter_who_is_interrupted_drops_the_thing_where_it_is_and_is_finished_once() {
    for is_despawned in [false, true] {
        let mut scene = Scene::new();
        let porter = scene.porter();
        scene.ticks(7);
        assert_eq!(scene.slot(porter).to_string(), "fetching wood: hauling it to 7");
        let here = scene.place(porter);
        assert!((4..7).contains(&here));
        if is_despawned {
            scene.world.despawn(porter).unwrap();
        } else {
            activity::stop::<Fetch>(&mut scene.world, porter).unwrap();
        }
        scene.ticks(2);
        let wood = scene.place(scene.wood);
        assert_eq!(wood, if is_despawned { -1 } else { here });
        assert!(!scene.world.has::<Carried>(scene.wood));
        assert_eq!(scene.finishes(), [1, 1, 1]);
    }
}

#[test]
fn a_porter_whose_thing_another_one_has_or_is_gone_fails_and_says_why() {
    let mut scene = Scene::new();
    let porters = [scene.porter(), scene.porter()];
    scene.ticks(20);
    let ended = porters.map(|porter| scene.slot(porter).ended());
    assert_eq!(ended, [Some(Ended::Success), Some(Ended::Failed)]);
    assert_eq!(scene.finishes(), [2, 2, 1]);

    let mut scene = Scene::new();
    let porter = scene.porter();
    scene.ticks(2);
    scene.world.despawn(scene.wood).unwrap();
    scene.ticks(20);
    assert_eq!(scene.slot(porter).ended(), Some(Ended::Failed));
    assert_eq!(scene.finishes(), [1, 1, 0]);
}

/// Does something else with its sub-activity in each tick, until there is nothing more to do.
struct Roam {
    now: Current<Step>,
    acts: VecDeque<Act>,
}

type Act = fn(&mut Current<Step>, &mut Tick<'_, Yard>, &ComponentLookup<'_, &'static Place>);

impl Activity for Roam {
    type Domain = Yard;
    const HASH: HashRule<Self> = HashRule::Unhashed;

    fn name(&self) -> Cow<'_, str> {
        "roaming".into()
    }

    fn on_tick(
        &mut self,
        tick: &mut Tick<'_, Yard>,
        places: &ComponentLookup<'_, &'static Place>,
    ) -> Outcome {
        let Some(act) = self.acts.pop_front() else { return Status::Finished(Ending::Success) };
        act(&mut self.now, tick, places);
        Status::Ongoing
    }
}

/// One that acts like this, and where it is at the beginning of each tick; how many going-tos were
/// finished after each.
fn roam<const TICKS: usize>(acts: [(Act, i32); TICKS]) -> [u32; TICKS] {
    let mut world = World::new();
    world.insert_resource(Finishes::default());
    let agent = world.spawn((Place(0), activity::idle::<Roam>()));
    let live = |activities: Activities<Roam>, places: ComponentLookup<&'static Place>| {
        activities.run(0, &places);
    };
    let mut schedule = Schedule::builder().add(live).build(&mut world).unwrap();
    let roam = Roam { now: Current::default(), acts: acts.iter().map(|it| it.0).collect() };
    activity::order(&mut world, agent, 1, roam).unwrap();
    let pool = Pool::new(Threads::None).unwrap();
    let finishes = acts.map(|(_, place)| {
        world.get_mut::<Place>(agent).unwrap().0 = place;
        assert!(schedule.run(&mut world, &pool).failures.is_empty());
        activity::check::<Roam>(&world).unwrap();
        world.resource::<Finishes>().unwrap().0[0]
    });
    schedule.run(&mut world, &pool);
    assert_eq!(world.get::<ActivitySlot<Roam>>(agent).unwrap().ended(), Some(Ended::Success));
    assert_eq!(world.resource::<Finishes>().unwrap().0[0], finishes[TICKS - 1]);
    finishes
}

#[test]
fn a_sub_activity_that_ends_or_is_interrupted_waits_for_nothing_more_and_is_finished_once() {
    let begin: Act = |now, tick, places| {
        // What the activity waits for itself ends with its sub-activity.
        tick.subscribe(tick.agent(), PICKED_UP);
        now.begin(Step::GoTo { place: 9 });
        assert!(matches!(now.on_tick(tick, places), Some(Status::Blocked)));
        assert_eq!(tick.subscriptions().len(), 2);
    };
    let interrupt: Act = |now, tick, places| {
        now.interrupt(tick, places);
        assert!(now.get().is_none() && tick.subscriptions().is_empty());
    };
    let arrive: Act = |now, tick, places| {
        assert!(matches!(now.on_tick(tick, places), Some(Status::Finished(Ending::Success))));
        assert!(now.get().is_none() && tick.subscriptions().is_empty());
        assert!(now.on_tick(tick, places).is_none());
    };
    // There is nothing to interrupt any more, and what the activity waits for itself stays.
    let none_to_interrupt: Act = |now, tick, places| {
        tick.subscribe(tick.agent(), PICKED_UP);
        now.interrupt(tick, places);
        assert_eq!(tick.subscriptions().len(), 1);
    };
    assert_eq!(roam([(begin, 0), (interrupt, 0), (none_to_interrupt, 0)]), [0, 1, 1]);
    assert_eq!(roam([(begin, 0), (arrive, 9), (none_to_interrupt, 9)]), [0, 1, 1]);
}

#[test]
fn the_name_of_a_sub_activity_includes_its_own_step() {
    let step = Current::new(Step::GoTo { place: 3 });
    assert_eq!(step.name().unwrap(), "going to 3");
    let thing = World::new().spawn(());
    let fetch = Fetch { thing, to: 7, now: step, steps: 1 };
    assert_eq!(Current::new(fetch).name().unwrap(), "fetching wood: going to 3");
    assert_eq!(Current::<Step>::default().name(), None);
}

#[test]
#[should_panic(expected = "a sub-activity is begun when the one before has ended")]
fn one_sub_activity_is_not_begun_over_another() {
    Current::new(Step::GoTo { place: 1 }).begin(Step::GoTo { place: 2 });
}
