//! The actions of admirals: five of one type, which differ in their orders.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ai::prelude::*;

use super::parts::{Orders, Strength, War};

/// Action: give orders and see them carried out.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(super) struct Command {
    order: Order,
    ticks_left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit, CheckedBitPattern)]
#[repr(u32)]
enum Order {
    Reinforce,
    Scout,
    Muster,
    Strike,
    Defend,
}

impl Command {
    /// All actions of admirals, by name.
    pub(super) const ALL: [(&'static str, Self); 5] = [
        ("reinforce", Self::new(Order::Reinforce)),
        ("scout", Self::new(Order::Scout)),
        ("muster", Self::new(Order::Muster)),
        ("strike", Self::new(Order::Strike)),
        ("defend", Self::new(Order::Defend)),
    ];

    const fn new(order: Order) -> Self {
        Self { order, ticks_left: 0 }
    }

    /// Returns how long it takes, or may take.
    const fn ticks(self) -> u32 {
        match self.order {
            Order::Reinforce => 30,
            Order::Scout => 20,
            Order::Muster => 40,
            Order::Strike => 300,
            Order::Defend => 60,
        }
    }

    /// Runs one tick of it.
    fn go_on(&mut self, war: &mut War, strength: &Strength) -> ActionResult {
        self.ticks_left = self.ticks_left.saturating_sub(1);
        let is_over = self.ticks_left == 0;
        match self.order {
            Order::Strike if war.is_beaten(strength) => return ActionResult::Success,
            Order::Strike if is_over || strength.ships * 3 < strength.ships_max => {
                return ActionResult::Failed;
            }
            Order::Defend if war.threatened == 0 => return ActionResult::Success,
            _ if !is_over => return ActionResult::Running,
            Order::Reinforce => war.called = 1,
            Order::Scout => war.known_ticks = KNOWN_TICKS,
            Order::Muster => war.mustered_ticks = MUSTERED_TICKS,
            Order::Strike | Order::Defend => {}
        }
        ActionResult::Success
    }
}

/// How long scouted information stays valid, and how long ships stay together.
const KNOWN_TICKS: u32 = 600;
const MUSTERED_TICKS: u32 = 300;

type Staff = (&'static mut Orders, &'static mut War, &'static Strength);

pub(super) fn command(mut actions: Actions<Command>, staffs: AgentAccess<Staff>) {
    actions.carry_out(
        |admiral, command| {
            command.ticks_left = command.ticks();
            staffs.act(admiral, |(orders, ..)| {
                match command.order {
                    Order::Reinforce | Order::Scout => {}
                    Order::Muster => orders.point = orders.base.lerp(orders.foe_base, 0.25),
                    Order::Strike => orders.point = orders.foe_base,
                    Order::Defend => orders.point = orders.base,
                }
                ActionResult::Running
            })
        },
        |admiral, command| staffs.act(admiral, |(_, war, strength)| command.go_on(war, strength)),
        |_, _, _| (),
    );
}
