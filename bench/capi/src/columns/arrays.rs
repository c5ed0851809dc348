//! Two arrays: what the loops and the copies take without a store.

use super::{Store, Values, advance, sum};

pub(crate) struct Arrays(Vec<Values>);

impl Store for Arrays {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn spawn(&mut self, values: &Values, _: Option<usize>) {
        self.0.push(values.clone());
    }

    fn despawn(&mut self) {
        self.0.pop();
    }

    fn advance(&mut self) {
        for Values { positions, velocities } in &mut self.0 {
            advance(positions, velocities);
        }
    }

    fn sum(&mut self) -> u64 {
        sum(self.0.iter().flat_map(|values| &values.positions))
    }
}
