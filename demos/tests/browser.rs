//! The page in a real browser: its texts, its drawings, and the effect of a click. A headless
//! Chromium is driven through chromedriver, by plain HTTP (<https://www.w3.org/TR/webdriver2/>).
//! The test prints SKIPPED and the missing program if there is none of either.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::recording::altered;
use crate::serve::{Running, read_answer, serve};
use crate::support::{is_picture, json as run_json, scratch, text};

/// What the protocol calls an element in JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window, and its driver.
pub(crate) struct Browser {
    driver: Child,
    address: String,
    session: String,
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // It takes the browser along.
            drop(self.call("DELETE", "", &Value::Null));
        }
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}

/// A program of one of these names that is on the path.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&path);
    folders.find_map(|folder| names.iter().map(|name| folder.join(name)).find(|it| it.is_file()))
}

impl Browser {
    /// A browser with a profile of this name, or none where it says that `what` is skipped, and why.
    pub(crate) fn start(profile: &str, what: &str) -> Option<Self> {
        let started = Self::try_start(profile);
        started.map_err(|why| eprintln!("SKIPPED {what}: {why}")).ok()
    }

    fn try_start(profile: &str) -> Result<Self, String> {
        let driver = program(&["chromedriver"]).ok_or("there is no chromedriver")?;
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let browser = program(&names).ok_or("there is no Chromium")?;
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("chromedriver does not start: {error}"))?;
        let out = BufReader::new(driver.stdout.take().expect("it is piped"));
        let mut browser_session = Self { driver, address: String::new(), session: String::new() };
        for line in out.lines().map_while(Result::ok) {
            // "ChromeDriver was started successfully on port 12345."
            if let Some((_, port)) =
                line.split_once("on port ").filter(|_| line.contains("success"))
            {
                browser_session.address = format!("127.0.0.1:{}", port.trim_end_matches('.'));
                break;
            }
        }
        if browser_session.address.is_empty() {
            return Err("chromedriver names no port".to_owned());
        }
        browser_session.open(&browser, &scratch(profile))?;
        Ok(browser_session)
    }

    fn open(&mut self, browser: &Path, profile: &Path) -> Result<(), String> {
        drop(fs::remove_dir_all(profile));
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--window-size=1400,860",
            &format!("--user-data-dir={}", profile.display()),
        ];
        let wishes = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": { "binary": browser, "args": arguments },
        } } });
        let (status, answer) = self.request("POST", "/session", &wishes)?;
        if status != 200 {
            return Err(format!("the browser does not start: {answer}"));
        }
        let session = answer["value"]["sessionId"].as_str();
        session.ok_or("the driver names no session")?.clone_into(&mut self.session);
        Ok(())
    }

    /// A request to the driver; the connection is used once.
    fn request(&self, method: &str, path: &str, body: &Value) -> Result<(u16, Value), String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        write!(request, "Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .expect("a string takes it");
        let connected = TcpStream::connect(&self.address).map_err(|error| error.to_string());
        let mut stream = connected?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time that is allowed");
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let (status, body) = read_answer(&mut stream).ok_or("the driver does not answer")?;
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        let (status, answer) = self.request(method, &path, body).expect("the driver answers");
        assert_eq!(status, 200, "{method} {path} {body}: {answer}");
        answer["value"].clone()
    }

    pub(crate) fn visit(&self, address: SocketAddr) {
        self.open_page(&format!("http://{address}/"));
    }

    pub(crate) fn open_page(&self, url: &str) {
        self.call("POST", "/url", &json!({ "url": url }));
    }

    /// What a script returns.
    pub(crate) fn script(&self, script: &str) -> Value {
        self.script_of(script, &json!([]))
    }

    /// What a script returns for these arguments.
    fn script_of(&self, script: &str, arguments: &Value) -> Value {
        self.call("POST", "/execute/sync", &json!({ "script": script, "args": arguments }))
    }

    /// Waits until an expression holds in the page.
    pub(crate) fn wait_until(&self, what: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.script(&format!("return Boolean({what});")) != true {
            let note = self.script("return document.getElementById('note').textContent;");
            assert!(Instant::now() < deadline, "{what} does not come true; the page says {note}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn click(&self, selector: &str) {
        let found =
            self.call("POST", "/element", &json!({ "using": "css selector", "value": selector }));
        let element = found[ELEMENT].as_str().expect("an element");
        self.call("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// Takes the mouse to a place on the map, in cells, and does something there.
    fn use_mouse(&self, place: (f64, f64), then: &[Value]) {
        let place = self.script_of(PLACE, &json!([place.0, place.1]));
        let mut actions =
            vec![json!({ "type": "pointerMove", "duration": 0, "x": place[0], "y": place[1] })];
        actions.extend_from_slice(then);
        let mouse =
            json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": actions }] });
        self.call("POST", "/actions", &mouse);
    }

    pub(crate) fn point_at(&self, place: (f64, f64)) {
        self.use_mouse(place, &[]);
    }

    pub(crate) fn click_at(&self, place: (f64, f64)) {
        let click = ["pointerDown", "pointerUp"].map(|kind| json!({ "type": kind, "button": 0 }));
        self.use_mouse(place, &click);
    }

    /// Turns the wheel by so many pixels over a place on the map.
    pub(crate) fn scroll_at(&self, place: (f64, f64), pixels: i32) {
        let place = self.script_of(PLACE, &json!([place.0, place.1]));
        let scroll = json!({ "type": "scroll", "duration": 0, "x": place[0], "y": place[1],
            "deltaX": 0, "deltaY": pixels });
        let wheel = json!({ "actions": [{ "type": "wheel", "id": "wheel", "actions": [scroll] }] });
        self.call("POST", "/actions", &wheel);
    }

    /// Presses a key while another one is held.
    pub(crate) fn press_with(&self, held: &str, key: &str) {
        let all = [("keyDown", held), ("keyDown", key), ("keyUp", key), ("keyUp", held)];
        let actions = all.map(|(kind, value)| json!({ "type": kind, "value": value }));
        let keys = json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] });
        self.call("POST", "/actions", &keys);
    }

    pub(crate) fn press(&self, key: &str) {
        let actions =
            json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        let keys = json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] });
        self.call("POST", "/actions", &keys);
    }

    /// A picture of the window, as a PNG.
    pub(crate) fn screenshot(&self) -> Vec<u8> {
        let picture = self.call("GET", "/screenshot", &Value::Null);
        from_base64(picture.as_str().expect("a text"))
    }

    /// Keeps a picture of the window, for a person to look at.
    fn keep_screenshot(&self, name: &str) {
        let bytes = self.screenshot();
        is_picture(&bytes);
        fs::write(scratch(name), bytes).expect("the target folder can be written");
    }

    fn text_of(&self, id: &str) -> String {
        let text = self.script(&format!("return document.getElementById('{id}').innerText;"));
        text.as_str().expect("a text").to_owned()
    }
}

