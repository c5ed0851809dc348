//! Utility: scores, curves, and how one option is chosen.
#![expect(clippy::cast_possible_truncation, reason = "small numbers, drawn by chance")]

#[path = "../../examples/house_cats.rs"]
#[expect(dead_code, reason = "its main is for those who run it")]
mod cats;

use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Select, Utility, UtilityAgent};

#[derive(Component, Clone)]
struct Nothing;

fn actions(count: usize) -> ActionSet {
    (0..count).fold(ActionSet::new(), |actions, option| actions.action(option.to_string(), Nothing))
}

fn reasoner(select: Select, options: impl IntoIterator<Item = Utility>) -> Reasoner {
    let mut count = 0;
    let mut reasoner = Reasoner::new().select(select);
    for utility in options {
        reasoner = reasoner.option(count.to_string(), utility);
        count += 1;
    }
    reasoner.bind(&actions(count)).unwrap()
}

#[test]
#[should_panic(expected = "the reasoner knows no actions yet: call `bind` on it")]
fn an_agent_is_not_driven_by_a_reasoner_that_was_not_bound() {
    let mut world = World::new();
    let agent = actions(1).spawn(&mut world, ()).unwrap();
    let unbound = Reasoner::new().option("0", plain(0));
    _ = UtilityAgent::drive(&mut world, agent, &unbound, 7);
}

/// What the input says.
fn plain(input: usize) -> Utility {
    Utility::of(INPUTS[input], Curve::linear(1.0, 0.0))
}

fn curves(a: f32, b: f32) -> Vec<Curve> {
    vec![
        Curve::linear(a, b),
        Curve::exponential(a),
        Curve::exponential(3.0),
        Curve::fast_then_slow(b),
        Curve::fast_then_slow(4.0),
        Curve::polynomial(a, 3, b, a),
        Curve::growth(a),
        Curve::logistic(a, b),
        Curve::logit(a, b),
        Curve::normal(a, b),
        Curve::sine(a, b),
        Curve::step(a),
        Curve::piecewise([(0.0, a), (0.5, b), (1.0, a)]),
        Curve::piecewise([]),
    ]
}

const ODD: [f32; 14] = [
    0.0,
    -0.0,
    0.25,
    0.5,
    1.0,
    -1.0,
    2.0,
    1e30,
    -1e30,
    f32::MIN_POSITIVE,
    f32::EPSILON,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
];

#[test]
fn every_curve_stays_between_0_and_1_for_whatever_numbers() {
    for a in ODD {
        for b in ODD {
            for curve in curves(a, b) {
                for input in ODD {
                    let scores = [curve.at(input), curve.clone().inverted().at(input)];
                    for score in scores {
                        assert!((0.0..=1.0).contains(&score), "{curve:?} at {input}: {score}");
                    }
                }
            }
        }
    }
}

#[test]
fn rising_curves_never_fall() {
    let rising = [
        Curve::linear(0.7, 0.1),
        Curve::exponential(2.0),
        Curve::exponential(1.7),
        Curve::fast_then_slow(4.0),
        Curve::fast_then_slow(0.3),
        Curve::growth(3.0),
        Curve::growth(-3.0),
        Curve::logistic(12.0, 0.5),
        Curve::logit(0.1, 0.5),
        Curve::step(0.4),
        Curve::piecewise([(0.9, 0.8), (0.1, 0.2), (0.5, 0.2)]),
    ];
    for curve in rising {
        let scores: Vec<f32> = (0..=1000_u16).map(|x| curve.at(f32::from(x) / 1000.0)).collect();
        assert!(scores.is_sorted(), "{curve:?}");
        let upside_down = curve.inverted();
        let scores = (0..=1000_u16).map(|x| -upside_down.at(f32::from(x) / 1000.0));
        assert!(scores.is_sorted());
    }
}

#[test]
fn curves_go_through_the_points_that_their_formulas_say() {
    let close = |a: f32, b: f32| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    close(Curve::exponential(2.0).at(0.3), 0.09);
    close(Curve::exponential(2.5).at(0.25), 0.03125);
    close(Curve::fast_then_slow(4.0).at(0.5), 0.9375);
    close(Curve::polynomial(-4.0, 2, 0.5, 1.0).at(0.25), 0.75);
    close(Curve::growth(2.0).at(0.5), 1.0 / (1.0 + 1_f32.exp()));
    close(Curve::logistic(10.0, 0.3).at(0.3), 0.5);
    close(Curve::logit(0.1, 0.5).at(0.5), 0.5);
    close(Curve::normal(0.5, 0.1).at(0.6), (-0.5_f32).exp());
    close(Curve::sine(1.0, 0.0).at(0.25), 1.0);
    close(Curve::step(0.5).at(0.5), 1.0);
    close(Curve::piecewise([(0.2, 0.0), (0.6, 1.0)]).at(0.3), 0.25);
}

