//! The systems that carry out the actions of workers.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::action::SerialProcessor;
use formic_ai::prelude::*;
use glam::Vec2;

use super::components::{
    AddItem, Animator, Books, Inventory, Item, MoveTo, Place, PlayAnimation, Playing, Position,
    RemoveItem, Speed, Standing, Workplace,
};

/// How much time a tick is, in seconds.
pub(super) struct TimeStep {
    pub(super) seconds: f32,
}

/// Where the places are.
pub(super) struct Places {
    pub(super) castle: Vec2,
    /// By their numbers.
    pub(super) mines: Vec<Vec2>,
}

type Walker = (&'static Speed, &'static Standing, &'static Workplace);

/// Walks along a straight line, at the speed that the agent had when it set out.
struct Walking<'a> {
    positions: AgentAccess<'a, &'static mut Position>,
    walkers: ComponentLookup<'a, Walker>,
    places: Res<'a, Places>,
    seconds: f32,
}

impl Processor for Walking<'_> {
    type Action = MoveTo;

    fn start(&self, agent: Agent<'_>, action: &mut MoveTo) -> ActionResult {
        let Ok((speed, standing, workplace)) = self.walkers.get(agent.entity) else {
            return ActionResult::Failed;
        };
        let Ok(mut position) = self.positions.claim(agent) else { return ActionResult::Failed };
        let place = match action.place {
            Place::Castle => self.places.castle,
            Place::Mine => self.places.mines[workplace.0 as usize],
        };
        action.from = position.get_mut().0;
        action.to = place + standing.0;
        if action.from == action.to {
            return ActionResult::Success;
        }
        // A worker that cannot walk would be on the way for ever.
        if speed.0 <= 0.0 {
            return ActionResult::Failed;
        }
        action.seconds = 0.0;
        action.seconds_total = action.from.distance(action.to) / speed.0;
        ActionResult::Running
    }

    fn update(&self, agent: Agent<'_>, action: &mut MoveTo) -> ActionResult {
        let Ok(mut position) = self.positions.claim(agent) else { return ActionResult::Failed };
        action.seconds += self.seconds;
        if action.seconds >= action.seconds_total {
            position.get_mut().0 = action.to;
            return ActionResult::Success;
        }
        let done = action.seconds / action.seconds_total;
        position.get_mut().0 = action.from.lerp(action.to, done);
        ActionResult::Running
    }
}

pub(super) fn move_to(
    mut actions: Actions<MoveTo>,
    positions: AgentAccess<&'static mut Position>,
    walkers: ComponentLookup<Walker>,
    places: Res<Places>,
    time: Res<TimeStep>,
) {
    actions.process(&Walking { positions, walkers, places, seconds: time.seconds });
}

/// Asks the agent's animator for a clip and waits for its end.
struct Performing<'a> {
    animators: AgentAccess<'a, &'static mut Animator>,
    playing: EnabledLookup<'a, Playing>,
}

impl Processor for Performing<'_> {
    type Action = PlayAnimation;

    fn start(&self, agent: Agent<'_>, action: &mut PlayAnimation) -> ActionResult {
        let Ok(mut animator) = self.animators.claim(agent) else { return ActionResult::Failed };
        action.request = animator.get_mut().play(action.clip);
        match self.playing.set(agent.entity, true) {
            Ok(_) => ActionResult::Running,
            Err(_) => ActionResult::Failed,
        }
    }

    fn update(&self, agent: Agent<'_>, action: &mut PlayAnimation) -> ActionResult {
        let Ok(mut animator) = self.animators.claim(agent) else { return ActionResult::Failed };
        if animator.get_mut().has_finished(action.request) {
            ActionResult::Success
        } else {
            ActionResult::Running
        }
    }
}

pub(super) fn play_animation(
    mut actions: Actions<PlayAnimation>,
    animators: AgentAccess<&'static mut Animator>,
    playing: EnabledLookup<Playing>,
) {
    actions.process(&Performing { animators, playing });
}

type Carrier = (&'static mut Inventory, &'static mut Books);

/// Puts things into the agent's inventory, in one tick. One action after the other: a plan may have
/// several of one agent at once, as the parts of a join.
struct Adding<'a>(ComponentLookup<'a, Carrier>);

impl SerialProcessor for Adding<'_> {
    type Action = AddItem;

    fn start(&mut self, agent: Agent<'_>, action: &mut AddItem) -> ActionResult {
        let Ok((inventory, books)) = self.0.get_mut(agent.entity) else {
            return ActionResult::Failed;
        };
        if !inventory.add(action.item, action.count) {
            return ActionResult::Failed;
        }
        if action.item == Item::GOLD {
            books.mined += u64::from(action.count);
        }
        ActionResult::Success
    }

    fn update(&mut self, _agent: Agent<'_>, _action: &mut AddItem) -> ActionResult {
        ActionResult::Success
    }
}

pub(super) fn add_item(mut actions: Actions<AddItem>, carriers: ComponentLookup<Carrier>) {
    actions.process_serial(&mut Adding(carriers));
}

/// Takes things out of the agent's inventory, in one tick, like [`Adding`].
struct Removing<'a>(ComponentLookup<'a, Carrier>);

impl SerialProcessor for Removing<'_> {
    type Action = RemoveItem;

    fn start(&mut self, agent: Agent<'_>, action: &mut RemoveItem) -> ActionResult {
        let Ok((inventory, books)) = self.0.get_mut(agent.entity) else {
            return ActionResult::Failed;
        };
        if !inventory.remove(action.item, action.count) {
            return ActionResult::Failed;
        }
        if action.item == Item::GOLD {
            books.delivered += u64::from(action.count);
        }
        ActionResult::Success
    }

    fn update(&mut self, _agent: Agent<'_>, _action: &mut RemoveItem) -> ActionResult {
        ActionResult::Success
    }
}

pub(super) fn remove_item(mut actions: Actions<RemoveItem>, carriers: ComponentLookup<Carrier>) {
    actions.process_serial(&mut Removing(carriers));
}

/// Plays the clips that were asked for; animators without one are not visited.
pub(super) fn animate(
    mut animators: Query<(&mut Animator, EnabledMut<Playing>), With<Playing>>,
    time: Res<TimeStep>,
) {
    let seconds = time.seconds;
    animators.par_for_each(|(animator, mut playing)| {
        if animator.advance(seconds) {
            playing.set(false);
        }
    });
}
