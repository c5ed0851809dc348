//! State machines: what is entered is left, once, in order.
#![expect(clippy::cast_possible_truncation, reason = "small numbers, drawn by chance")]

use formic_ai::action::Ended;
use formic_ai::fsm::{
    FsmAgent, History, Machine, MachineBuilder, Machines, State, StateChanged, Transition,
};
use formic_ai::prelude::*;

/// What holds for an agent, how its actions end, and what has happened to it.
#[derive(Component, Default)]
struct Board {
    conditions: u64,
    end: Option<ActionResult>,
    log: Vec<String>,
}

type Senses = &'static mut Board;

#[derive(Component, Clone)]
struct Deed(&'static str);

struct Doing<'a>(AgentAccess<'a, Senses>);

impl Doing<'_> {
    fn note(&self, agent: Agent<'_>, what: &str, deed: &Deed) {
        if let Ok(mut board) = self.0.claim(agent) {
            board.get_mut().log.push(format!("{what} {}", deed.0));
        }
    }
}

impl Processor for Doing<'_> {
    type Action = Deed;

    fn start(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        self.note(agent, "begins", deed);
        ActionResult::Running
    }

    fn update(&self, agent: Agent<'_>, _: &mut Deed) -> ActionResult {
        let Ok(mut board) = self.0.claim(agent) else { return ActionResult::Failed };
        board.get_mut().end.take().unwrap_or(ActionResult::Running)
    }

    fn cleanup(&self, agent: Agent<'_>, deed: &mut Deed, ended: Ended) {
        self.note(agent, &format!("{ended:?}:"), deed);
    }
}

const DEEDS: [&str; 4] = ["walk", "look", "fight", "greet"];

fn actions() -> ActionSet {
    DEEDS.into_iter().fold(ActionSet::new(), |actions, deed| actions.action(deed, Deed(deed)))
}

/// A state that tells when it is entered and left.
fn state(name: &str) -> State<Senses> {
    let (entered, left) = (format!("+{name}"), format!("-{name}"));
    State::new(name)
        .on_enter(move |board: &mut &mut Board| board.log.push(entered.clone()))
        .on_exit(move |board: &mut &mut Board| board.log.push(left.clone()))
}

/// A transition that asks for a condition.
fn when(transition: Transition<Senses>, condition: u32) -> Transition<Senses> {
    transition.when(move |board: &&mut Board| board.conditions >> condition & 1 == 1)
}

fn machine(
    states: impl IntoIterator<Item = State<Senses>>,
    transitions: impl IntoIterator<Item = Transition<Senses>>,
) -> Machine<Senses> {
    builder(states, transitions).build(&actions()).unwrap()
}

fn builder(
    states: impl IntoIterator<Item = State<Senses>>,
    transitions: impl IntoIterator<Item = Transition<Senses>>,
) -> MachineBuilder<Senses> {
    let builder = states.into_iter().fold(MachineBuilder::new(), MachineBuilder::state);
    transitions.into_iter().fold(builder, MachineBuilder::transition)
}

struct Shared(Machine<Senses>);

struct Stage {
    world: World,
    schedule: Schedule,
    pool: Pool,
    agent: Entity,
}

impl Stage {
    fn new(machine: Machine<Senses>) -> Self {
        fn think(mut machines: Machines<'_, Senses>, shared: Res<'_, Shared>) {
            machines.update(&shared.0);
        }
        fn act(mut actions: Actions<'_, Deed>, boards: AgentAccess<'_, Senses>) {
            actions.process(&Doing(boards));
        }
        let mut world = World::new();
        let agent = actions().spawn(&mut world, Board::default()).unwrap();
        FsmAgent::drive(&mut world, agent, &machine).unwrap();
        world.insert_resource(Shared(machine));
        let schedule =
            formic_ai::action::add(Schedule::builder()).add(think.as_mind()).add(act.as_action());
        let schedule = schedule.build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap(), agent }
    }

    fn board(&mut self) -> &mut Board {
        self.world.get_mut::<Board>(self.agent).unwrap()
    }

    /// One tick in which these conditions hold; what has happened.
    fn tick(&mut self, conditions: &[u32]) -> String {
        self.board().conditions = conditions.iter().map(|it| 1 << it).sum();
        self.schedule.run(&mut self.world, &self.pool);
        std::mem::take(&mut self.board().log).join(", ")
    }

    fn send(&mut self, event: u32) {
        self.world.get_mut::<FsmAgent>(self.agent).unwrap().send(event);
    }

    fn state(&self) -> String {
        let mind = self.world.get::<FsmAgent>(self.agent).unwrap();
        let machine = &self.world.resource::<Shared>().unwrap().0;
        machine.name(mind.state().unwrap()).to_string()
    }
}