fn random_curve(random: &mut RandomStream) -> Curve {
    let mut all = curves(random.between(-2.0, 4.0), random.between(-1.0, 2.0));
    let curve = all.swap_remove(random.below(all.len() as u64) as usize);
    if random.below(2) == 0 { curve } else { curve.inverted() }
}

const INPUTS: [Input; 4] = Input::named(["a", "b", "c", "d"]);

/// One of those that are worked out for many agents at once.
fn cheap_curve(random: &mut RandomStream) -> Curve {
    let curve = match random.below(4) {
        0 => Curve::linear(random.between(-2.0, 4.0), random.between(-1.0, 2.0)),
        1 => Curve::exponential(1.0 + random.below(6) as f32),
        2 => Curve::fast_then_slow(1.0 + random.below(6) as f32),
        _ => Curve::step(random.next_f32()),
    };
    if random.below(2) == 0 { curve } else { curve.inverted() }
}

fn random_utility(random: &mut RandomStream) -> Utility {
    utility_of(random, random_curve)
}

fn utility_of(random: &mut RandomStream, curve: fn(&mut RandomStream) -> Curve) -> Utility {
    let start = [Utility::sum, Utility::minimum, Utility::maximum];
    let input = |random: &mut RandomStream| INPUTS[random.below(4) as usize];
    let mut utility = match random.below(5) {
        kind @ 0..3 => start[kind as usize](),
        _ => Utility::of(input(random), curve(random)),
    };
    for _ in 0..=random.below(4) {
        utility = utility.weighted(random.between(0.1, 2.0), input(random), curve(random));
    }
    if random.below(2) == 0 {
        utility = utility.compensated();
    }
    utility = utility.weight(random.between(0.1, 1.0)).rank(random.below(2) as i32);
    if random.below(3) == 0 {
        utility = utility.inertia(random.between(0.0, 0.3)).momentum(random.between(1.0, 1.3));
    }
    utility
}

fn random_inputs(random: &mut RandomStream) -> [f32; INPUTS.len()] {
    [(); INPUTS.len()].map(|()| match random.below(12) {
        0 => ODD[random.below(ODD.len() as u64) as usize],
        _ => random.next_f32(),
    })
}

#[test]
fn the_highest_score_of_the_highest_rank_wins() {
    for seed in 0..4_000 {
        let random = &mut RandomStream::new(seed);
        let options: Vec<_> = (0..1 + random.below(6)).map(|_| random_utility(random)).collect();
        let reasoner = reasoner(Select::Highest, options.clone());
        let mut agent = UtilityAgent::new(seed);
        for _ in 0..4 {
            let inputs = random_inputs(random);
            let scores = reasoner.scores(&inputs);
            assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
            // Full evaluation: no action runs here, so these are the scores.
            let best = (0..scores.len()).filter(|&option| scores[option] > 0.0).max_by(|&a, &b| {
                let rank = |option: usize| random_rank(&options[option]);
                let by_rank = rank(a).cmp(&rank(b));
                by_rank.then(scores[a].total_cmp(&scores[b])).then(b.cmp(&a))
            });
            assert_eq!(agent.choose(&reasoner, &inputs, &[]), best, "seed {seed}: {scores:?}");
        }
    }
}

#[test]
fn the_order_of_the_options_matters_for_ties_alone() {
    for seed in 0..1_000 {
        let random = &mut RandomStream::new(seed);
        let options: Vec<_> = (0..2 + random.below(4)).map(|_| random_utility(random)).collect();
        let reversed: Vec<_> = options.iter().rev().cloned().collect();
        let [one, other] = [options, reversed].map(|it| reasoner(Select::Highest, it));
        let inputs = random_inputs(random);
        let scores = one.scores(&inputs);
        let choose = |reasoner| UtilityAgent::new(1).choose(reasoner, &inputs, &[]);
        let (chosen, mirrored) = (choose(&one), choose(&other));
        let mirrored = mirrored.map(|option| scores.len() - 1 - option);
        let is_tie = chosen.zip(mirrored).is_some_and(|(a, b)| scores[a] == scores[b]);
        assert!(chosen == mirrored || is_tie, "seed {seed}: {scores:?}");
    }
}

