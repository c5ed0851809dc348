//! The page that needs no server, in a real browser. `FORMIC_PAGE` names the file, as `scripts/web-page`
//! writes it; without it, or without a browser, the test prints SKIPPED and why.

use crate::browser::Browser;
use crate::support::state_hash;

#[test]
fn the_page_without_a_server_lives_the_world_that_is_lived_here() {
    let Some(page) = std::env::var_os("FORMIC_PAGE") else {
        eprintln!("SKIPPED the page without a server: FORMIC_PAGE does not name its file");
        return;
    };
    let what = "the page without a server";
    let Some(browser) = Browser::start("static-page-profile", what) else { return };
    let page = std::fs::canonicalize(page).expect("the file of FORMIC_PAGE is there");
    browser.open_page(&format!("file://{}", page.display()));
    browser.wait_until("document.title === 'Formic: dungeon' && selected !== null");
    browser.wait_until("document.getElementById('agent').innerText.includes('because')");
    browser.wait_until("head.running && head.tick > 10");

    for (demo, agents, ticks) in [("dungeon", "120", "200"), ("minds", "60", "100")] {
        browser
            .script(&format!("location.hash = 'demo={demo}&agents={agents}&seed=3&tick={ticks}';"));
        browser.wait_until(&format!(
            "document.title === 'Formic: {demo}' && head.tick === {ticks} && !head.running"
        ));
        let here = state_hash(&[demo, "--agents", agents, "--seed", "3", "--ticks", ticks]);
        let there = browser.script("return ask('GET', '/api/state').then((it) => it.state_hash);");
        assert_eq!(there.as_str(), Some(&*here), "{demo}");
    }
}
