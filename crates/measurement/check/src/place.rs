//! Which function of a stack is to blame, and how it is named.

use crate::recording::Place;
use crate::rules::Rule;
use punctual_model::CheckFrame;

/// Folders of libraries that are not the user's.
const SYSTEM: [&str; 6] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/lib32/", "/usr/libexec/"];
/// Parts of the paths of sources that are not the user's: standard libraries and packages.
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

fn is_own_module(frame: &CheckFrame) -> bool {
    let Some(module) = &frame.module else { return frame.file.is_some() };
    let name = module.rsplit('/').next().unwrap_or_default();
    let is_interpreter = name.starts_with("python3") || name.starts_with("libpython3");
    !is_interpreter && !module.starts_with('[') && !SYSTEM.iter().any(|folder| module.starts_with(folder))
}

fn is_own_source(frame: &CheckFrame) -> bool {
    frame.file.as_ref().is_none_or(|file| !FOREIGN.iter().any(|part| file.contains(part)))
}

/// The innermost function of the program itself, one with a line if there is any; else the innermost with a name.
pub fn location(place: &Place) -> Option<CheckFrame> {
    let own = || place.stack.iter().filter(|frame| is_own_module(frame) && is_own_source(frame));
    let lined = own().find(|frame| frame.file.is_some());
    let named = || place.stack.iter().find(|frame| frame.function.is_some());
    lined.or_else(|| own().find(|frame| frame.function.is_some())).or_else(named).cloned()
}

/// Names of the innermost functions.
pub fn function_names(place: &Place, most: usize) -> Vec<&str> {
    place.stack.iter().take(most).filter_map(|frame| frame.function.as_deref()).collect()
}

/// `step() at loop.c:42`.
pub fn at(frame: &CheckFrame) -> String {
    let function = frame.function.as_ref().map(|name| format!("{name}()"));
    let file = frame.file.as_ref().map(|file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        frame.line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"))
    });
    match (function, file, &frame.module) {
        (Some(function), Some(file), _) => format!("{function} at {file}"),
        (Some(function), None, Some(module)) => {
            format!("{function} of {}", module.rsplit('/').next().unwrap_or(module))
        }
        (Some(function), None, None) => function,
        (None, Some(file), _) => file,
        (None, None, module) => module.clone().unwrap_or_else(|| "unknown code".to_owned()),
    }
}

/// Subject and result in one sentence.
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
        let nothing = Place { stack: vec![frame("__write", None, libc)], ..Place::default() };
        assert_eq!(at(&location(&nothing).unwrap()), "__write() of libc.so.6");
        assert_eq!(location(&Place::default()), None);
    }
}
