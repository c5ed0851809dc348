//! Delivery of events: the receivers and their order.

use crate::puppet::{Ping, Puppet, Stage};
use formic_ai::activity::{Event, EventKinds, Posted, Response, Status, Subscriptions};

const ZERO: EventKinds = EventKinds::one(0);
const ONE: EventKinds = EventKinds::one(1);

#[test]
fn only_the_kinds_and_subjects_that_were_asked_for_are_told() {
    let mut stage = Stage::new();
    let (bread, stone) = (stage.world.spawn(()), stage.world.spawn(()));
    let puppet = stage.puppet("ann").act(move |tick| {
        tick.subscribe(bread, ZERO | EventKinds::one(2));
        Status::Blocked
    });
    stage.agent(puppet.answering(Response::SLEEP));
    stage.tick();
    for (number, (subject, kind)) in
        (0..).zip([(bread, 0), (bread, 1), (stone, 0), (bread, 2), (stone, 2)])
    {
        stage.post(subject, kind, number);
    }
    assert_eq!(
        stage.tick(),
        [format!("ann hears 0 of {bread}"), format!("ann hears 3 of {bread}")]
    );
    assert_eq!(stage.report().dropped, 3);
    let subscriptions = stage.world.resource::<Subscriptions<Puppet>>().unwrap();
    assert!(subscriptions.wants(bread, ONE | ZERO) && !subscriptions.wants(bread, ONE));
    assert!(!subscriptions.wants(stone, EventKinds::ALL));
}

#[test]
fn kinds_of_all_blocks_are_told_apart() {
    let all: Vec<EventKinds> = (0..EventKinds::COUNT_MAX).map(EventKinds::one).collect();
    for (number, kind) in all.iter().enumerate() {
        for other in [number % 64, (number + 64) % all.len(), (number + 1) % all.len()] {
            let is_same = number == other;
            assert_eq!(kind.contains(all[other]), is_same, "{number} and {other}");
            assert_eq!(kind.intersects(all[other]), is_same, "{number} and {other}");
        }
        assert!(EventKinds::ALL.contains(*kind) && !kind.contains(EventKinds::ALL));
        assert!(EventKinds::ALL.intersects(*kind) && kind.intersects(EventKinds::ALL));
        assert!(kind.contains(EventKinds::NONE) && !kind.intersects(EventKinds::NONE));
        assert_eq!((*kind | EventKinds::NONE, EventKinds::NONE | *kind), (*kind, *kind));
        assert_eq!(*kind | EventKinds::ALL, EventKinds::ALL);
        assert_eq!(format!("{kind:?}"), format!("EventKinds{{{number}}}"));
    }

    let mut stage = Stage::new();
    let bread = stage.world.spawn(());
    let puppet = stage.puppet("ann").act(move |tick| {
        tick.subscribe(bread, EventKinds::one(700) | EventKinds::one(703));
        tick.subscribe(bread, EventKinds::one(1_023));
        Status::Blocked
    });
    stage.agent(puppet.answering(Response::SLEEP));
    stage.tick();
    for (number, kind) in (0..).zip([700 - 64, 700, 703, 1_023, 63]) {
        stage.post(bread, kind, number);
    }
    assert_eq!(stage.tick(), [1, 2, 3].map(|number| format!("ann hears {number} of {bread}")));
    assert_eq!(stage.report().dropped, 2);
}

#[test]
#[should_panic(expected = "EventKinds{63} and EventKinds{64} lie in two blocks of 64")]
fn a_set_of_kinds_of_two_blocks_is_refused() {
    _ = EventKinds::one(63) | EventKinds::one(64);
}

#[test]
fn one_that_sleeps_on_is_not_ticked_and_one_that_wakes_is_in_the_same_run() {
    let mut stage = Stage::new();
    let sleeper = stage.puppet("ann").act(|tick| {
        tick.subscribe(tick.agent(), ZERO);
        Status::Blocked
    });
    let ann = stage.agent(sleeper.answering(Response::SLEEP));
    stage.tick();
    stage.post(ann, 0, 1);
    assert_eq!(stage.tick(), [format!("ann hears 1 of {ann}")]);
    assert!(stage.is_blocked(ann));
    assert_eq!(stage.report().awake, 0);
}