#[test]
fn the_action_of_a_state_begins_with_it_goes_on_and_stops_with_it() {
    let mut stage = Stage::new(machine(
        [state("calm").action("walk"), state("angry").action("fight")],
        [when(Transition::new("calm", "angry"), 0), when(Transition::new("angry", "calm"), 1)],
    ));
    assert_eq!(stage.tick(&[]), "+calm, begins walk");
    assert_eq!(stage.tick(&[]), "");
    assert_eq!(stage.tick(&[0]), "-calm, +angry, Interrupted: walk, begins fight");
    assert_eq!(stage.tick(&[0]), "", "nothing leads on from here for this");
    assert_eq!(stage.tick(&[1]), "-angry, +calm, Interrupted: fight, begins walk");
}

#[test]
fn others_are_told_once_what_has_changed() {
    let mut stage = Stage::new(machine(
        [state("calm"), state("angry")],
        [when(Transition::new("calm", "angry"), 0)],
    ));
    let changed = |stage: &mut Stage| {
        let mut query = stage.world.query::<&StateChanged>().into_iter();
        query.next().map(|changed| (changed.from(), changed.to()))
    };
    assert_eq!(changed(&mut stage), None);
    stage.tick(&[]);
    assert_eq!(changed(&mut stage), Some((None, 0)));
    stage.tick(&[]);
    assert_eq!(changed(&mut stage), None);
    stage.tick(&[0]);
    assert_eq!(changed(&mut stage), Some((Some(0), 1)));
    stage.tick(&[0]);
    assert_eq!(changed(&mut stage), None);
}

#[test]
fn of_transitions_the_highest_priority_is_taken_and_then_the_first() {
    let to = |name| Transition::new("start", name);
    let mut stage = Stage::new(machine(
        ["start", "a", "b", "c"].map(state),
        [when(to("a"), 0), when(to("b"), 1), when(to("c"), 2).priority(1)],
    ));
    stage.tick(&[]);
    assert_eq!(stage.tick(&[0, 1, 2]), "-start, +c");
    let mut stage =
        Stage::new(machine(["start", "a", "b"].map(state), [when(to("b"), 1), when(to("a"), 0)]));
    stage.tick(&[]);
    assert_eq!(stage.tick(&[0, 1]), "-start, +b");
}

/// Two states with two inside each.
fn nested(history: History) -> Vec<State<Senses>> {
    vec![
        state("a").history(history),
        state("a1").inside("a"),
        state("a2").inside("a"),
        state("a21").inside("a2"),
        state("a22").inside("a2"),
        state("b"),
        state("b1").inside("b"),
    ]
}

#[test]
fn states_are_left_outwards_and_entered_inwards_around_what_they_share() {
    let mut stage = Stage::new(machine(
        nested(History::None),
        [
            when(Transition::new("a1", "a22"), 0),
            when(Transition::new("a22", "b1"), 1),
            when(Transition::new("b", "a"), 2),
            when(Transition::new("a", "a"), 3),
        ],
    ));
    assert_eq!(stage.tick(&[]), "+a, +a1");
    assert_eq!(stage.tick(&[0]), "-a1, +a2, +a22", "the state around both stays");
    assert_eq!(stage.tick(&[1]), "-a22, -a2, -a, +b, +b1");
    assert_eq!(stage.tick(&[2]), "-b1, -b, +a, +a1", "a transition of the outer state");
    assert_eq!(stage.tick(&[3]), "-a1, -a, +a, +a1", "from a state to itself");
}

#[test]
fn a_history_goes_back_to_what_was_left_last() {
    let back_to = |history| {
        let mut stage = Stage::new(machine(
            nested(history),
            [
                when(Transition::new("a1", "a22"), 0),
                when(Transition::new("a", "b"), 1),
                when(Transition::new("b", "a"), 2),
            ],
        ));
        stage.tick(&[]);
        stage.tick(&[0]);
        stage.tick(&[1]);
        stage.tick(&[2]);
        stage.state()
    };
    assert_eq!(back_to(History::None), "a1");
    assert_eq!(back_to(History::Shallow), "a21");
    assert_eq!(back_to(History::Deep), "a22");
}

