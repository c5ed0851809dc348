use formic_ecs::{RandomStream, World};
use glam::Vec2;

use super::*;

/// A body of a few cells that stands somewhere.
fn member(entity: Entity, position: Vec2, half_span: f32) -> Member {
    Member {
        entity,
        position,
        velocity: Vec2::ZERO,
        radius: 0.3,
        half_span,
        class: ClassId::default(),
        speed: 1.0,
        wish: Vec2::X,
        goal: Vec2::ZERO,
        is_blocked: false,
        is_squeezing: false,
        goes_back: false,
        is_away: false,
        is_obstacle: false,
    }
}

#[test]
fn bodies_in_the_last_of_all_columns_have_neighbours() {
    let (mut world, mut crowd) = (World::new(), Crowd::default());
    crowd.begin(9);
    // More than are looked at without a look at cells.
    for _ in 0..=FEW_MAX {
        crowd.add(member(world.spawn(()), Vec2::new(65_535.5, 0.5), 0.0));
    }
    crowd.sort();
    assert_eq!(Lookout::new(&crowd).neighbours(0..1)[0].count, NEIGHBOUR_COUNT_MAX);
}

#[test]
fn neighbours_are_the_nearest_ones_of_all() {
    let (mut world, mut stream) = (World::new(), RandomStream::new(7));
    let mut crowd = Crowd::default();
    for round in 0..60 {
        // From a few on a wide map to four in a cell, some of them beyond its edges.
        let side = [4_u16, 9, 20, 60][round % 4];
        let half_span = if round % 3 == 0 { 1.5 } else { 0.0 };
        crowd.begin(side);
        // Some rounds have more in sight of one than are looked at without a look at cells.
        for _ in 0..if round % 8 == 1 { 4 * FEW_MAX / 3 } else { 60 } {
            let mut at = || stream.between(-1.0, f32::from(side) + 1.0);
            // Corners of cells, too, many at the same distance, and some in one place.
            let place = match round % 10 {
                0 => Vec2::new(at().round(), at().round()),
                5 => Vec2::new(at().round(), at()),
                _ => Vec2::new(at(), at()),
            };
            crowd.add(member(world.spawn(()), place, half_span));
        }
        crowd.sort();
        let sight = if half_span > 0.0 { 6.0 } else { 3.0 };
        let members: Vec<Member> = (0..crowd.len()).map(|place| *crowd.member(place)).collect();
        let middles: Vec<Vec2> = members.iter().map(|one| one.disc().position()).collect();
        let is_inside = |at: Vec2| at.x >= 0.0 && at.y >= 0.0 && at.y < f32::from(side);
        let (mut lookout, mut found) = (Lookout::new(&crowd), Vec::<Neighbours>::new());
        for start in (0..members.len()).step_by(LANE_COUNT) {
            found.extend(lookout.neighbours(start..members.len().min(start + LANE_COUNT)));
        }
        for (place, own) in members.iter().enumerate() {
            assert_eq!(crowd.place(own.entity), place);
            let square = |other: usize| middles[place].distance_squared(middles[other]);
            let mut expected: Vec<usize> = (0..middles.len())
                .filter(|&other| {
                    other != place && is_inside(middles[other]) && is_inside(middles[place])
                })
                .filter(|&other| square(other) < sight * sight)
                .collect();
            expected.sort_by(|&a, &b| square(a).total_cmp(&square(b)).then(a.cmp(&b)));
            expected.truncate(NEIGHBOUR_COUNT_MAX);
            assert_eq!(*crowd.disc(place), own.disc());
            assert_eq!(found[place].get(), expected, "round {round}");
        }
    }
}
