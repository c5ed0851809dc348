//! The log without minds.

use formic_ai::explain::{
    Candidate, DecisionLog, DecisionRecorder, Ended, Engine, Factor, PlanRecord, RuleRecord,
    RuleVerdict, Stopped, Subscribed, Verdict,
};
use formic_ai::prelude::*;

fn entities<const COUNT: usize>() -> [Entity; COUNT] {
    let mut world = World::new();
    std::array::from_fn(|_| world.spawn(()))
}

fn note(log: &DecisionLog, agent: Entity, tick: u64) {
    log.note(agent, tick, Engine::Other("test"), |decision| {
        decision.candidate(Candidate::new("walk", Verdict::Chosen));
    });
}

#[test]
fn only_those_that_are_watched_are_written_about() {
    let [one, other] = entities();
    let mut log = DecisionLog::new();
    note(&log, one, 1);
    log.watch(one, "Cat", 4);
    note(&log, one, 2);
    log.note(other, 2, Engine::Utility, |_| panic!("no watcher asks about it"));
    assert_eq!(log.decisions(one).len(), 1);
    assert!(log.decisions(other).is_empty() && log.last(other).is_none());
    assert!(log.is_watched(one) && !log.is_watched(other));
}

#[test]
fn what_has_ended_is_left_for_a_decision_of_the_agent_itself() {
    let [agent, hands] = entities();
    let mut log = DecisionLog::watching(agent, "Cat", 9);
    log.note_end(agent, || Stopped::new("dig", Ended::Failed));
    log.note_by(agent, hands, 1, Engine::Activity, |decision| {
        decision.candidate(Candidate::new("haul", Verdict::Chosen));
    });
    assert!(log.is_pending(agent));
    note(&log, agent, 2);
    assert!(!log.is_pending(agent));
    let counts: Vec<_> = log.decisions(agent).iter().map(|it| it.stopped.len()).collect();
    assert_eq!(counts, [0, 1]);
    // What is still pending is forgotten with the ticks after which it ended.
    log.note_end(agent, || Stopped::new("dig", Ended::Failed));
    log.forget_after(1);
    assert!(!log.is_pending(agent));
    assert_eq!(log.decisions(agent).len(), 1);
}

#[test]
fn a_state_whose_record_was_forgotten_is_recorded_again() {
    let [agent] = entities();
    let mut log = DecisionLog::watching(agent, "Cat", 9);
    let found = || Candidate::new("a path: found", Verdict::Chosen);
    (1..4).for_each(|tick| log.note_change((agent, tick), Engine::Paths, &true, found));
    assert_eq!(log.decisions(agent).len(), 1);
    log.forget_after(0);
    log.note_change((agent, 1), Engine::Paths, &true, found);
    assert_eq!(log.decisions(agent).len(), 1);
}

#[test]
fn what_an_agent_or_its_lane_waits_for_about_itself_is_its_own() {
    let [agent, hands, door] = entities();
    let log = DecisionLog::watching(agent, "Cat", 9);
    let about = |subject, event: &'static str| Subscribed {
        subject: Some(subject),
        event: Some(event.into()),
    };
    log.note_by(agent, hands, 1, Engine::Activity, |decision| {
        decision.blocked_since = Some(1);
        let all =
            [(agent, "the arrival"), (hands, "the load"), (hands, "a blow"), (door, "a knock")];
        decision.subscriptions.extend(all.map(|(subject, event)| about(subject, event)));
    });
    assert_eq!(
        log.sentences(agent),
        [
            "Tick 1: Cat#0 sleeps; asleep since tick 1, waits for its own arrival or its own load or a \
             blow of its own or a knock of entity 2."
        ]
    );
}

#[test]
fn the_ring_keeps_the_last_ones_and_counts_the_others() {
    let [agent] = entities();
    let mut log = DecisionLog::new();
    log.watch(agent, "Cat", 3);
    (0..10).for_each(|tick| note(&log, agent, tick));
    let ticks: Vec<u64> = log.decisions(agent).iter().map(|decision| decision.tick).collect();
    assert_eq!(ticks, [7, 8, 9]);
    assert_eq!(log.lost(agent), 7);
    assert_eq!(log.at(agent, 8).unwrap().tick, 8);
    assert_eq!(log.at(agent, 100).unwrap().tick, 9);
    assert_eq!(log.at(agent, 6), None, "it was overwritten");
    log.watch(agent, "Cat", 2);
    assert_eq!((log.decisions(agent).len(), log.lost(agent)), (2, 8));
}

