//! Writes the seed files of the corpus: `cargo run --example seed_corpus`.
//!
//! The bytes are random, from fixed seeds: a program is any sequence of bytes, and the lengths
//! go from nothing to a few hundred. Files that the fuzzer finds are added beside them by hand.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/world_ops");
    std::fs::create_dir_all(&folder)?;
    for seed in 0..32_u64 {
        let len = [0, 16, 64, 128, 256, 384, 512, 768][usize::try_from(seed % 8).expect("small")];
        let bytes = formic_fuzz::random_bytes(seed, len);
        std::fs::write(folder.join(format!("seed_{seed:02}")), bytes)?;
    }
    Ok(())
}
