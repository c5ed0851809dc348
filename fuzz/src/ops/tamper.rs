//! Snapshots that an attacker changed, with a header that fits all the same.

use formic_ecs::{StateHasher, World};

/// How long the header of a snapshot is.
const HEADER_BYTES: usize = 32;

/// A snapshot with some bytes of its body changed: four bytes say where and how.
pub(crate) fn changed(snapshot: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut body = snapshot[HEADER_BYTES..].to_vec();
    for change in changes.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % (body.len() + 1);
        match change[2] % 4 {
            0 if at < body.len() => body[at] = change[3],
            1 if at < body.len() => body[at] ^= 1 << (change[3] % 8),
            2 => body.insert(at, change[3]),
            _ if at < body.len() && body.len() > 1 => _ = body.remove(at),
            _ => {}
        }
    }
    sealed(&body)
}

/// These bytes as a body behind a header that fits.
pub(crate) fn sealed(body: &[u8]) -> Vec<u8> {
    let mut lanes = [StateHasher::new(); 4];
    let stripes = body.chunks_exact(32);
    let rest = stripes.remainder();
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
            lane.write_u64(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
    }
    let mut all = StateHasher::new();
    lanes.iter().for_each(|lane| all.write_u64(lane.finish()));
    all.write(rest);
    let empty = World::new().snapshot().expect("nothing to save");
    let mut bytes = empty.as_bytes()[..16].to_vec();
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(all.finish().to_le_bytes());
    bytes.extend(body);
    bytes
}
