//! Trees of conditions, effects and actions that do as a board says, and a recursive interpreter.

use std::cell::RefCell;

use formic_ai::action::Ended;
use formic_ai::bt::{Library, Node, Tree, TreeAgent, Trees};
use formic_ai::prelude::*;

use ActionResult::{Failed, Running, Success};

pub(crate) type Senses = &'static mut Board;

/// What holds, how actions end if they are asked, and what has happened.
#[derive(Component, Clone, Debug)]
pub(crate) struct Board {
    /// A bit for each of four conditions.
    pub(crate) conditions: u32,
    pub(crate) scores: [f32; 3],
    pub(crate) ends: [ActionResult; 4],
    pub(crate) effects: [u32; 3],
    /// `+` began, `s` succeeded, `f` failed, `x` was interrupted.
    pub(crate) log: Vec<String>,
}

impl Default for Board {
    fn default() -> Self {
        let (scores, ends) = ([0.0; 3], [Running; 4]);
        Self { conditions: 0, scores, ends, effects: [0; 3], log: Vec::new() }
    }
}

impl Board {
    pub(crate) fn draw(&mut self, random: &mut RandomStream) {
        self.conditions = u32::try_from(random.below(16)).unwrap();
        self.scores = [(); 3].map(|()| [0.0, 0.5, 1.0, f32::NAN][random.below(4) as usize]);
        let end = |random: u64| [Running, Running, Success, Failed][random as usize];
        self.ends = [(); 4].map(|()| end(random.below(4)));
        self.log.clear();
    }

    pub(crate) fn inputs_from(&mut self, other: &Self) {
        (self.conditions, self.scores, self.ends) = (other.conditions, other.scores, other.ends);
        self.log.clear();
    }
}

/// An action of an agent, by its number.
#[derive(Component, Clone)]
struct Deed(usize);

struct Doing<'a>(RefCell<ComponentLookup<'a, &'static mut Board>>);

impl Doing<'_> {
    fn note(&self, agent: Agent<'_>, what: &str, deed: &Deed) {
        let mut boards = self.0.borrow_mut();
        if let Ok(board) = boards.get_mut(agent.entity) {
            board.log.push(format!("{what}{}", deed.0));
        }
    }
}

impl Processor for Doing<'_> {
    type Action = Deed;

    fn start(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        self.note(agent, "+", deed);
        Running
    }

    fn update(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        self.0.borrow_mut().get_mut(agent.entity).unwrap().ends[deed.0]
    }

    fn cleanup(&self, agent: Agent<'_>, deed: &mut Deed, ended: Ended) {
        let what = match ended {
            Ended::Success => "s",
            Ended::Failed => "f",
            _ => "x",
        };
        self.note(agent, what, deed);
    }
}

/// The four actions of agents, each behind so many others.
pub(crate) fn actions(fillers: usize) -> ActionSet {
    (0..4).fold(ActionSet::new(), |actions, deed| {
        let fill = |actions: ActionSet, it| actions.action(format!("other {deed} {it}"), Deed(9));
        (0..fillers).fold(actions, fill).action(format!("a{deed}"), Deed(deed))
    })
}

pub(crate) fn library() -> Library<Senses> {
    library_with(0)
}

pub(crate) fn library_with(fillers: usize) -> Library<Senses> {
    let mut library = Library::new(&actions(fillers));
    for condition in 0..4 {
        library = library.condition(format!("c{condition}"), move |board: &&mut Board| {
            board.conditions >> condition & 1 == 1
        });
    }
    for place in 0..3 {
        library = library
            .effect(format!("e{place}"), move |board: &mut &mut Board| board.effects[place] += 1)
            .score(format!("s{place}"), move |board: &&mut Board| board.scores[place]);
    }
    library
}

struct Shared(Tree<Senses>);

fn think(mut trees: Trees<'_, Senses>, shared: Res<'_, Shared>) {
    trees.tick(&shared.0);
}

/// Several actions of an agent are carried out at once: one after the other, so that its log has an
/// order.
fn act(mut actions: Actions<'_, Deed>, boards: ComponentLookup<'_, Senses>) {
    actions.process_serial(&Doing(boards.into()));
}

pub(crate) struct Stage {
    pub(crate) world: World,
    schedule: Schedule,
    pool: Pool,
    fillers: usize,
}

impl Stage {
    pub(crate) fn new(tree: Tree<Senses>, threads: Threads) -> Self {
        Self::with(tree, threads, 0)
    }

