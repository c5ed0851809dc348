//! The rules of the dungeon.

use formic_ai::turn::{Case, Change, Reactions, Rule, Ruling};

use super::deed::Deed;
use super::sight::{cell_of, field, level};
use super::things::{
    Asleep, Barrel, Blow, Cell, Closed, Hands, Health, Hero, Position, Potion, Solid, Stairs,
    TheHero, Velocity,
};

/// Returns all rules. If the order matters, a rule says so.
pub(super) fn all() -> [Rule<Deed>; 10] {
    [
        Rule::on("rock stands", |case, moved: Change<Position>, reactions| {
            if level(&case.now).is_open(target(moved)) {
                return Ruling::pass();
            }
            if case.now.has::<Velocity>(moved.entity) {
                reactions.push(Deed::End(moved.entity));
            }
            Ruling::reject()
        })
        .before("a bump opens doors"),
        Rule::on("bodies collide", |case, moved: Change<Position>, _| {
            let is_solid = case.after.has::<Solid>(moved.entity);
            if is_solid && case.after.cell(target(moved)).count::<Solid>() > 1 {
                return Ruling::reject();
            }
            Ruling::pass()
        }),
        Rule::on("an arrow hits", arrow_hits).before("bodies collide"),
        Rule::on("a bump opens doors", |case, moved: Change<Position>, reactions| {
            let door = case.after.cell(target(moved)).first::<Closed>();
            let Some(door) = door.filter(|_| case.after.has::<Hands>(moved.entity)) else {
                return Ruling::pass();
            };
            reactions.push(Deed::Open(door));
            Ruling::reject()
        })
        .before("a bump hits"),
        Rule::on("a bump hits", bump_hits).before("bodies collide"),
        Rule::on("who is hurt wakes", |case, hurt: Change<Health>, reactions| {
            if case.after.has::<Asleep>(hurt.entity) && hurt.value.now > 0 {
                reactions.push(Deed::Wake(hurt.entity));
            }
            Ruling::pass()
        }),
        Rule::on("health runs out", |case, hurt: Change<Health>, reactions| {
            if hurt.value.now == 0 {
                let is_barrel = case.after.has::<Barrel>(hurt.entity);
                let end = if is_barrel { Deed::Burst } else { Deed::End };
                reactions.push(end(hurt.entity));
            }
            Ruling::pass()
        }),
        Rule::on("who sees the hero wakes", |case, moved: Change<Position>, reactions| {
            if case.after.has::<Hero>(moved.entity) {
                wake_all_in_sight(case, target(moved), reactions);
            }
            Ruling::pass()
        })
        .behind("bodies collide"),
        Rule::on_removal::<Closed>("an open door shows", |case, _, reactions| {
            let hero: Option<&TheHero> = case.now.world().resource().ok();
            if let Some(at) = hero.and_then(|hero| cell_of(&case.after, hero.0)) {
                wake_all_in_sight(case, at, reactions);
            }
            Ruling::pass()
        }),
        Rule::on("the hero takes what lies there", |case, moved: Change<Position>, reactions| {
            let who = moved.entity;
            let cell = case.after.cell(target(moved));
            if case.after.has::<Hero>(who) {
                let potion = cell.first::<Potion>().map(|potion| Deed::Drink { who, potion });
                let stairs = cell.first::<Stairs>().map(|_| Deed::Escape(who));
                potion.into_iter().chain(stairs).for_each(|deed| reactions.push(deed));
            }
            Ruling::pass()
        })
        .behind("bodies collide"),
    ]
}

fn target(moved: Change<Position>) -> Cell {
    (moved.value.x, moved.value.y)
}

fn bump_hits(
    case: &Case<Deed>,
    moved: Change<Position>,
    reactions: &mut Reactions<Deed>,
) -> Ruling<Deed> {
    let Ok(&Blow(blow)) = case.now.get(moved.entity) else { return Ruling::pass() };
    let is_hero = case.now.has::<Hero>(moved.entity);
    let cell = case.now.cell(target(moved));
    // Foes hit only the hero; the hero hits anything that can be hit.
    let hit = cell
        .with::<Health>()
        .find(|&it| it != moved.entity && (is_hero || case.now.has::<Hero>(it)));
    let Some(who) = hit else { return Ruling::pass() };
    reactions.push(Deed::Wound { who, blow });
    Ruling::reject()
}

fn arrow_hits(
    case: &Case<Deed>,
    moved: Change<Position>,
    reactions: &mut Reactions<Deed>,
) -> Ruling<Deed> {
    // An arrow that was just shot is in the shooter's cell.
    if !case.now.has::<Velocity>(moved.entity) {
        return Ruling::pass();
    }
    let Some(who) = case.now.cell(target(moved)).first::<Solid>() else { return Ruling::pass() };
    reactions.push(Deed::End(moved.entity));
    if case.now.has::<Health>(who) {
        reactions.push(Deed::Wound { who, blow: 2 });
    }
    Ruling::reject()
}

fn wake_all_in_sight(case: &Case<Deed>, hero: Cell, reactions: &mut Reactions<Deed>) {
    for cell in field(&case.after, hero) {
        for who in case.after.cell(cell).with::<Asleep>() {
            reactions.push(Deed::Wake(who));
        }
    }
}
