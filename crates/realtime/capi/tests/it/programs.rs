//! Tests C programs with the static library: they are compiled without warnings as C99 and as C++, and run.

use crate::archive;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// System libraries that the static library needs: `rustc --print native-static-libs`.
const SYSTEM: [&str; 5] = ["-lgcc_s", "-lpthread", "-lm", "-ldl", "-lc"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns a compiler for the architecture of this test: the machine's own, or Debian's cross compiler.
fn compiler(language: &Language) -> Compiler {
    let made_for = |name: &str| {
        let output = Command::new(name).arg("-dumpmachine").output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).starts_with(std::env::consts::ARCH))
    };
    if made_for(language.compiler) == Some(true) {
        return Compiler { name: language.compiler.to_owned(), is_foreign: false };
    }
    let system = if cfg!(target_arch = "arm") { "arm-linux-gnueabihf" } else { "aarch64-linux-gnu" };
    let name = format!("{system}-{}", language.foreign);
    assert!(
        made_for(&name) == Some(true),
        "{} does not run here (Debian: apt install gcc g++ libc6-dev)",
        language.compiler
    );
    Compiler { name, is_foreign: true }
}

struct Compiler {
    name: String,
    /// True for a foreign architecture. Its C library is not found by the loader, so programs are linked statically.
    is_foreign: bool,
}

struct Language {
    compiler: &'static str,
    /// Suffix of the cross compiler's name, after the target triplet.
    foreign: &'static str,
    options: &'static [&'static str],
}

const C: Language = Language { compiler: "cc", foreign: "gcc", options: &["-std=c99"] };
const CPP: Language = Language { compiler: "g++", foreign: "g++", options: &["-x", "c++", "-std=c++11"] };

const CPP17: Language = Language { compiler: "g++", foreign: "g++", options: &["-x", "c++", "-std=c++17", "-Wshadow"] };

/// Compiles and links a program without warnings, and returns its path in the folder `into`.
fn build(language: &Language, source: &str, into: &Path) -> PathBuf {
    let Compiler { name, is_foreign } = compiler(language);
    let program = into.join(format!("{}-{}", Path::new(source).file_stem().unwrap().display(), language.compiler));
    let unwinder = |library: &'static str| if is_foreign { library.replace("gcc_s", "gcc_eh") } else { library.into() };
    let built = Command::new(&name)
        .args(language.options)
        .args(["-Wall", "-Wextra", "-Werror", "-Wpedantic", "-O1", "-g"])
        .arg("-I")
        .arg(folder().join("include"))
        .arg("-o")
        .arg(&program)
        .arg(folder().join(source))
        .args(["-x", "none"])
        .arg(archive())
        .args(SYSTEM.map(unwinder))
        .args(is_foreign.then_some("-static"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{name} {source}:\n{}", String::from_utf8_lossy(&built.stderr));
    program
}

fn succeeded(what: &str, output: &Output) -> String {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{out}\n{error}", output.status);
    out.into_owned()
}

/// Builds the source in a temporary folder and runs the check on the program.
fn with(language: &Language, source: &str, check: impl Fn(&Path, &Path)) {
    let scratch = tempfile::tempdir().unwrap();
    check(&build(language, source, scratch.path()), scratch.path());
}

/// Builds the source as C and as C++, and runs the check on each program.
fn everywhere(source: &str, check: impl Fn(&Path, &Path)) {
    [C, CPP].iter().for_each(|language| with(language, source, &check));
}

fn the_periodic_example(language: &Language) {
    with(language, "examples/periodic.c", |program, _| {
        let output = Command::new(program).args(["500", "200", "10"]).output().unwrap();
        let text = succeeded("periodic", &output);
        let numbers: Vec<u64> = text.lines().next().unwrap().split(' ').filter_map(|word| word.parse().ok()).collect();
        let [released, ran, skipped, pending, sum] = numbers[..] else { panic!("{text}") };
        assert_eq!(released, ran + skipped + pending, "{text}");
        assert!(released >= 200 && ran > 0, "{text}");
        // The body has counted as many releases: for n of them the sum is at least n (n + 1) / 2.
        assert!(sum >= ran * (ran + 1) / 2 && (skipped > 0 || sum == ran * (ran + 1) / 2), "{text}");
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(["PREEMPT_RT kernel", "SCHED_FIFO 10"].iter().all(|check| report.contains(check)), "{report}");
    });
}

#[test]
#[ignore = "live: g++, timing"]
fn every_part_of_the_cpp_header_works() {
    with(&CPP17, "examples/parts.cpp", |program, _| {
        let output = Command::new(program).output().unwrap();
        let text = succeeded("parts.cpp", &output);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "its warnings are silenced");
        let expected = "mutex state 1, locked twice is a deadlock 1, free 1\n\
                        semaphore 1 0 count 1 timed out 1; flags 3 then 0\n\
                        alarms 3 order 123 ok 1\n\
                        mailbox 1: 1 2, empty 1, timed out 1, dropped 1\n\
                        log 1; marks 1, 2\n\
                        refused 1, with a text 1\n\
                        no such interrupt 1\n\
                        events 20, early 0, own 6 with error 1\n\
                        loop ended 1, ran all 1, received all 1, in order 1\n\
                        brief ended 1\n";
        assert_eq!(text, expected);
    });
}

#[test]
#[ignore = "live: g++, timing"]
fn no_body_is_destroyed_in_use_and_no_lock_is_held_in_name_only() {
    with(&CPP17, "tests/cpp/lifetimes.cpp", |program, scratch| {
        let output = Command::new(program).arg(scratch.join("fifo")).output().unwrap();
        assert_eq!(succeeded("lifetimes", &output), "lifetimes ok\n");
        for which in ["own", "other"] {
            let output = Command::new(program).arg(which).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.signal(), Some(Signal::ABORT.as_raw()), "{which}: {said}");
            assert!(said.contains("the handle of a task was destroyed: a task's body may not wait"), "{which}: {said}");
        }
    });
}