#[test]
fn agents_in_batches_choose_as_those_that_decide_one_by_one() {
    for seed in 0..40 {
        let random = &mut RandomStream::new(seed);
        let curves = [
            Curve::linear(1.0, 0.0),
            Curve::exponential(2.0),
            Curve::fast_then_slow(4.0),
            Curve::step(0.5),
            Curve::logistic(9.0, 0.5),
        ];
        let options: Vec<Utility> = (0..2 + random.below(3))
            .map(|_| {
                let mut curve = || curves[random.below(5) as usize].clone();
                let utility = Utility::of(INPUTS[0], curve()).and(INPUTS[1], curve().inverted());
                let utility = [utility, Utility::of(INPUTS[2], curve())];
                let utility = utility[random.below(2) as usize].clone();
                let utility = utility.inertia(random.between(0.0, 0.2)).momentum(1.25);
                let utility = utility.rank(random.below(2) as i32);
                match random.below(3) {
                    0 => utility.until(INPUTS[1], 0.25),
                    _ => utility,
                }
            })
            .collect();
        // An option that is never worth anything. Agents with cooldowns decide one by one.
        let idle = Utility::of(INPUTS[0], Curve::linear(1.0, 0.0)).weight(0.0).cooldown(1);
        let with_idle = options.iter().cloned().chain([idle]).collect();
        let mut stages = [options, with_idle].map(|it| Stage::new(3, Select::Highest, it));
        for tick in 0..60 {
            let senses =
                [(); 3].map(|()| [0.0, 0.25, 0.5, 1.0, f32::NAN][random.below(5) as usize]);
            let [one, other] = stages.each_mut().map(|stage| stage.tick(senses));
            assert_eq!(one, other, "seed {seed}, tick {tick}");
        }
    }
}

#[test]
fn agents_that_decide_in_batches_decide_as_each_does_by_itself() {
    for seed in 0..80 {
        let random = &mut RandomStream::new(seed);
        let mut options: Vec<Utility> = (0..2 + random.below(3))
            .map(|_| {
                let utility = utility_of(random, cheap_curve);
                let utility = if random.below(2) == 0 { utility.weight(1.0) } else { utility };
                match random.below(3) {
                    0 => utility.until(INPUTS[random.below(4) as usize], random.next_f32()),
                    _ => utility,
                }
            })
            .collect();
        if random.below(2) == 0 {
            options = options.into_iter().map(|utility| utility.rank(1)).collect();
        }
        let mut stage = Stage::new(1_000, Select::Highest, options);
        // More than two batches, the last of them not full.
        let agents: Vec<Entity> = (0..150).map(|_| stage.spawn()).collect();
        for tick in 0..8 {
            let expected: Vec<_> = agents
                .iter()
                .map(|&agent| {
                    let senses = random_inputs(random);
                    stage.world.get_mut::<Senses>(agent).unwrap().0 = senses;
                    let mut mind = *stage.world.get::<UtilityAgent>(agent).unwrap();
                    mind.choose(&stage.world.resource::<Shared>().unwrap().0, &senses, &[])
                })
                .collect();
            stage.schedule.run(&mut stage.world, &stage.pool);
            for (agent, expected) in agents.iter().zip(expected) {
                let mind = stage.world.get::<UtilityAgent>(*agent).unwrap();
                assert_eq!(mind.current(), expected, "seed {seed}, tick {tick}");
            }
        }
    }
}

/// The rank of an option, read off its description.
fn random_rank(utility: &Utility) -> bool {
    format!("{utility:?}").contains("rank: 1")
}

#[test]
fn one_more_consideration_never_raises_an_uncompensated_product() {
    for seed in 0..500 {
        let random = &mut RandomStream::new(seed);
        let mut utility = Utility::of(INPUTS[0], random_curve(random));
        let inputs = random_inputs(random);
        let mut score = utility.score(&inputs);
        for input in [1, 2, 3] {
            utility = utility.and(INPUTS[input], random_curve(random));
            let next = utility.score(&inputs);
            assert!(next <= score, "seed {seed}");
            score = next;
        }
    }
}