/// The bytes of a text in base64 (RFC 4648).
fn from_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} is no base64"),
    };
    let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'=').map(value).collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let sum = four.iter().fold(0_u32, |sum, &digit| sum << 6 | u32::from(digit));
        let all = (sum << (6 * (4 - four.len()))).to_be_bytes();
        bytes.extend_from_slice(&all[1..four.len()]);
    }
    bytes
}

/// How many colours are in a part of the map, by reading its pixels back.
const COLOURS: &str = "
    const map = document.getElementById('map');
    const data = map.getContext('2d').getImageData(0, 0, map.width, map.height).data;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    return seen.size;";

/// Where a place on the map is in the window.
const PLACE: &str = "
    const map = document.getElementById('map').getBoundingClientRect();
    const ratio = document.getElementById('map').width / map.width;
    const [x, y] = [...arguments].map((at, axis) => at * camera.scale + [camera.x, camera.y][axis]);
    return [Math.round(x / ratio + map.left), Math.round(y / ratio + map.top)];";

const TAB: &str = "\u{e004}";
const ESCAPE: &str = "\u{e00c}";
const SHIFT: &str = "\u{e008}";

#[test]
fn the_page_shows_a_world_and_does_what_it_is_told() {
    let Some(browser) = Browser::start("browser-profile", "the page in a browser") else { return };
    let server = serve("dungeon", 120);
    browser.visit(server.address);
    browser.wait_until("document.title === 'Formic: dungeon' && marks.count === 120");
    what_it_says_and_draws(&browser);
    what_a_click_does(&browser, &server);
    what_is_listed_and_edited(&browser, &server);
    what_is_known_of_time(&browser);
    what_a_link_names(&browser, &server);
    what_the_panels_say(&browser);
    another_demo(&browser);
    what_keys_do_in_the_roguelike(&browser);
    what_is_said_of_several_worlds(&browser);
    what_comes_of_a_recording_that_is_dropped(&browser);
    let log = browser.call("POST", "/se/log", &json!({ "type": "browser" }));
    assert_eq!(log, json!([]), "the page has nothing to complain about");
}

