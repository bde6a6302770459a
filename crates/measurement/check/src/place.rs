//! Selects the function on a stack that a finding reports, and names it.

use crate::recording::Place;
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

/// Returns true if no function of the program was called yet, or all have returned: the dynamic linker is the outermost
/// caller, or all functions are those of the C library, which starts and ends threads.
pub fn is_start_or_end(place: &Place) -> bool {
    if place.is_whole && !place.stack.is_empty() && place.stack.iter().all(is_runtime) {
        return true;
    }
    let module = place.stack.last().and_then(|frame| frame.module.as_ref()).filter(|_| !place.is_cut);
    let name = module.and_then(|module| module.rsplit('/').next()).unwrap_or_default();
    // The dynamic linker of musl is its C library.
    ["ld-linux", "ld-2.", "ld.so", "ld64.so"].iter().any(|start| name.starts_with(start))
}

/// Formats a place: `step() at loop.c:42`, `step() of app`, `app+0x11b9`. If it is none of the program's because the
/// copy of the stack ends before that, this is added.
pub fn at(frame: &CheckFrame, is_stack_cut: bool) -> String {
    let is_foreign = is_runtime(frame) || !is_own_module(frame);
    let cut = if is_stack_cut && is_foreign { " (stack cut)" } else { "" };
    format!("{}{cut}", named(frame))
}

fn named(frame: &CheckFrame) -> String {
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
        assert_eq!(at(&location(&place).unwrap(), false), "log_state() at log.c:7");
        let stripped =
            Place { stack: vec![frame("__write", None, libc), frame("run", None, "/home/me/app")], ..Place::default() };
        assert_eq!(at(&location(&stripped).unwrap(), false), "run() of app");
        let release = Place {
            stack: vec![frame("rustix::io::write", None, "/home/me/app"), frame("app::run", None, "/home/me/app")],
            ..Place::default()
        };
        assert_eq!(at(&location(&release).unwrap(), false), "app::run() of app");
        let unnamed = CheckFrame { function: None, ..frame("", None, "/home/me/app") };
        let stripped = Place { stack: vec![frame("__write", None, libc), unnamed], ..Place::default() };
        assert_eq!(at(&location(&stripped).unwrap(), false), "app+0x11b9");
        let nothing = Place { stack: vec![frame("__write", None, libc)], ..Place::default() };
        assert_eq!(at(&location(&nothing).unwrap(), false), "__write() of libc.so.6");
        assert_eq!(at(&location(&nothing).unwrap(), true), "__write() of libc.so.6 (stack cut)");
        assert_eq!(location(&Place::default()), None);
    }

    #[test]
    fn what_libraries_do_before_and_after_the_program_is_told_from_its_calls() {
        let linker = "/lib64/ld-linux-x86-64.so.2";
        let start = vec![frame("mmap64", None, linker), frame("_dl_start_user", None, linker)];
        let place = |stack: &[CheckFrame], is_cut| Place { stack: stack.to_vec(), is_cut, ..Place::default() };
        assert!(is_start_or_end(&place(&start, false)) && !is_start_or_end(&place(&start, true)));
        let opened = [start.as_slice(), &[frame("main", None, "/home/me/app")]].concat();
        assert!(!is_start_or_end(&place(&opened, false)) && !is_start_or_end(&Place::default()));
        let libc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        let end = vec![frame("madvise", None, libc), frame("start_thread", None, libc)];
        let end = |is_whole| Place { is_whole, ..place(&end, false) };
        assert!(is_start_or_end(&end(true)) && !is_start_or_end(&end(false)));
    }
}
