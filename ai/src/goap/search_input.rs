//! The input of a search, which is saved and hashed in place of the search.

use formic_ecs::{Codec, CodecError, HashState};

/// What a search was begun with, and how far it has come. All that it has found follows from this and
/// the planner: a search is the same however it is cut. So a loaded game, which has no other way to
/// be sure of what a file says that was found, finds it again.
#[derive(Clone, Debug, PartialEq, Eq, HashState)]
pub(crate) struct SearchInput {
    /// What the planner was made of, as a hash: another planner begins a new search.
    pub(crate) planner: u64,
    /// The goal, or the tasks.
    pub(crate) aims: Vec<u32>,
    /// The values of the facts that matter.
    pub(crate) values: Vec<u8>,
    /// What the operators that matter cost here.
    pub(crate) costs: Vec<u32>,
    pub(crate) looked_at: usize,
}

impl SearchInput {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let Self { planner, aims, values, costs, looked_at } = self;
        out.extend(planner.to_le_bytes());
        out.extend((*looked_at as u64).to_le_bytes());
        for count in [aims.len(), values.len(), costs.len()] {
            out.extend((count as u64).to_le_bytes());
        }
        aims.iter().for_each(|aim| out.extend(aim.to_le_bytes()));
        out.extend(values);
        costs.iter().for_each(|cost| out.extend(cost.to_le_bytes()));
    }

    /// No more is allocated than there are bytes. Whether numbers are those of anything is for the
    /// planner to say.
    pub(crate) fn read(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        let head: [u64; 5] = Codec::plain().read(bytes)?;
        let [planner, looked_at, aims, values, costs] = head.map(u64::from_le);
        Ok(Self {
            planner,
            looked_at: place(looked_at)?,
            aims: numbers(bytes, aims)?,
            values: take(bytes, values)?.to_vec(),
            costs: numbers(bytes, costs)?,
        })
    }
}

fn place(number: u64) -> Result<usize, CodecError> {
    usize::try_from(number).map_err(|_| CodecError)
}

fn take<'a>(bytes: &mut &'a [u8], len: u64) -> Result<&'a [u8], CodecError> {
    let (taken, rest) = bytes.split_at_checked(place(len)?).ok_or(CodecError)?;
    *bytes = rest;
    Ok(taken)
}

fn numbers(bytes: &mut &[u8], count: u64) -> Result<Vec<u32>, CodecError> {
    let len = count.checked_mul(4).ok_or(CodecError)?;
    let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(take(bytes, len)?.chunks_exact(4).map(number).collect())
}

/// The codec of a plan in the making, or of none.
pub(crate) fn write_unfinished(input: Option<&SearchInput>, out: &mut Vec<u8>) {
    out.push(input.is_some().into());
    if let Some(input) = input {
        input.write(out);
    }
}

pub(crate) fn read_unfinished(bytes: &mut &[u8]) -> Result<Option<SearchInput>, CodecError> {
    match Codec::<u8>::plain().read(bytes)? {
        0 => Ok(None),
        1 => SearchInput::read(bytes).map(Some),
        _ => Err(CodecError),
    }
}