#[test]
fn from_any_state_leads_to_one_but_not_from_itself() {
    let mut stage = Stage::new(machine(
        nested(History::None),
        [when(Transition::from_any("b"), 0).priority(5), when(Transition::new("b", "a22"), 1)],
    ));
    stage.tick(&[]);
    assert_eq!(stage.tick(&[0]), "-a1, -a, +b, +b1");
    assert_eq!(stage.tick(&[0]), "");
    stage.tick(&[1]);
    assert_eq!(stage.tick(&[0, 1]), "-a22, -a2, -a, +b, +b1");
}

#[test]
fn interruptions_lie_on_each_other_and_go_back_one_by_one() {
    let mut stage = Stage::new(machine(
        ["work", "greet", "flee"].map(state),
        [
            when(Transition::interrupt("work", "greet"), 0),
            when(Transition::interrupt_any("flee"), 1),
            when(Transition::back("greet"), 2),
            when(Transition::back("flee"), 2),
            when(Transition::back("work"), 2),
        ],
    ));
    stage.tick(&[]);
    stage.tick(&[0]);
    assert_eq!(stage.tick(&[1]), "-greet, +flee");
    assert_eq!(stage.tick(&[2]), "-flee, +greet");
    assert_eq!(stage.tick(&[2]), "-greet, +work");
    assert_eq!(stage.tick(&[2]), "", "there is nothing to go back to");
}

#[test]
fn interruptions_end_somewhere() {
    let mut stage = Stage::new(machine(
        ["a", "b"].map(state),
        [
            when(Transition::interrupt("a", "b"), 0),
            when(Transition::interrupt("b", "a"), 0),
            when(Transition::back("a"), 1),
            when(Transition::back("b"), 1),
        ],
    ));
    stage.tick(&[]);
    let taken = |stage: &mut Stage, it| (0..40).filter(|_| !stage.tick(&[it]).is_empty()).count();
    assert_eq!((taken(&mut stage, 0), taken(&mut stage, 1)), (16, 16));
    assert_eq!(stage.state(), "a");
}

#[test]
fn events_times_and_ends_lead_on() {
    let mut stage = Stage::new(machine(
        [
            state("walking").action("walk"),
            state("looking").action("look"),
            state("waiting"),
            state("sorry"),
        ],
        [
            Transition::new("walking", "looking").on(7),
            Transition::new("looking", "waiting").when_done(),
            Transition::new("looking", "sorry").when_failed(),
            Transition::new("waiting", "walking").after(3),
            Transition::new("sorry", "walking"),
        ],
    ));
    stage.tick(&[]);
    stage.send(6);
    assert_eq!(stage.tick(&[]), "", "another event");
    stage.send(7);
    stage.tick(&[]);
    assert_eq!(stage.state(), "looking");
    stage.board().end = Some(ActionResult::Success);
    assert_eq!(stage.tick(&[]), "Success: look");
    assert_eq!(stage.tick(&[]), "-looking, +waiting");
    assert_eq!([(); 3].map(|()| stage.tick(&[])), ["", "", "-waiting, +walking, begins walk"]);
    stage.send(7);
    stage.tick(&[]);
    stage.board().end = Some(ActionResult::Failed);
    stage.tick(&[]);
    stage.tick(&[]);
    assert_eq!(stage.state(), "sorry");
    stage.send(7);
    stage.tick(&[]);
    assert_eq!(stage.tick(&[]), "", "an event that led nowhere is lost");
}

#[test]
fn an_event_that_triggers_nothing_in_its_update_is_lost() {
    let mut stage = Stage::new(machine(
        ["a", "b"].map(state),
        [
            when(Transition::new("a", "b"), 0),
            Transition::new("b", "a").on(3),
            Transition::new("b", "a").on(70),
            when(Transition::new("a", "b").on(5), 1),
        ],
    ));
    stage.tick(&[]);
    assert_eq!(stage.tick(&[0]), "-a, +b");
    for event in [6, 67] {
        stage.send(event);
        assert_eq!(stage.tick(&[]), "", "70 and 3 have its place in another word of 64");
    }
    stage.send(70);
    assert_eq!(stage.tick(&[]), "-b, +a");
    stage.send(5);
    assert_eq!(stage.tick(&[]), "", "its condition does not hold");
    assert_eq!(stage.tick(&[1]), "");
    for event in [3, 70] {
        // In an update of its own, and in one in which another transition is taken.
        stage.send(event);
        assert_eq!(stage.tick(&[]), "");
        stage.send(event);
        assert_eq!(stage.tick(&[0]), "-a, +b");
        assert_eq!(stage.tick(&[]), "");
        stage.send(event);
        assert_eq!(stage.tick(&[]), "-b, +a");
    }
}

