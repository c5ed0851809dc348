//! Writes the seed files of the corpus: `cargo run --example seed_corpus`.
//!
//! Most bytes are random, from fixed seeds: a program is any sequence of bytes, and the lengths
//! go from nothing to a few hundred. Files that the fuzzer finds are added beside them by hand.

use std::path::Path;

fn main() -> std::io::Result<()> {
    write_seeds("world_ops", 0)?;
    write_seeds("commands", 1000)?;
    write_seeds("queries", 2000)?;
    write_seeds("society", 3000)?;
    write_seeds("wild", 6000)?;
    write_seeds("games", 5000)?;
    write_seeds("nav_edits", 3000)?;
    write_seeds("jps_vs_dijkstra", 4000)?;
    write_texts("nav_load")?;
    write_seeds("snapshot", 0)
}

/// Maps and scenario files, whole and broken.
const TEXTS: [&str; 10] = [
    "type octile\nheight 3\nwidth 4\nmap\n.@T.\n.GS.\nOW..\n",
    "type octile\r\nwidth 2\r\nheight 1\r\nmap\r\n..\r\n\r\n",
    "type octile\nheight 2\nwidth 3\nmap\n...\n..\n",
    "type octile\nheight 99999\nwidth 99999\nmap\n.\n",
    "type octile\nheight 1\nheight 1\nmap\n.\n",
    "type octile\nheight -1\nwidth 1e9\nmap\n",
    "version 1\n0\tdao/arena.map\t49\t49\t1\t11\t1\t12\t1\n",
    "version 1.0\n61 my maps/AR0011SR.map 512 400 210 395 87 201 244.95\n",
    "version 1\n0 m 9 9 9 1 2 2 1.5\n",
    "version 1\n\n0 m 9 9 1 1 2 2 inf\n0 m 9\n",
];

fn write_texts(target: &str) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    for (number, text) in TEXTS.iter().enumerate() {
        std::fs::write(folder.join(format!("seed_{number:02}")), text)?;
    }
    Ok(())
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