#[test]
fn an_event_while_active_is_told_before_the_tick() {
    let mut stage = Stage::new();
    let puppet = stage
        .puppet("ann")
        .act(|tick| {
            tick.subscribe(tick.agent(), ZERO);
            Status::Ongoing
        })
        .act(|_| Status::Ongoing);
    let ann = stage.agent(puppet.answering(Response::SLEEP));
    stage.tick();
    stage.post(ann, 0, 1);
    assert_eq!(stage.tick(), [format!("ann hears 1 of {ann}"), "ann ticks".into()]);
}

#[test]
fn nothing_is_told_after_unsubscribing_even_if_it_was_posted_before() {
    let mut stage = Stage::new();
    let mut token = None;
    let puppet = stage
        .puppet("ann")
        .act(move |tick| {
            let agent = tick.agent();
            match token.take() {
                None => {
                    token = Some(tick.subscribe(agent, ZERO));
                    // Is on its way when the subscription is given up.
                    tick.post(Posted::about(agent, Ping { kind: 0, number: 1 }));
                    tick.wake_after(1);
                }
                Some(old) => {
                    assert!(tick.unsubscribe(old));
                    assert!(!tick.unsubscribe(old), "it has ended");
                    tick.post(Posted::about(agent, Ping { kind: 0, number: 2 }));
                }
            }
            Status::Ongoing
        })
        .act(|_| Status::Ongoing);
    let ann = stage.agent(puppet);
    stage.tick();
    assert_eq!(
        stage.tick(),
        [format!("ann hears 1 of {ann}"), "ann hears the clock".into(), "ann ticks".into()]
    );
    // The act that gives it up comes again and again only if it is the last.
    assert_eq!(stage.tick(), ["ann ticks"]);
}

#[test]
fn a_response_can_end_this_subscription_or_all_of_them() {
    for (response, expected) in [
        (Response::SLEEP.unsubscribe(), ["1", "2"].as_slice()),
        (Response::SLEEP.unsubscribe_all(), &["1"]),
        (Response::SLEEP, &["1", "2", "3", "4"]),
    ] {
        let mut stage = Stage::new();
        let (bread, stone) = (stage.world.spawn(()), stage.world.spawn(()));
        let puppet = stage
            .puppet("ann")
            .act(move |tick| {
                tick.subscribe(bread, ZERO);
                tick.subscribe(stone, ZERO);
                Status::Blocked
            })
            .act(|_| Status::Ongoing);
        stage.agent(puppet.answering(response));
        stage.tick();
        for (subject, number) in [(bread, 1), (stone, 2), (bread, 3), (stone, 4)] {
            stage.post(subject, 0, number);
        }
        let log = stage.tick();
        let heard: Vec<&str> = log
            .iter()
            .filter_map(|line| line.strip_prefix("ann hears ")?.split(' ').next())
            .collect();
        assert_eq!(heard, expected, "{response:?}");
        // With nothing left to wait for it wakes, whatever it has answered.
        let wakes = response != Response::SLEEP;
        assert_eq!(log.last().unwrap() == "ann ticks", wakes, "{response:?}");
    }
}

