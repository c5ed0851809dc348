//! Agents that follow flow fields.

use formic_ecs::Entity;
use formic_jobs::Threads;
use formic_nav::{
    Avoid, Cell, FlowFields, FlowFollower, FlowId, FlowStatus, Grid, MoveRule, PathStats, Position,
    Weight, systems,
};
use glam::Vec2;

use crate::cells::any_cell;
use crate::dijkstra;
use crate::noise::noise;
use crate::rng::Rng;
use crate::scenes::{TOLERANCE, least_gap, open};
use crate::sim::Sim;

fn add_field(sim: &mut Sim, goals: &[Cell]) -> FlowId {
    let terrain = sim.terrain().clone();
    sim.world.resource_mut::<FlowFields>().unwrap().add(&terrain, goals)
}

fn status(sim: &Sim, agent: Entity) -> FlowStatus {
    sim.world.get::<FlowFollower>(agent).unwrap().status()
}

fn fields(sim: &mut Sim) -> &mut FlowFields {
    sim.world.resource_mut().unwrap()
}

#[test]
fn a_flow_agent_walks_the_shortest_way_and_arrives() {
    let mut sim = Sim::of(&[".....", ".@@@.", "....."]);
    let field = add_field(&mut sim, &[Cell::new(4, 1)]);
    let agent = sim.world.spawn(systems::flow_agent(Vec2::new(0.5, 1.5), 2.0, field));
    // Six steps around the block at two cells and twenty ticks a second, corners cut a little.
    sim.ticks(45);
    assert_eq!(status(&sim, agent), FlowStatus::Going);
    sim.ticks(10);
    assert_eq!(
        (status(&sim, agent), sim.position(agent)),
        (FlowStatus::Arrived, (4.5, 1.5).into())
    );
}

#[test]
fn agents_beside_the_map_come_onto_it_and_go() {
    let mut sim = open(32, 64);
    let field = add_field(&mut sim, &[Cell::new(0, 33)]);
    let places = [(40.5, 0.5), (0.5, 70.5), (60_000.5, 60_000.5), (-3.5, 5.5)];
    let agents = places.map(|place| sim.world.spawn(systems::flow_agent(place.into(), 2.0, field)));
    // One on it, by which the field is worked out.
    let inside = sim.world.spawn(systems::flow_agent(Vec2::new(31.5, 0.5), 2.0, field));
    sim.ticks(20);
    assert_eq!(status(&sim, inside), FlowStatus::Going);
    for (agent, place) in agents.into_iter().zip(places) {
        assert_eq!(status(&sim, agent), FlowStatus::Going, "{place:?}");
        let cell = Cell::containing(sim.position(agent)).expect("it is on the map");
        assert!(sim.terrain().grid().contains(cell), "{place:?}");
    }
}

#[test]
fn a_fast_follower_walks_several_cells_in_one_tick() {
    let mut sim = open(40, 40);
    let field = add_field(&mut sim, &[Cell::new(0, 0)]);
    let agent = sim.world.spawn(systems::flow_agent(Vec2::new(39.5, 20.5), 1_000.0, field));
    sim.tick();
    assert_eq!(
        (status(&sim, agent), sim.position(agent)),
        (FlowStatus::Arrived, (0.5, 0.5).into())
    );
}

#[test]
fn a_follower_that_cannot_reach_a_goal_stands_until_an_edit_opens_a_way() {
    let mut sim = Sim::of(&["..@.."]);
    let field = add_field(&mut sim, &[Cell::new(4, 0)]);
    let agent = sim.world.spawn(systems::flow_agent(Vec2::new(0.5, 0.5), 4.0, field));
    sim.ticks(5);
    assert_eq!((status(&sim, agent), sim.position(agent).x), (FlowStatus::Unreachable, 0.5));
    sim.terrain_mut().dig(Cell::new(2, 0));
    sim.ticks(40);
    assert_eq!(status(&sim, agent), FlowStatus::Arrived);
}

