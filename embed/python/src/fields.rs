//! Many fields that go on at once.

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use formic::jobs::{Pool, Threads};
use formic::prelude::Reasoner;

use crate::error::failed;
use crate::field::{Decision, Field, Rules, SEEN, Search, wolf_mind};

/// Fields of the same rules, each with foragers of its own.
#[pyclass(frozen, module = "formic._formic")]
#[derive(Debug)]
pub(crate) struct Fields {
    rules: Rules,
    mind: Reasoner,
    pool: Pool,
    fields: Vec<Mutex<Field>>,
    /// One for each thread.
    searches: Vec<Mutex<Search>>,
}

/// What the foragers see, their rewards, whether they are caught, and for each field whether its
/// time is up: `f32`, `f32`, and bytes of 0 or 1.
type Step<'py> = [Bound<'py, PyByteArray>; 4];

#[pymethods]
impl Fields {
    #[new]
    fn new(
        count: usize,
        threads: usize,
        dungeon: bool,
        side: u16,
        foragers: usize,
        wolves: usize,
        berries: usize,
        ticks: u32,
    ) -> PyResult<Self> {
        let wrong = |text: &str| Err(failed(text));
        if !(8..=256).contains(&side) {
            return wrong("the side of a field has from 8 to 256 cells");
        }
        if dungeon && side < 32 {
            return wrong("the side of a dungeon has from 32 to 256 cells");
        }
        let room = usize::from(side) * usize::from(side);
        if foragers == 0 || [foragers, wolves, berries].iter().any(|&some| some > room / 3) {
            return wrong(
                "a field has a forager, and none of its kinds fills more than a third of it",
            );
        }
        // Each has a terrain and a world of its own: 100,000 of them are some gigabytes.
        if !(1..=100_000).contains(&count) || threads > 1024 {
            return wrong("there are from 1 to 100000 fields, and at most 1024 threads");
        }
        let threads = if threads == 0 { Threads::None } else { Threads::Own(threads) };
        let pool = Pool::new(threads).map_err(failed)?;
        let rules = Rules { dungeon, side, foragers, wolves, berries, ticks };
        let fields = (0..count).map(|_| Mutex::new(Field::new(rules, 0))).collect();
        let searches = (0..pool.parallelism()).map(|_| Mutex::default()).collect();
        Ok(Self { rules, mind: wolf_mind(), pool, fields, searches })
    }

    /// Begins fields anew: their numbers, each with its seed.
    fn reset(&self, py: Python<'_>, again: Vec<(usize, u64)>) -> PyResult<()> {
        self.expect_fields(&again)?;
        py.detach(|| {
            self.pool.for_each_index(again.len(), |place| {
                let (number, seed) = again[place];
                *self.fields[number].lock() = Field::new(self.rules, seed);
            });
        });
        Ok(())
    }

    /// One tick of every field: an action for each forager. Fields of `again` begin anew instead.
    fn step(&self, py: Python<'_>, actions: Vec<u8>, again: Vec<(usize, u64)>) -> PyResult<()> {
        let foragers = self.rules.foragers;
        let count = self.fields.len() * foragers;
        if actions.len() != count {
            return Err(failed(format!("{count} actions")));
        }
        self.expect_fields(&again)?;
        py.detach(|| {
            let mut seeds = vec![None; self.fields.len()];
            again.iter().for_each(|&(number, seed)| seeds[number] = Some(seed));
            self.pool.for_each_range_with_slot(self.fields.len(), |slot, numbers| {
                let mut search = self.searches[slot].lock();
                for number in numbers {
                    let mut field = self.fields[number].lock();
                    let actions = &actions[number * foragers..][..foragers];
                    match seeds[number] {
                        Some(seed) => *field = Field::new(self.rules, seed),
                        None => field.step(actions, &self.mind, &mut search),
                    }
                }
            });
        });
        Ok(())
    }

    /// What came of the last tick.
    fn look<'py>(&self, py: Python<'py>) -> PyResult<Step<'py>> {
        let of_field = self.rules.foragers * SEEN * size_of::<f32>();
        // In place: of all that a step does, this is what only one thread is at.
        let seen = PyByteArray::new_with(py, self.fields.len() * of_field, |room| {
            for (field, room) in self.fields.iter().zip(room.chunks_exact_mut(of_field)) {
                room.copy_from_slice(bytemuck::cast_slice(field.lock().seen()));
            }
            Ok(())
        })?;
        let (mut rewards, mut caught, mut over) = (Vec::new(), Vec::new(), Vec::new());
        for field in &self.fields {
            let field = field.lock();
            for (reward, is_caught) in field.rewards() {
                rewards.push(reward);
                caught.push(u8::from(is_caught));
            }
            over.push(u8::from(field.is_over()));
        }
        let [rewards, caught, over] = [bytemuck::cast_slice(&rewards), &caught, &over]
            .map(|bytes| PyByteArray::new(py, bytes));
        Ok([seen, rewards, caught, over])
    }

    /// The cells of a field: 1 if closed, 2 for berries, 4 for wolves, 8 for foragers.
    fn picture<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyByteArray>> {
        let picture = self.field(number)?.lock().picture();
        Ok(PyByteArray::new(py, &picture))
    }

    /// What each wolf of a field chose.
    fn decisions(&self, number: usize) -> PyResult<Vec<Decision>> {
        Ok(self.field(number)?.lock().decisions(&self.mind))
    }

    fn state_hash(&self, number: usize) -> PyResult<u64> {
        Ok(self.field(number)?.lock().state_hash())
    }
}

impl Fields {
    fn expect_fields(&self, some: &[(usize, u64)]) -> PyResult<()> {
        some.iter().try_for_each(|&(number, _)| self.field(number).map(drop))
    }

    fn field(&self, number: usize) -> PyResult<&Mutex<Field>> {
        self.fields.get(number).ok_or_else(|| failed(format!("no field {number}")))
    }
}