#[test]
fn the_death_of_a_subject_is_told_after_what_it_has_posted_and_wakes() {
    let mut stage = Stage::new();
    let bread = stage.world.spawn(());
    let puppet = stage
        .puppet("ann")
        .act(move |tick| {
            tick.subscribe(bread, ZERO);
            tick.subscribe(tick.agent(), ONE);
            Status::Blocked
        })
        .act(|_| Status::Blocked);
    let ann = stage.agent(puppet.answering(Response::SLEEP));
    stage.tick();
    stage.post(bread, 0, 1);
    stage.world.despawn(bread).unwrap();
    let expected = [
        format!("ann hears 1 of {bread}"),
        format!("ann hears that {bread} died"),
        "ann ticks".into(),
    ];
    assert_eq!(stage.tick(), expected);
    assert_eq!(stage.slot(ann).subscriptions().len(), 1, "that one has ended");
    // The entity in the place of the dead one is another.
    let heir = stage.world.spawn(());
    assert_eq!(heir.index(), bread.index());
    stage.post(heir, 0, 2);
    assert_eq!(stage.tick(), [""; 0]);
}

#[test]
fn a_subject_that_is_dead_already_is_told_in_the_next_run() {
    let mut stage = Stage::new();
    let bread = stage.world.spawn(());
    stage.world.despawn(bread).unwrap();
    let puppet = stage
        .puppet("ann")
        .act(move |tick| {
            tick.subscribe(bread, ZERO);
            Status::Blocked
        })
        .act(|_| Status::Ongoing);
    stage.agent(puppet);
    assert_eq!(stage.tick(), ["ann ticks"]);
    assert_eq!(stage.tick(), [format!("ann hears that {bread} died"), "ann ticks".into()]);
}

#[test]
fn a_subject_that_dies_in_the_tick_of_subscribing_is_told() {
    let mut stage = Stage::new();
    let bread = stage.world.spawn(());
    for name in ["ann", "bea"] {
        let puppet = stage
            .puppet(name)
            .act(move |tick| {
                tick.subscribe(bread, ZERO);
                if name == "ann" {
                    tick.commands().despawn(bread);
                }
                Status::Blocked
            })
            .act(|_| Status::Ongoing);
        stage.agent(puppet);
    }
    assert_eq!(stage.tick(), ["ann ticks", "bea ticks"]);
    let log = stage.tick();
    assert!(log.contains(&format!("ann hears that {bread} died")), "{log:?}");
    assert!(log.contains(&format!("bea hears that {bread} died")), "{log:?}");
}

#[test]
fn an_agent_that_is_despawned_in_the_tick_of_subscribing_is_told_in_the_next_run() {
    let mut stage = Stage::new();
    let bea = stage.puppet("bea").act(|_| Status::Ongoing);
    let bea = stage.agent(bea);
    let puppet = stage
        .puppet("ann")
        .act(move |tick| {
            tick.subscribe(bea, ZERO);
            tick.commands().despawn(bea);
            Status::Blocked
        })
        .act(|_| Status::Ongoing);
    stage.agent(puppet);
    assert_eq!(stage.tick(), ["bea ticks", "ann ticks"]);
    // It is still there, with an activity to be finished.
    assert!(stage.world.contains(bea));
    assert_eq!(
        stage.tick(),
        [format!("ann hears that {bea} died"), "bea interrupted".into(), "ann ticks".into()]
    );
}

#[test]
fn agents_can_wait_for_each_other_and_for_those_that_outlive_their_despawning() {
    let mut stage = Stage::new();
    let puppet = stage.puppet("ann").act(|tick| {
        tick.subscribe(tick.agent(), EventKinds::NONE);
        Status::Blocked
    });
    let ann = stage.agent(puppet);
    let puppet = stage
        .puppet("bea")
        .act(move |tick| {
            tick.subscribe(ann, EventKinds::NONE);
            Status::Blocked
        })
        .act(|_| Status::Ongoing);
    stage.agent(puppet);
    stage.tick();
    stage.world.despawn(ann).unwrap();
    let log = stage.tick();
    assert_eq!(
        log,
        [format!("bea hears that {ann} died"), "ann interrupted".into(), "bea ticks".into()]
    );
}