#[test]
fn followers_that_have_arrived_walk_on_when_the_field_is_given_other_goals() {
    let mut sim = open(12, 3);
    let field = add_field(&mut sim, &[Cell::new(0, 1)]);
    let plain = sim.world.spawn(systems::flow_agent(Vec2::new(2.5, 0.5), 4.0, field));
    let polite =
        sim.world.spawn((systems::flow_agent(Vec2::new(2.5, 2.5), 4.0, field), Avoid::default()));
    sim.ticks(60);
    let terrain = sim.terrain().clone();
    fields(&mut sim).get_mut(field).unwrap().restart(&terrain, &[Cell::new(11, 1)]);
    for agent in [plain, polite] {
        assert_eq!(status(&sim, agent), FlowStatus::Arrived);
    }
    sim.ticks(120);
    for agent in [plain, polite] {
        assert_eq!(status(&sim, agent), FlowStatus::Arrived);
        assert!(sim.position(agent).x > 10.0, "{}", sim.position(agent));
    }
}

#[test]
fn agents_of_a_field_that_is_removed_stand_still_and_its_slot_is_used_again() {
    let mut sim = open(12, 3);
    let field = add_field(&mut sim, &[Cell::new(0, 1)]);
    let agent = sim.world.spawn(systems::flow_agent(Vec2::new(9.5, 1.5), 2.0, field));
    sim.ticks(5);
    let place = sim.position(agent);
    assert!(fields(&mut sim).remove(field) && !fields(&mut sim).remove(field));
    let other = add_field(&mut sim, &[Cell::new(11, 1)]);
    assert_ne!(field, other);
    sim.ticks(5);
    assert_eq!((status(&sim, agent), sim.position(agent)), (FlowStatus::NoField, place));
    assert!(fields(&mut sim).get(field).is_none() && fields(&mut sim).get(other).is_some());
}

#[test]
fn a_field_is_worked_out_within_the_budget_of_each_tick() {
    let mut sim = open(64, 64);
    let field = add_field(&mut sim, &[Cell::new(0, 0)]);
    fields(&mut sim).expansions_per_tick = 100;
    let near = sim.world.spawn(systems::flow_agent(Vec2::new(5.5, 5.5), 2.0, field));
    let far = sim.world.spawn(systems::flow_agent(Vec2::new(63.5, 63.5), 2.0, field));
    for tick in 1..=50_u64 {
        sim.tick();
        let count = fields(&mut sim).get(field).unwrap().expansion_count();
        assert!(count <= 100 * tick, "{count} in {tick} ticks");
        let waits = |agent| status(&sim, agent) == FlowStatus::Waiting;
        assert!(!waits(near) || tick <= 2, "the near one waits for {tick} ticks");
        assert!(waits(far) == (tick <= 40), "the far one after {tick} ticks");
    }
    assert!(sim.position(far).x < 63.5);
}

#[test]
fn all_fields_are_computed_in_one_tick_if_the_budget_is_large_enough() {
    let mut sim = Sim::new(Grid::from_fn(20, 20, |_| true).unwrap());
    let ids = [0, 7, 19].map(|x| add_field(&mut sim, &[Cell::new(x, 3)]));
    let start = Vec2::new(12.5, 15.5);
    let agents = ids.map(|field| sim.world.spawn(systems::flow_agent(start, 2.0, field)));
    sim.tick();
    assert_eq!(agents.map(|agent| status(&sim, agent)), [FlowStatus::Going; 3]);
}

