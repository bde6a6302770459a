//! Makes random changes to every root directory. The next boot must have the requested parameters, a second change must
//! do nothing, and both must be undoable.

use crate::common;

use common::{Tree, changeable, expected, sorted, tree};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use punctual_boot::{Change, change, current, detect};

const ADD: &[&str] = &[
    "quiet",
    "splash",
    "isolcpus=domain,managed_irq,2-3",
    "nohz-full=2",
    "nohz_full=2-3",
    "console=tty1",
    "console=ttyS1,115200",
    "threadirqs",
    "rcu_nocbs=2-3",
    "processor.max_cstate=1",
    "x=1,2",
    "dbg=off",
    "rootwait",
    "crashkernel=64M",
];
const REMOVE: &[&str] = &[
    "quiet",
    "splash",
    "console",
    "console=tty1",
    "isolcpus",
    "nohz_full",
    "rhgb",
    "zswap.enabled",
    "crashkernel",
    "mitigations",
    "dbg",
    "cma=256M",
    "earlycon",
    "fixrtc",
    "rd.lvm.lv=rhel/swap",
    "net.ifnames=1",
];

fn request() -> impl Strategy<Value = Change> {
    let add = subsequence(ADD, 0..5).prop_shuffle();
    (add, subsequence(REMOVE, 0..4)).prop_filter_map("two values", |(add, remove)| Change::new(add, remove).ok())
}

/// Plans and applies a change; `None` if it is refused, in which case the plan has no steps.
fn applied(before: &Tree, change_: &Change) -> Option<(Tree, punctual_boot::Plan)> {
    let chain = detect(before).unwrap();
    let plan = change(before, &chain, change_);
    if !plan.refused.is_empty() {
        assert!(plan.steps().is_empty() && plan.trial.is_none(), "{plan:?}");
        return None;
    }
    let mut after = before.clone();
    after.apply(&plan);
    Some((after, plan))
}

/// Checks that only the words change: variables of GRUB and U-Boot stay the same.
fn checked(name: &str, request: &Change) -> Result<(), TestCaseError> {
    let before = tree(name);
    let chain = detect(&before).unwrap();
    let Some((after, plan)) = applied(&before, request) else { return Ok(()) };
    let booted = after.booted(name);
    prop_assert_eq!(sorted(&booted), expected(&before.booted(name), request), "{}: {:?}", name, plan);
    prop_assert_eq!(detect(&after).map(|chain| chain.kind), Ok(chain.kind));
    let now = current(&after, &chain).unwrap();
    prop_assert_eq!(sorted(&now.configured), sorted(&plan.after), "{}", name);
    prop_assert_eq!(&change(&after, &chain, request).steps(), &vec![], "{}: twice is not once", name);
    let Some((undone, _)) = applied(&after, &plan.back) else {
        return Err(TestCaseError::fail(format!(
            "{name}: the way back is refused: {:?}",
            change(&after, &chain, &plan.back).refused
        )));
    };
    prop_assert_eq!(sorted(&undone.booted(name)), sorted(&before.booted(name)), "{}: {:?}", name, plan.back);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(debug_assertions) { 400 } else { 5_000 }, ..ProptestConfig::default() })]

    #[test]
    fn what_boots_is_what_was_asked_for(name in select(changeable()), request in request()) {
        checked(&name, &request)?;
    }

    #[test]
    fn one_after_the_other_is_followed_too(name in select(changeable()), first in request(), second in request()) {
        let before = tree(&name);
        let Some((between, _)) = applied(&before, &first) else { return Ok(()) };
        let Some((after, plan)) = applied(&between, &second) else { return Ok(()) };
        prop_assert_eq!(sorted(&after.booted(&name)), expected(&between.booted(&name), &second), "{}: {:?}", name, plan);
    }

    #[test]
    fn any_bytes_are_answered(name in select(changeable()), at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..40), cut in any::<prop::sample::Index>(), request in request()) {
        let mut tree = tree(&name);
        let paths: Vec<String> = tree.0.keys().cloned().collect();
        let content = tree.0.get_mut(at.get(&paths)).unwrap();
        let from = cut.index(content.len() + 1);
        content.splice(from..(from + bytes.len() / 2).min(content.len()), bytes);
        if let Ok(chain) = detect(&tree) {
            let _ = current(&tree, &chain);
            let plan = change(&tree, &chain, &request);
            prop_assert!(plan.refused.is_empty() || plan.steps().is_empty());
        }
    }
}

/// Adding new words and removing them again must restore every byte.
#[test]
fn what_was_added_leaves_no_byte() {
    for name in changeable() {
        let before = tree(&name);
        let (after, plan) =
            applied(&before, &Change::parse("nosmt isolcpus=1", "").unwrap()).unwrap_or_else(|| panic!("{name}"));
        let (mut undone, _) = applied(&after, &plan.back).unwrap();
        let exact = !(name == "armbian-bookworm" || name.starts_with("ubuntu-core") || name == "rhel-9-kernelopts");
        if exact && name != "pi-os-prefix-include" {
            assert_eq!(undone, before, "{name}");
        }
        // The plan's edits name all files that a caller must save before.
        for edit in &plan.edits {
            let path = edit.path.to_str().unwrap();
            match before.0.get(path) {
                Some(bytes) => undone.0.insert(path.to_owned(), bytes.clone()),
                None => undone.0.remove(path),
            };
        }
        assert!(
            plan.edits
                .iter()
                .all(|edit| undone.0.get(edit.path.to_str().unwrap()) == before.0.get(edit.path.to_str().unwrap()))
        );
    }
}
