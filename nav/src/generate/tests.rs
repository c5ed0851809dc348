//! Rooms that are joined, compared with labels.

use formic_ecs::RandomStream;

use crate::generate::Groups;
use crate::rng::pick;

#[test]
fn joined_rooms_are_known_as_such_and_no_root_is_far() {
    const COUNT: usize = 1024;
    let mut rng = RandomStream::new(1);
    for last in [1, COUNT] {
        let mut groups = Groups::new(COUNT);
        let mut labels: Vec<usize> = (0..COUNT).collect();
        for number in 1..COUNT {
            // A chain, or any two.
            let (a, b) = (pick(rng.next_u64(), last), pick(rng.next_u64(), COUNT));
            let (a, b) = if last == 1 { (number - 1, number) } else { (a, b) };
            let (keep, lose) = (labels[a], labels[b]);
            labels.iter_mut().filter(|it| **it == lose).for_each(|it| *it = keep);
            assert_eq!(groups.join(a, b), keep != lose, "{a} and {b}");
        }
        let deepest = (0..COUNT).map(|room| groups.way_up(room).count()).max();
        assert!(deepest <= Some(11), "{deepest:?} rooms to the root of 1,024");
    }
}