#[test]
fn to_forget_what_an_edit_has_made_wrong_is_within_the_budget_as_well() {
    // Two gaps lead to the goal, and what came by the first one is lost.
    let open = |cell: Cell| cell.x != 5 || cell.y == 10 || cell.y == 40;
    let mut sim = Sim::new(Grid::from_fn(200, 50, open).unwrap());
    let field = add_field(&mut sim, &[Cell::new(2, 10)]);
    sim.world.spawn(systems::flow_agent(Vec2::new(199.5, 0.5), 0.0, field));
    sim.tick();
    fields(&mut sim).expansions_per_tick = 500;
    sim.terrain_mut().fill(Cell::new(5, 10));
    let count = |sim: &mut Sim| fields(sim).get(field).unwrap().expansion_count();
    let before = count(&mut sim);
    let mut ticks = 0;
    loop {
        let last = count(&mut sim);
        sim.tick();
        let spent = count(&mut sim) - last;
        assert!(spent <= 500, "{spent} in one tick");
        if spent == 0 {
            break;
        }
        ticks += 1;
    }
    // Cells are forgotten, looked at again, and found again: to find them takes fewer than 10,000.
    let work = count(&mut sim) - before;
    assert!(work > 12_000 && ticks > 24, "{work} in {ticks} ticks");
}

#[test]
fn after_random_edits_every_step_comes_nearer_by_its_cost() {
    for (seed, rule) in (30..).zip([MoveRule::Orthogonal, MoveRule::BothFree]) {
        let mut rng = Rng::new(seed);
        let mut sim = Sim::on(noise(&mut rng, 40, 36, 70), rule, Threads::None);
        let grid = sim.terrain().grid().clone();
        let goal = any_cell(&mut rng, &grid);
        sim.terrain_mut().dig(goal);
        let field = add_field(&mut sim, &[goal]);
        let agents: Vec<Entity> = (0..60)
            .map(|_| {
                let cell = any_cell(&mut rng, &grid);
                sim.terrain_mut().dig(cell);
                let bundle = systems::flow_agent(cell.centre(), 5.0, field);
                sim.world.spawn((bundle, PathStats::default()))
            })
            .collect();
        // A tick in which no agent gets farther than to the next cell, or past a corner.
        sim.set_time_step(0.05);
        for _ in 0..60 {
            for _ in 0..1 + rng.below(4) {
                let cell = any_cell(&mut rng, &grid);
                if cell == goal {
                    continue;
                }
                match rng.below(3) {
                    0 => drop(sim.terrain_mut().dig(cell)),
                    1 => drop(sim.terrain_mut().fill(cell)),
                    _ => {
                        let weight = Weight::new(u8::try_from(1 + rng.below(5)).unwrap());
                        sim.terrain_mut().set_weight(cell, weight.unwrap());
                    }
                }
            }
            sim.tick();
            let terrain = sim.terrain().clone();
            let distances = dijkstra::distances(terrain.grid(), rule, goal);
            for &agent in &agents {
                let cell = sim.world.get::<Position>(agent).unwrap().cell().unwrap();
                let truth = distances[terrain.grid().index(cell).unwrap()];
                let fields = sim.world.resource_mut::<FlowFields>().unwrap();
                let field = fields.get_mut(field).unwrap();
                assert_eq!(field.distance(&terrain, cell).map(|cost| cost.units()), truth);
                let expected = match truth {
                    None => FlowStatus::Unreachable,
                    Some(0) => continue,
                    Some(_) => FlowStatus::Going,
                };
                assert_eq!(status(&sim, agent), expected, "at {cell}");
            }
        }
    }
}

#[test]
fn a_follower_in_rock_has_no_way_and_costs_no_expansions() {
    let mut sim = Sim::of(&["....@....", "@@@@@@@@.", "........."]);
    let field = add_field(&mut sim, &[Cell::new(0, 2)]);
    // An agent that is caught by an edit is put out of the rock; these come later.
    sim.tick();
    let inside = sim.world.spawn(systems::flow_agent(Vec2::new(4.5, 1.5), 2.0, field));
    let cut_off = sim.world.spawn(systems::flow_agent(Vec2::new(1.5, 0.5), 2.0, field));
    sim.tick();
    assert_eq!([inside, cut_off].map(|agent| status(&sim, agent)), [FlowStatus::Unreachable; 2]);
    let count = fields(&mut sim).get(field).unwrap().expansion_count();
    assert_eq!(count, 0);
    // The next edit puts the one out, to the north, and lets both through.
    sim.terrain_mut().dig(Cell::new(4, 0));
    sim.ticks(300);
    assert_eq!([inside, cut_off].map(|agent| status(&sim, agent)), [FlowStatus::Arrived; 2]);
}

