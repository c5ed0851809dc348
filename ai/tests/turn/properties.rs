//! Properties of any actions in any order.

use formic_ai::turn::{Decision, Gone, Rule, Ruling, Situation, TurnAction, Turns, unseen};
use formic_ecs::RandomStream;
use formic_ecs::prelude::*;

use crate::game::{Cell, Deed, Door, Health, Lit, Position, SIDE, Solid, bare, populate};

/// All answers of all getters.
fn answers(situation: Situation<'_, Cell>) -> Vec<String> {
    let mut text = Vec::new();
    let mut all: Vec<Entity> = situation.world().entities().collect();
    all.sort_unstable();
    for entity in all {
        text.push(format!(
            "{entity} {} {:?} {:?} {:?} {:?} {} {:?}",
            situation.is_alive(entity),
            situation.cell_of(entity),
            situation.get::<Position>(entity),
            situation.get::<Health>(entity),
            situation.get::<Door>(entity),
            situation.has::<Solid>(entity),
            situation.get::<Lit>(entity),
        ));
    }
    text.push(format!(
        "{:?} {:?} {:?}",
        situation.entities_with::<Position>(),
        situation.entities_with::<Lit>(),
        situation.entities_with::<Gone>(),
    ));
    let side = i32::try_from(SIDE).unwrap();
    for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
        let cell = situation.cell((x, y));
        text.push(format!(
            "{cell:?} {} {} {} {} {:?} {:?} {:?}",
            cell.is_empty(),
            cell.count::<Solid>(),
            cell.count::<Door>(),
            cell.count::<Health>(),
            cell.first::<Door>(),
            cell.with::<Door>().collect::<Vec<_>>(),
            cell.with::<Lit>().collect::<Vec<_>>(),
        ));
    }
    text
}

fn seeds() -> std::ops::Range<u64> {
    0..if cfg!(miri) { 1 } else { 12 }
}

fn turn_count() -> u64 {
    if cfg!(miri) { 8 } else { 60 }
}

#[test]
fn the_world_after_an_action_answers_as_the_world_does_once_it_is_done() {
    for seed in seeds() {
        let mut world = World::new();
        populate(&mut world, seed, 12);
        let mut turns = bare().build(&mut world).unwrap();
        let mut action = TurnAction::new();
        for turn in 0..turn_count() {
            let deed = Deed::Anything(seed * 1000 + turn);
            let bound = turns.bind(&world, &deed, &mut action);
            let foreseen = answers(turns.now(&world).after(&action));
            let end = turns.act(&mut world, deed, unseen);
            assert_eq!(bound.is_ok(), end.decision == Decision::Accepted);
            assert_eq!(foreseen, answers(turns.now(&world)), "seed {seed}, turn {turn}");
            let has_something =
                |&who: &Entity| world.has::<Position>(who) || world.has::<Health>(who);
            let gone = turns.now(&world).entities_with::<Gone>();
            assert!(!gone.iter().any(has_something), "seed {seed}, turn {turn}");
        }
    }
}

#[test]
fn the_cells_are_as_if_they_were_worked_out_anew_after_every_turn() {
    for seed in seeds() {
        let mut world = World::new();
        populate(&mut world, seed, 12);
        let mut turns = bare().build(&mut world).unwrap();
        for turn in 0..turn_count() {
            let end = turns.act(&mut world, Deed::Anything(seed * 1000 + turn), unseen);
            assert_eq!(turns.cells().check(&world), Ok(()), "seed {seed}, turn {turn}");
            if turn % 7 == 0 && end.spent {
                turns.undo(&mut world).unwrap();
                assert_eq!(turns.cells().check(&world), Ok(()), "seed {seed}, turn {turn}");
            }
        }
        world.check().unwrap();
    }
}

#[test]
fn cells_that_are_wrong_are_found_out() {
    let mut world = World::new();
    let who = populate(&mut world, 1, 3)[0];
    let turns = bare().build(&mut world).unwrap();
    world.get_mut::<Position>(who).unwrap().x += 1;
    assert!(turns.cells().check(&world).is_err());
}

