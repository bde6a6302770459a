//! Tests the pages in Chromium. Pictures of them are saved in `target/tmp/pages`.

mod devtools;
mod pictures;

use crate::samples;
use devtools::{Browser, View};
use std::path::{Path, PathBuf};
use std::process::Command;

const DESKTOP: View = View { width: 1280, height: 900, script: true, dark: false };
const TABLET: View = View { width: 768, ..DESKTOP };
const PHONE: View = View { width: 400, height: 860, ..DESKTOP };

/// Returns the folder of a test, which contains the profile of its browser.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages").join(test);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes every sample page to a file in `folder`, and returns the names and paths of the pages.
fn files(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let file = |(name, page): (&'static str, String)| {
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, page).unwrap();
        (name, file)
    };
    samples::all().into_iter().map(file).collect()
}

/// JavaScript that returns the elements that overflow the page or are clipped within it. Axis labels may overflow,
/// because they are not clipped.
const CUT: &str = "
    (() => {
        const wide = document.documentElement.clientWidth, name = e => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 60);
        const beyond = [...document.querySelectorAll('body *:not(svg *):not(.hover):not(.live)')].filter(e => {
            const box = e.getBoundingClientRect();
            return box.width > 0 && (box.right > wide + 1 || box.left < -1);
        });
        const inner = [...document.querySelectorAll('body *:not(svg *):not(.live)')].filter(e =>
            e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible');
        const page = document.documentElement.scrollWidth > wide ? ['the page scrolls'] : [];
        return page.concat(beyond.map(name), inner.map(e => 'scrolls: ' + name(e))).slice(0, 8);
    })()";

