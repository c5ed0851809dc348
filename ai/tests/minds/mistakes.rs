//! Mistakes of a program that uses this crate: each is an error of the schedule, or `why` names it.

use formic_ai::action::{self, MindSystem, OwnedAction};
use formic_ai::bt::Library;
use formic_ai::explain::DecisionLog;
use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};
use formic_ai::why;
use formic_jobs::ScheduleBuilder;

#[derive(Component, Clone)]
struct Eat;
#[derive(Component)]
struct Hunger(f32);
struct Cats(Reasoner);

fn think(mut minds: UtilityAgents<&Hunger>, cats: Res<Cats>) {
    minds.decide(&cats.0, |hunger| [hunger.0]);
}

fn eat(mut actions: Actions<Eat>) {
    actions.update(|_, _| ActionResult::Running);
}

/// A world with a cat that decides by utility.
fn world_with_cat() -> (World, Entity) {
    let actions = ActionSet::new().action("eat", Eat);
    let [hunger] = Input::named(["hunger"]);
    let option = Utility::of(hunger, Curve::linear(1.0, 0.0));
    let cats = Reasoner::new().option("eat", option).bind(&actions).unwrap();
    let mut world = World::new();
    let cat = actions.spawn(&mut world, Hunger(0.5)).unwrap();
    UtilityAgent::drive(&mut world, cat, &cats, 1).unwrap();
    world.insert_resource(Cats(cats));
    (world, cat)
}

fn with_actions() -> ScheduleBuilder {
    action::add(Schedule::builder())
}

/// What a schedule that is refused says.
fn refusal(builder: ScheduleBuilder) -> String {
    builder.build(&mut world_with_cat().0).unwrap_err().to_string()
}

/// What a cat says after a tick of a schedule.
fn said_after(builder: ScheduleBuilder, (mut world, cat): (World, Entity)) -> String {
    let mut schedule = builder.build(&mut world).unwrap();
    schedule.run(&mut world, &Pool::new(Threads::None).unwrap());
    why(&world, cat).join(" ")
}

fn watched((mut world, cat): (World, Entity)) -> (World, Entity) {
    world.insert_resource(DecisionLog::watching(cat, "Cat", 4));
    (world, cat)
}

#[test]
fn a_mind_or_an_action_without_its_place_is_refused() {
    let think_alone = refusal(with_actions().add(think));
    assert!(think_alone.contains("think has to run before systems::identify"), "{think_alone}");
    assert!(think_alone.ends_with("add it by `.as_mind()` to the schedule"), "{think_alone}");
    let eat_alone = refusal(with_actions().add(think.as_mind()).add(eat));
    assert!(eat_alone.contains("eat has to run after systems::identify_parts"), "{eat_alone}");
    assert!(eat_alone.ends_with("add it by `.as_action()` to the schedule"), "{eat_alone}");
    // Added earlier, they would run at the right time by chance.
    assert!(refusal(action::add(Schedule::builder().add(think))).contains("as_mind"));
}

#[test]
fn a_place_that_is_given_in_another_way_is_one() {
    const MINDS: Group = Group::named("minds");
    let builder = with_actions()
        .add(MINDS.before(action::identify))
        .add(think.in_group(MINDS))
        .add(eat.after(action::identify_parts));
    assert!(builder.build(&mut world_with_cat().0).is_ok());
}

#[test]
fn a_schedule_without_the_systems_of_actions_is_refused() {
    for builder in [
        Schedule::builder().add(think),
        Schedule::builder().add(think.as_mind()),
        Schedule::builder().add(eat),
        Schedule::builder().add(eat.as_action()),
    ] {
        let error = refusal(builder);
        assert!(error.contains("is not added") && error.contains("`action::add`"), "{error}");
    }
}

#[test]
fn an_action_that_no_system_carries_out_is_named_with_its_kind() {
    let said = said_after(with_actions().add(think.as_mind()), world_with_cat());
    let text = "It has begun eat, and no schedule of this world carries out actions of the kind `Eat`: \
                build one with a system that has the argument `Actions<Eat>`, added by `.as_action()`.";
    assert!(said.ends_with(text), "{said}");
    let said =
        said_after(with_actions().add(think.as_mind()).add(eat.as_action()), world_with_cat());
    assert!(!said.contains("no schedule"), "{said}");
}

