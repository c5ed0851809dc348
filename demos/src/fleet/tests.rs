//! Tests that the fleets fight: both sides fly, fire and lose ships.

use super::*;

fn run(agents: u32, ticks: u64) -> Fleet {
    let setup = Setup { agents, ticks, seed: 1, threads: 1 };
    let mut fleet = Fleet::new(&setup).expect("no threads are needed");
    for tick in 0..ticks {
        fleet.tick();
        if tick % 50 == 0 {
            fleet.check().expect("nothing is wrong");
        }
    }
    fleet.check().expect("nothing is wrong");
    fleet
}

fn figure(fleet: &Fleet, name: &str) -> u64 {
    let counters = fleet.counters();
    counters.iter().find(|(known, _)| *known == name).expect("there is such a counter").1
}

#[test]
fn both_sides_fire_lose_and_build() {
    let fleet = run(256, 900);
    let [fired, hits, lost, built] =
        ["bullets_fired", "hits", "ships_lost", "ships_built"].map(|name| figure(&fleet, name));
    assert!(fired > 1_000 && hits > 100 && hits < fired, "{:?}", fleet.counters());
    assert!(lost > 20 && built > 20, "{:?}", fleet.counters());
    assert_eq!(figure(&fleet, "ships"), 4 * 51 + built - lost);
    assert!(figure(&fleet, "plans") > 8, "{:?}", fleet.counters());
}

#[test]
fn bullets_come_and_go() {
    let mut fleet = run(128, 200);
    let world = &mut fleet.engine.world;
    let bullets: Vec<Entity> =
        world.query_filtered::<Entity, With<parts::Bullet>>().into_iter().collect();
    assert!(!bullets.is_empty());
    (0..20).for_each(|_| fleet.tick());
    assert!(bullets.iter().all(|&bullet| !fleet.engine.world.contains(bullet)));
}

#[test]
fn a_squadron_without_a_foe_has_peace() {
    for agents in [1, 2, 64] {
        let fleet = run(agents, 100);
        let units = ["ships", "turrets", "admirals"].map(|name| figure(&fleet, name));
        assert_eq!(units.iter().sum::<u64>(), u64::from(agents));
        assert_eq!(figure(&fleet, "bullets_fired"), 0);
        assert!(fleet.lines().iter().all(|(_, text)| !text.is_empty()), "{:?}", fleet.lines());
    }
}

#[test]
fn every_unit_of_a_large_fleet_is_in_a_squadron_of_its_own_place() {
    let sky = Sky::new(10_000);
    let squadrons: Vec<_> = sky.squadrons().collect();
    let units: u32 = squadrons.iter().map(|it| 1 + it.ships + it.turrets).sum();
    assert_eq!(units, 10_000);
    for (place, squadron) in squadrons.iter().enumerate() {
        let inside = squadron.base.cmpgt(glam::Vec2::ZERO) & squadron.base.cmplt(sky.size());
        assert!(inside.all(), "{squadron:?}");
        assert!(squadrons[..place].iter().all(|other| other.base != squadron.base));
    }
}

#[test]
fn the_check_finds_whatever_is_wrong_with_a_war() {
    DEMO.assert_check_finds("bullets were fired", |world| {
        world.resource_mut::<Toll>().expect("there is one").hits += 1_000_000;
    });
    DEMO.assert_check_finds("has Hull", |world| {
        world.query::<&mut parts::Hull>().for_each(|hull| hull.points = 0);
    });
    DEMO.assert_check_finds(" is at ", |world| {
        world.query::<&mut parts::Position>().for_each(|position| position.0.x = f32::NAN);
    });
    DEMO.assert_check_finds("does two things at once", |world| {
        world.query_filtered::<&mut Body, With<parts::Hull>>().for_each(|body| {
            body.begin(0);
            body.begin(1);
        });
    });
    DEMO.assert_check_finds("thinks of Strength", |world| {
        world.query::<&mut parts::Strength>().for_each(|strength| strength.ships += 1);
    });
    DEMO.assert_check_finds("who is no admiral", |world| {
        let members = world.query::<(Entity, &mut parts::Member)>();
        members.for_each(|(unit, member)| member.admiral = unit);
        world.query::<&mut parts::Strength>().for_each(|strength| {
            (strength.ships, strength.turrets) = (0, 0);
        });
    });
}