#[test]
fn what_is_overwritten_leaves_nothing_behind() {
    let [agent] = entities();
    let mut log = DecisionLog::new();
    log.watch(agent, "Cat", 1);
    log.note(agent, 1, Engine::Planner, |decision| {
        decision.cause = Some("it began".into());
        decision.candidate(Candidate::new("a", Verdict::Chosen).score(1.0));
        decision.factors.push(Factor {
            candidate: 0,
            name: "x".into(),
            input: 1.0,
            curve: "linear".into(),
            curve_points: [0.0, 1.0].into(),
            weight: 1.0,
            score: 1.0,
        });
        decision.stopped.push(Stopped::new("b", Ended::Success));
        decision.plan = Some(PlanRecord::default());
        decision.subscriptions.push(Subscribed { subject: None, event: None });
        decision.blocked_since = Some(1);
        decision.rules.push(RuleRecord {
            rule: "r".into(),
            verdict: RuleVerdict::Rejected,
            stops: true,
            reactions: Vec::new(),
        });
    });
    log.note(agent, 2, Engine::Tree, |_| {});
    let mut fresh = DecisionLog::new();
    fresh.watch(agent, "Cat", 1);
    fresh.note(agent, 2, Engine::Tree, |_| {});
    assert_eq!(log.last(agent), fresh.last(agent));
}

#[test]
fn what_ends_is_told_with_the_next_decision() {
    let [agent] = entities();
    let mut log = DecisionLog::new();
    log.watch(agent, "Cat", 4);
    log.note_end(agent, || Stopped::new("walk", Ended::Failed).because("a wall"));
    note(&log, agent, 3);
    note(&log, agent, 4);
    assert_eq!(
        log.sentences(agent),
        ["Tick 3: Cat#0 chose walk; walk has failed: a wall.", "Tick 4: Cat#0 chose walk."]
    );
}

#[test]
fn what_ends_without_a_decision_takes_no_more_room_than_decisions() {
    let [agent] = entities();
    let mut log = DecisionLog::new();
    log.watch(agent, "Cat", 3);
    for step in 0..1_000 {
        log.note_end(agent, || Stopped::new(format!("step {step}"), Ended::Success));
    }
    note(&log, agent, 1);
    let last = log.last(agent).unwrap();
    let told: Vec<&str> = last.stopped.iter().map(|stopped| &*stopped.what).collect();
    assert_eq!(told, ["step 997", "step 998", "step 999"], "the last ones are kept");
    assert!(!log.is_pending(agent));
}

#[test]
fn who_is_watched_is_known_whatever_indices_are_used_again() {
    let mut world = World::new();
    let random = &mut RandomStream::new(5);
    // Five indices, with five generations each.
    let mut entities = Vec::new();
    for _generation in 0..5 {
        let alive: Vec<Entity> = (0..5).map(|_| world.spawn(())).collect();
        alive.iter().for_each(|&entity| world.despawn(entity).unwrap());
        entities.extend(alive);
    }
    let mut log = DecisionLog::new();
    let mut watched = std::collections::BTreeMap::new();
    for tick in 0..2_000 {
        let entity = entities[usize::try_from(random.below(25)).unwrap()];
        if random.below(3) == 0 {
            assert_eq!(log.unwatch(entity), watched.remove(&entity).is_some());
        } else {
            log.watch(entity, "Cat", 1);
            note(&log, entity, tick);
            watched.insert(entity, tick);
        }
        assert!(log.agents().eq(watched.keys().copied()));
        for &entity in &entities {
            assert_eq!(log.is_watched(entity), watched.contains_key(&entity));
            assert_eq!(log.last(entity).map(|it| it.tick), watched.get(&entity).copied());
        }
    }
}

/// On a lane: whose it is.
#[derive(Component)]
struct LaneOf(Entity);

fn work(mut lanes: Query<(Entity, &LaneOf)>, recorder: DecisionRecorder) {
    let tick = recorder.tick();
    let Some(log) = recorder.log() else { return };
    lanes.par_for_each(|(lane, of)| {
        log.note_by(of.0, lane, tick, Engine::Activity, |decision| {
            decision.candidate(Candidate::new(format!("{lane}"), Verdict::Chosen));
        });
    });
}