#[test]
fn an_answer_to_an_older_request_goes_to_nobody() {
    let mut stage = Stage::new();
    let tokens = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = tokens.clone();
    let puppet = stage.puppet("ann").act(move |tick| {
        tick.unsubscribe_all();
        noted.lock().unwrap().push(tick.subscribe(tick.agent(), ZERO));
        Status::Blocked
    });
    let ann = stage.agent(puppet);
    stage.tick();
    stage.post(ann, 0, 1);
    stage.tick();
    let [old, new] = tokens.lock().unwrap()[..] else { panic!("two requests") };
    assert_ne!(old, new);
    stage.answer(old, 0, 2);
    assert_eq!(stage.tick(), [""; 0]);
    assert_eq!(stage.report().dropped, 1);
    stage.answer(new, 0, 3);
    assert_eq!(stage.tick(), [format!("ann hears 3 of {ann}"), "ann ticks".into()]);
}

#[test]
fn an_answer_goes_to_its_subscriber_alone() {
    let mut stage = Stage::new();
    let bread = stage.world.spawn(());
    let tokens = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    for name in ["ann", "bea"] {
        let noted = tokens.clone();
        let puppet = stage
            .puppet(name)
            .act(move |tick| {
                noted.lock().unwrap().push(tick.subscribe(bread, ZERO));
                Status::Blocked
            })
            .act(|_| Status::Ongoing);
        stage.agent(puppet);
    }
    stage.tick();
    let [ann, bea] = tokens.lock().unwrap()[..] else { panic!("two requests") };
    assert_eq!(ann.number(), bea.number(), "each counts by itself");
    stage.send(Posted::about(bread, Ping { kind: 0, number: 5 }).answering(bea));
    assert_eq!(stage.tick(), [format!("bea hears 5 of {bread}"), "bea ticks".into()]);
    stage.post(bread, 0, 6);
    assert_eq!(stage.tick().len(), 4, "what answers no request goes to both");
}

#[test]
fn one_event_is_told_once_for_each_subscription_in_their_order() {
    let mut stage = Stage::new();
    let puppet = stage
        .puppet("ann")
        .act(|tick| {
            let agent = tick.agent();
            (0..3).for_each(|_| _ = tick.subscribe(agent, ZERO | ONE));
            Status::Blocked
        })
        .act(|_| Status::Ongoing);
    let ann = stage.agent(puppet.answering(Response::SLEEP.unsubscribe()));
    stage.tick();
    stage.post(ann, 1, 1);
    stage.post(ann, 0, 2);
    let log = stage.tick();
    let once = format!("ann hears 1 of {ann}");
    assert_eq!(log, [once.clone(), once.clone(), once, "ann ticks".into()]);
}

#[test]
fn what_an_activity_posts_is_told_in_the_next_run() {
    let mut stage = Stage::new();
    let bread = stage.world.spawn(());
    let listener = stage
        .puppet("ann")
        .act(move |tick| {
            tick.subscribe(bread, ZERO);
            Status::Blocked
        })
        .act(|_| Status::Ongoing);
    stage.agent(listener);
    let speaker = stage.puppet("bea").act(move |tick| {
        tick.post(Posted::about(bread, Ping { kind: 0, number: 1 }));
        crate::puppet::done()
    });
    stage.agent(speaker);
    // She subscribes in the tick in which it is posted, and is told: it was not there before.
    assert_eq!(stage.tick(), ["ann ticks", "bea ticks", "bea done"]);
    assert_eq!(stage.tick(), [format!("ann hears 1 of {bread}"), "ann ticks".into()]);
}

struct Bell;

impl Event for Bell {}

#[test]
fn an_event_without_kinds_is_of_the_first_kind_and_a_set_is_printed_by_its_kinds() {
    assert_eq!(Event::kind(&Bell), EventKinds::one(0));
    assert_eq!(<Bell as Event>::kind_name(0), None);
    assert_eq!(format!("{:?}", EventKinds::ALL), "EventKinds(all)");
    assert_eq!(format!("{:?}", EventKinds::NONE), "EventKinds{}");
    assert_eq!(format!("{:?}", EventKinds::one(65) | EventKinds::one(70)), "EventKinds{65, 70}");
}