#[test]
fn what_an_agent_did_in_a_state_that_the_machine_lacks_is_over() {
    // As after a game was loaded by a program with another machine.
    let mut stage = Stage::new(machine(
        [state("calm"), state("angry").action("fight")],
        [Transition::new("calm", "angry")],
    ));
    (0..2).for_each(|_| drop(stage.tick(&[])));
    assert_eq!(stage.state(), "angry");
    stage.world.insert_resource(Shared(machine([state("sole").action("walk")], [])));
    assert_eq!(stage.tick(&[]), "+sole, Interrupted: fight, begins walk");
    let changed = stage.world.query::<&StateChanged>().into_iter().next();
    assert_eq!(changed.map(|it| (it.from(), it.to())), Some((None, 0)));
    assert_eq!(stage.tick(&[]), "");
    let updates = stage.world.get::<FsmAgent>(stage.agent).unwrap().updates();
    assert_eq!(updates, 1, "since it was entered");
}

#[test]
fn a_remembered_state_that_lies_elsewhere_by_now_is_not_entered() {
    let ways = || [when(Transition::new("b", "a"), 0), when(Transition::new("a", "b"), 1)];
    let inner = when(Transition::new("a1", "a2"), 2);
    let mut stage = Stage::new(machine(
        [
            state("a").history(History::Shallow),
            state("a1").inside("a"),
            state("a2").inside("a"),
            state("b"),
        ],
        ways().into_iter().chain([inner]),
    ));
    stage.tick(&[]);
    assert_eq!(stage.tick(&[2]), "-a1, +a2");
    assert_eq!(stage.tick(&[1]), "-a2, -a, +b");
    // As after a game was loaded by a program in which the second is another state.
    stage.world.insert_resource(Shared(machine(
        [state("a").history(History::Shallow), state("a1").inside("a"), state("x"), state("b")],
        ways(),
    )));
    assert_eq!(stage.tick(&[0]), "-b, +a, +a1");
}

#[test]
fn whatever_goes_what_was_begun_is_left_once() {
    let machine = || machine([state("calm").action("walk")], []);
    let mut stage = Stage::new(machine());
    stage.tick(&[]);
    stage.world.remove::<(FsmAgent,)>(stage.agent).unwrap();
    assert_eq!(stage.tick(&[]), "Interrupted: walk");
    assert_eq!(stage.tick(&[]), "");
    let mut stage = Stage::new(machine());
    stage.tick(&[]);
    stage.world.remove::<(Body,)>(stage.agent).unwrap();
    assert_eq!(stage.tick(&[]), "Interrupted: walk");
    assert_eq!(stage.world.len(), 1);
    let mut stage = Stage::new(machine());
    stage.tick(&[]);
    stage.world.despawn(stage.agent).unwrap();
    stage.schedule.run(&mut stage.world, &stage.pool);
    assert!(stage.world.is_empty());
}

/// The interpreter: the names of the active states, outermost first.
struct Model {
    parents: Vec<Option<usize>>,
    initial: Vec<Option<usize>>,
    history: Vec<History>,
    last: Vec<Option<usize>>,
    /// From (none for any), to, condition, priority.
    transitions: Vec<(Option<usize>, usize, u32, i32)>,
    active: Vec<usize>,
    log: Vec<String>,
}

impl Model {
    fn draw(random: &mut RandomStream) -> Self {
        let count = 1 + random.below(8) as usize;
        let mut parents = vec![None];
        for state in 1..count as u64 {
            parents.push((random.below(3) > 0).then(|| random.below(state) as usize));
        }
        let initial = |state| parents.iter().position(|&parent| parent == Some(state));
        let initial = (0..count).map(initial).collect();
        let kinds = [History::None, History::Shallow, History::Deep];
        let history = (0..count).map(|_| kinds[random.below(3) as usize]).collect();
        let any = |random: &mut RandomStream| random.below(count as u64) as usize;
        let transitions = (0..random.below(10)).map(|condition| {
            let from = (random.below(5) > 0).then(|| any(random));
            (from, any(random), condition as u32, random.below(3) as i32)
        });
        let transitions = transitions.collect();
        let last = vec![None; count];
        Self { parents, initial, history, last, transitions, active: Vec::new(), log: Vec::new() }
    }

