//! The four actions, each an action entity with a system of its own, independent of the decision engine.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ai::action::AgentSystem;
use formic_ai::prelude::*;
use formic_jobs::ScheduleBuilder;

use super::forager::{Basket, Books, EAT, GATHER, HIDE, Needs, SLEEP, Shelter, TICK_SECONDS, Wolf};

pub(super) const GATHER_SECONDS: f32 = 2.0;
pub(super) const EAT_SECONDS: f32 = 1.0;

/// Action: look for a berry until one is found.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Gather {
    seconds_left: f32,
}

/// Action: eat a berry; it fails without one.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit, CheckedBitPattern)]
#[repr(transparent)]
pub(super) struct Eat {
    seconds_left: f32,
}

/// Action: sleep until rested.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Sleep;

/// Action: stay in the shelter until the wolf is gone.
#[derive(Component, Clone, Copy, Debug)]
pub(super) struct Hide;

/// Returns the actions of a forager, at the indices [`GATHER`] and so on.
pub(super) fn set() -> ActionSet {
    ActionSet::new()
        .action("gather", Gather { seconds_left: 0.0 })
        .action("eat", Eat { seconds_left: 0.0 })
        .action("sleep", Sleep)
        .action("hide", Hide)
}

pub(super) fn add(schedule: ScheduleBuilder) -> ScheduleBuilder {
    schedule
        .add(gather.as_action())
        .add(eat.as_action())
        .add(sleep.as_action())
        .add(hide.as_action())
}

type Gatherer = (&'static mut Basket, &'static mut Books);

fn gather(mut actions: Actions<Gather>, foragers: AgentAccess<Gatherer>) {
    actions.carry_out(
        |_, gather| {
            gather.seconds_left = GATHER_SECONDS;
            ActionResult::Running
        },
        |agent, gather| {
            foragers.act(agent, |(basket, books)| {
                books.ticks[GATHER] += 1;
                gather.seconds_left -= TICK_SECONDS;
                if gather.seconds_left > 0.0 {
                    return ActionResult::Running;
                }
                if basket.0 == Basket::FULL {
                    return ActionResult::Failed;
                }
                basket.0 += 1;
                books.gathered += 1;
                ActionResult::Success
            })
        },
        |_, _, _| (),
    );
}

type Eater = (&'static mut Needs, &'static mut Basket, &'static mut Books);

fn eat(mut actions: Actions<Eat>, foragers: AgentAccess<Eater>) {
    actions.carry_out(
        |agent, eat| {
            eat.seconds_left = EAT_SECONDS;
            foragers.act(agent, |(_, basket, _)| match basket.0 {
                0 => ActionResult::Failed,
                _ => ActionResult::Running,
            })
        },
        |agent, eat| {
            foragers.act(agent, |(needs, basket, books)| {
                books.ticks[EAT] += 1;
                eat.seconds_left -= TICK_SECONDS;
                if eat.seconds_left > 0.0 {
                    return ActionResult::Running;
                }
                basket.0 -= 1;
                books.meals += 1;
                needs.eat();
                ActionResult::Success
            })
        },
        |_, _, _| (),
    );
}

fn sleep(
    mut actions: Actions<Sleep>,
    foragers: AgentAccess<(&'static mut Needs, &'static mut Books)>,
) {
    actions.update(|agent, Sleep| {
        foragers.act(agent, |(needs, books)| {
            books.ticks[SLEEP] += 1;
            if needs.sleep() { ActionResult::Success } else { ActionResult::Running }
        })
    });
}

type Hider = (&'static Wolf, &'static mut Shelter, &'static mut Books);

fn hide(mut actions: Actions<Hide>, foragers: AgentAccess<Hider>) {
    actions.carry_out(
        |agent, Hide| {
            foragers.act(agent, |(_, shelter, _)| {
                shelter.0 = 1;
                ActionResult::Running
            })
        },
        |agent, Hide| {
            foragers.act(agent, |(wolf, _, books)| {
                books.ticks[HIDE] += 1;
                if wolf.is_near() { ActionResult::Running } else { ActionResult::Success }
            })
        },
        // However the action ends, the forager leaves the shelter.
        |agent, Hide, _| {
            if let Ok(mut claim) = foragers.claim(agent) {
                claim.get_mut().1.0 = 0;
            }
        },
    );
}