#[test]
#[ignore = "live: g++, timing"]
fn the_executor_calls_back_for_what_the_loop_publishes() {
    with(&CPP17, "examples/executor.cpp", |program, _| {
        let text = succeeded("executor", &Command::new(program).arg("1000").output().unwrap());
        let numbers: Vec<u64> = text.split([' ', ',', ';', '\n']).filter_map(|word| word.parse().ok()).collect();
        let [states, taken, dropped, faults, called, lost, timers, 0] = numbers[..] else { panic!("{text}") };
        assert!((1..=101).contains(&states) && states == taken + dropped, "{text}");
        assert!(faults == called + lost && timers > 0, "{text}");
        assert!(text.ends_with("the last position is between 0 and the target\n"), "{text}");
    });
    with(&CPP17, "tests/cpp/fairness.cpp", |program, _| {
        assert_eq!(succeeded("fairness", &Command::new(program).output().unwrap()), "timer ran\n");
    });
}

/// C++ code that may throw in a real-time thread, or that passes too many or unsuitable values to the library, does not
/// compile.
#[test]
#[ignore = "live: g++"]
fn what_may_throw_does_not_compile() {
    let scratch = tempfile::tempdir().unwrap();
    let source = scratch.path().join("throws.cpp");
    let refused = |line: &str| {
        let program = format!(
            "#include <punctual.hpp>\n#include <string>\nusing namespace punctual;\nusing namespace std::chrono_literals;\n\
             void part(runtime &rt, recorder &log) {{ const options o(\"a\", policy::other, 0, 1ms); (void)o; (void)rt; (void)log;\n{line}\n}}\n"
        );
        fs::write(&source, program).unwrap();
        let Compiler { name, .. } = compiler(&CPP17);
        let mut command = Command::new(name);
        command.args(["-std=c++17", "-fsyntax-only", "-I"]).arg(folder().join("include")).arg(&source);
        let output = command.output().unwrap();
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (line, said) in [
        ("rt.start(o, [](const cycle &) {});", "has to be noexcept"),
        ("rt.start(o, [](const cycle &) noexcept {}, [](const cycle &) {});", "has to be noexcept"),
        (
            "rt.start(interrupt_options(\"a\", policy::other, 0), eventfd().events(), [](const interrupt &) {});",
            "has to be noexcept",
        ),
        ("source::custom([](prt_arrival &) { return 0; });", "has to be noexcept"),
        ("alarms().run(clock::now(), [](const alarms::rung &) {});", "has to be noexcept"),
        ("log.record(level::info, \"\", 1, 2, 3, 4, 5);", "more than PRT_ARGS_MOST"),
        ("char text[8] = \"\"; log.record(level::info, text);", "use of deleted function"),
        ("rt.start(o, [](const cycle &) noexcept { return status::ok; });", "returns void or punctual::next"),
        ("rt.start(o, [](const cycle &) noexcept { return true; });", "returns void or punctual::next"),
        (
            "rt.start(o, [](const cycle &) noexcept {}, [](const cycle &) noexcept { return 1; });",
            "returns void or punctual::next",
        ),
        (
            "rt.start(interrupt_options(\"a\", policy::other, 0), eventfd().events(), [](const interrupt &) noexcept { return 0; });",
            "returns void or punctual::next",
        ),
        (
            "alarms().run(clock::now(), [](const alarms::rung &) noexcept { return false; });",
            "returns void or punctual::next",
        ),
        ("mailbox<std::string>(1);", "are copied byte by byte"),
        ("queue<std::string>(1);", "are copied byte by byte"),
    ] {
        let output = refused(line).unwrap_or_else(|| panic!("{line} compiles"));
        assert!(output.contains(said), "{line}\n{output}");
    }
    for line in ["rt.start(o, [](const cycle &) noexcept {});", "log.record(level::info, \"plain\", 1);"] {
        assert_eq!(refused(line), None);
    }
}

#[test]
#[ignore = "live: g++, timing"]
fn the_parts_example_hands_everything_over() {
    everywhere("examples/parts.c", |program, scratch| {
        let (input, output) = (scratch.join("in"), scratch.join("out"));
        for fifo in [&input, &output] {
            assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
        }
        let child = Command::new(program)
            .args([&input, &output])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = std::thread::spawn(move || fs::read_to_string(output).unwrap());
        let too_long = "x".repeat(63);
        let mut shell = fs::OpenOptions::new().write(true).open(&input).unwrap();
        shell.write_all(format!("d21\n\n{too_long}\nd20 again\nend\n").as_bytes()).unwrap();
        let text = succeeded("parts", &child.wait_with_output().unwrap());
        let expected = "alarms 3 order 123\nlength 3\nlength 0\nlength 9\nqueue sent 3 received 3 dropped 0\n\
                        end 0 lines 3 in 4 too long 1\n";
        assert_eq!(text, expected);
        assert_eq!(answers.join().unwrap(), "d21\n\nd20 again\n");
    });
}

fn misuse(language: &Language) {
    with(language, "tests/c/misuse.c", |program, scratch| {
        let output = Command::new(program).arg(scratch.join("fifo")).output().unwrap();
        assert_eq!(succeeded("misuse", &output), "misuse ok\n");
    });
}

fn threads(language: &Language) {
    with(language, "tests/c/sync.c", |program, _| {
        let text = succeeded("sync", &Command::new(program).output().unwrap());
        let (notes, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
        assert!(last == "sync ok" && notes.lines().all(|line| line.starts_with("not tested: ")), "{text}");
        println!("{notes}");
    });
}

fn events(language: &Language) {
    with(language, "tests/c/events.c", |program, _| {
        assert_eq!(succeeded("events", &Command::new(program).output().unwrap()), "events ok\n");
    });
}

fn the_events_example(language: &Language) {
    with(language, "examples/events.c", |program, _| {
        let output = Command::new(program).output().unwrap();
        let text = succeeded("events", &output);
        let numbers: Vec<u64> = text.split([' ', ',', '\n']).filter_map(|word| word.parse().ok()).collect();
        let [events, handled, coalesced, 0, _] = numbers[..5] else { panic!("{text}") };
        assert!(events >= 10 && events == handled + coalesced && text.contains("; end 0\n"), "{text}");
        assert!(text.ends_with(&format!("marks {handled}, dropped records 0\n")), "{text}");
        let log = String::from_utf8_lossy(&output.stderr);
        assert_eq!(log.lines().filter(|line| line.contains(" info counter: event ")).count() as u64, handled, "{log}");
    });
}

#[test]
fn tasks_run_at_events_and_note_what_they_see() {
    events(&C);
    the_events_example(&C);
}

#[test]
fn the_periodic_example_accounts_for_every_release() {
    the_periodic_example(&C);
}

#[test]
fn misuse_is_an_error_and_no_crash() {
    misuse(&C);
}

#[test]
fn threads_wait_for_each_other() {
    threads(&C);
}

/// Ignored by default, because building with cargo requires a C compiler but no C++ compiler.
#[test]
#[ignore = "live: g++"]
fn all_of_this_is_cpp_too() {
    [the_periodic_example, the_events_example, misuse, threads, events].iter().for_each(|check| check(&CPP));
}

/// Returns the program in docs/c-interface.md.
fn documented(language: &str) -> String {
    let text = fs::read_to_string(folder().join("../../../docs/c-interface.md")).unwrap();
    let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// The program fragments in docs/c-interface.md compile as the body of a function with the variables that they name.
#[test]
fn the_documented_parts_of_programs_compile() {
    let text = fs::read_to_string(folder().join("../../../docs/c-interface.md")).unwrap();
    let blocks = text.split("```c\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let parts: Vec<&str> = blocks.filter(|block| !block.contains("main(")).collect();
    assert!(parts.len() >= 2, "{parts:?}");
    let scratch = tempfile::tempdir().unwrap();
    let source = scratch.path().join("part.c");
    for part in parts {
        let program = format!(
            "#include <punctual_rt.h>\n#include <stdio.h>\nvoid part(struct prt_recorder *recorder, uint64_t digit, uint64_t ns);\n\
             void part(struct prt_recorder *recorder, uint64_t digit, uint64_t ns)\n{{\n{part}}}\n"
        );
        fs::write(&source, program).unwrap();
        let mut command = Command::new(compiler(&C).name);
        command
            .args(["-std=c99", "-Wall", "-Werror", "-fsyntax-only", "-I"])
            .arg(folder().join("include"))
            .arg(&source);
        succeeded(part, &command.output().unwrap());
    }
}

#[test]
#[ignore = "live: root, g++, timing"]
fn the_documented_program_runs_until_it_is_told_to_end() {
    assert!(documented("c").lines().count() <= 19, "it has grown");
    everywhere_text(&documented("c"), |program| {
        let mut child = Command::new(program).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut first, mut rest) = (String::new(), String::new());
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut first).unwrap();
        if first == "running\n" {
            kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
            let text = succeeded("documented", &child.wait_with_output().unwrap());
            assert!(text.ends_with(" releases skipped\n"), "{text}");
            return;
        }
        errors.read_to_string(&mut rest).unwrap();
        let refused = ["cannot lock memory", "cannot run as"].iter().any(|text| first.contains(text));
        assert!(refused && child.wait().unwrap().code() == Some(1), "{first}{rest}");
        println!("without privilege it says: {first}");
    });
}

#[test]
#[ignore = "live: root, g++, timing"]
fn the_documented_cpp_program_ends_with_its_figure() {
    let scratch = tempfile::tempdir().unwrap();
    let source = scratch.path().join("control.cpp");
    fs::write(&source, documented("cpp")).unwrap();
    with(&CPP17, source.to_str().unwrap(), |program, _| {
        let child = Command::new(program).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(500));
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        let output = child.wait_with_output().unwrap();
        let refused = String::from_utf8_lossy(&output.stderr).into_owned();
        if ["cannot lock memory", "cannot run as"].iter().any(|text| refused.contains(text)) {
            return println!("without privilege it says: {refused}");
        }
        let text = succeeded("documented", &output);
        assert!(text.starts_with("worst ") && text.ends_with(" ns late\n"), "{text}");
    });
}

/// Like [`everywhere`], but the source is given as text.
fn everywhere_text(source: &str, check: impl Fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("control.c");
    fs::write(&file, source).unwrap();
    everywhere(file.to_str().unwrap(), |program, _| check(program));
}

/// The pkg-config file names the libraries that these programs are linked with.
#[test]
fn the_pkg_config_file_names_the_libraries() {
    let text = fs::read_to_string(folder().join("punctual-rt.pc.in")).unwrap();
    assert!(text.contains("-lpunctual_rt_c\n"));
    assert!(text.contains(&format!("Libs.private: {}\n", SYSTEM.join(" "))));
}