#[test]
fn a_rejected_action_leaves_world_and_turns_as_they_were_to_the_bit() {
    for seed in seeds() {
        let mut world = World::new();
        let all = populate(&mut world, seed, 12);
        let first = all[0];
        let follow = Rule::always("follow", move |_, reactions| {
            reactions.push(Deed::Die(all[1]));
            Ruling::pass()
        });
        let never = Rule::always("never", |_, _| Ruling::reject());
        let mut turns = bare().rule(follow).rule(never).build(&mut world).unwrap();
        turns.schedule(first, 5);
        let bytes = world.snapshot().unwrap();
        let before = (turns.state_hash(&world), format!("{turns:?}"));
        for turn in 0..turn_count() {
            let end = turns.act(&mut world, Deed::Anything(seed * 1000 + turn), unseen);
            assert!(!end.spent);
            assert_eq!((end.commits, end.frames), (0, 0));
            assert_eq!((turns.state_hash(&world), format!("{turns:?}")), before);
        }
        assert_eq!(world.snapshot().unwrap(), bytes);
    }
}

#[test]
fn undoing_turn_after_turn_comes_by_every_state_again() {
    for seed in seeds() {
        let mut world = World::new();
        populate(&mut world, seed, 12);
        let mut turns = bare().build(&mut world).unwrap();
        let mut states = Vec::new();
        let mut vacancies = Vec::new();
        for turn in 0..turn_count() {
            let before = (turns.state_hash(&world), turns.vacancies());
            if turns.act(&mut world, Deed::Anything(seed * 1000 + turn), unseen).spent {
                states.push(before.0);
                vacancies.push(before.1);
            }
        }
        while let Some(state) = states.pop() {
            let undone = turns.undo(&mut world).unwrap();
            assert!(matches!(undone.kind, Deed::Anything(_)));
            assert_eq!(turns.state_hash(&world), state, "seed {seed}, {} turns left", states.len());
            assert_eq!(Some(turns.vacancies()), vacancies.pop());
        }
        assert!(turns.undo(&mut world).is_none());
    }
}

/// A game with all taking turns; decisions follow from the seed and the turn.
fn play(seed: u64, undo_every: u64) -> (World, Turns<Deed>) {
    let (mut world, mut turns) = begin(seed);
    let mut dice = RandomStream::new(seed);
    for turn in 0..turn_count() {
        let Some(actor) = turns.next(&world).entity() else { break };
        let deed = Deed::Anything(dice.next_u64());
        let end = turns.take_turn(&mut world, actor, deed, unseen).unwrap();
        assert!(end.spent);
        if undo_every > 0 && turn % undo_every == 0 {
            let state = turns.state_hash(&world);
            let undone = turns.undo(&mut world).unwrap();
            let again = turns.take_turn(&mut world, undone.actor.unwrap(), undone.kind, unseen);
            assert!(again.unwrap().spent);
            assert_eq!(turns.state_hash(&world), state, "the same decision, another state");
        }
    }
    (world, turns)
}

fn begin(seed: u64) -> (World, Turns<Deed>) {
    let mut world = World::new();
    let all = populate(&mut world, seed, 12);
    let mut turns = bare().hash_every(5).build(&mut world).unwrap();
    for (delay, &who) in all.iter().enumerate() {
        turns.schedule(who, delay as u64 % 3);
    }
    (world, turns)
}

#[test]
fn the_log_leads_to_the_same_state_again() {
    for seed in seeds() {
        let (world, turns) = play(seed, 3);
        let text = ron::to_string(turns.log()).unwrap();
        let (mut other_world, mut others) = begin(seed);
        others.replay(&mut other_world, &ron::from_str(&text).unwrap()).unwrap();
        assert_eq!(others.state_hash(&other_world), turns.state_hash(&world));
        assert_eq!(others.log(), turns.log());
    }
}

#[test]
fn rules_that_commute_come_to_the_same_verdict_in_any_order() {
    let limits: [usize; 4] = [1, 2, 4, 7];
    let verdicts = |shift: usize| -> Vec<bool> {
        let mut world = World::new();
        populate(&mut world, 3, 12);
        let mut builder = bare();
        for index in 0..limits.len() {
            let limit = limits[(index + shift) % limits.len()];
            builder = builder.rule(Rule::always(format!("at most {limit}"), move |case, _| {
                let fits = case.action.len() % 8 != limit;
                if fits { Ruling::pass() } else { Ruling::reject().keep_checking() }
            }));
        }
        let mut turns = builder.build(&mut world).unwrap();
        (0..turn_count())
            .map(|turn| turns.judge(&mut world, Deed::Anything(turn)) == Decision::Accepted)
            .collect()
    };
    let first = verdicts(0);
    assert!(first.contains(&true) && first.contains(&false));
    assert!((1..4).all(|shift| verdicts(shift) == first));
}