#[test]
fn compensation_makes_good_for_the_number_of_factors() {
    let pair = plain(0).and(INPUTS[1], Curve::linear(1.0, 0.0));
    assert!((pair.score(&[0.5, 0.5]) - 0.25).abs() < 1e-6);
    assert!((pair.compensated().score(&[0.5, 0.5]) - (0.25 + 0.75 * 0.5 * 0.25)).abs() < 1e-6);
    assert_eq!(plain(0).compensated().score(&[0.5]), 0.5);
}

#[test]
fn a_tie_goes_to_the_option_that_runs_and_then_to_the_first() {
    let mut stage = Stage::new(1_000, Select::Highest, (0..3).map(plain).collect());
    assert_eq!(stage.tick([0.5, 0.5, 0.5]), Some(0));
    assert_eq!(stage.tick([0.4, 0.5, 0.5]), Some(1));
    assert_eq!(stage.tick([0.5, 0.5, 0.5]), Some(1));
    assert_eq!(stage.tick([0.0, 0.0, 0.0]), None);
    assert_eq!(stage.tick([f32::NAN, 0.0, 0.1]), Some(2));
}

/// A world with one agent of these options, whose inputs are set from outside.
struct Stage {
    world: World,
    schedule: Schedule,
    pool: Pool,
    actions: ActionSet,
    agent: Entity,
}

#[derive(Component)]
struct Senses([f32; INPUTS.len()]);
#[derive(Component, Clone)]
struct Doing {
    ticks: u32,
    done: u32,
}
struct Shared(Reasoner);

struct Work;
impl Processor for Work {
    type Action = Doing;
    fn start(&self, _: Agent<'_>, doing: &mut Doing) -> ActionResult {
        doing.done = 0;
        ActionResult::Running
    }
    fn update(&self, _: Agent<'_>, doing: &mut Doing) -> ActionResult {
        doing.done += 1;
        if doing.done < doing.ticks { ActionResult::Running } else { ActionResult::Success }
    }
}

fn spawn(world: &mut World, actions: &ActionSet, reasoner: &Reasoner) -> Entity {
    let agent = actions.spawn(world, Senses([0.0; INPUTS.len()])).unwrap();
    UtilityAgent::drive(world, agent, reasoner, 7).unwrap();
    agent
}

impl Stage {
    fn new(ticks: u32, select: Select, options: Vec<Utility>) -> Self {
        fn think(
            mut minds: formic_ai::utility::UtilityAgents<'_, &'static Senses>,
            shared: Res<'_, Shared>,
        ) {
            minds.decide(&shared.0, |senses| senses.0);
        }
        fn work(mut actions: Actions<'_, Doing>) {
            actions.process(&Work);
        }
        let actions = (0..options.len()).fold(ActionSet::new(), |actions, it| {
            actions.action(it.to_string(), Doing { ticks, done: 0 })
        });
        let reasoner = reasoner(select, options);
        let mut world = World::new();
        let agent = spawn(&mut world, &actions, &reasoner);
        world.insert_resource(Shared(reasoner));
        let schedule =
            formic_ai::action::add(Schedule::builder()).add(think.as_mind()).add(work.as_action());
        let schedule = schedule.build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap(), actions, agent }
    }

    /// One more agent.
    fn spawn(&mut self) -> Entity {
        let reasoner = self.world.resource::<Shared>().unwrap().0.clone();
        spawn(&mut self.world, &self.actions, &reasoner)
    }

    fn tick(&mut self, [a, b, c]: [f32; 3]) -> Option<usize> {
        self.world.get_mut::<Senses>(self.agent).unwrap().0 = [a, b, c, 0.0];
        self.schedule.run(&mut self.world, &self.pool);
        let current = self.world.get::<UtilityAgent>(self.agent).unwrap().current();
        // What was chosen is what executes.
        let executing = self.world.query_ref_filtered::<&Action, With<Executing>>();
        let executing: Vec<_> = executing.into_iter().map(Action::index).collect();
        assert!(executing.len() <= 1);
        assert!(executing.iter().all(|&action| current == Some(action)));
        current
    }
}

