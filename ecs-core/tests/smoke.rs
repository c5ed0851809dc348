use ecs_core::prelude::*;
#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Position(f32, f32);
#[derive(Component, Clone, Debug, PartialEq)]
struct Name(String);
#[derive(Component, Clone)]
#[component(enableable)]
struct On;

#[test]
fn everything_at_once() {
    let mut world = World::new();
    let mut all = vec![];
    for i in 0..1000 {
        let e = world.spawn((Position(i as f32, 0.0), Name(format!("{i}"))));
        if i % 3 == 0 {
            world.insert(e, On).unwrap();
        }
        if i % 6 == 0 {
            world.set_enabled::<On>(e, false).unwrap();
        }
        all.push(e);
    }
    world.check().unwrap();
    assert_eq!(world.query_filtered::<&Position, With<On>>().count(), 167);
    assert_eq!(world.query_filtered::<&Position, Without<On>>().count(), 833);
    for (i, &e) in all.iter().enumerate() {
        if i % 2 == 0 {
            world.despawn(e).unwrap();
        }
    }
    world.check().unwrap();
    let b = world.spawn_batch((0..5000).map(|i| (On, Position(1.0, i as f32))));
    assert_eq!(b.len(), 5000);
    world.check().unwrap();
    let c = world.instantiate(all[1], 10).unwrap();
    assert_eq!(world.get::<Name>(c[9]).unwrap().0, "1");
    let n: Name = world.remove(c[3]).unwrap();
    assert_eq!(n.0, "1");
    assert!(!world.has::<Name>(c[3]));
    world.check().unwrap();
    let h = world.state_hash();
    world.clear();
    world.check().unwrap();
    assert_ne!(h, world.state_hash());
}