    fn machine(&self) -> Machine<Senses> {
        let name = |state: usize| format!("s{state}");
        let states = (0..self.parents.len()).map(|it| {
            let state = state(&name(it)).history(self.history[it]);
            self.parents[it].map(name).into_iter().fold(state, State::inside)
        });
        let transitions = self.transitions.iter().map(|&(from, to, condition, priority)| {
            let transition = match from {
                Some(from) => Transition::new(name(from), name(to)),
                None => Transition::from_any(name(to)),
            };
            when(transition, condition).priority(priority)
        });
        machine(states, transitions)
    }

    /// The state and all around it, outermost first.
    fn path(&self, state: usize) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(Some(state), |&at| self.parents[at]).collect();
        path.reverse();
        path
    }

    fn enter(&mut self, state: usize) {
        self.active.push(state);
        self.log.push(format!("+s{state}"));
    }

    fn enter_all(&mut self, target: usize) {
        for state in self.path(target) {
            if !self.active.contains(&state) {
                self.enter(state);
            }
        }
        let (mut at, mut is_deep) = (target, false);
        while let Some(initial) = self.initial[at] {
            is_deep |= self.history[at] == History::Deep;
            let is_kept = is_deep || self.history[at] == History::Shallow;
            at = self.last[at].filter(|_| is_kept).unwrap_or(initial);
            self.enter(at);
        }
    }

    fn tick(&mut self, conditions: u64) {
        self.log.clear();
        if self.active.is_empty() {
            self.enter_all(0);
            return;
        }
        let possible = self.transitions.iter().filter(|&&(from, to, condition, _)| {
            let applies = match from {
                Some(from) => self.active.contains(&from),
                None => !self.active.contains(&to),
            };
            applies && conditions >> condition & 1 == 1
        });
        // The last of those with the highest priority, looked at backwards, is the first.
        let Some(&(_, to, _, _)) = possible.rev().max_by_key(|it| it.3) else { return };
        let path = self.path(to);
        let leaf = *self.active.last().unwrap();
        while let Some(&state) = self.active.last() {
            // What stays lies strictly around both.
            if state != leaf && state != to && path.contains(&state) {
                break;
            }
            self.active.pop();
            self.log.push(format!("-s{state}"));
            if let Some(parent) = self.parents[state] {
                self.last[parent] = Some(state);
            }
        }
        self.enter_all(to);
    }
}

#[test]
fn machines_do_what_the_interpreter_does_and_what_is_entered_is_left() {
    for seed in 0..400 {
        let random = &mut RandomStream::new(seed);
        let mut model = Model::draw(random);
        let mut stage = Stage::new(model.machine());
        let mut entered = vec![0; model.parents.len()];
        for tick in 0..30 {
            let conditions = random.next_u64() & random.next_u64();
            stage.board().conditions = conditions;
            stage.schedule.run(&mut stage.world, &stage.pool);
            let log = std::mem::take(&mut stage.board().log);
            model.tick(conditions);
            assert_eq!(log, model.log, "seed {seed}, tick {tick}");
            for line in &log {
                let count = &mut entered[line[2..].parse::<usize>().unwrap()];
                *count += if line.starts_with('+') { 1 } else { -1 };
            }
            for (state, &count) in entered.iter().enumerate() {
                assert_eq!(count, i32::from(model.active.contains(&state)), "seed {seed}");
            }
            assert_eq!(stage.state(), format!("s{}", model.active.last().unwrap()));
        }
    }
}

#[test]
fn two_events_of_one_name_are_refused() {
    let machine = MachineBuilder::<Senses>::new().state(State::new("calm"));
    let error = machine.event(0, "bell").event(1, "bell").build(&ActionSet::new()).unwrap_err();
    assert_eq!(error.to_string(), "the event \"bell\" is defined twice");
}

#[test]
#[should_panic(expected = "there are 1024 events")]
fn an_event_that_cannot_be_sent_gets_no_name() {
    let _machine = MachineBuilder::<Senses>::new().event(FsmAgent::EVENTS_MAX, "one too many");
}

