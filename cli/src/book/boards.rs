//! Generates the pages of boards (docs/boards) from the published latencies and `boards/`.

use punctual_kernel::Board as Planned;
use punctual_references::{Board, Note, NoteAbout, Published, Quantity, boards};
use punctual_testing::{golden, root};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

const MADE: &str =
    "<!-- Generated from crates/output/references/boards and boards/: UPDATE_GOLDEN=1 cargo test -p punctual book -->";

/// Formats a link to a URL, or to a path in a GitHub repository.
fn link(url: &str) -> String {
    match url.split_once(", ").filter(|_| !url.starts_with("http")) {
        Some((repository, path)) => format!("[{repository}](https://github.com/{repository}), `{path}`"),
        None => format!("<{url}>"),
    }
}

/// Escapes the characters that have a meaning in a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_")
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|").replace('`', "'"))
}

fn notes(board: &Board, about: NoteAbout) -> String {
    let of = board.notes.iter().filter(|note| note.about == about);
    of.map(|Note { text, source, url, .. }| format!("- {} ({}, {})\n", cell(text), cell(source), link(url))).collect()
}

fn plans(board: &Board) -> Vec<&'static Planned> {
    board.plans.iter().map(|key| punctual_kernel::board(key).unwrap()).collect()
}

/// Returns true if the plan is for this board and not for a whole architecture.
fn is_own(plan: &Planned) -> bool {
    !plan.models.is_empty()
}

/// Returns the settings that the sources recommend; for a Raspberry Pi, followed by a link to the audit rules for that
/// board.
fn settings(board: &Board) -> String {
    let is_pi = plans(board).iter().any(|plan| plan.pi.is_some());
    let rules = "- Audit rules for Raspberry Pi settings, each with its source: [Raspberry Pi](../rules/rpi.md).\n";
    notes(board, NoteAbout::Setting) + if is_pi { rules } else { "" }
}

/// Returns the kernels that `kernel plan` offers for the board.
fn kernels(board: &Board) -> String {
    let mut text = String::new();
    for plan in plans(board) {
        let path = format!("[`boards/{key}.toml`](../../boards/{key}.toml)", key = plan.key);
        if !is_own(plan) {
            let _ = writeln!(text, "- Planned as {} ({path}): nothing specific to this board.", cell(&plan.name));
        }
        if let Some(pi) = &plan.pi {
            let rt = pi.rt_defconfig.as_ref().zip(pi.rt_image.as_ref());
            let rt = rt.map(|(config, image)| format!("; with PREEMPT_RT `{config}`, `{image}`")).unwrap_or_default();
            let (config, image) = (&pi.defconfig, &pi.image);
            let _ = writeln!(text, "- Raspberry Pi's kernel from {}: `{config}`, `{image}`{rt} ({path}).", pi.since);
        }
        if let Some(mainline) = plan.mainline.as_ref().filter(|_| is_own(plan)) {
            let _ = writeln!(text, "- Mainline from {}: `{}` ({path}).", mainline.since, mainline.defconfig);
        }
    }
    if let Some(plan) = plans(board).first() {
        let _ = writeln!(text, "- Step by step: `punctual kernel plan --board {}`.", plan.key);
    }
    text + &notes(board, NoteAbout::Kernel)
}

fn traps(board: &Board) -> String {
    let mut text = notes(board, NoteAbout::Trap);
    for plan in plans(board) {
        let sources: Vec<String> = plan.sources.iter().map(|url| link(url)).collect();
        for trap in &plan.traps {
            let _ = writeln!(text, "- {} ({}).", cell(trap), sources.join(", "));
        }
    }
    // Two plans for one board may have the same traps.
    let mut seen = BTreeSet::new();
    text.lines().filter(|line| seen.insert(*line)).map(|line| format!("{line}\n")).collect()
}

fn micros(us: f64) -> String {
    if us.fract() == 0.0 || us >= 100.0 { format!("{us:.0}") } else { format!("{us:.1}") }
}

fn measured(p: &Published) -> String {
    let mut parts: Vec<String> = p.tool.iter().map(|tool| cell(tool)).collect();
    parts.extend(p.options.as_ref().map(|options| code(options)));
    parts.extend(p.duration_s.map(|seconds| punctual_units::Nanos::from_secs(seconds).to_string()));
    parts.extend(p.samples.map(|samples| format!("{samples} wakeups per thread")));
    parts.extend(p.threads.map(|threads| if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }));
    parts.extend(p.tuning.as_ref().map(|tuning| cell(tuning)));
    parts.join(", ")
}