#[test]
fn with_inertia_a_rival_must_be_better_by_more_than_the_bonus() {
    let mut stage = Stage::new(1_000, Select::Highest, vec![plain(0).inertia(0.25), plain(1)]);
    assert_eq!(stage.tick([0.5, 0.25, 0.0]), Some(0));
    assert_eq!(stage.tick([0.5, 0.75, 0.0]), Some(0), "equal is not better");
    assert_eq!(stage.tick([0.5, 0.8125, 0.0]), Some(1));
    assert_eq!(stage.tick([0.5, 0.4375, 0.0]), Some(0), "the other one has no inertia");
}

#[test]
fn an_option_is_carried_through_until_its_input_is_down() {
    let options = vec![plain(0).until(INPUTS[0], 0.125), plain(1).weight(0.5)];
    let mut stage = Stage::new(1_000, Select::Highest, options);
    assert_eq!(stage.tick([0.75, 1.0, 0.0]), Some(0));
    assert_eq!(stage.tick([0.25, 1.0, 0.0]), Some(0));
    assert_eq!(stage.tick([0.125, 1.0, 0.0]), Some(1));
}

#[test]
fn a_higher_rank_wins_with_any_score_above_0() {
    let options = vec![plain(0), plain(1).rank(1), plain(2).rank(1)];
    let mut stage = Stage::new(1_000, Select::Highest, options);
    assert_eq!(stage.tick([1.0, 0.0, 0.0]), Some(0));
    assert_eq!(stage.tick([1.0, 0.01, 0.02]), Some(2));
    assert_eq!(stage.tick([1.0, 0.0, 0.0]), Some(0));
}

#[test]
fn an_option_that_was_left_cools_down() {
    let options = vec![plain(0).cooldown(3), plain(1)];
    let mut stage = Stage::new(1_000, Select::Highest, options);
    assert_eq!(stage.tick([0.75, 0.5, 0.0]), Some(0));
    assert_eq!(stage.tick([0.25, 0.5, 0.0]), Some(1));
    let choices: Vec<_> = (0..5).map(|_| stage.tick([0.75, 0.5, 0.0])).collect();
    assert_eq!(choices, [Some(1), Some(1), Some(1), Some(0), Some(0)]);
}

#[test]
fn an_option_is_kept_away_for_as_many_decisions_whether_it_was_left_or_has_ended() {
    for decisions in 0..6 {
        for ends in [true, false] {
            let options = vec![plain(0).cooldown(decisions), plain(1).weight(0.5)];
            let mut stage = Stage::new(if ends { 1 } else { 1_000 }, Select::Highest, options);
            assert_eq!(stage.tick([1.0, 1.0, 0.0]), Some(0));
            if !ends {
                assert_eq!(stage.tick([0.0, 1.0, 0.0]), Some(1), "it is left");
            }
            // Where it has ended, the next decision is the first without it.
            let others = (0..10).take_while(|_| stage.tick([1.0, 1.0, 0.0]) == Some(1)).count();
            assert_eq!(others, decisions as usize, "ends: {ends}");
        }
    }
}

#[test]
fn an_input_that_is_not_a_number_scores_0_whatever_its_curve() {
    let curves = [
        Curve::linear(-1.0, 1.0),
        Curve::exponential(0.0),
        Curve::exponential(2.0),
        Curve::exponential(0.0),
        Curve::exponential(0.5),
        Curve::fast_then_slow(0.0),
        Curve::fast_then_slow(4.0),
        Curve::polynomial(1.0, 0, 0.0, 0.0),
        Curve::growth(2.0),
        Curve::logistic(9.0, 0.5),
        Curve::logit(0.1, 0.5),
        Curve::normal(0.5, 0.1),
        Curve::sine(1.0, 0.0),
        Curve::step(0.5),
        Curve::piecewise([(0.0, 1.0), (1.0, 0.5)]),
    ];
    for curve in curves.into_iter().flat_map(|curve| [curve.clone(), curve.inverted()]) {
        assert_eq!(curve.at(f32::NAN), 0.0, "{curve}");
        // In a batch, beside another option.
        let options = vec![Utility::of(INPUTS[0], curve), plain(1)];
        let mut stage = Stage::new(1_000, Select::Highest, options);
        assert_eq!(stage.tick([f32::NAN, 0.0, 0.0]), None);
        assert_eq!(stage.tick([f32::NAN, 0.001, 0.0]), Some(1));
    }
    // What the formula makes of a number is none here: 0 times infinity.
    let endless = Curve::logit(0.0, 0.5);
    assert_eq!([endless.at(1.0), endless.inverted().at(1.0)], [0.0, 0.0]);
}

