//! A first visit, filmed: the page is opened, an imp is clicked and says why it walks where it walks, a wall
//! goes up in its way, and it says why it goes another; then the page of a world of ten lines. The film is
//! `first-visit.png` among the files of tests (`target/tmp`), an animated PNG that browsers play. The README shows
//! a copy of it, `docs/pictures/first-visit.png`.

use std::fs::File;
use std::io::{BufWriter, Cursor};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use formic::inspect::Inspector;
use formic::prelude::*;
use serde_json::json;

use crate::browser::Browser;
use crate::serve::{Running, serve};
use crate::support::scratch;

/// This imp is on its way through this corridor at this tick.
const IMP: u32 = 75;
const WALL: (f64, f64) = (71.5, 58.5);
const TICK: u64 = 80;

/// How long a visit may take, behind the build.
const LONGEST: Duration = Duration::from_secs(40);

#[derive(Component)]
#[component(editable)]
struct Hunger(f32);

/// The visitor's own world, with its page at the address that is sent. It lives until the visit is over.
fn own_world(
    address: &mpsc::Sender<SocketAddr>,
    over: &mpsc::Receiver<()>,
) -> Result<(), Box<dyn std::error::Error>> {
    fn live(mut cats: Query<'_, &mut Hunger>) {
        cats.for_each(|hunger| hunger.0 = if hunger.0 > 0.9 { 0.0 } else { hunger.0 + 0.001 });
    }
    let mut world = World::new();
    world.spawn_batch((0..20_u8).map(|cat| Hunger(f32::from(cat) / 20.0)));
    let mut schedule = Schedule::builder().add(live).build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    let mut inspector = Inspector::bind("127.0.0.1:0")?.label::<Hunger>("from 0 to 1");
    address.send(inspector.address())?;
    while over.try_recv().is_err() {
        schedule.run(&mut world, &pool);
        inspector.poll(&mut world, &mut schedule);
    }
    Ok(())
}

/// A film of the window.
struct Film<'b> {
    browser: &'b Browser,
    size: (u32, u32),
    pictures: Vec<(u16, Vec<u8>)>,
}

impl Film<'_> {
    /// Takes a picture that is shown for so many sixths of a second.
    fn take(&mut self, sixths: u16) {
        let png = self.browser.screenshot();
        let mut reader = png::Decoder::new(Cursor::new(png)).read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a sane size")];
        let info = reader.next_frame(&mut pixels).expect("whole pixels");
        assert_eq!(info.color_type, png::ColorType::Rgb);
        self.size = (info.width, info.height);
        self.pictures.push((sixths, pixels));
    }

    /// Takes a picture every three ticks, until the world of `server` is at `tick`.
    fn run_until(&mut self, server: &Running, tick: u64) {
        loop {
            let now = server.state()["tick"].as_u64().expect("a number");
            if now >= tick {
                break;
            }
            let next = tick.min(now + 3);
            server.post("/api/step", &json!({ "what": "tick", "count": next - now }));
            self.browser.wait_until(&format!("head.tick === {next}"));
            self.take(1);
        }
    }

    /// Writes an animated PNG. Of all pictures but the first it has the pixels that changed; the others are
    /// transparent.
    fn develop(&self, file: File) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(BufWriter::new(file), self.size.0, self.size.1);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_animated(u32::try_from(self.pictures.len()).expect("not so many"), 0)?;
        encoder.set_blend_op(png::BlendOp::Over)?;
        let mut writer = encoder.write_header()?;
        // At first another colour everywhere.
        let mut shown: Vec<u8> = self.pictures[0].1.iter().map(|byte| !byte).collect();
        for (sixths, picture) in &self.pictures {
            writer.set_frame_delay(*sixths, 6)?;
            let mut changed = vec![0; picture.len() / 3 * 4];
            for (at, (new, old)) in picture.chunks_exact(3).zip(shown.chunks_exact(3)).enumerate() {
                if new != old {
                    changed[4 * at..4 * at + 3].copy_from_slice(new);
                    changed[4 * at + 3] = 255;
                }
            }
            writer.write_image_data(&changed)?;
            shown.clone_from(picture);
        }
        writer.finish()
    }

    /// Lets the page say what comes next, and keeps that for a while.
    fn caption(&mut self, text: &str) {
        self.browser.script(&format!(
            "let line = document.getElementById('caption');
             if (!line) {{
                 line = document.body.appendChild(document.createElement('div'));
                 line.id = 'caption';
                 Object.assign(line.style, {{ position: 'fixed', left: 0, right: 0, bottom: 0, padding: '.4em',
                     font: 'bold 24px sans-serif', textAlign: 'center', color: '#fff', background: '#000c',
                     zIndex: 99, pointerEvents: 'none' }});
             }}
             line.textContent = {};",
            json!(text)
        ));
        self.take(6);
    }
}

#[test]
fn a_first_visit_ends_in_a_reason() {
    let started = Browser::start("visit-profile", "the film of a first visit");
    let Some(browser) = started else { return };
    browser.call("POST", "/window/rect", &json!({ "width": 1000, "height": 640 }));
    let mut film = Film { browser: &browser, size: (0, 0), pictures: Vec::new() };
    let begin = Instant::now();

    let server = serve("dungeon", 120);
    browser.visit(server.address);
    browser.wait_until("document.title === 'Formic: dungeon' && marks.count === 120");
    film.caption("cargo run --release -- serve");
    browser.click("#play");
    browser.wait_until("head.running && head.tick > 5");
    browser.press(" ");
    browser.wait_until("!head.running");
    browser.scroll_at(WALL, -600);
    film.run_until(&server, TICK - 1);
    film.caption("Click on an imp: why does it do that?");
    browser.click_at(server.place_of(IMP));
    film.run_until(&server, TICK);
    let says = |what: &str| {
        let reason = format!("document.getElementById('agent').innerText.includes('{what}')");
        browser.wait_until(&reason);
    };
    says("asked for a path to (66, 87): found.");
    film.take(6);
    film.caption("Fill the corridor on its way: point at it, and press F");
    browser.point_at(WALL);
    browser.press("f");
    browser.wait_until("document.getElementById('note').textContent.includes('fill 71 58')");
    film.take(2);
    film.run_until(&server, TICK + 1);
    says("(66, 87) again, as an edit cut the one it had: found.");
    film.caption("It goes another way, and says why");
    film.run_until(&server, TICK + 60);

    let (opened, address) = mpsc::channel();
    let (leave, over) = mpsc::channel();
    let own = thread::spawn(move || own_world(&opened, &over).expect("it opens"));
    let address = address.recv().expect("it opens");
    browser.visit(address);
    browser.wait_until("typeof head === 'object' && head !== null");
    browser.click("nav [data-tab=entities]");
    browser.wait_until("document.querySelectorAll('#found .entity').length === 20");
    film.caption("The same page for ten lines of your own");
    browser.click("#found .entity");
    browser.wait_until("document.getElementById('agent').innerText.includes('Hunger')");
    film.take(6);
    leave.send(()).expect("it waits for that");
    own.join().expect("it ends as it is told");
    let took = begin.elapsed();
    assert!(took < LONGEST, "{took:?}");
    let path = scratch("first-visit.png");
    let file = File::create(&path).expect("the target folder can be written");
    film.develop(file).expect("all pictures have one size");
    eprintln!("a first visit took {took:.1?}: {}", path.display());
}
