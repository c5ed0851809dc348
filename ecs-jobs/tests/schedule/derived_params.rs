//! Structs of parameters that derive `SystemParam`.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools};
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use formic_jobs::{ParamError, RunContext, Save, ScheduleError, SystemAccess, SystemParam};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Target(Entity);
#[derive(Component)]
struct Wounded;
struct Wind(f32);
struct Shots(u32);

#[derive(SystemParam)]
struct Around<'w> {
    wind: Res<'w, Wind>,
    positions: ComponentLookup<'w, &'static Position>,
}

#[derive(SystemParam)]
struct Effects<'w, 's, T: Send + Sync + 'static> {
    commands: Commands<'w>,
    shots: ResMut<'w, Shots>,
    r#type: EventWriter<'s, T>,
    ticks: Local<'s, u32>,
    pool: &'w Pool,
}

#[derive(SystemParam)]
struct Everything<'a>(Around<'a>, Effects<'a, 'a, Entity>);

#[derive(SystemParam)]
struct Nothing {}

/// Constants in lower case are patterns wherever a variable is declared.
#[expect(non_upper_case_globals, reason = "a program may name its constants so")]
mod own_names {
    use super::*;

    macro_rules! constants {
        ($($name:ident)*) => { $( pub(super) const $name: u8 = 1; )* };
    }
    constants! { world access state context visit archive field_0 }

    #[derive(SystemParam)]
    pub(super) struct Breeze<'w>(pub(super) Res<'w, Wind>);
}

fn aim(mut archers: Query<(Entity, &Target)>, mut all: Everything, _nothing: Nothing) {
    let Everything(around, effects) = &mut all;
    assert!(effects.pool.parallelism() > 0);
    *effects.ticks += 1;
    for (archer, target) in &mut archers {
        let place = around.positions.get(target.0).expect("it is somewhere");
        if place.0 > around.wind.0 {
            effects.shots.0 += *effects.ticks;
            effects.commands.insert(target.0, Wounded);
            effects.r#type.send(archer);
        }
    }
}

fn count(mut shots: EventReader<Entity>, mut total: ResMut<usize>) {
    *total += shots.read().count();
}

/// Ten archers that aim at one of two targets, the second of which is out of the wind.
fn range() -> World {
    let mut world = World::new();
    world.insert_resource(Wind(1.0));
    world.insert_resource(Shots(0));
    world.insert_resource(0_usize);
    let targets = [world.spawn(Position(0.0)), world.spawn(Position(2.0))];
    world.spawn_batch((0..10).map(|i| Target(targets[i % 2])));
    world
}

#[test]
fn a_struct_of_parameters_gives_what_its_fields_give_and_hands_on_what_they_record() {
    for pool in pools() {
        let mut world = range();
        let builder = Schedule::builder().add(aim).add(count.after(aim));
        let mut schedule = builder.build(&mut world).expect("nothing is in the way");
        (0..3).for_each(|_| drop(schedule.run(&mut world, &pool)));
        assert_eq!(world.resource::<Shots>().expect("it is there").0, 5 * (1 + 2 + 3));
        assert_eq!(world.query_filtered::<&Position, With<Wounded>>().single(), Ok(&Position(2.0)));
        assert_eq!(world.resource::<usize>(), Ok(&15));
    }
}

#[test]
fn what_a_struct_of_parameters_keeps_is_saved_with_the_game() {
    #[derive(Default)]
    struct Memory(#[expect(dead_code, reason = "it has bytes")] u8);
    #[derive(SystemParam)]
    struct Kept<'w> {
        _known: Local<'w, u32>,
        _unknown: Local<'w, Memory>,
    }
    let mut world = World::new();
    let mut schedule = Schedule::builder().add(|_: Kept| ()).build(&mut world).expect("in order");
    schedule.run(&mut world, &pool(0));
    let text = Save::of(&world, &schedule).expect_err("there is no rule for it").to_string();
    assert!(text.contains("Local<Memory>"), "{text}");
    assert!(!text.contains("Local<u32>"), "{text}");
}

#[test]
fn fields_that_contradict_each_other_or_an_argument_are_an_error_that_names_them() {
    #[derive(SystemParam)]
    struct Twice<'w> {
        _around: Around<'w>,
        _again: Inner<'w>,
    }
    #[derive(SystemParam)]
    struct Inner<'w> {
        _places: ComponentLookup<'w, &'static mut Position>,
    }
    let refused = Schedule::builder().add(|_: Twice| ()).build(&mut World::new());
    let Err(ScheduleError::Contradiction { wanted, .. }) = refused else {
        panic!("two fields want the positions")
    };
    assert_eq!(wanted.len(), 1);
    assert!(wanted[0].ends_with("Position (in the field `_again._places`)"), "{wanted:?}");
    let refused = Schedule::builder().add(|_: ResMut<Wind>, _: Around| ()).build(&mut World::new());
    let text = refused.map(drop).expect_err("both want the wind").to_string();
    assert!(text.contains("Wind (in the field `wind`) twice, once of them to write"), "{text}");
}

#[test]
fn a_parameter_that_cannot_be_had_says_why_with_its_system() {
    struct Picky;
    impl SystemParam for Picky {
        type State = ();
        type Item<'a> = Picky;
        fn init(_world: &mut World, _access: &mut SystemAccess) {}
        fn fetch<'a>((): &'a mut (), context: RunContext<'a>) -> Result<Picky, ParamError> {
            if context.tick % 2 == 0 {
                return Ok(Picky);
            }
            Err("the number of the tick is odd".into())
        }
    }
    #[derive(SystemParam)]
    struct Both<'w> {
        _picky: Picky,
        _wind: Res<'w, Wind>,
    }
    fn run_both(_: Both) {}
    let message = |world: &mut World, ticks: u32| {
        let mut schedule = Schedule::builder().add(run_both).build(world).expect("in order");
        let run = || (0..ticks).for_each(|_| drop(schedule.run(world, &pool(0))));
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it cannot run");
        panic.downcast_ref::<String>().cloned().expect("a text")
    };
    let missing = message(&mut World::new(), 2);
    assert!(missing.contains("run_both") && missing.contains("Wind"), "{missing}");
    let odd = message(&mut range(), 2);
    assert!(odd.contains("run_both") && odd.contains("the number of the tick is odd"), "{odd}");
}

#[test]
fn constants_of_the_program_do_not_get_in_the_way_of_the_derive() {
    fn feel(breeze: own_names::Breeze, mut felt: ResMut<f32>) {
        *felt = breeze.0.0;
    }
    let constants = {
        use own_names::{access, archive, context, field_0, state, visit, world};
        [world, access, state, context, visit, archive, field_0]
    };
    assert_eq!(constants, [1; 7]);
    let mut world = World::new();
    world.insert_resource(Wind(2.5));
    world.insert_resource(0.0_f32);
    let mut schedule = Schedule::builder().add(feel).build(&mut world).expect("no conflict");
    schedule.run(&mut world, &pool(1));
    assert_eq!(*world.resource::<f32>().expect("there"), 2.5);
}
