//! The systems that carry out the actions of workers.

use formic_ai::prelude::*;

use super::components::{
    AddItem, Animator, Books, Inventory, Item, MoveTo, Place, PlayAnimation, Playing, Position,
    RemoveItem, Speed, Standing, Workplace,
};
use super::{CASTLE, MINES, TICK_SECONDS};

type Walker = (&'static Speed, &'static Standing, &'static Workplace);

/// Moves workers along straight lines, at the speed that they had at the start.
pub(super) fn move_to(
    mut actions: Actions<MoveTo>,
    positions: AgentAccess<&'static mut Position>,
    walkers: ComponentLookup<Walker>,
) {
    actions.carry_out(
        |agent, action| {
            let Ok((speed, standing, workplace)) = walkers.get(agent.entity) else {
                return ActionResult::Failed;
            };
            let place = match action.place {
                Place::Castle => CASTLE,
                Place::Mine => MINES[workplace.0 as usize],
            };
            positions.act(agent, |position| {
                action.from = position.0;
                action.to = place + standing.0;
                if action.from == action.to {
                    return ActionResult::Success;
                }
                // A worker that cannot walk would be on the way forever.
                if speed.0 <= 0.0 {
                    return ActionResult::Failed;
                }
                action.seconds = 0.0;
                action.seconds_total = action.from.distance(action.to) / speed.0;
                ActionResult::Running
            })
        },
        |agent, action| {
            positions.act(agent, |position| {
                action.seconds += TICK_SECONDS;
                if action.seconds >= action.seconds_total {
                    position.0 = action.to;
                    return ActionResult::Success;
                }
                position.0 = action.from.lerp(action.to, action.seconds / action.seconds_total);
                ActionResult::Running
            })
        },
        |_, _, _| (),
    );
}

/// Requests a clip from each worker's animator, and waits for its end.
pub(super) fn play_animation(
    mut actions: Actions<PlayAnimation>,
    animators: AgentAccess<&'static mut Animator>,
    playing: EnabledLookup<Playing>,
) {
    actions.carry_out(
        |agent, action| {
            animators.act(agent, |animator| {
                action.request = animator.play(action.clip);
                match playing.set(agent.entity, true) {
                    Ok(_) => ActionResult::Running,
                    Err(_) => ActionResult::Failed,
                }
            })
        },
        |agent, action| {
            animators.act(agent, |animator| match animator.has_finished(action.request) {
                true => ActionResult::Success,
                false => ActionResult::Running,
            })
        },
        |_, _, _| (),
    );
}

type Carrier = (&'static mut Inventory, &'static mut Books);

fn gold(item: Item, count: u32) -> u64 {
    if item == Item::GOLD { count.into() } else { 0 }
}

/// Lets an agent handle its inventory, which may fail.
fn handle(
    carriers: &mut ComponentLookup<Carrier>,
    agent: Agent,
    can_do: impl FnOnce(&mut Inventory, &mut Books) -> bool,
) -> ActionResult {
    let carrier = carriers.get_mut(agent.entity);
    let is_done = carrier.is_ok_and(|(inventory, books)| can_do(inventory, books));
    if is_done { ActionResult::Success } else { ActionResult::Failed }
}

/// Runs serially: a plan may have several of these actions of one agent at once, as the parts of a join.
pub(super) fn add_item(mut actions: Actions<AddItem>, mut carriers: ComponentLookup<Carrier>) {
    actions.update_serial(|agent, &mut AddItem { item, count }| {
        handle(&mut carriers, agent, |inventory, books| {
            let has_room = inventory.add(item, count);
            books.mined += if has_room { gold(item, count) } else { 0 };
            has_room
        })
    });
}

pub(super) fn remove_item(
    mut actions: Actions<RemoveItem>,
    mut carriers: ComponentLookup<Carrier>,
) {
    actions.update_serial(|agent, &mut RemoveItem { item, count }| {
        handle(&mut carriers, agent, |inventory, books| {
            let was_there = inventory.remove(item, count);
            books.delivered += if was_there { gold(item, count) } else { 0 };
            was_there
        })
    });
}

/// Plays the requested clips; animators without one are not visited.
pub(super) fn animate(mut animators: Query<(&mut Animator, EnabledMut<Playing>), With<Playing>>) {
    animators.par_for_each(|(animator, mut playing)| {
        if animator.advance(TICK_SECONDS) {
            playing.set(false);
        }
    });
}