#[test]
fn a_full_ring_holds_the_same_decisions_on_any_number_of_threads() {
    let rings = [Threads::None, Threads::Own(1), Threads::Own(3)].map(|threads| {
        let mut world = World::new();
        let agent = world.spawn(());
        // Several chunks of lanes, all of which decide in each tick.
        world.spawn_batch((0..3_000).map(|_| LaneOf(agent)));
        let mut log = DecisionLog::new();
        log.watch(agent, "Cat", 40);
        world.insert_resource(log);
        let mut schedule = Schedule::builder().add(work).build(&mut world).unwrap();
        let pool = Pool::new(threads).unwrap();
        (0..3).for_each(|_| drop(schedule.run(&mut world, &pool)));
        let log = world.resource::<DecisionLog>().unwrap();
        (log.decisions(agent), log.lost(agent))
    });
    let (decisions, lost) = &rings[0];
    assert_eq!((decisions.len(), *lost), (40, 3 * 3_000 - 40));
    assert!(decisions.iter().all(|decision| decision.tick == 2), "the last ones are kept");
    assert!(rings.iter().all(|ring| *ring == rings[0]));
}

#[test]
fn the_decisions_of_a_tick_lie_in_one_order() {
    let [agent] = entities();
    let engines = [Engine::Rules, Engine::Sequence, Engine::Tree];
    let order = |places: [usize; 3]| {
        let mut log = DecisionLog::new();
        log.watch(agent, "Cat", 8);
        note(&log, agent, 1);
        places.iter().for_each(|&place| log.note(agent, 2, engines[place], |_| {}));
        log.decisions(agent).iter().map(|decision| decision.engine).collect::<Vec<_>>()
    };
    assert_eq!(order([0, 1, 2]), order([2, 1, 0]));
    assert_eq!(order([1, 0, 2])[1..], [Engine::Tree, Engine::Sequence, Engine::Rules]);
}

#[test]
fn a_panic_in_the_words_leaves_the_log_in_order() {
    let [agent] = entities();
    let mut log = DecisionLog::new();
    log.watch(agent, "Cat", 2);
    (0..2).for_each(|tick| note(&log, agent, tick));
    log.note_end(agent, || Stopped::new("walk", Ended::Success));
    let noted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        log.note(agent, 2, Engine::Tree, |_| panic!("on purpose"));
    }));
    assert!(noted.is_err());
    note(&log, agent, 3);
    let ticks: Vec<u64> = log.decisions(agent).iter().map(|decision| decision.tick).collect();
    assert_eq!(ticks, [1, 3]);
    assert_eq!(log.last(agent).unwrap().stopped.len(), 1, "the end was not told before");
}

#[test]
fn whoever_is_not_watched_any_more_is_forgotten() {
    let mut world = World::new();
    let first = world.spawn(());
    world.despawn(first).unwrap();
    let second = world.spawn(());
    assert_eq!(first.index(), second.index(), "the index is used again");
    let mut log = DecisionLog::new();
    log.watch(first, "Cat", 2);
    log.watch(second, "Cat", 2);
    assert!(log.unwatch(first) && !log.unwatch(first));
    note(&log, first, 1);
    note(&log, second, 1);
    assert_eq!((log.decisions(first).len(), log.decisions(second).len()), (0, 1));
    assert_eq!(log.agents().collect::<Vec<_>>(), [second]);
    log.clear();
    assert!(log.decisions(second).is_empty() && log.is_watched(second));
    log.unwatch(second);
    assert!(log.is_empty());
}

#[test]
fn the_best_of_the_others_is_found_by_rank_then_score_then_order() {
    let [agent] = entities();
    let mut log = DecisionLog::new();
    log.watch(agent, "Cat", 2);
    let scored = |name, rank, score| Candidate::new(name, Verdict::Beaten).rank(rank).score(score);
    log.note(agent, 1, Engine::Utility, |decision| {
        decision.candidate(scored("low", 0, 0.9));
        decision.candidate(scored("first", 1, 0.5));
        decision.candidate(scored("second", 1, 0.5));
        decision.candidate(Candidate::new("eat", Verdict::Chosen).rank(1).score(0.75).bonus(0.25));
        decision.candidate(scored("nothing", 7, 0.0));
    });
    let decision = log.last(agent).unwrap();
    assert_eq!(&*decision.chosen().unwrap().name, "eat");
    assert_eq!(&*decision.runner_up().unwrap().name, "first");
    assert_eq!(decision.margin(), Some(0.25));
    assert_eq!(
        log.sentences(agent),
        ["Tick 1: Cat#0 chose eat 0.75 over first 0.50, 0.25 of it because it was running."]
    );
}

