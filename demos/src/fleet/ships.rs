//! The decisions of ships: a hierarchical state machine.
//!
//! ```text
//!   on duty                                         badly hurt
//!   +- cruising                                  ──────────────>  retreating
//!   +- fighting   (an enemy is in sight)         <──────────────
//!      +- closing                                    mended
//!      +- firing  (it is in range)
//! ```

use std::sync::Arc;

use formic_ai::fsm::{Machine, MachineBuilder, Machines, State, Transition};
use formic_ai::prelude::*;

use super::flight::{Close, Cruise, Retreat};
use super::guns::{Fire, RANGE};
use super::parts::{Aim, Hull};

/// The components that ships read.
pub(super) type Senses = (&'static Aim, &'static Hull);

/// The machine that all ships share.
pub(super) type Ships = Arc<Machine<Senses>>;

pub(super) fn actions() -> ActionSet {
    ActionSet::new()
        .action("cruise", Cruise)
        .action("close", Close)
        .action("fire", Fire)
        .action("retreat", Retreat)
}

/// Returns the machine. A badly damaged ship retreats from any state on duty: one transition for three
/// states.
pub(super) fn machine(actions: &ActionSet) -> Machine<Senses> {
    let go = Transition::<Senses>::new;
    MachineBuilder::new()
        .state(State::new("on duty"))
        .state(State::new("cruising").inside("on duty").action("cruise"))
        .state(State::new("fighting").inside("on duty"))
        .state(State::new("closing").inside("fighting").action("close"))
        .state(State::new("firing").inside("fighting").action("fire"))
        .state(State::new("retreating").action("retreat"))
        .transition(
            go("on duty", "retreating").when(is_hurt).called("it is badly hurt").priority(1),
        )
        .transition(go("retreating", "on duty").when_done())
        .transition(go("cruising", "fighting").when(sees_enemy).called("an enemy is in sight"))
        .transition(
            go("fighting", "cruising").when(|it| !sees_enemy(it)).called("no enemy is in sight"),
        )
        .transition(go("closing", "firing").when(is_in_range).called("the enemy is in range"))
        .transition(
            go("firing", "closing").when(|it| !is_in_range(it)).called("the enemy is out of range"),
        )
        .build(actions)
        .expect("every state and action that is named is there")
}

fn sees_enemy((aim, _): &(&Aim, &Hull)) -> bool {
    aim.has_target()
}

fn is_in_range((aim, _): &(&Aim, &Hull)) -> bool {
    aim.distance < RANGE
}

fn is_hurt((_, hull): &(&Aim, &Hull)) -> bool {
    hull.is_hurt()
}

pub(super) fn think(mut machines: Machines<Senses>, ships: Res<Ships>) {
    machines.update(&ships);
}
