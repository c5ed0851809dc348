//! A villager who fetches firewood, and runs when the wolf comes: activities as `async fn`s.
//!
//! `cargo run -p formic-ai --example activity` prints what she does, and how seldom she is asked.
//! Activities that are to be saved are types of their own, as in the villagers of the demos.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::activity::{
    self, Activities, ActivityDomain, ActivitySlot, Async, AsyncContext, Blocking, Event,
    EventKinds, Finished, NoEvent, Posted,
};
use formic_ai::prelude::*;

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

#[derive(Clone)]
struct Arrived;
impl Event for Arrived {}

enum Village {}

impl ActivityDomain for Village {
    /// What activities read.
    type World<'w> = ComponentLookup<'w, &'static Position>;
    type Event = Arrived;
    type Failure = NoEvent;
}

type Chore = Async<Village>;

/// The way somewhere.
async fn go(she: &AsyncContext<Village>, to: i32) -> Result<(), NoEvent> {
    let _stops = she.guard(|effects, _| {
        let agent = effects.agent();
        effects.commands().remove::<Walk>(agent);
    });
    let arrival = she.with(move |tick, places| {
        let agent = tick.agent();
        if places.get(agent).is_ok_and(|here| here.0 == to) {
            return None;
        }
        let arrival = tick.subscribe(agent, EventKinds::ALL); // first this, then the request
        tick.commands().insert(agent, Walk { to });
        Some(arrival)
    });
    if let Some(arrival) = arrival.await {
        she.answer(arrival).await?;
        she.unsubscribe(arrival).await;
    }
    Ok(())
}

async fn fetch(
    she: AsyncContext<Village>,
    wood: Entity,
    from: i32,
    to: i32,
) -> Result<(), NoEvent> {
    she.step(format!("going to {from}"));
    go(&she, from).await?;
    she.step("picking it up");
    she.with(move |tick, _| {
        let agent = tick.agent();
        tick.commands().insert(agent, Carries(wood));
    })
    .await;
    // Wherever she is by then: at the place where it belongs, or where the wolf has met her.
    let _sets_it_down = she.guard(move |effects, places| {
        let agent = effects.agent();
        let Ok(&Position(here)) = places.get(agent) else { return };
        effects.commands().insert(wood, Position(here));
        effects.commands().remove::<Carries>(agent);
    });
    she.step(format!("hauling it to {to}"));
    go(&she, to).await
}

async fn flee(she: AsyncContext<Village>) -> Result<(), NoEvent> {
    she.step("going to 0");
    go(&she, 0).await
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
            drop(slot.propose(9, Chore::new("running home", flee), &mut blocking));
        } else if !is_wolf_near && slot.takes(1) {
            let wood = woods.wood;
            let chore = Chore::new("fetching firewood", move |she| fetch(she, wood, 8, 2));
            drop(slot.propose(1, chore, &mut blocking));
        }
    });
}

struct Woods {
    wood: Entity,
    wolf: Entity,
    tick: u64,
    ticked: usize,
}

fn live(
    activities: Activities<Chore>,
    places: ComponentLookup<&'static Position>,
    mut woods: ResMut<Woods>,
) {
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
    mut ends: EventReader<Finished<NoEvent>>,
) {
    all.for_each(|(slot, position, carries)| {
        let load = carries.map_or("", |_| ", carrying firewood");
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
