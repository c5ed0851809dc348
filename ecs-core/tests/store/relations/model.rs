//! Random programs of relating, unrelating and despawning against a plain model.

use std::collections::{BTreeMap, BTreeSet};

use formic_ecs::RandomStream;
use formic_ecs::prelude::*;

use super::*;

/// What the relations have to be: sources to targets, in order.
#[derive(Default)]
struct Model {
    alive: BTreeSet<Entity>,
    pairs: BTreeMap<&'static str, Vec<(Entity, Entity)>>,
}

impl Model {
    fn despawn(&mut self, entity: Entity) {
        let mut going = vec![entity];
        while let Some(next) = going.pop() {
            if !self.alive.remove(&next) {
                continue;
            }
            for (&relation, pairs) in &mut self.pairs {
                if relation != "likes" {
                    let sources = pairs.iter().filter(|pair| pair.1 == next);
                    going.extend(sources.map(|pair| pair.0));
                }
            }
        }
        for pairs in self.pairs.values_mut() {
            pairs.retain(|(a, b)| self.alive.contains(a) && self.alive.contains(b));
        }
    }

    fn reaches(&self, relation: &'static str, from: Entity, goal: Entity) -> bool {
        let pairs = &self.pairs[relation];
        let (mut seen, mut ahead) = (BTreeSet::new(), vec![from]);
        while let Some(next) = ahead.pop() {
            if next == goal {
                return true;
            }
            if seen.insert(next) {
                ahead.extend(pairs.iter().filter(|pair| pair.0 == next).map(|pair| pair.1));
            }
        }
        false
    }

    fn relate<R: Relation>(&mut self, name: &'static str, a: Entity, b: Entity) -> bool {
        let is_new = !self.pairs.entry(name).or_default().contains(&(a, b));
        let is_there = self.alive.contains(&a) && self.alive.contains(&b);
        if !is_there || (is_new && R::ACYCLIC && self.reaches(name, b, a)) {
            return false;
        }
        let pairs = self.pairs.entry(name).or_default();
        if is_new {
            pairs.retain(|pair| !R::EXCLUSIVE || pair.0 != a);
            pairs.push((a, b));
        }
        true
    }

    fn agrees<R: Relation>(&self, world: &World, name: &str) {
        let none = Vec::new();
        let pairs = self.pairs.get(name).unwrap_or(&none);
        for &entity in &self.alive {
            let targets = pairs.iter().filter(|pair| pair.0 == entity).map(|pair| pair.1);
            assert!(
                world.relation::<R>().targets(entity).iter().copied().eq(targets),
                "targets of {name}"
            );
            let sources = pairs.iter().filter(|pair| pair.1 == entity).map(|pair| pair.0);
            assert!(
                world.relation::<R>().sources(entity).iter().copied().eq(sources),
                "sources of {name}"
            );
        }
    }
}

fn run_program(seed: u64, steps: usize) {
    let mut random = RandomStream::new(seed);
    let mut world = World::new();
    let mut model = Model::default();
    let mut handles: Vec<Entity> = Vec::new();
    for step in 0..steps {
        let mut pick = || {
            let below = handles.len().max(1) as u64;
            handles.get(usize::try_from(random.below(below)).expect("few")).copied()
        };
        let pair = pick().zip(pick());
        match (random.below(12), pair) {
            (0..3, _) | (_, None) => {
                let entity = world.spawn(Number(step as u64));
                model.alive.insert(entity);
                handles.push(entity);
            }
            (3..5, Some((a, b))) => {
                let expected = model.relate::<Likes>("likes", a, b);
                assert_eq!(world.relation_mut::<Likes>().add(a, b).is_ok(), expected);
            }
            (5..7, Some((a, b))) => {
                let expected = model.relate::<ChildOf>("child", a, b);
                assert_eq!(world.relation_mut::<ChildOf>().set_parent(a, b).is_ok(), expected);
            }
            (7, Some((a, b))) => {
                let expected = model.relate::<Needs>("needs", a, b);
                assert_eq!(world.relation_mut::<Needs>().add(a, b).is_ok(), expected);
            }
            (8, Some((a, b))) => {
                let expected = model.relate::<Bound>("bound", a, b);
                assert_eq!(world.relation_mut::<Bound>().add(a, b).is_ok(), expected);
            }
            (9, Some((a, b))) => {
                _ = world.relation_mut::<Likes>().remove(a, b);
                if let Some(pairs) = model.pairs.get_mut("likes") {
                    pairs.retain(|&pair| pair != (a, b));
                }
            }
            (10, Some((a, _))) => {
                _ = world.relation_mut::<ChildOf>().set_parent(a, None);
                if let Some(pairs) = model.pairs.get_mut("child") {
                    pairs.retain(|pair| pair.0 != a);
                }
            }
            (_, Some((a, _))) => {
                // By a command every other time.
                let is_alive = model.alive.contains(&a);
                if step % 2 == 0 {
                    assert_eq!(world.despawn(a).is_ok(), is_alive);
                } else {
                    let mut commands = CommandBuffer::new(&world);
                    commands.despawn(a);
                    commands.insert(a, Number(0));
                    let failures = commands.play(&mut world).failures().len();
                    assert_eq!(failures, if is_alive { 1 } else { 2 });
                }
                model.despawn(a);
            }
        }
        check(&world);
        assert_eq!(world.len(), model.alive.len());
        model.agrees::<Likes>(&world, "likes");
        model.agrees::<ChildOf>(&world, "child");
        model.agrees::<Needs>(&world, "needs");
        model.agrees::<Bound>(&world, "bound");
    }
}

#[test]
fn random_programs_agree_with_the_model() {
    let (seeds, steps) = if cfg!(miri) { (2, 60) } else { (150, 120) };
    for seed in 0..seeds {
        run_program(seed, steps);
    }
}
