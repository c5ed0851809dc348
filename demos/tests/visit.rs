//! A first visit, filmed: the page is opened, a wall goes up, an imp is clicked and says why it walks
//! where it walks; then the page of a world of ten lines. The film is `first-visit.png` among the files of tests
//! (`target/tmp`), an animated PNG that browsers play.

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
use crate::serve::serve;
use crate::support::scratch;

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
    pictures: Vec<Vec<u8>>,
}

impl Film<'_> {
    fn take(&mut self, pictures: u32) {
        for _ in 0..pictures {
            let png = self.browser.screenshot();
            let mut reader = png::Decoder::new(Cursor::new(png)).read_info().expect("a PNG");
            let mut pixels = vec![0; reader.output_buffer_size().expect("a sane size")];
            let info = reader.next_frame(&mut pixels).expect("whole pixels");
            assert_eq!(info.color_type, png::ColorType::Rgb);
            self.size = (info.width, info.height);
            self.pictures.push(pixels);
        }
    }

    /// Writes an animated PNG, a third of a second for each picture.
    fn develop(&self, file: File) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(BufWriter::new(file), self.size.0, self.size.1);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_animated(u32::try_from(self.pictures.len()).expect("not so many"), 0)?;
        encoder.set_frame_delay(1, 3)?;
        let mut writer = encoder.write_header()?;
        self.pictures.iter().try_for_each(|picture| writer.write_image_data(picture))?;
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
        self.take(3);
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
    film.take(8);
    browser.press(" ");
    browser.wait_until("!head.running");
    film.caption("Click on an imp: why does it do that?");
    browser.click_first_agent();
    browser.wait_until("document.getElementById('agent').innerText.includes('because')");
    film.take(6);

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