#[test]
#[ignore = "live: chromium"]
fn nothing_is_cut_at_any_width_with_and_without_script() {
    let folder = folder("widths");
    let mut browser = Browser::start(&folder);
    let mut wrong = Vec::new();
    for (name, file) in files(&folder) {
        for view in [DESKTOP, TABLET, PHONE] {
            for script in [true, false] {
                browser.open(&file, View { script, ..view });
                if script {
                    std::fs::write(folder.join(format!("{name}-{}.png", view.width)), browser.picture(true)).unwrap();
                }
                browser.eval("document.querySelectorAll('details').forEach(d => d.open = true)");
                let cut = browser.eval(CUT);
                let complaints = browser.complaints();
                if cut.as_array().is_none_or(|all| !all.is_empty()) || !complaints.is_empty() {
                    wrong.push(format!("{name}, {} px, script {script}: {cut} {complaints:?}", view.width));
                }
            }
        }
        browser.open(&file, View { dark: true, ..DESKTOP });
        std::fs::write(folder.join(format!("{name}-dark.png")), browser.picture(true)).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "live: chromium"]
fn the_answer_is_on_the_first_screen_and_the_rest_on_six() {
    let folder = folder("screens");
    let mut browser = Browser::start(&folder);
    for (name, file) in files(&folder).into_iter().filter(|(name, _)| ["run", "held", "failing"].contains(name)) {
        browser.open(&file, DESKTOP);
        let end = browser.number("document.querySelector('.front figure svg').getBoundingClientRect().bottom");
        assert!(end <= 900.0, "{name}: the plot ends at {end}");
        let next = browser.number("document.querySelector('.next').getBoundingClientRect().bottom");
        assert!(next <= 900.0, "{name}: the next steps end at {next}");
        let screens = browser.number("document.documentElement.scrollHeight") / 900.0;
        println!("{name}: {screens:.1} screens");
        assert!(screens <= 6.0, "{name}: {screens} screens");
        let pdf = browser.printed();
        std::fs::write(folder.join(format!("{name}.pdf")), &pdf).unwrap();
        let pages =
            pdf.windows(11).filter(|part| part.starts_with(b"/Type /Page") && part.get(11) != Some(&b's')).count();
        let tree = String::from_utf8_lossy(&pdf).matches("/Type /Pages").count();
        println!("{name}: {} printed pages", pages - tree);
        assert!((1..=6).contains(&(pages - tree)), "{name}: {} pages", pages - tree);
    }
}

#[test]
#[ignore = "live: chromium"]
fn values_are_read_lines_are_hidden_and_charts_magnified() {
    let folder = folder("script");
    let mut browser = Browser::start(&folder);
    let files = files(&folder);
    let file = |wanted: &str| files.iter().find(|(name, _)| *name == wanted).map(|(_, file)| file.clone()).unwrap();
    browser.open(&file("run"), DESKTOP);
    // With the pointer, each line that has a step at that place is reported with its count.
    let spot = "(() => { const b = document.querySelector('.front svg').getBoundingClientRect(); return b.left + b.width * .3; })()";
    let (x, y) = (
        browser.number(spot),
        browser.number("document.querySelector('.front svg').getBoundingClientRect().top + 100"),
    );
    browser.point(x, y);
    let tip = browser.eval("document.querySelector('.hover').innerText");
    let tip = tip.as_str().unwrap();
    assert!(tip.contains("µs – ") && tip.contains("cpu, CPU 1: "), "{tip}");
    // The pointer must show the counts of a row of the table.
    let same = browser.eval(
        "(() => {
            const table = [...document.querySelectorAll('h3')].find(h => h.textContent === 'cpu').nextElementSibling
                .querySelector('figure');
            const rows = new Map([...table.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent))
                .map(([from, to, ...counts]) => [from + ' – ' + to, counts.join(' ')]));
            const seen = [...document.querySelectorAll('.hover div')].map(d => d.textContent).filter(t => t.startsWith('cpu'))
                .sort().map(t => t.split(': ')[1]).join(' ');
            return [rows.get(document.querySelector('.hover b').textContent), seen];
        })()",
    );
    assert_eq!(same[0], same[1], "{tip}");
    // The legend hides lines by load and by CPU.
    let lines = "[...document.querySelectorAll('.front .broad path[data-v]')].filter(p => getComputedStyle(p).display !== 'none').length";
    let all = browser.number(lines);
    browser.eval("document.querySelectorAll('.front .legend button')[1].click()");
    assert_eq!(browser.number(lines), all / 2.0);
    browser.eval("document.querySelector('.front .legend li:last-child button').click()");
    assert_eq!(browser.number(lines), all / 4.0);
    browser.eval("document.querySelectorAll('.front .legend button[aria-pressed=false]').forEach(b => b.click())");
    assert_eq!(browser.number(lines), all);
    // Hundreds of interrupts in a timeline are drawn as one path.
    browser.eval("document.querySelector('.timeline .broad .spans').scrollIntoView({ block: 'center' })");
    let middle = "(() => { const s = document.querySelector('.timeline .broad .spans'), m = s.getScreenCTM(),
        [, x, y, to] = s.getAttribute('d').match(/M(\\S+) (\\S+)H([\\d.]+)/).map(Number);
        return [m.a * (x + to) / 2 + m.e, m.d * (y + 4) + m.f]; })()";
    let at = browser.eval(middle);
    browser.point(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    let tip = browser.eval("document.querySelector('.hover').innerText");
    assert!(tip.as_str().is_some_and(|tip| tip.contains("CPU ") && tip.contains("interrupt ")), "{tip}");
    // The same with the keyboard.
    browser.eval("document.querySelector('.front .chart').focus()");
    browser.key("ArrowRight");
    let first = browser.eval("document.querySelector('.live').textContent");
    browser.key("End");
    let last = browser.eval("document.querySelector('.live').textContent");
    assert!(first != last && last.as_str().is_some_and(|text| text.contains("ms")), "{first} {last}");
    // Every kind of chart is magnified, moved and reset.
    for (name, chart) in
        [("run", ".front"), ("run", "#time"), ("run", ".timeline"), ("history", "#g0"), ("watch", "#series")]
    {
        browser.open(&file(name), DESKTOP);
        let state = format!(
            "(() => {{ const s = document.querySelector('{chart} svg[data-x]'); return [...s.querySelectorAll('text')]\
             .filter(t => t.closest('.xt') ? t.closest('.xt').style.display !== 'none' : true).map(t => t.textContent).join('|')\
             + [...s.querySelectorAll('.z *')].map(p => p.getAttribute('transform') || p.getAttribute('cx') || p.getAttribute('x')).join(); }})()"
        );
        let before = browser.eval(&state);
        let press = |n: u32| format!("document.querySelectorAll('{chart} .zoom')[0].children[{n}].click()");
        browser.eval(&press(0));
        browser.eval(&press(0));
        let magnified = browser.eval(&state);
        assert_ne!(before, magnified, "{name} {chart}");
        std::fs::write(
            folder.join(format!("{name}{}-magnified.png", chart.replace(['.', '#'], "-"))),
            browser.picture(false),
        )
        .unwrap();
        browser.eval(&press(2));
        let after = browser.eval(&state);
        assert_eq!(before.as_str().unwrap().split('|').next(), after.as_str().unwrap().split('|').next());
        assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    }
}

