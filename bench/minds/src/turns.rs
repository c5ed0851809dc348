//! A turn action with 20 rules that look at it, from the decision to the log.

use formic_ai::turn::{
    CellPosition, Change, Draft, Refusal, Rule, Ruling, TurnActionKind, TurnLimits, Turns, unseen,
};
use formic_ecs::prelude::*;

use crate::harness::{Contender, Row};

const WALKERS: i32 = 1000;
const TURNS: usize = 1000;
const RULES: usize = 20;

pub(crate) fn rows() -> Vec<Row> {
    vec![Row::new("turn: 20 rules", Some(2000.0), || {
        vec![
            walks("Formic", RULES, 1000),
            walks("without a trace", RULES, 0),
            walks("without rules", 0, 0),
        ]
    })]
}

#[derive(Component, Clone, PartialEq)]
struct Position {
    x: i32,
    y: i32,
}

impl CellPosition for Position {
    type Cell = (i32, i32);
    fn cell(&self) -> (i32, i32) {
        (self.x, self.y)
    }
}

#[derive(Component, Clone)]
struct Solid;
#[derive(Component, Clone)]
struct Door;
#[derive(Component, Clone)]
struct Slow;

#[derive(Clone, Copy, Debug)]
struct Walk(Entity, i32);

impl TurnActionKind for Walk {
    type Cell = (i32, i32);
    fn bind(&self, draft: &mut Draft<'_, (i32, i32)>) -> Result<(), Refusal> {
        let &Position { x, y } = draft.get(self.0)?;
        draft.insert(self.0, Position { x: x + self.1, y });
        Ok(())
    }
}

/// What a rule of a game asks: about the cell as it would be, about who goes there, about the two.
fn rule(number: usize) -> Rule<Walk> {
    Rule::on(format!("rule {number}"), move |case, moved: Change<'_, Position>, _| {
        let cell = case.after.cell(moved.value.cell());
        let forbids = match number % 4 {
            0 => case.after.has::<Solid>(moved.entity) && cell.count::<Solid>() > 1,
            1 => cell.first::<Door>().is_some_and(|door| !case.now.has::<Solid>(door)),
            2 => case.after.has::<Slow>(moved.entity) && cell.any::<Solid>(),
            _ => case.now.get::<Position>(moved.entity).is_ok_and(|from| from.y != moved.value.y),
        };
        if forbids { Ruling::reject() } else { Ruling::pass() }
    })
}

/// All walk to and fro in a row of their own, one after the other.
fn walks(column: &'static str, rules: usize, trace: usize) -> Contender {
    let mut world = World::new();
    let walkers = world.spawn_batch((0..WALKERS).map(|y| (Position { x: 0, y }, Solid)));
    let builder = Turns::builder()
        .position::<Position>()
        .set::<Solid>()
        .set::<Door>()
        .component::<Slow>()
        .limits(TurnLimits { trace, undo: 100, ..TurnLimits::default() });
    let builder = (0..rules).fold(builder, |builder, number| builder.rule(rule(number)));
    let mut turns = builder.build(&mut world).expect("no two rules have one name");
    for &walker in &walkers {
        turns.schedule(walker, 0);
    }
    let mut frame = 0;
    Contender::new(column, TURNS, move || {
        frame += 1;
        let by = if frame % 2 == 0 { 1 } else { -1 };
        for &walker in &walkers {
            let end = turns.take_turn(&mut world, walker, Walk(walker, by), unseen);
            assert!(end.is_ok_and(|end| end.commits == 1), "nothing speaks against it");
        }
    })
}