#[test]
fn agents_walk_on_while_edits_beside_the_goal_keep_the_field_busy() {
    let mut sim = Sim::new(Grid::from_fn(300, 100, |_| true).unwrap());
    let field = add_field(&mut sim, &[Cell::new(5, 50)]);
    fields(&mut sim).expansions_per_tick = 1_000;
    let agent = sim.world.spawn(systems::flow_agent(Vec2::new(295.5, 50.5), 10.0, field));
    // The field is worked out once.
    while status(&sim, agent) != FlowStatus::Going {
        sim.tick();
    }
    for tick in 0..900_u32 {
        let cell = Cell::new(6, 50);
        if tick % 2 == 0 {
            sim.terrain_mut().fill(cell)
        } else {
            sim.terrain_mut().dig(cell)
        };
        let before = fields(&mut sim).get(field).unwrap().expansion_count();
        sim.tick();
        let count = fields(&mut sim).get(field).unwrap().expansion_count() - before;
        assert!(count <= 1_000, "{count} cells in one tick");
        if status(&sim, agent) == FlowStatus::Arrived {
            return;
        }
    }
    panic!("it is at {} after 45 seconds for 29 of way", sim.position(agent));
}

/// Ticks in each of which an edit beside the goal makes most of a field uncertain, which takes much more
/// than one tick to compute.
fn busy_ticks(sim: &mut Sim, count: usize) {
    for _ in 0..count {
        let door = Cell::new(6, 20);
        let _ = sim.terrain_mut().dig(door) || sim.terrain_mut().fill(door);
        sim.tick();
    }
}

#[test]
fn a_follower_comes_to_go_while_edits_beside_the_goal_keep_a_new_field_busy() {
    let mut sim = Sim::new(Grid::from_fn(120, 60, |_| true).unwrap());
    let field = add_field(&mut sim, &[Cell::new(5, 20)]);
    fields(&mut sim).expansions_per_tick = 500;
    let agent = sim.world.spawn(systems::flow_agent(Vec2::new(115.5, 20.5), 10.0, field));
    busy_ticks(&mut sim, 70);
    assert_eq!(status(&sim, agent), FlowStatus::Going);
    busy_ticks(&mut sim, 250);
    assert_eq!(status(&sim, agent), FlowStatus::Arrived, "at {}", sim.position(agent));
}

#[test]
fn a_follower_goes_around_a_new_wall_while_edits_beside_the_goal_keep_the_field_busy() {
    let mut sim = Sim::new(Grid::from_fn(120, 60, |_| true).unwrap());
    let field = add_field(&mut sim, &[Cell::new(5, 20)]);
    fields(&mut sim).expansions_per_tick = 500;
    let agent = sim.world.spawn(systems::flow_agent(Vec2::new(115.5, 20.5), 10.0, field));
    sim.ticks_until(100, |sim| status(sim, agent) == FlowStatus::Going);
    busy_ticks(&mut sim, 10);
    let at = Cell::containing(sim.position(agent)).unwrap();
    for y in at.y - 2..=at.y + 2 {
        sim.terrain_mut().fill(Cell::new(at.x - 1, y));
    }
    busy_ticks(&mut sim, 350);
    assert_eq!(status(&sim, agent), FlowStatus::Arrived, "at {}", sim.position(agent));
}