#[test]
fn an_action_that_has_ended_leaves_the_choice_open_and_may_be_begun_again() {
    let mut stage = Stage::new(2, Select::Highest, vec![plain(0), plain(1)]);
    for _ in 0..6 {
        assert_eq!(stage.tick([0.75, 0.5, 0.0]), Some(0));
    }
    let switches = stage.world.get::<UtilityAgent>(stage.agent).unwrap().switches();
    assert_eq!(switches, 3, "each activation takes two ticks");
    assert_eq!(stage.tick([0.0, 0.0, 0.0]), None);
}

#[test]
fn the_first_above_the_threshold_is_chosen_in_the_order_of_the_options() {
    let mut stage = Stage::new(1_000, Select::FirstAbove(0.5), (0..3).map(plain).collect());
    assert_eq!(stage.tick([0.25, 0.75, 1.0]), Some(1));
    assert_eq!(stage.tick([0.75, 0.75, 1.0]), Some(0));
    assert_eq!(stage.tick([0.5, 0.5, 0.5]), None);
}

#[test]
fn chance_goes_by_the_scores() {
    let reasoner = reasoner(Select::WeightedRandom, (0..3).map(plain));
    let scores = [0.125, 0.25, 0.625];
    let draws = 30_000_u32;
    let mut counts = [0_u32; 3];
    for seed in 0..draws {
        let mut agent = UtilityAgent::new(u64::from(seed));
        counts[agent.choose(&reasoner, &scores, &[]).unwrap()] += 1;
    }
    // Pearson's test with two degrees of freedom: 13.8 is exceeded once in a thousand times.
    let chi_squared: f64 = counts
        .iter()
        .zip(scores)
        .map(|(&count, score)| {
            let expected = f64::from(draws) * f64::from(score);
            (f64::from(count) - expected).powi(2) / expected
        })
        .sum();
    assert!(chi_squared < 13.8, "{counts:?}: {chi_squared}");
}

#[test]
fn chance_is_the_same_for_the_same_seed_and_nothing_is_chosen_of_nothing() {
    let reasoner = reasoner(Select::WeightedRandom, (0..3).map(plain));
    let draw = |seed| UtilityAgent::new(seed).choose(&reasoner, &[0.5, 0.5, 0.5], &[]);
    for seed in 0..20 {
        assert_eq!(draw(seed), draw(seed));
        assert!(UtilityAgent::new(seed).choose(&reasoner, &[0.0; 3], &[]).is_none());
        let only = UtilityAgent::new(seed).choose(&reasoner, &[0.0, f32::MIN_POSITIVE, 0.0], &[]);
        assert_eq!(only, Some(1));
    }
}

#[test]
fn what_was_drawn_goes_on_until_it_scores_0_or_is_outranked_and_the_next_draw_is_another() {
    let options = || vec![plain(0), plain(1), plain(2).rank(1)];
    let mut stage = Stage::new(1_000, Select::WeightedRandom, options());
    let first = stage.tick([0.5, 0.5, 0.0]).unwrap();
    for _ in 0..20 {
        assert_eq!(stage.tick([0.5, 0.5, 0.0]), Some(first));
    }
    let mut inputs = [0.5, 0.5, 0.0];
    inputs[first] = 0.0;
    assert_eq!(stage.tick(inputs), Some(1 - first));
    assert_eq!(stage.tick([0.9, 0.9, 0.1]), Some(2));
    // Where each action ends at once, there is a draw in each tick.
    let mut stage = Stage::new(1, Select::WeightedRandom, options());
    let drawn: Vec<_> = (0..40).map(|_| stage.tick([0.5, 0.5, 0.0])).collect();
    assert!([Some(0), Some(1)].iter().all(|option| drawn.contains(option)), "{drawn:?}");
}

#[test]
fn an_option_that_the_reasoner_lacks_is_left() {
    // As after a game was loaded by a program with fewer options.
    for select in [Select::Highest, Select::FirstAbove(0.0)] {
        for (input, expected) in [(0.5, Some(0)), (0.0, None)] {
            let mut stage = Stage::new(1_000, select, (0..3).map(plain).collect());
            assert_eq!(stage.tick([0.0, 0.0, 1.0]), Some(2));
            let fewer = Reasoner::new().option("0", plain(0)).select(select);
            stage.world.insert_resource(Shared(fewer.bind(&stage.actions).unwrap()));
            let log = formic_ai::explain::DecisionLog::watching(stage.agent, "Cat", 9);
            stage.world.insert_resource(log);
            assert_eq!(stage.tick([input, 0.0, 1.0]), expected);
        }
    }
}