fn what_it_says_and_draws(browser: &Browser) {
    assert_eq!(browser.text_of("tick"), "0");
    browser.wait_until(
        "document.querySelectorAll('[role=tab]').length === 6
         && [...document.querySelectorAll('[role=tab]')].every((tab) =>
             document.querySelector(`#${tab.dataset.tab}[role=tabpanel][aria-labelledby=${tab.id}]`))",
    );
    browser.wait_until("document.getElementById('legend').innerText.includes('walks')");
    let options = browser.script("return document.getElementById('demo').options.length;");
    assert_eq!(options.as_u64(), u64::try_from(formic_demos::catalogue::DEMOS.len()).ok());
    let colours = browser.script(COLOURS).as_u64().expect("a number");
    assert!(colours > 10, "rock, regions and imps: {colours} colours");
}

fn what_a_click_does(browser: &Browser, server: &Running) {
    browser.click("#step-tick");
    browser.wait_until("head.tick === 1");
    browser.click_at(server.place_of(0));
    browser.wait_until("document.getElementById('agent').innerText.includes('Position')");
    let panel = browser.text_of("agent");
    for part in
        ["Entity ", "archetype", "chunk, ", "row", "because", "PathPending", "writes Position"]
    {
        assert!(panel.contains(part), "{part} in {panel}");
    }
    // The ring around the selected imp.
    browser.wait_until("selected !== null");
    browser.script("window.first = chosen;");
    browser.press("]");
    browser.wait_until("chosen !== null && chosen !== first");
    browser.press("[");
    browser.wait_until("chosen === first");
    // With the focus on the map Tab goes to the next, and Escape leads out of it.
    browser.script("map.focus();");
    browser.press(TAB);
    browser.wait_until("chosen !== null && chosen !== first");
    browser.script("window.second = chosen;");
    browser.press(TAB);
    browser.wait_until("chosen !== second && chosen !== first && document.activeElement === map");
    browser.press(ESCAPE);
    browser.wait_until("document.activeElement.dataset.tab === 'agent'");
    browser.script("window.third = chosen;");
    browser.press(TAB);
    browser.wait_until("!['agent', undefined].includes(document.activeElement.dataset.tab)");
    browser.script("map.focus();");
    browser.wait_until("chosen === third");
    browser.press_with(SHIFT, TAB);
    browser.wait_until("chosen === second");
    browser.press("[");
    browser.wait_until("chosen === first");
    // The last choice counts, also where the answer to the one before comes after it.
    browser.script(
        "window.asked = ask;
         window.late = 0;
         ask = async (...what) => {
           const answer = await asked(...what);
           if (late++ === 0) await new Promise((go) => setTimeout(() => go(late = -1), 500));
           return answer;
         };
         pickBeside(1);
         pickBeside(-1);",
    );
    browser.wait_until("late < 0 && chosen === first");
    browser.script("ask = asked;");
    browser.click("#play");
    browser.wait_until("head.running && head.tick > 15");
    browser.wait_until("document.getElementById('play').textContent === 'Pause'");
    browser.keep_screenshot("page-agent.png");
    browser.press(" ");
    browser.wait_until("!head.running");
    // Digging with the mouse: the corner of the map is rock, and then it is floor.
    browser.click("[data-cheat=dig]");
    browser.click_at((0.5, 0.5));
    browser.wait_until("document.getElementById('note').textContent.includes('dig 0 0')");
    browser.press(ESCAPE); // It puts the pickaxe away.
    browser.wait_until("document.querySelector('[aria-pressed=true]') === null");
    browser.press(",");
    browser.wait_until("document.getElementById('systems').innerText.includes('Stepping')");
}

