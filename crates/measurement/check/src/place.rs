//! Selects the function on a stack that a finding reports, and names it.

use crate::recording::Place;
use crate::rules::Rule;
use punctual_model::CheckFrame;

/// Folders of libraries that are not the user's.
const SYSTEM: [&str; 6] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/lib32/", "/usr/libexec/"];
/// Parts of source paths that are not the user's: standard libraries and packages.
const FOREIGN: [&str; 10] = [
    "/rustc/",
    "/rustlib/src/",
    "/library/std/",
    "/library/core/",
    "/library/alloc/",
    "/.cargo/registry/",
    "/usr/include/",
    "/usr/lib/gcc/",
    "/include/c++/",
    "/sysdeps/",
];

/// Prefixes of the names of functions that are not the user's, for functions whose source paths are not known.
const FOREIGN_NAMES: [&str; 8] = ["std::", "core::", "alloc::", "<std::", "<core::", "<alloc::", "rustix::", "nix::"];

fn is_own_module(frame: &CheckFrame) -> bool {
    let Some(module) = &frame.module else { return frame.file.is_some() };
    let name = module.rsplit('/').next().unwrap_or_default();
    let is_interpreter = name.starts_with("python3") || name.starts_with("libpython3");
    !is_interpreter && !module.starts_with('[') && !SYSTEM.iter().any(|folder| module.starts_with(folder))
}

/// Returns true if the frame belongs to the C or C++ library, which acts for its caller.
fn is_runtime(frame: &CheckFrame) -> bool {
    const NAMES: [&str; 9] =
        ["libc.so", "libc-", "libpthread", "librt.so", "ld-", "libstdc++", "libgcc_s", "libc++", "libm.so"];
    let name = frame.module.as_ref().and_then(|module| module.rsplit('/').next()).unwrap_or_default();
    NAMES.iter().any(|start| name.starts_with(start))
}

fn is_own_source(frame: &CheckFrame) -> bool {
    let is_foreign = |name: &String| FOREIGN_NAMES.iter().any(|start| name.starts_with(start));
    if frame.file.is_none() && frame.function.as_ref().is_some_and(is_foreign) {
        return false;
    }
    frame.file.as_ref().is_none_or(|file| !FOREIGN.iter().any(|part| file.contains(part)))
}

/// Returns the innermost function of the program itself, preferably one with a line. If there is none, returns the
/// innermost function of a library other than the C and C++ library; if there is none either, the innermost function
/// with a name.
pub fn location(place: &Place) -> Option<CheckFrame> {
    let own = || place.stack.iter().filter(|frame| is_own_module(frame) && is_own_source(frame));
    let lined = own().find(|frame| frame.file.is_some());
    let named = || place.stack.iter().find(|frame| frame.function.is_some());
    let own_named = || own().find(|frame| frame.function.is_some());
    let library = || place.stack.iter().find(|frame| frame.function.is_some() && !is_runtime(frame));
    let found = lined.or_else(own_named).or_else(|| own().next()).or_else(library).or_else(named)?;
    // Without line numbers, two calls in one function are told apart by address.
    let address = found.address.filter(|_| found.line.is_none());
    Some(CheckFrame { address, ..found.clone() })
}

/// Returns the names of the `most` innermost functions.
pub fn function_names(place: &Place, most: usize) -> Vec<&str> {
    place.stack.iter().take(most).filter_map(|frame| frame.function.as_deref()).collect()
}

/// Formats a place: `step() at loop.c:42`, `step() of app`, `app+0x11b9`.
pub fn at(frame: &CheckFrame) -> String {
    let last = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let function = frame.function.as_ref().map(|name| format!("{name}()"));
    let file = frame.file.as_ref().map(|file| match frame.line {
        Some(line) => format!("{}:{line}", last(file)),
        None => last(file),
    });
    let module = frame.module.as_ref().map(last);
    match (function, file, module) {
        (Some(function), Some(file), _) => format!("{function} at {file}"),
        (Some(function), None, Some(module)) => format!("{function} of {module}"),
        (Some(function), None, None) => function,
        (None, Some(file), _) => file,
        (None, None, Some(module)) => match frame.address {
            Some(address) => format!("{module}+{address:#x}"),
            None => module,
        },
        (None, None, None) => "unknown code".to_owned(),
    }
}

/// Formats subject and result in one sentence.
pub fn worded(
    rule: &Rule,
    thread: &str,
    said: &Option<String>,
    calls: &[String],
    file: Option<&str>,
    place: Option<&CheckFrame>,
) -> String {
    let place = place.map(|frame| format!(", in {}", at(frame))).unwrap_or_default();
    if let Some(said) = said {
        return format!("{thread}: {}: {said}{place}", rule.title);
    }
    let calls = if calls.is_empty() { String::new() } else { format!(" ({})", calls.join(", ")) };
    let file = file.map(|file| format!(" on {file}")).unwrap_or_default();
    format!("{thread}: {}{calls}{file}{place}", rule.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: Option<&str>, module: &str) -> CheckFrame {
        CheckFrame {
            function: Some(function.into()),
            file: file.map(str::to_owned),
            line: file.map(|_| 7),
            module: Some(module.into()),
            address: Some(0x11b9),
        }
    }

    #[test]
    fn the_function_to_blame_is_the_programs_own() {
        let libc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        let stack = vec![
            frame("__write", None, libc),
            frame("std::io::Write::write_all", Some("/rustc/abc/library/std/src/io/mod.rs"), "/home/me/app"),
            frame("log_state", Some("/home/me/src/log.c"), "/home/me/app"),
            frame("main", Some("/home/me/src/main.c"), "/home/me/app"),
        ];
        let place = Place { stack, ..Place::default() };
        assert_eq!(at(&location(&place).unwrap()), "log_state() at log.c:7");
        let stripped =
            Place { stack: vec![frame("__write", None, libc), frame("run", None, "/home/me/app")], ..Place::default() };
        assert_eq!(at(&location(&stripped).unwrap()), "run() of app");
        let release = Place {
            stack: vec![frame("rustix::io::write", None, "/home/me/app"), frame("app::run", None, "/home/me/app")],
            ..Place::default()
        };
        assert_eq!(at(&location(&release).unwrap()), "app::run() of app");
        let unnamed = CheckFrame { function: None, ..frame("", None, "/home/me/app") };
        let stripped = Place { stack: vec![frame("__write", None, libc), unnamed], ..Place::default() };
        assert_eq!(at(&location(&stripped).unwrap()), "app+0x11b9");
        let nothing = Place { stack: vec![frame("__write", None, libc)], ..Place::default() };
        assert_eq!(at(&location(&nothing).unwrap()), "__write() of libc.so.6");
        assert_eq!(location(&Place::default()), None);
    }
}