#[test]
fn a_mind_that_no_system_decides_for_is_named() {
    let text = "is driven by `UtilityAgent`; no schedule of this world decides for it: build one with \
                an argument `UtilityAgents`.";
    for cat in [world_with_cat(), watched(world_with_cat())] {
        let said = said_after(with_actions(), cat);
        assert!(said.ends_with(text), "{said}");
    }
    let mut world = World::new();
    let agent = Sequence::new().then(Eat).spawn(&mut world, ()).unwrap();
    let said = why(&world, agent).join(" ");
    assert!(said.contains("driven by `SequenceAgent`") && said.contains("`action::add`"), "{said}");
}

#[test]
fn an_agent_that_lost_the_list_of_its_actions_is_explained() {
    let (mut world, cat) = world_with_cat();
    let mut schedule = with_actions().add(think.as_mind()).build(&mut world).unwrap();
    schedule.run(&mut world, &Pool::new(Threads::None).unwrap());
    world.get_mut::<Buffer<OwnedAction>>(cat).unwrap().clear();
    assert!(!why(&world, cat).is_empty());
}

#[test]
fn what_a_mind_of_the_program_begins_is_not_passed_on_without_the_systems_of_actions() {
    #[derive(Component)]
    struct Whim;
    fn think(mut agents: Query<&mut Body, With<Whim>>) {
        agents.for_each(|body| body.begin(0));
    }
    fn think_with_mark(mut agents: Query<&mut Body, With<Whim>>, _: MindSystem<Whim>) {
        agents.for_each(|body| body.begin(0));
    }
    let cat = || {
        let mut world = World::new();
        let cat = ActionSet::new().action("eat", Eat).spawn(&mut world, Whim).unwrap();
        (world, cat)
    };
    let said = said_after(Schedule::builder().add(think), cat());
    let text = "It has begun eat, and no schedule of this world passes that on: build one with \
                `action::add`.";
    assert!(said.ends_with(text), "{said}");
    let refused = Schedule::builder().add(think_with_mark).build(&mut cat().0).unwrap_err();
    assert!(refused.to_string().contains("`action::add`"), "{refused}");
}

#[test]
fn an_agent_that_is_not_watched_says_by_what_it_is_driven_and_how_to_watch_it() {
    let schedule = || with_actions().add(think.as_mind()).add(eat.as_action());
    let said = said_after(schedule(), world_with_cat());
    let text = "entity 0 is driven by `UtilityAgent`; it is not watched, so that its decisions are not \
                written down: call `DecisionLog::watch` of the resource, or insert \
                `DecisionLog::watching`.";
    assert_eq!(said, text);
    assert!(said_after(schedule(), watched(world_with_cat())).contains("chose eat"));
}

#[test]
fn an_agent_that_is_watched_behind_its_choice_is_not_said_to_have_made_none() {
    let (mut world, cat) = world_with_cat();
    let schedule = with_actions().add(think.as_mind()).add(eat.as_action());
    let pool = Pool::new(Threads::None).unwrap();
    let mut schedule = schedule.build(&mut world).unwrap();
    schedule.run(&mut world, &pool);
    world.insert_resource(DecisionLog::watching(cat, "Cat", 4));
    let text = "Cat#0 is driven by `UtilityAgent`; it does eat, and has decided nothing since it is \
                watched.";
    assert_eq!(why(&world, cat), [text]);
    schedule.run(&mut world, &pool);
    let text = "Tick 1: Cat#0 chose eat 0.50: hunger 0.50 -> linear 1 -> 0.50.";
    assert_eq!(why(&world, cat), [text]);
}

#[test]
fn inputs_that_are_no_numbers_are_named() {
    let (mut world, cat) = watched(world_with_cat());
    world.get_mut::<Hunger>(cat).unwrap().0 = f32::NAN;
    let schedule = with_actions().add(think.as_mind()).add(eat.as_action());
    let said = said_after(schedule, (world, cat));
    assert_eq!(said, "Tick 0: Cat#0 does nothing; eat scores 0 by hunger, which is NaN.");
}

#[test]
fn an_agent_that_does_nothing_is_written_about_once() {
    let (mut world, cat) = watched(world_with_cat());
    world.get_mut::<Hunger>(cat).unwrap().0 = 0.0;
    let mut schedule = with_actions().add(think.as_mind()).build(&mut world).unwrap();
    let pool = Pool::new(Threads::None).unwrap();
    (0..3).for_each(|_| drop(schedule.run(&mut world, &pool)));
    assert_eq!(why(&world, cat), ["Tick 0: Cat#0 does nothing."]);
}

#[test]
#[should_panic(expected = "there is a condition \"hungry\" already")]
fn two_conditions_of_one_name_are_refused() {
    let library = Library::<&Hunger>::new(&ActionSet::new()).condition("hungry", |_| true);
    let _library = library.effect("hungry", |_| {}).condition("hungry", |_| false);
}
