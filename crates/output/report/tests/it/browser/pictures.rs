//! Compares pictures of pages with reviewed pictures at a quarter of their width. At this size, another font looks the
//! same, but elements that moved, are missing or have another colour are detected.

use super::devtools::{Browser, View};
use super::{DESKTOP, PHONE, files, folder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum percentage of the pixels that may differ.
const MOST: f64 = 1.5;

const PICTURES: [(&str, &str, View); 5] = [
    ("run", "desktop", DESKTOP),
    ("run", "dark", View { dark: true, ..DESKTOP }),
    ("run", "phone", PHONE),
    ("history", "desktop", DESKTOP),
    ("watch", "phone", PHONE),
];

/// Returns the first screen at a quarter of its size, as PNG.
fn small(browser: &mut Browser) -> String {
    let picture = STANDARD.encode(browser.picture(false));
    browser.call("Page.navigate", serde_json::json!({ "url": "about:blank" }));
    let drawn = browser.eval(&format!(
        "(async () => {{ const i = new Image(); i.src = 'data:image/png;base64,{picture}'; await i.decode();
            const c = document.createElement('canvas'); c.width = i.width / 4; c.height = i.height / 4;
            const d = c.getContext('2d'); d.imageSmoothingQuality = 'high'; d.drawImage(i, 0, 0, c.width, c.height);
            return c.toDataURL('image/png').split(',')[1]; }})()"
    ));
    drawn.as_str().unwrap().to_owned()
}

/// Returns the percentage of the pixels whose colour differs by more than a fifth of the full range in red, green or
/// blue.
fn difference(browser: &mut Browser, one: &str, other: &str) -> f64 {
    browser.number(&format!(
        "(async () => {{ const pixels = async text => {{
            const i = new Image(); i.src = 'data:image/png;base64,' + text; await i.decode();
            const c = document.createElement('canvas'); c.width = i.width; c.height = i.height;
            const d = c.getContext('2d'); d.drawImage(i, 0, 0); return d.getImageData(0, 0, c.width, c.height).data; }};
            const a = await pixels('{one}'), b = await pixels('{other}');
            if (a.length !== b.length) return 100;
            let n = 0;
            for (let i = 0; i < a.length; i += 4)
                if ([0, 1, 2].some(c => Math.abs(a[i + c] - b[i + c]) > 51)) n++;
            return n * 400 / a.length; }})()"
    ))
}

fn kept(name: &str, form: &str) -> PathBuf {
    Path::new("tests/golden/pages").join(format!("{name}-{form}.png"))
}

#[test]
#[ignore = "live: chromium"]
fn pages_look_as_they_did() {
    let folder = folder("pictures");
    let mut browser = Browser::start(&folder);
    let files = files(&folder);
    let (mut wrong, mut all) = (Vec::new(), Vec::new());
    for (name, form, view) in PICTURES {
        let (_, file) = files.iter().find(|(one, _)| *one == name).unwrap();
        browser.open(file, view);
        let got = small(&mut browser);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all("tests/golden/pages").unwrap();
            fs::write(kept(name, form), STANDARD.decode(&got).unwrap()).unwrap();
        }
        let golden = STANDARD.encode(fs::read(kept(name, form)).unwrap_or_default());
        let differs = if golden.is_empty() { 100.0 } else { difference(&mut browser, &got, &golden) };
        println!("{name}, {form}: {differs:.2} % of the pixels differ");
        if differs > MOST {
            fs::write(folder.join(format!("{name}-{form}.png")), STANDARD.decode(&got).unwrap()).unwrap();
            wrong.push(format!("{name}, {form}: {differs:.2} % of the pixels differ; see {}", folder.display()));
        }
        all.push(got);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Other pages must not match.
    assert!(difference(&mut browser, &all[0], &all[3]) > 2.0 * MOST);
    assert!(difference(&mut browser, &all[0], &all[1]) > 2.0 * MOST);
}