/// Types into the query box, chooses an imp in the list, and changes its speed.
fn what_is_listed_and_edited(browser: &Browser, server: &Running) {
    browser.click("nav [data-tab=entities]");
    browser.wait_until("document.querySelectorAll('#found .entity').length === 100");
    browser.script(
        "$('query').value = 'Speed, without PathPending, 7';
         $('query').dispatchEvent(new Event('input'));",
    );
    browser.wait_until("document.querySelectorAll('#found .entity').length === 1");
    browser.wait_until("document.getElementById('reasons').innerText.includes('It is the entity')");
    browser.keep_screenshot("page-entities.png");
    // A list that is drawn anew keeps the focus, as it keeps what is pressed.
    browser.script("window.first = document.querySelector('#found .entity'); first.focus();");
    browser.script("return showEntities(false);");
    browser.wait_until("first === document.activeElement && first.isConnected");
    browser.click("#found .entity");
    browser.wait_until("document.querySelector('#agent h2').innerText.startsWith('Entity 7v')");
    browser.script(
        "const input = document.querySelector('#agent input[aria-label^=\"Speed\"]');
         input.value = '2.5';
         input.dispatchEvent(new Event('change'));",
    );
    let speed = || {
        let id = browser.script("return chosen;");
        let (_, imp) = server.get(&format!("/api/entity?id={}", id.as_str().expect("a text")));
        let components = imp["components"].as_array().expect("a list").clone();
        let speed = components.into_iter().find(|it| it["name"] == "Speed").expect("it walks");
        speed["fields"][0]["value"].clone()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while speed() != "2.5" {
        assert!(Instant::now() < deadline, "{}", speed());
    }
}

/// Draws where the imp that was chosen is, and stops when it stands still.
fn what_is_known_of_time(browser: &Browser) {
    browser.wait_until("document.querySelector('#agent button[title^=\"Draw Position\"]')");
    browser.script("document.querySelector('#agent button[title^=\"Draw Position\"]').click();");
    browser.wait_until("document.querySelectorAll('#graphs path').length === 2");
    browser.click("#play");
    browser.wait_until("document.querySelector('#graphs path').getAttribute('d').length > 200");
    browser.press(" ");
    browser.wait_until("!head.running");
    let graph = browser.text_of("graphs");
    assert!(graph.contains("Position") && graph.contains("remove"), "{graph}");
    browser.script(
        "$('break').value = `${indexOf(chosen)}, Position.0 = nowhere`;
         $('break-form').requestSubmit();",
    );
    browser.wait_until("document.querySelectorAll('#breaks .row').length === 1");
    browser.click("#breaks button");
    browser.wait_until("document.querySelectorAll('#breaks .row').length === 0");
    let before = browser.script("return head.tick;").as_u64().expect("a number");
    browser.click("#keep");
    browser.wait_until("!document.getElementById('rewind').hidden");
    for step in 1..=3 {
        browser.press(".");
        browser.wait_until(&format!("head.tick === {}", before + step));
    }
    browser.wait_until(&format!("Number($('scrub').max) === {}", before + 3));
    browser.keep_screenshot("page-time.png");
    browser.script(&format!(
        "$('scrub').value = {}; $('scrub').dispatchEvent(new Event('change'));",
        before + 1
    ));
    browser.wait_until(&format!("head.tick === {}", before + 1));
}

/// Follows the link to where it is now, from another world.
fn what_a_link_names(browser: &Browser, server: &Running) {
    let known = browser.script("return [head.tick, indexOf(chosen)];");
    let here = server.state();
    browser.click("#link");
    let link = browser.script("return location.hash;");
    for part in ["demo=dungeon", "agents=120", "seed=1", &format!("tick={}", known[0])] {
        assert!(link.as_str().is_some_and(|link| link.contains(part)), "{part} in {link}");
    }
    server.post("/api/open", &json!({ "demo": "miners", "agents": 30, "seed": "5" }));
    browser.wait_until("document.title === 'Formic: miners' && chosen === null");
    browser.script("follow();");
    browser.wait_until("document.title === 'Formic: dungeon' && chosen !== null");
    browser.wait_until(&format!("head.tick === {}", known[0]));
    assert_eq!(browser.script("return indexOf(chosen);"), known[1]);
    let there = server.state();
    assert_eq!((&there["tick"], &there["entities"]), (&here["tick"], &here["entities"]));
    // What is none leads nowhere.
    for (link, said) in [
        ("demo=nothing&agent=-1", "There is no demo nothing"),
        ("demo=cats&tick=1e9", "The link says tick=1e9, which is no whole number"),
        ("agent=0v9", "There is no entity 0v9 here"),
    ] {
        browser.script(&format!("history.replaceState(null, '', '#{link}'); follow();"));
        browser.wait_until(&format!("$('note').textContent.includes('{said}')"));
    }
    assert_eq!(server.state()["demo"], "dungeon");
}

fn what_the_panels_say(browser: &Browser) {
    browser.click("nav [data-tab=systems]");
    browser.wait_until("document.querySelectorAll('.lane span').length > 0");
    // What stood there before is gone: another world was opened meanwhile, and lived whole ticks.
    let has_not_run = "document.getElementById('systems').innerText.includes('Has not run')";
    browser.wait_until(&format!("!{has_not_run}"));
    browser.press(",");
    browser.wait_until(has_not_run);
    let systems = browser.text_of("systems");
    for part in ["push_out", "follow", "search", "Has not run", "thread "] {
        assert!(systems.contains(part), "{part} in {systems}");
    }
    browser.keep_screenshot("page-systems.png");
    browser.click("nav [data-tab=archetypes]");
    browser.wait_until("document.querySelectorAll('.archetype').length > 0");
    let archetypes = browser.text_of("archetypes");
    assert!(archetypes.contains("Wander") && archetypes.contains("120"), "{archetypes}");
    browser.click("nav [data-tab=world]");
    browser.wait_until("document.getElementById('world').innerText.includes('paths found')");
}

/// Chooses a demo in the list, as a person would.
fn choose(browser: &Browser, demo: &str) {
    browser.script(&format!(
        // A tab that has the focus would take the space bar for itself.
        "document.activeElement.blur();
         const demo = document.getElementById('demo');
         demo.value = '{demo}';
         demo.dispatchEvent(new Event('change'));"
    ));
    browser.wait_until(&format!("document.title === 'Formic: {demo}' && marks.count > 0"));
}

fn another_demo(browser: &Browser) {
    choose(browser, "miners");
    browser.wait_until("document.title === 'Formic: miners' && marks.count > 1000");
    browser.wait_until("head.running && head.tick > 3");
    browser.wait_until("document.getElementById('legend').innerText.includes('laden')");
    // A colour of the ground is a square, and not counted.
    browser.wait_until(
        "document.querySelector('#legend .ground').parentElement.innerText.trim() === 'the castle'",
    );
    browser.keep_screenshot("page-miners.png");
}

fn what_keys_do_in_the_roguelike(browser: &Browser) {
    choose(browser, "rogue");
    browser.wait_until("head.running");
    browser.press(" ");
    browser.wait_until("!head.running");
    browser.press("\u{e014}"); // The right arrow.
    browser.wait_until("document.getElementById('note').textContent.startsWith('go east')");
    browser.press("u");
    browser.wait_until("document.getElementById('note').textContent.includes('Taken back')");
    browser.wait_until("document.querySelector('#legend .letter').textContent === '>'");
    browser.wait_until("[...marks.kind].includes(10)");
    // A narrow page keeps room for the map.
    browser.call("POST", "/window/rect", &json!({ "width": 500, "height": 1100 }));
    browser.wait_until("innerWidth < 560 && document.getElementById('legend').offsetHeight < 60");
    browser.wait_until("camera.scale * head.width > map.width / 2");
    browser.call("POST", "/window/rect", &json!({ "width": 1400, "height": 860 }));
    browser.wait_until("innerWidth > 1000");
    // From agent to agent, and no door between; with AltGr, where brackets need it.
    browser.script(
        "window.key = new KeyboardEvent('keydown', { key: ']', bubbles: true, ctrlKey: true,
             altKey: true, modifierAltGraph: true });
         document.body.dispatchEvent(key);",
    );
    browser.wait_until(
        "pickBeside.last !== undefined && !kinds[marks.kind[pickBeside.last]].is_thing",
    );
    browser
        .wait_until("/hero|rat|goblin|archer/.test(document.querySelector('#agent h2').innerText)");
    // The white hero of the legend is seen on a white panel.
    browser.wait_until(
        "getComputedStyle(document.querySelector('#legend .letter')).backgroundColor === 'rgb(12, 15, 20)'",
    );
    browser.keep_screenshot("page-rogue.png");
}

