//! Writes the maps of `demos/maps`: `cargo run -p formic-nav --example write_maps`.

use std::error::Error;
use std::fs;
use std::path::Path;

use formic_nav::generate;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../demos/maps");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("dungeon.map"), generate::dungeon(128, 96, 4)?.to_map())?;
    fs::write(folder.join("cavern.map"), generate::cavern(64, 48, 11)?.to_map())?;
    Ok(())
}