#[test]
fn scores_that_look_alike_have_more_digits_and_equal_ones_say_who_wins() {
    let [agent] = entities();
    let mut log = DecisionLog::new();
    log.watch(agent, "Cat", 8);
    let mut said = |chosen: f32, other: f32, is_first: bool| {
        log.clear();
        log.note(agent, 1, Engine::Utility, |decision| {
            let sleep = Candidate::new("sleep", Verdict::Chosen).score(chosen);
            let play = Candidate::new("play", Verdict::Beaten).score(other);
            let both = if is_first { [sleep, play] } else { [play, sleep] };
            both.into_iter().for_each(|it| decision.candidate(it));
        });
        let sentence = log.sentences(agent).pop().unwrap();
        sentence.strip_prefix("Tick 1: Cat#0 chose ").unwrap().to_owned()
    };
    assert_eq!(said(0.613, 0.609, true), "sleep 0.613 over play 0.609.");
    assert_eq!(said(0.612_345_7, 0.612_345_6, false), "sleep 0.6123457 over play 0.6123456.");
    assert_eq!(said(0.7, 0.61, true), "sleep 0.70 over play 0.61.");
    assert_eq!(said(0.5, 0.5, true), "sleep 0.50 over play 0.50 (equal: the first one wins).");
    // Chance, or a rule of its own, went before the order.
    assert_eq!(said(0.5, 0.5, false), "sleep 0.50 over play 0.50.");
}

#[test]
fn rules_plans_and_sleep_are_said_in_words() {
    let [agent, door] = entities();
    let mut log = DecisionLog::new();
    log.watch(agent, "Guard", 8);
    log.call(door, "Door");
    log.note(agent, 1, Engine::Rules, |decision| {
        decision.candidate(Candidate::new("walk east", Verdict::Refused { by: "doors".into() }));
        let rule = |rule: &'static str, verdict, stops| RuleRecord {
            rule: rule.into(),
            verdict,
            stops,
            reactions: Vec::new(),
        };
        decision.rules.push(rule("bounds", RuleVerdict::Accepted, false));
        decision.rules.push(RuleRecord {
            reactions: vec!["open the door".into()],
            ..rule("doors", RuleVerdict::Rejected, true)
        });
    });
    assert_eq!(&*log.last(agent).unwrap().rejected_by().unwrap().rule, "doors");
    log.note(agent, 2, Engine::Planner, |decision| {
        decision.candidate(Candidate::new("be safe", Verdict::Chosen));
        decision.candidate(Candidate::new("be rich", Verdict::Unreachable));
        let steps = vec!["draw".into(), "shoot".into()];
        decision.plan = Some(PlanRecord { steps, cost: 5, searched: 17 });
        let why = "a new plan, because the door is shut";
        decision.stopped.push(Stopped::new("walk", Ended::Interrupted).because(why));
    });
    log.note(agent, 3, Engine::Activity, |decision| {
        decision.blocked_since = Some(2);
        decision
            .subscriptions
            .push(Subscribed { subject: Some(door), event: Some("opened".into()) });
        decision.subscriptions.push(Subscribed { subject: None, event: None });
    });
    assert_eq!(
        log.sentences(agent),
        [
            "Turn 1: Guard#0 does nothing; walk east: doors said no; the rule doors said no and \
             asked for open the door, the last that was asked.",
            "Tick 2: Guard#0 pursues be safe; the plan is draw, shoot at a cost of 5, found after \
             17 states; be rich cannot be reached; walk stopped: a new plan, because the door is \
             shut.",
            "Tick 3: Guard#0 sleeps; asleep since tick 2, waits for opened of Door#1 or anything.",
        ]
    );
}

fn speak(mut all: Query<Entity>, recorder: DecisionRecorder) {
    let tick = recorder.tick();
    let Some(log) = recorder.log() else { return };
    all.par_for_each(|agent| log.note(agent, tick, Engine::Other("speech"), |_| {}));
}

#[test]
fn a_witness_knows_the_tick_and_does_nothing_without_a_log() {
    for threads in [Threads::None, Threads::Own(2)] {
        let mut world = World::new();
        let all = world.spawn_batch((0..1000).map(|_| ()));
        let mut schedule = Schedule::builder().add(speak).build(&mut world).unwrap();
        let pool = Pool::new(threads).unwrap();
        schedule.run(&mut world, &pool);
        let mut log = DecisionLog::new();
        all.iter().step_by(3).for_each(|&agent| log.watch(agent, "Agent", 4));
        world.insert_resource(log);
        (0..2).for_each(|_| drop(schedule.run(&mut world, &pool)));
        let log = world.resource::<DecisionLog>().unwrap();
        for (place, &agent) in all.iter().enumerate() {
            let ticks: Vec<u64> = log.decisions(agent).iter().map(|it| it.tick).collect();
            assert_eq!(ticks, if place % 3 == 0 { vec![1, 2] } else { vec![] });
        }
    }
}