/// Returns the source of axe-core (MPL-2.0, used by this test only), downloaded once with npm; `None` if it is not
/// available.
fn axe() -> Option<String> {
    let folder = folder("axe");
    let script = folder.join("package/axe.min.js");
    if !script.exists() {
        let line = "npm pack --silent axe-core@4.10.3 && tar -xzf axe-core-4.10.3.tgz package/axe.min.js";
        let done = Command::new("sh").args(["-c", line]).current_dir(&folder).status().ok()?;
        if !done.success() {
            return None;
        }
    }
    std::fs::read_to_string(script).ok()
}

#[test]
#[ignore = "live: chromium, npm"]
fn axe_finds_no_violation_in_any_page_light_or_dark() {
    let Some(axe) = axe() else {
        println!("not tested: axe-core could not be fetched by npm");
        return;
    };
    let folder = folder("axe");
    let mut browser = Browser::start(&folder);
    let mut wrong = Vec::new();
    // The page of 64 CPUs would take minutes, and consists of the same elements as the others.
    for (name, file) in files(&folder).into_iter().filter(|(name, _)| *name != "crowd") {
        for view in [DESKTOP, View { dark: true, ..DESKTOP }, PHONE] {
            browser.open(&file, view);
            browser.eval("document.querySelectorAll('details').forEach(d => d.open = true)");
            browser.eval(&format!("{axe}; 0"));
            let found = browser.eval(
                "axe.run({ resultTypes: ['violations'] }).then(r => r.violations.map(v => v.id + ': ' + v.nodes.length + ' '
                    + v.nodes.slice(0, 3).map(n => n.target + ' ' + n.html.slice(0, 120) + ' ' + n.failureSummary).join(' | ')))",
            );
            if found.as_array().is_none_or(|all| !all.is_empty()) {
                wrong.push(format!("{name}, {} px, dark {}: {found}", view.width, view.dark));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "live: chromium, timing"]
fn the_first_paint_takes_no_longer_than_three_of_an_empty_page() {
    let folder = folder("paint");
    let mut browser = Browser::start(&folder);
    let empty = folder.join("blank.html");
    std::fs::write(&empty, "<!DOCTYPE html><html lang=en><title>empty</title><p>x").unwrap();
    let mut median = |file: &Path| {
        let mut all: Vec<f64> = (0..10)
            .map(|_| {
                browser.open(file, DESKTOP);
                browser.number(
                    "new Promise(done => { const look = () => { const p = performance.getEntriesByName('first-paint')[0];
                        p ? done(p.startTime) : setTimeout(look, 5); }; look(); })",
                )
            })
            .collect();
        all.sort_by(f64::total_cmp);
        (all[4] + all[5]) / 2.0
    };
    median(&empty);
    let blank = median(&empty);
    for (name, file) in files(&folder).into_iter().filter(|(name, _)| *name == "run") {
        let paint = median(&file);
        println!("{name}: first paint after {paint:.0} ms, of an empty page after {blank:.0} ms");
        assert!(paint <= 3.0 * blank, "{name}: {paint} ms, empty {blank} ms");
    }
}
