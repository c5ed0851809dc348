//! The workers of the article that the pattern comes from, laid out by a data file: to the mine,
//! dig, load, home, unload, and again.
//!
//! `cargo run -p formic-ai --example worker` prints what one of them does; `examples/plans/worker.ron` says
//! what that is.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::action::load_file;
use formic_ai::prelude::*;
use serde::Deserialize;

#[derive(Component, Clone, Copy, Debug)]
struct Position {
    x: f32,
    y: f32,
}
#[derive(Component)]
struct Speed(f32);

#[derive(Clone, Copy, Debug, Deserialize, HashState)]
enum Place {
    Castle,
    Mine,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, HashState)]
enum Item {
    Gold,
}

/// A stack of things that a worker carries.
#[derive(Component, Clone, Copy)]
#[component(buffer = 10)]
struct Stack {
    item: Item,
    count: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, HashState)]
enum Clip {
    #[default]
    Idle,
    Mine,
}

/// What a worker's body shows. A request for a clip gets a number, by which it knows the end of
/// this clip from the end of another.
#[derive(Component, Default)]
struct Animator {
    clip: Clip,
    requests: u32,
    finished: u32,
    ticks_left: u32,
}

#[derive(Component, Clone, Deserialize)]
struct MoveTo {
    place: Place,
}

#[derive(Component, Clone, Deserialize)]
struct PlayAnimation {
    clip: Clip,
    #[serde(skip)]
    request: u32,
}

#[derive(Component, Clone, Deserialize)]
struct AddItem {
    item: Item,
    count: u32,
}

#[derive(Component, Clone, Deserialize)]
struct RemoveItem {
    item: Item,
    count: u32,
}

struct TimeStep(f32);

const fn place(place: Place) -> Position {
    match place {
        Place::Castle => Position { x: 0.0, y: 0.0 },
        Place::Mine => Position { x: 30.0, y: 40.0 },
    }
}

fn move_to(
    mut actions: Actions<MoveTo>,
    walkers: AgentAccess<(&mut Position, &Speed)>,
    time: Res<TimeStep>,
) {
    let seconds = time.0;
    actions.update(|worker, action| {
        let Ok(mut walker) = walkers.claim(worker) else { return ActionResult::Failed };
        let (position, speed) = walker.get_mut();
        // A worker that cannot walk would be on the way for ever.
        if speed.0 <= 0.0 {
            return ActionResult::Failed;
        }
        let to = place(action.place);
        let (x, y) = (to.x - position.x, to.y - position.y);
        let (left, step) = (x.hypot(y), speed.0 * seconds);
        if left <= step {
            *position = to;
            return ActionResult::Success;
        }
        position.x += x / left * step;
        position.y += y / left * step;
        ActionResult::Running
    });
}

fn play_animation(mut actions: Actions<PlayAnimation>, animators: AgentAccess<&mut Animator>) {
    actions.carry_out(
        |agent, action| {
            animators.act(agent, |animator| {
                animator.requests += 1;
                action.request = animator.requests;
                (animator.clip, animator.ticks_left) = (action.clip, 5);
                ActionResult::Running
            })
        },
        |agent, action| {
            animators.act(agent, |animator| match animator.finished >= action.request {
                true => ActionResult::Success,
                false => ActionResult::Running,
            })
        },
        |agent, _, _| {
            if let Ok(mut animator) = animators.claim(agent) {
                animator.get_mut().clip = Clip::Idle;
            }
        },
    );
}

/// The bodies move on.
fn animate(mut animators: Query<&mut Animator>) {
    animators.par_for_each(|animator| {
        animator.ticks_left = animator.ticks_left.saturating_sub(1);
        if animator.ticks_left == 0 {
            animator.finished = animator.requests;
        }
    });
}

fn add_item(mut actions: Actions<AddItem>, stacks: AgentAccess<&mut Buffer<Stack>>) {
    actions.update(|worker, action| {
        stacks.act(worker, |stacks| {
            match stacks.iter_mut().find(|stack| stack.item == action.item) {
                Some(stack) => stack.count += action.count,
                None => stacks.push(Stack { item: action.item, count: action.count }),
            }
            ActionResult::Success
        })
    });
}

/// All of them or none.
fn remove_item(mut actions: Actions<RemoveItem>, stacks: AgentAccess<&mut Buffer<Stack>>) {
    actions.update(|worker, action| {
        let Ok(mut stacks) = stacks.claim(worker) else { return ActionResult::Failed };
        let stacks = stacks.get_mut();
        let Some(place) = stacks.iter().position(|stack| stack.item == action.item) else {
            return ActionResult::Failed;
        };
        match stacks[place].count.checked_sub(action.count) {
            None => return ActionResult::Failed,
            Some(0) => _ = stacks.remove(place),
            Some(left) => stacks[place].count = left,
        }
        ActionResult::Success
    });
}

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kinds = Kinds::new()
        .kind::<MoveTo>("MoveTo")
        .kind::<PlayAnimation>("PlayAnimation")
        .kind::<AddItem>("AddItem")
        .kind::<RemoveItem>("RemoveItem");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/plans/worker.ron");
    let work = load_file(file, |text| Sequence::parse(text, &kinds))?;
    let mut world = World::new();
    let body =
        (Position { x: 0.0, y: 0.0 }, Speed(25.0), Animator::default(), Buffer::<Stack>::new());
    let worker = work.spawn(&mut world, body)?;
    world.insert_resource(TimeStep(0.5));
    let mut schedule = formic_ai::action::add(Schedule::builder())
        .add(move_to.as_action())
        .add(play_animation.as_action())
        .add(add_item.as_action())
        .add(remove_item.as_action())
        .add(animate)
        .build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    for tick in 0..24_u32 {
        schedule.run(&mut world, &pool);
        let Position { x, y } = *world.get::<Position>(worker)?;
        let gold: u32 = world.get::<Buffer<Stack>>(worker)?.iter().map(|stack| stack.count).sum();
        let at = world.get::<SequenceAgent>(worker)?.current();
        let clip = world.get::<Animator>(worker)?.clip;
        println!(
            "tick {tick:2}: at ({x:4.1}, {y:4.1}), {gold} gold, {clip:?}; next is action {at}"
        );
    }
    Ok(())
}
