//! No decision engine at all: an `if` decides and a `match` acts, in one system and without action
//! entities.

use formic_ai::prelude::*;
use formic_jobs::ScheduleBuilder;

use super::actions::{EAT_SECONDS, GATHER_SECONDS};
use super::crowd::Mind;
use super::forager::{
    Basket, Books, Deed, Doing, EAT, GATHER, HIDE, Needs, SLEEP, Shelter, TICK_SECONDS, Wolf, bite,
    has_berries, is_hungry, is_tired, is_wolf_near, live,
};

pub(super) const MIND: Mind = Mind {
    name: "if, else",
    keys: super::crowd::keys!("if_else"),
    drive: |world, crowd| {
        for &forager in crowd {
            let doing = Doing { deed: Deed::Gather, seconds_left: GATHER_SECONDS };
            assert!(world.insert(forager, doing).is_ok(), "the forager is in the world");
        }
    },
    thinks: None,
    systems,
};

fn systems(schedule: ScheduleBuilder) -> ScheduleBuilder {
    schedule.add(live.before(decide_and_act)).add(decide_and_act).add(bite.after(decide_and_act))
}

type Everything = (
    &'static mut Needs,
    &'static mut Basket,
    &'static Wolf,
    &'static mut Shelter,
    &'static mut Books,
    &'static mut Doing,
);

fn decide_and_act(mut foragers: Query<Everything>) {
    foragers.par_for_each(|(needs, basket, wolf, shelter, books, doing)| {
        decide(&(needs, basket, wolf), doing);
        act(needs, basket, books, doing);
        // No other system leaves the shelter.
        shelter.0 = u32::from(doing.deed == Deed::Hide);
    });
}

/// Decides by the same priorities as the tree.
fn decide(senses: &(&mut Needs, &mut Basket, &Wolf), doing: &mut Doing) {
    let senses = &(&*senses.0, &*senses.1, senses.2);
    let is_asleep = doing.deed == Deed::Sleep && doing.seconds_left > 0.0;
    let deed = if is_wolf_near(senses) {
        Deed::Hide
    } else if is_asleep {
        Deed::Sleep
    } else if is_hungry(senses) && has_berries(senses) {
        Deed::Eat
    } else if is_tired(senses) && !is_hungry(senses) {
        Deed::Sleep
    } else {
        Deed::Gather
    };
    if deed != doing.deed || doing.seconds_left <= 0.0 {
        let seconds_left = if deed == Deed::Eat { EAT_SECONDS } else { GATHER_SECONDS };
        *doing = Doing { deed, seconds_left };
    }
}

fn act(needs: &mut Needs, basket: &mut Basket, books: &mut Books, doing: &mut Doing) {
    match doing.deed {
        Deed::Gather => {
            books.ticks[GATHER] += 1;
            doing.seconds_left -= TICK_SECONDS;
            if doing.seconds_left <= 0.0 && basket.0 < Basket::FULL {
                basket.0 += 1;
                books.gathered += 1;
            }
        }
        Deed::Eat => {
            books.ticks[EAT] += 1;
            doing.seconds_left -= TICK_SECONDS;
            if doing.seconds_left <= 0.0 {
                basket.0 -= 1;
                books.meals += 1;
                needs.eat();
            }
        }
        Deed::Sleep => {
            books.ticks[SLEEP] += 1;
            if needs.sleep() {
                doing.seconds_left = 0.0;
            }
        }
        Deed::Hide => books.ticks[HIDE] += 1,
    }
}