    /// A stage of agents with so many other actions before each of theirs.
    pub(crate) fn with(tree: Tree<Senses>, threads: Threads, fillers: usize) -> Self {
        let mut world = World::new();
        world.insert_resource(Shared(tree));
        let schedule =
            formic_ai::action::add(Schedule::builder()).add(think.as_mind()).add(act.as_action());
        let schedule = schedule.build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(threads).unwrap(), fillers }
    }

    pub(crate) fn spawn(&mut self, board: Board, seed: u64) -> Entity {
        let agent = actions(self.fillers).spawn(&mut self.world, board).unwrap();
        let shared = self.world.remove_resource::<Shared>().unwrap();
        TreeAgent::drive(&mut self.world, agent, &shared.0, seed).unwrap();
        self.world.insert_resource(shared);
        agent
    }

    pub(crate) fn draw(&mut self, random: &mut RandomStream) {
        self.world.query::<&mut Board>().for_each(|board| board.draw(random));
    }

    pub(crate) fn tick(&mut self) {
        let report = self.schedule.run(&mut self.world, &self.pool);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        // Interruptions come before what begins instead, and actions in their order.
        self.world.query::<&mut Board>().for_each(|board| {
            board.log.sort_by_key(|it| (!it.starts_with('x'), it[1..].to_string()));
        });
    }
}

/// A tree of any nodes, at most so deep.
pub(crate) fn random_tree(random: &mut RandomStream, depth: u64) -> Node {
    let small = |random: &mut RandomStream| u32::try_from(1 + random.below(3)).unwrap();
    let condition = |random: &mut RandomStream| format!("c{}", random.below(4));
    if depth == 0 || random.below(6) == 0 {
        return match random.below(8) {
            0..4 => Node::action(format!("a{}", random.below(4))),
            4 | 5 => Node::condition(condition(random)),
            6 => Node::effect(format!("e{}", random.below(3))),
            _ => Node::wait(small(random)),
        };
    }
    if random.below(5) < 2 {
        let child = random_tree(random, depth - 1);
        return match random.below(13) {
            0 => child.invert(),
            1 => child.force_success(),
            2 => child.force_failure(),
            3 => child.repeat(small(random) - 1),
            4 => child.retry(small(random)),
            5 => child.until_success(),
            6 => child.until_failure(),
            7 => child.timeout(small(random)),
            8 => child.cooldown(small(random)),
            9 => child.guard(condition(random)),
            10 => child.once(),
            11 => child.repeat_while(condition(random)),
            _ => child.stay_until(condition(random)),
        };
    }
    if random.below(6) == 0 {
        let [ask, then, otherwise] = [(); 3].map(|()| random_tree(random, depth - 1));
        return match random.below(2) {
            0 => Node::if_else(ask, then, otherwise),
            _ => Node::if_else_memory(ask, then, otherwise),
        };
    }
    let count = 1 + random.below(3);
    let children: Vec<_> = (0..count).map(|_| random_tree(random, depth - 1)).collect();
    let count = u32::try_from(count).unwrap();
    match random.below(12) {
        0 => Node::sequence(children),
        1 => Node::selector(children),
        2 => Node::sequence_memory(children),
        3 => Node::selector_memory(children),
        4 => Node::parallel(small(random).min(count), small(random).min(count), children),
        5 => Node::random(children),
        6 => Node::sequence_async(children),
        7 => Node::selector_async(children),
        8 => Node::sequence_persistent(children),
        9 => Node::parallel_all(small(random).min(count), children),
        10 => Node::weighted(children.into_iter().map(|child| (random.between(0.1, 2.0), child))),
        _ => Node::priority(
            children.into_iter().map(|child| (format!("s{}", random.below(3)), child)),
        ),
    }
}

/// A tree in which nothing is remembered.
pub(crate) fn plain_tree(random: &mut RandomStream, depth: u64) -> Node {
    if depth == 0 || random.below(5) == 0 {
        return match random.below(8) {
            0..3 => Node::action(format!("a{}", random.below(4))),
            3..6 => Node::condition(format!("c{}", random.below(4))),
            6 => Node::effect(format!("e{}", random.below(3))),
            _ => Node::condition("c0").invert(),
        };
    }
    let count = 1 + random.below(4);
    let mut children = (0..count).map(|_| plain_tree(random, depth - 1)).collect::<Vec<_>>();
    match random.below(9) {
        0..3 => Node::sequence(children),
        3..6 => Node::selector(children),
        6 => children.remove(0).guard(format!("c{}", random.below(4))),
        7 if children.len() > 2 => {
            let mut three = children.drain(..3);
            let mut next = || three.next().unwrap();
            Node::if_else(next(), next(), next())
        }
        _ => [Node::invert, Node::force_success, Node::force_failure][random.below(3) as usize](
            children.remove(0),
        ),
    }
}
