//! Interrupt threads must get the priority that their device requires, and undo must restore the old one.

use punctual_audit::{Offers, Profile};
use punctual_fix::{Asked, Doing, FixOptions, Journal, fix, undo};
use punctual_machine::Live;
use punctual_model::State;
use punctual_testing::fix::{JOURNAL, Kernel, context, difference, materialise, plan, rules, tree};
use punctual_testing::machines;
use std::fs;
use std::path::Path;

/// Adds a FIFO kernel thread (PF_KTHREAD), as in proc_pid_stat(5).
fn thread(root: &Path, tid: u32, name: &str, priority: u32) {
    let rt = -1 - i64::from(priority);
    let stat = format!(
        "{tid} ({name}) S 2 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 {rt} 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 {priority} 1 0 0 0"
    );
    for folder in [format!("proc/{tid}"), format!("proc/{tid}/task/{tid}")] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), &stat).unwrap();
        fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
        fs::write(folder.join("status"), format!("Name:\t{name}\nCpus_allowed_list:\t0-3\n")).unwrap();
        fs::write(folder.join("cmdline"), "").unwrap();
    }
}

#[test]
fn the_awaited_card_comes_before_the_loop_and_the_others_after_it() {
    let machine = machines().into_iter().find(|machine| machine.ends_with("laptop-smt-6.8")).unwrap();
    let root = materialise(&machine);
    fs::create_dir_all(root.path().join("sys/class/net/eth7")).unwrap();
    thread(root.path(), 90_001, "irq/24-eth7", 50);
    thread(root.path(), 90_002, "irq/30-xhci", 95);
    thread(root.path(), 90_003, "irq/31-sda", 50);
    let kernel = Kernel::under(root.path());
    let before = tree(root.path());
    let steps = |id: &str, profile| {
        let plan = plan(rules(), root.path(), &kernel, &[id.to_owned()], false, profile);
        plan.rules.iter().flat_map(|rule| &rule.steps).map(Doing::line).collect::<Vec<_>>()
    };
    let both = steps("irq-thread-priority", Profile::FieldbusNic);
    assert_eq!(both, ["thread 90002: FIFO 50", "thread 90001: FIFO 81"]);
    let card = steps("net-irq-thread-prio", Profile::FieldbusNic);
    assert_eq!(card, ["thread 90001: FIFO 81"]);

    let plan = plan(rules(), root.path(), &kernel, &["irq-thread-priority".into()], false, Profile::FieldbusNic);
    let context = context(root.path(), Profile::FieldbusNic);
    let machine = Live::under(root.path());
    let judge = |id: &str| -> Option<(State, String)> {
        rules().audit_one(id, &machine, &context, Offers::default()).map(|finding| (finding.state, finding.summary))
    };
    let mut journal = Journal::open(&kernel, Path::new(JOURNAL)).unwrap();
    let asked = Asked { judge: &judge, guard: &|_| Ok(()) };
    let fixed = fix(&mut journal, &plan, &FixOptions::default(), &asked).unwrap();
    drop(journal);
    assert_eq!(fixed.rules[0].changes.len(), 2, "{fixed:#?}");
    assert_eq!(judge("irq-thread-priority").map(|(state, _)| state), Some(State::Pass));
    assert!(undo(&kernel, Path::new(JOURNAL), &[]).unwrap().is_complete());
    assert_eq!(difference(&before, root.path()), Vec::<String>::new());
}