#[test]
fn the_best_target_does_not_depend_on_their_order() {
    let reasoner = reasoner(Select::Highest, [plain(0)]);
    let mut world = World::new();
    let all: Vec<_> = (0..5).map(|_| world.spawn(())).collect();
    let scores = [0.5, 0.75, 0.25, 0.75, f32::NAN];
    let forwards = all.iter().copied().zip(scores.map(|score| [score]));
    assert_eq!(reasoner.best_target(0, forwards.clone()), Some((all[1], 0.75)));
    assert_eq!(reasoner.best_target(0, forwards.rev()), Some((all[1], 0.75)));
    assert_eq!(reasoner.best_target(0, [(all[0], [0.0])]), None);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let actions = actions(1);
    let error = |reasoner: Reasoner| reasoner.bind(&actions).unwrap_err().to_string();
    let bind = |name: &str, utility| error(Reasoner::new().option(name, utility));
    assert_eq!(error(Reasoner::new()), "a reasoner needs at least one option");
    let unknown = "the option \"fly\" names no action of the set, but \"0\"";
    assert_eq!(bind("fly", plain(0)), unknown);
    assert_eq!(bind("0", Utility::sum()), "the option \"0\" has no considerations");
    let twice = Reasoner::new().option("0", plain(0)).option("0", plain(1));
    assert_eq!(error(twice), "the option \"0\" is defined twice");
    let not_a_number = "the option \"0\" has a number that is not finite or out of range";
    let broken = [
        Utility::of(INPUTS[0], Curve::linear(f32::NAN, 0.0)),
        Utility::of(INPUTS[0], Curve::normal(0.5, 0.0)),
        plain(0).weight(f32::INFINITY),
        plain(0).inertia(-1.0),
        Utility::sum().weighted(0.0, INPUTS[0], Curve::step(0.5)),
        plain(0).until(INPUTS[0], f32::NAN),
    ];
    for utility in broken {
        assert_eq!(bind("0", utility), not_a_number);
    }
    let unusable = Reasoner::new().option("0", plain(0)).select(Select::FirstAbove(f32::NAN));
    let problem = "the option \"first above\" has a threshold that is not a number";
    assert_eq!(error(unusable), problem);
}

#[test]
fn cats_play_then_sleep_then_eat_and_sleep_more_than_they_eat() {
    let diary = cats::diary(600).unwrap();
    let names: Vec<&str> = diary.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["play", "sleep"]);
    let first_meal = names.iter().position(|&name| name == "eat").unwrap();
    assert!(names[..first_meal].iter().filter(|&&name| name == "sleep").count() > 1, "{names:?}");
    let seconds = |of| diary.iter().filter(|it| it.0 == of).map(|it| it.1).sum::<f32>();
    assert!(seconds("sleep") > seconds("eat"));
    assert_eq!(seconds("nothing"), 0.0);
}

#[test]
fn curves_have_the_same_bits_on_every_machine() {
    let curves = [
        Curve::exponential(2.7),
        Curve::fast_then_slow(0.6),
        Curve::polynomial(2.0, -3, -0.5, 0.1),
        Curve::growth(3.0),
        Curve::logistic(9.0, 0.4),
        Curve::logit(0.2, 0.5),
        Curve::normal(0.3, 0.2),
        Curve::sine(1.5, 0.1),
    ];
    let mut hasher = formic_ecs::StateHasher::new();
    for curve in &curves {
        let bits = (1..1_000).map(|step| curve.at(step as f32 / 1_000.0).to_bits());
        bits.for_each(|bits| hasher.write_u64(bits.into()));
    }
    assert_eq!(hasher.finish(), 10_788_417_075_751_249_334);
}

#[test]
fn a_growth_that_exceeds_all_numbers_is_unsound() {
    assert!(Curve::growth(88.0).is_sound());
    assert!(Curve::growth(88.0).at(1.0) > 0.999);
    assert!(!Curve::growth(89.0).is_sound());
    assert_eq!(Curve::growth(-1e30).at(1.0), 1.0);
}
