//! Writes the seed files of the corpus: `cargo run --example seed_corpus`.
//!
//! The bytes are random, from fixed seeds: a program is any sequence of bytes, and the lengths
//! go from nothing to a few hundred. Files that the fuzzer finds are added beside them by hand.

use std::path::Path;

fn main() -> std::io::Result<()> {
    write_seeds("world_ops", 0)?;
    write_seeds("commands", 1000)?;
    write_seeds("queries", 2000)?;
    write_seeds("snapshot", 0)
}

fn write_seeds(target: &str, first: u64) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    for number in 0..32_u64 {
        let len = [0, 16, 64, 128, 256, 384, 512, 768][usize::try_from(number % 8).expect("small")];
        let bytes = formic_fuzz::random_bytes(first + number, len);
        std::fs::write(folder.join(format!("seed_{number:02}")), bytes)?;
    }
    Ok(())
}