fn what_is_said_of_several_worlds(browser: &Browser) {
    choose(browser, "minds");
    browser.wait_until("document.querySelectorAll('#worlds button').length === 6");
    browser.click("#worlds button:nth-child(4)");
    browser
        .wait_until("document.querySelector('#worlds [aria-pressed=true]').textContent === 'tree'");
    browser.click("nav [data-tab=archetypes]");
    browser.wait_until("document.getElementById('archetypes').innerText.includes('TreeAgent')");
    // The next agent is one of this world, also from one that was chosen otherwise.
    for key in ["]", "[", "]"] {
        browser.press(key);
        browser.wait_until(
            "document.getElementById('agent').innerText.includes('Its mind: tree')
             && document.querySelector('#worlds [aria-pressed=true]').textContent === 'tree'",
        );
        browser.script(
            "pickBeside.last = undefined; document.getElementById('agent').replaceChildren();",
        );
    }
    browser.press("w");
    browser.wait_until("document.getElementById('note').textContent === 'The wolf comes.'");
    browser.keep_screenshot("page-minds.png");
}

fn what_comes_of_a_recording_that_is_dropped(browser: &Browser) {
    let path = scratch("browser.recording");
    let file = path.to_str().expect("Unicode");
    run_json(&["cats", "--agents", "30", "--ticks", "20", "--hash-every", "5", "--record", file]);
    let recording = fs::read_to_string(&path).expect("it was written");
    let other = altered(&recording, |text| text.replace("\"seed\":1", "\"seed\":2"));
    let drop = |recording: &str| {
        browser.script(&format!(
            "const data = new DataTransfer();
             data.items.add(new File([{}], 'cats.recording'));
             document.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data }}));",
            json!(recording)
        ))
    };
    drop(&recording);
    browser.wait_until("document.title === 'Formic: cats' && marks.count === 30");
    browser.wait_until("$('world').innerText.includes('tick 20 of 20, 5 of 5 hashes equal')");
    browser.keep_screenshot("page-recording.png");
    drop(&other);
    browser.wait_until("$('note').textContent.startsWith('the state at tick 0 is ')");
    browser.wait_until("$('world').innerText.includes('on the recording; from the start')");
}

#[test]
fn base64_is_read_by_the_examples_of_its_standard() {
    for (encoded, plain) in
        [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
    {
        assert_eq!(text(&from_base64(encoded)), plain);
    }
}
