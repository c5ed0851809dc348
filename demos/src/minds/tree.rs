//! A behaviour tree: the same priorities as those of the `if`, in an explicit order.

use formic_ai::bt::{Library, Tree, TreeAgent, Trees};
use formic_ai::prelude::*;
use formic_jobs::SaveRules;

use super::actions;
use super::crowd::{self, Mind};
use super::forager::{Senses, has_berries, is_hungry, is_tired, is_wolf_near};

pub(super) const MIND: Mind = Mind {
    name: "tree",
    keys: crowd::keys!("tree"),
    drive: |world, crowd| {
        let actions = actions::set();
        let tree = tree(&actions);
        crowd::drive(world, crowd, &actions, |world, it, seed| {
            TreeAgent::drive(world, it, &tree, seed)
        });
        world.insert_resource(tree);
        SaveRules::of(world).rebuild::<Tree<Senses>>();
    },
    thinks: Some("::think"),
    systems: |schedule| crowd::with_mind(schedule, think),
};

const TREE: &str = "
    selector {
        sequence { wolf_near? hide }
        sequence { hungry? selector { sequence { has_berries? eat } gather } }
        # Who has gone to sleep sleeps on, unless the wolf comes.
        sequence { tired? stay_until(wolf_near?) sleep }
        gather
    }
";

fn tree(actions: &ActionSet) -> Tree<Senses> {
    let library = Library::<Senses>::new(actions)
        .condition("wolf_near", is_wolf_near)
        .condition("hungry", is_hungry)
        .condition("has_berries", has_berries)
        .condition("tired", is_tired);
    Tree::parse(TREE, &library).expect("every name in the tree is in the library")
}

fn think(mut trees: Trees<Senses>, tree: Res<Tree<Senses>>) {
    trees.tick(&tree);
}