fn figures(board: &Board) -> String {
    let mut entries: Vec<&Published> = board.published.iter().collect();
    entries.sort_by(|a, b| a.flavour.cmp(&b.flavour).then(a.worst_us.total_cmp(&b.worst_us)));
    let mut text = "| worst, µs | kernel | load | measured | source |\n|---|---|---|---|---|\n".to_owned();
    let mut remarks: Vec<String> = Vec::new();
    for p in entries {
        let about = if p.approximate { "about " } else { "" };
        let quantity = if p.quantity == Quantity::Wakeup { String::new() } else { format!(" ({})", p.quantity.name()) };
        let kernel = p.kernel.as_ref().map(|kernel| format!(" {}", code(kernel))).unwrap_or_default();
        let load = p.load.as_ref().map_or("not stated".to_owned(), |load| cell(load));
        let date = p.date.as_ref().map(|date| format!(", {date}")).unwrap_or_default();
        let number = p.note.as_ref().map(|note| {
            let remark = cell(note);
            let known = remarks.iter().position(|one| *one == remark);
            let at = known.unwrap_or_else(|| {
                remarks.push(remark);
                remarks.len() - 1
            });
            format!(" ({})", at + 1)
        });
        let _ = writeln!(
            text,
            "| {about}{}{quantity} | {}{kernel} | {load} | {} | {}{date}, {}{} |",
            micros(p.worst_us),
            p.flavour.name(),
            measured(p),
            cell(&p.source),
            link(p.url.as_deref().unwrap()),
            number.unwrap_or_default()
        );
    }
    if !remarks.is_empty() {
        text += "\nRemarks:\n\n";
        remarks.iter().enumerate().for_each(|(n, remark)| text += &format!("{}. {remark}\n", n + 1));
    }
    text
}

fn page(board: &Board) -> String {
    let mut text = format!("# {}\n\n{MADE}\n\n", cell(&board.name));
    let cores = board.core.as_ref().map(|core| match board.cpus {
        Some(cpus) => format!("{cpus} × {core}"),
        None => core.clone(),
    });
    let parts: Vec<String> = board.soc.iter().cloned().chain(cores).collect();
    if !parts.is_empty() {
        let source = board.soc_source.as_ref().map(|source| format!(" ({})", link(source))).unwrap_or_default();
        text += &format!("{}{source}. ", cell(&parts.join(", ")));
    }
    text += &format!("In a terminal: `punctual references {}`.\n", board.key);
    for (title, content) in [
        ("Which kernel", kernels(board)),
        ("Which settings matter", settings(board)),
        ("Published latencies", figures(board)),
        ("Known pitfalls", traps(board)),
    ] {
        if !content.is_empty() {
            text += &format!("\n## {title}\n\n{content}");
        }
    }
    text + "\nOthers measured these under their own conditions: none is an upper bound. To audit the machine itself: \
            `punctual audit --full`. To add a figure: [Published figures](../references.md).\n"
}

/// Returns the smallest and the largest worst latency among kernels of one kind.
fn spread(board: &Board, wanted: impl Fn(&Published) -> bool) -> String {
    let all = board.published.iter().filter(|p| wanted(p)).map(|p| p.worst_us);
    let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), us| (low.min(us), high.max(us)));
    match low > high {
        true => String::new(),
        false if micros(low) == micros(high) => micros(low),
        false => format!("{} to {}", micros(low), micros(high)),
    }
}

fn index() -> String {
    use punctual_references::Flavour;
    let mut text = format!(
        "# Boards\n\n{MADE}\n\nWhat is known of each board from published sources: which kernel, which settings matter, the worst latencies that people measured (µs), and known pitfalls. A board without a page: `punctual audit` and `punctual kernel plan` work \
         on it, and [a measurement](../references.md#contributing-a-measurement-of-yours) is welcome.\n\n\
         | board | figures | PREEMPT_RT | stock | other |\n|---|---|---|---|---|\n"
    );
    for board in boards() {
        let _ = writeln!(
            text,
            "| [{}]({}.md) | {} | {} | {} | {} |",
            cell(&board.name),
            board.key,
            board.published.len(),
            spread(board, |p| p.flavour == Flavour::PreemptRt),
            spread(board, |p| p.flavour == Flavour::Stock),
            spread(board, |p| !matches!(p.flavour, Flavour::PreemptRt | Flavour::Stock)),
        );
    }
    text + "\nOther: Xenomai, EVL, RTAI, kernels under a hypervisor, or kernels whose preemption model is not stated. Conditions \
            differ: none of these figures is a limit.\n"
}

#[test]
fn every_board_has_its_page() {
    let folder = root().join("docs/boards");
    golden(folder.join("README.md"), &index());
    boards().iter().for_each(|board| golden(folder.join(format!("{}.md", board.key)), &page(board)));
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let key = name.strip_suffix(".md").unwrap();
        assert!(key == "README" || boards().iter().any(|board| board.key == key), "docs/boards/{name}: no such board");
    }
}

/// A board that has a plan of its own does not get the plan of its architecture.
#[test]
fn the_plans_of_a_board_are_those_that_its_model_gets() {
    for board in boards() {
        for plan in plans(board).into_iter().filter(|plan| is_own(plan)) {
            for model in &board.models {
                let machine = plan.machines.first().map(String::as_str);
                let full = format!("{model} Rev 1.0");
                assert_eq!(
                    punctual_kernel::detect(Some(&full), machine).map(|found| &found.key),
                    Ok(&plan.key),
                    "{full}"
                );
            }
        }
    }
}
