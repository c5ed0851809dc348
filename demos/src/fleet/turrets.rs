//! The decisions of turrets: a behaviour tree.

use std::sync::Arc;

use formic_ai::bt::{Library, Tree, Trees};
use formic_ai::prelude::*;

use super::guns::{Cool, Fire, HEAT_MAX, RANGE, Repair};
use super::parts::{Aim, Gun, Hull};

/// The components that turrets read.
pub(super) type Senses = (&'static Aim, &'static Hull, &'static Gun);

/// The tree that all turrets share.
pub(super) type Turrets = Arc<Tree<Senses>>;

pub(super) fn actions() -> ActionSet {
    ActionSet::new().action("fire", Fire).action("cool", Cool).action("repair", Repair)
}

/// The behaviour tree. Its memory makes an overheated gun cool down completely, not just below the limit.
const TREE: &str = "
    selector {
        sequence_memory { overheated? cool }
        sequence { enemy_in_range? fire }
        sequence_memory { hurt? repair }
        wait(10)
    }
";

pub(super) fn tree(actions: &ActionSet) -> Tree<Senses> {
    let library = Library::<Senses>::new(actions)
        .condition("overheated", |(_, _, gun)| gun.heat >= HEAT_MAX)
        .condition("enemy_in_range", |(aim, _, _)| aim.distance < RANGE)
        .condition("hurt", |(_, hull, _)| hull.points < hull.points_max);
    Tree::parse(TREE, &library).expect("every name in the tree is in the library")
}

pub(super) fn think(mut trees: Trees<Senses>, turrets: Res<Turrets>) {
    trees.tick(&turrets);
}