#[test]
fn fields_that_are_saved_after_each_tick_go_on_the_same_while_edits_wait() {
    let runs = [false, true].map(|is_saved| {
        let mut rng = Rng::new(7);
        let mut sim = Sim::new(noise(&mut rng, 60, 30, 95));
        let field = add_field(&mut sim, &[Cell::new(5, 20)]);
        fields(&mut sim).expansions_per_tick = 100;
        let agents = [(); 3]
            .map(|()| sim.world.spawn(systems::flow_agent(Vec2::new(12.5, 20.5), 3.0, field)));
        let mut counts = Vec::new();
        for tick in 0..300 {
            // One is put elsewhere, maybe to where it has no direction.
            let place = any_cell(&mut rng, sim.terrain().grid()).centre();
            *sim.world.get_mut::<Position>(agents[tick % 3]).unwrap() = Position(place);
            busy_ticks(&mut sim, 1);
            counts.push(fields(&mut sim).get(field).unwrap().expansion_count());
            if is_saved {
                let mut bytes = Vec::new();
                FlowFields::CODEC.write(fields(&mut sim), &mut bytes).unwrap();
                *fields(&mut sim) = FlowFields::CODEC.read(&mut bytes.as_slice()).unwrap();
            }
        }
        (counts, agents.map(|agent| sim.position(agent)))
    });
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn a_field_does_not_wait_for_followers_of_the_one_before_in_its_place() {
    let expansions = [false, true].map(|has_other| {
        let mut sim = Sim::new(Grid::from_fn(60, 30, |_| true).unwrap());
        let removed = add_field(&mut sim, &[Cell::new(5, 20)]);
        fields(&mut sim).remove(removed);
        let field = add_field(&mut sim, &[Cell::new(5, 20)]);
        fields(&mut sim).expansions_per_tick = 100;
        sim.world.spawn(systems::flow_agent(Vec2::new(12.5, 20.5), 0.0, field));
        if has_other {
            sim.world.spawn(systems::flow_agent(Vec2::new(55.5, 20.5), 0.0, removed));
        }
        busy_ticks(&mut sim, 300);
        fields(&mut sim).get(field).unwrap().expansion_count()
    });
    assert_eq!(expansions[0], expansions[1]);
}

#[test]
fn a_crowd_at_one_goal_does_not_pile_up() {
    let mut sim = Sim::new(Grid::from_fn(40, 40, |cell| cell.x != 20 || cell.y > 30).unwrap());
    let field = add_field(&mut sim, &[Cell::new(32, 8)]);
    let mut agents = Vec::new();
    for number in 0..60_u8 {
        let place = Vec2::new(f32::from(number % 10) + 3.5, f32::from(number / 10) + 20.5);
        agents.push(sim.world.spawn((systems::flow_agent(place, 3.0, field), Avoid::new(0.3))));
    }
    for _ in 0..1_500 {
        sim.tick();
        let gap = least_gap(&sim, &agents);
        assert!(gap > -TOLERANCE, "bodies overlap by {}", -gap);
    }
    let goal = Vec2::new(32.5, 8.5);
    for &agent in &agents {
        let place = sim.position(agent);
        assert_eq!(status(&sim, agent), FlowStatus::Arrived, "at {place}");
        assert!(place.distance(goal) < 7.5, "{place}");
    }
}

#[test]
fn a_follower_that_waits_for_its_field_keeps_its_blocked_seconds() {
    let mut sim = Sim::of(&["........"]);
    let [east, west] = [Cell::new(7, 0), Cell::new(0, 0)].map(|goal| add_field(&mut sim, &[goal]));
    let spawn = |sim: &mut Sim, cell: Cell, field| {
        let agent = systems::flow_agent(cell.centre(), 2.0, field);
        sim.world.spawn((agent, Avoid::new(0.45)))
    };
    let agent = spawn(&mut sim, Cell::new(0, 0), east);
    spawn(&mut sim, Cell::new(7, 0), west);
    let blocked = |sim: &Sim| sim.world.get::<Avoid>(agent).unwrap().blocked_seconds();
    sim.ticks_until(100, |sim| blocked(sim) > 0.5);
    let before = blocked(&sim);
    fields(&mut sim).expansions_per_tick = 0;
    let other = add_field(&mut sim, &[Cell::new(6, 0)]);
    *sim.world.get_mut::<FlowFollower>(agent).unwrap() = FlowFollower::new(other);
    sim.ticks(5);
    assert_eq!(status(&sim, agent), FlowStatus::Waiting);
    assert!(before > 0.5 && blocked(&sim) >= before, "{} after {before}", blocked(&sim));
}