#[test]
fn an_interruption_too_many_is_refused_and_counted() {
    let mut stage = Stage::new(machine(
        [state("work"), state("a"), state("b")],
        [
            when(Transition::interrupt("work", "a"), 0),
            when(Transition::interrupt("a", "b"), 0),
            when(Transition::interrupt("b", "a"), 0),
            when(Transition::back("a"), 1),
            when(Transition::back("b"), 1),
        ],
    ));
    let refused =
        |stage: &Stage| stage.world.get::<FsmAgent>(stage.agent).unwrap().interruptions_refused();
    stage.tick(&[]);
    for _ in 0..16 {
        assert_ne!(stage.tick(&[0]), "");
    }
    assert_eq!(refused(&stage), 0);
    for count in 1..4 {
        assert_eq!(stage.tick(&[0]), "", "16 lie on each other");
        assert_eq!(refused(&stage), count);
    }
    assert_eq!(stage.tick(&[]), "", "what does not hold is not refused");
    assert_eq!(refused(&stage), 3);
    for _ in 0..16 {
        assert_ne!(stage.tick(&[1]), "");
    }
    assert_eq!(stage.state(), "work");
    assert_eq!(stage.tick(&[1]), "", "there is nothing to go back to, which is no refusal");
    assert_eq!(refused(&stage), 3);
}

#[test]
fn a_machine_of_many_states_is_built_at_once_and_one_of_too_many_transitions_is_refused() {
    let states = || (0..4096).map(|it| State::<Senses>::new(format!("s{it}")));
    let next = |it: u32| Transition::new(format!("s{it}"), format!("s{}", (it + 1) % 4096));
    let from_any = (0..200).map(|it| Transition::from_any(format!("s{it}")));
    let large = machine(states(), (0..4096).map(next).chain(from_any));
    assert_eq!(large.find("s4095"), Some(4095));
    let from_any = (0..3_000).map(|it| Transition::from_any(format!("s{it}")));
    let error = builder(states(), from_any).build(&actions()).unwrap_err();
    let said = "the transitions, counted for each state that they lead from, are more than 1048576";
    assert_eq!(error.to_string(), said);
    // A transition is not looked at for each state that it has nothing to do with: that took a minute.
    let start = std::time::Instant::now();
    let many = (0..65_536)
        .map(|it| Transition::new(format!("s{}", it % 4096), format!("s{}", (it * 7) % 4096)));
    assert_eq!(machine(states(), many).state_count(), 4096);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn to_wait_for_the_end_of_an_action_that_there_is_not_is_refused() {
    let build = |transition: Transition<Senses>| {
        let states = [state("idle"), state("busy").action("walk")];
        builder(states, [transition]).build(&actions()).map_err(|error| error.to_string())
    };
    let none = |name: &str| {
        let said = "a transition waits for the end of the action of";
        Some(format!("{said} {name:?}, which has none"))
    };
    assert_eq!(build(Transition::new("idle", "busy").when_done()).err(), none("idle"));
    assert_eq!(build(Transition::new("idle", "busy").when_failed()).err(), none("idle"));
    assert!(build(Transition::new("busy", "idle").when_done()).is_ok());
    assert!(build(Transition::from_any("idle").when_failed()).is_ok());
    let idle = builder([state("idle"), state("calm")], [Transition::from_any("idle").when_done()]);
    assert_eq!(idle.build(&actions()).err().map(|error| error.to_string()), none("any"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let error = |states: Vec<State<Senses>>, transitions: Vec<Transition<Senses>>| {
        builder(states, transitions).build(&actions()).unwrap_err().to_string()
    };
    let a = || state("a");
    assert_eq!(error(vec![], vec![]), "a machine has from 1 to 4096 states, and not 0");
    assert_eq!(error(vec![a(), a()], vec![]), "the state \"a\" is defined twice");
    let unknown = "there is no state \"x\", but \"a\"";
    assert_eq!(error(vec![a().inside("x")], vec![]), unknown);
    assert_eq!(error(vec![a()], vec![Transition::new("a", "x")]), unknown);
    let unknown = error(vec![a().action("fly")], vec![]);
    assert!(unknown.starts_with("there is no action \"fly\", but \"walk\""), "{unknown}");
    let cycle = vec![a().inside("b"), state("b").inside("a"), state("c")];
    assert_eq!(error(cycle, vec![]), "the state \"a\" lies inside itself");
    let not_inside = vec![a().initial("b"), state("b")];
    let expected = "the state \"b\" does not lie directly inside \"a\"";
    assert_eq!(error(not_inside, vec![]), expected);
    let shared = vec![a().action("walk"), state("b").inside("a").action("walk")];
    let expected = "a state and one inside it have the same action \"b\"";
    assert_eq!(error(shared, vec![]), expected);
}
