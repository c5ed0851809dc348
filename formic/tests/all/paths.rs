//! Path requests of agents, in the log of their decisions.

use formic::ai::explain::{Candidate, Ended, Engine, Stopped, Verdict};
use formic::nav::{Cell, Grid, MoveRule, Terrain, systems};
use formic::prelude::*;

const DOOR: Cell = Cell::new(3, 0);

fn hall() -> (World, Entity) {
    let grid = Grid::from_fn(8, 8, |cell| cell.x != 3).expect("it is not empty");
    let mut world = World::new();
    systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
    let imp = world.spawn(systems::agent(Vec2::new(0.5, 0.5), 4.0));
    world.get_mut::<PathRequest>(imp).expect("it walks").ask(Vec2::new(4.5, 7.5)).keep_trying();
    (world, imp)
}

fn ask(world: &mut World, imp: Entity, goal: Vec2) {
    world.get_mut::<PathRequest>(imp).expect("it walks").ask(goal);
}

fn build(world: &mut World) -> (Schedule, Pool) {
    let schedule = systems::add(Schedule::builder())
        .add(formic::note_paths.after(systems::search))
        .build(world)
        .expect("no cycle");
    assert!(schedule.ambiguities().is_empty());
    (schedule, Pool::new(Threads::None).expect("no threads are needed"))
}

#[test]
fn every_answer_is_told_once_and_in_the_tick_of_the_answer() {
    let (mut world, imp) = hall();
    world.insert_resource(DecisionLog::watching(imp, "Imp", 16));
    let (mut schedule, pool) = build(&mut world);
    for tick in 0..200 {
        match tick {
            5 => {
                world.resource_mut::<Terrain>().expect("it is there").dig(DOOR);
            }
            190 => ask(&mut world, imp, Vec2::ZERO),
            195 => world.get_mut::<PathRequest>(imp).expect("it walks").cancel(),
            // The second one is another request, with the same answer.
            196 | 198 => ask(&mut world, imp, Vec2::new(3.5, 5.5)),
            _ => {}
        }
        schedule.run(&mut world, &pool);
    }
    let said = formic::ai::why(&world, imp);
    let arrived = said[2].strip_suffix(": arrived.").expect("it has arrived");
    assert!(arrived.ends_with("Imp#0 asked for a path to (4, 7)"), "{arrived}");
    let rest: Vec<&str> =
        said.iter().enumerate().filter(|it| it.0 != 2).map(|it| &**it.1).collect();
    assert_eq!(
        rest,
        [
            "Tick 0: Imp#0 asked for a path to (4, 7): none, no open route leads there.",
            "Tick 5: Imp#0 asked for a path to (4, 7): found.",
            "Tick 190: Imp#0 asked for a path to (0, 0): found.",
            "Tick 195: Imp#0 asked for a path to (0, 0): withdrawn.",
            "Tick 196: Imp#0 asked for a path to (3, 5): none, that is inside a wall.",
            "Tick 198: Imp#0 asked for a path to (3, 5): none, that is inside a wall.",
        ]
    );
}

#[test]
fn a_path_that_an_edit_cuts_is_told_with_what_came_of_it() {
    let (mut world, imp) = hall();
    let other = Cell::new(3, 7);
    let edit = |world: &mut World, cell: Cell, dig: bool| {
        let terrain = world.resource_mut::<Terrain>().expect("it is there");
        if dig {
            terrain.dig(cell)
        } else {
            terrain.fill(cell)
        };
    };
    edit(&mut world, DOOR, true);
    edit(&mut world, other, true);
    world.insert_resource(DecisionLog::watching(imp, "Imp", 16));
    let (mut schedule, pool) = build(&mut world);
    for tick in 0..30 {
        match tick {
            4 => {
                let route = world.get::<formic::nav::Route>(imp).expect("it walks").rest();
                let door = [DOOR, other].into_iter().find(|it| route.contains(it)).expect("a way");
                edit(&mut world, door, false);
            }
            9 => [DOOR, other].into_iter().for_each(|door| edit(&mut world, door, false)),
            _ => {}
        }
        schedule.run(&mut world, &pool);
    }
    let said = formic::ai::why(&world, imp);
    let cut = "Imp#0 asked for a path to (4, 7) again, as an edit cut the one it had";
    let (found, none) = (format!("Tick 4: {cut}: found."), format!("Tick 9: {cut}: none"));
    assert_eq!(said[0], "Tick 0: Imp#0 asked for a path to (4, 7): found.");
    assert_eq!(said[1], found);
    assert!(said[2].starts_with(&none) && said.len() == 3, "{said:?}");
}

#[test]
fn the_world_is_the_same_whether_requests_are_written_down_or_not() {
    let (mut watched, imp) = hall();
    watched.insert_resource(DecisionLog::watching(imp, "Imp", 16));
    let (mut other, _) = hall();
    let ((mut first, pool), (mut second, _)) = (build(&mut watched), build(&mut other));
    for _ in 0..20 {
        first.run(&mut watched, &pool);
        second.run(&mut other, &pool);
        assert_eq!(watched.state_hash(), other.state_hash());
    }
}

#[test]
fn what_has_stopped_is_left_for_the_mind_to_tell() {
    let (mut world, imp) = hall();
    let log = DecisionLog::watching(imp, "Imp", 16);
    log.note_end(imp, || Stopped::new("dig", Ended::Success));
    world.insert_resource(log);
    let (mut schedule, pool) = build(&mut world);
    schedule.run(&mut world, &pool);
    let log = world.resource::<DecisionLog>().expect("it is there");
    assert!(log.is_pending(imp), "{:?}", log.sentences(imp));
    log.note(imp, 1, Engine::Utility, |decision| {
        decision.candidate(Candidate::new("rest", Verdict::Chosen));
    });
    assert_eq!(log.sentences(imp)[1], "Tick 1: Imp#0 chose rest; dig is done.");
}

#[test]
fn an_agent_that_cannot_move_by_its_numbers_says_so() {
    let still =
        |what: &str| format!("It stands still: {what}, and has to be a finite number above 0.");
    let said = |change: fn(&mut World, Entity)| {
        let (mut world, imp) = hall();
        ask(&mut world, imp, Vec2::new(1.5, 7.5));
        change(&mut world, imp);
        let (mut schedule, pool) = build(&mut world);
        schedule.run(&mut world, &pool);
        formic::why(&world, imp)
    };
    let asked = "entity 0 asked for a path to (1, 7): found.".to_owned();
    assert_eq!(said(|_, _| ()).join(" "), asked);
    let slow = said(|world, imp| {
        world.get_mut::<Speed>(imp).expect("it walks").0 = f32::NAN;
    });
    assert_eq!(slow, [asked.clone(), still("its `Speed` is NaN")]);
    let slow = said(|world, _| {
        world.resource_mut::<TimeStep>().expect("it is there").seconds = f32::NAN;
    });
    assert_eq!(slow, [asked, still("the `TimeStep` is NaN")]);
}

#[test]
fn an_agent_with_a_mind_tells_of_both_mind_and_path() {
    #[derive(Component, Clone)]
    struct Walk;
    let (mut world, imp) = hall();
    ActionSet::new().action("walk", Walk).attach(&mut world, imp).expect("it has none yet");
    SequenceAgent::drive(&mut world, imp, OnFailure::Retry).expect("it has a body");
    let said = formic::why(&world, imp);
    assert!(said[0].starts_with("entity 0 is driven by `SequenceAgent`"), "{said:?}");
    assert_eq!(
        said.last().map(String::as_str),
        Some("entity 0 asked for a path to (4, 7): being searched.")
    );
}
