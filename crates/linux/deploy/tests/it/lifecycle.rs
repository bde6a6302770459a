//! Deploys, tries, keeps or abandons, and completely removes kernels, on folders that represent machines, with failures
//! at every step.

use punctual_deploy::{Back, Deployed, Request, Site, Status, commit, deploy, rollback, status, verify, worst};
use punctual_fix::{Fault, Faulty, System};
use punctual_kernel::Outcome;
use punctual_machine::Live;
use punctual_testing::deploy::{GRUB, PI, boot_into, machine, package};
use punctual_testing::fix::{Kernel, difference, tree};
use std::path::Path;

const RELEASE: &str = "6.12.9-rt1";

fn on<T>(root: &Path, sys: &dyn System, work: impl FnOnce(&Site) -> T) -> T {
    let view = Live::under(root);
    work(&Site { root: root.to_owned(), sys, view: &view })
}

fn request() -> Request {
    Request { manual_recovery: true, skip: vec!["processor".into()], ..Request::default() }
}

fn deployed(root: &Path, sys: &dyn System, package: &Path) -> Deployed {
    on(root, sys, |site| deploy(site, package, &request(), Path::new("/bin/true"))).unwrap()
}

fn state(root: &Path, kernel: &Kernel) -> Status {
    on(root, kernel, status).unwrap()
}

type Tree = std::collections::BTreeMap<std::path::PathBuf, (u32, u32, Vec<u8>)>;

/// Returns the folders that a deployment may change: /boot, /etc and /lib.
fn touched(root: &Path) -> Vec<Tree> {
    ["boot", "etc", "lib"].map(|name| tree(&root.join(name))).into_iter().collect()
}

fn same(before: &[Tree], root: &Path) {
    for (old, name) in before.iter().zip(["boot", "etc", "lib"]) {
        assert_eq!(difference(old, &root.join(name)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_kernel_is_tried_verified_kept_and_taken_away_to_the_byte() {
    for loader in [GRUB, PI] {
        let (root, kernel, new) = machine(loader, RELEASE);
        let before = touched(root.path());
        assert_eq!(state(root.path(), &kernel), Status::Nothing);
        let done = deployed(root.path(), &kernel, new.path());
        assert!(done.record.is_some(), "{loader}: {:#?}", done.checks);
        assert!(matches!(state(root.path(), &kernel), Status::Deployed { .. }), "{loader}");
        let id = done.record.unwrap().id;
        boot_into(root.path(), &kernel, Some(&id), RELEASE, "#1 SMP PREEMPT_RT Debian");
        assert!(matches!(state(root.path(), &kernel), Status::OnTrial { is_verified: None, .. }));
        assert!(on(root.path(), &kernel, |site| commit(site, false)).unwrap_err().to_string().contains("not verified"));
        let checks = on(root.path(), &kernel, |site| verify(site, &|| Ok((Some(true), "12 us".into())))).unwrap();
        assert_eq!(worst(&checks), Outcome::Pass, "{checks:#?}");
        on(root.path(), &kernel, |site| commit(site, false)).unwrap();
        boot_into(root.path(), &kernel, None, RELEASE, "#1 SMP PREEMPT_RT Debian");
        assert!(matches!(state(root.path(), &kernel), Status::Committed { is_running: true, .. }));
        assert_eq!(on(root.path(), &kernel, rollback).unwrap(), Back::Running { release: RELEASE.into() });
        boot_into(root.path(), &kernel, None, "6.1.0-1", "#1 SMP");
        assert_eq!(on(root.path(), &kernel, rollback).unwrap(), Back::Gone { release: RELEASE.into() });
        same(&before, root.path());
        assert_eq!(on(root.path(), &kernel, rollback).unwrap(), Back::Nothing);
    }
}

#[test]
fn a_kernel_that_returned_says_so_and_a_second_deployment_goes_through() {
    for loader in [GRUB, PI] {
        let (root, kernel, new) = machine(loader, RELEASE);
        let before = touched(root.path());
        deployed(root.path(), &kernel, new.path());
        boot_into(root.path(), &kernel, None, "6.1.0-1", "#1 SMP");
        let Status::Returned { why, .. } = state(root.path(), &kernel) else { panic!("{loader}") };
        assert!(why.contains("the guard (punctual kernel guard) never ran"), "{why}");
        let again = deployed(root.path(), &kernel, new.path());
        assert!(again.record.is_some() && again.notes.len() == 1, "{again:?}");
        on(root.path(), &kernel, rollback).unwrap();
        same(&before, root.path());
    }
}

#[test]
fn a_second_kernel_leaves_the_kept_one_and_returns_to_it() {
    let (root, kernel, new) = machine(GRUB, RELEASE);
    let before = touched(root.path());
    let first = deployed(root.path(), &kernel, new.path()).record.unwrap();
    boot_into(root.path(), &kernel, Some(&first.id), RELEASE, "#1 SMP PREEMPT_RT");
    on(root.path(), &kernel, |site| commit(site, true)).unwrap();
    boot_into(root.path(), &kernel, None, RELEASE, "#1 SMP PREEMPT_RT");
    let kept = touched(root.path());
    let second = package("6.12.10-rt1");
    assert!(deployed(root.path(), &kernel, second.path()).record.is_some());
    on(root.path(), &kernel, rollback).unwrap();
    same(&kept, root.path());
    assert!(matches!(state(root.path(), &kernel), Status::Committed { is_running: true, .. }));
    boot_into(root.path(), &kernel, None, "6.1.0-1", "#1 SMP");
    on(root.path(), &kernel, rollback).unwrap();
    same(&before, root.path());
}

#[test]
fn what_is_somebody_elses_is_never_touched() {
    let (root, kernel, new) = machine(GRUB, RELEASE);
    let theirs = root.path().join("lib/modules").join(RELEASE);
    std::fs::create_dir_all(&theirs).unwrap();
    std::fs::write(theirs.join("mine"), "mine").unwrap();
    let before = touched(root.path());
    let done = deployed(root.path(), &kernel, new.path());
    assert!(done.record.is_none());
    assert!(
        done.checks.iter().any(|check| check.id == "files" && check.outcome == Outcome::Fail),
        "{:#?}",
        done.checks
    );
    same(&before, root.path());
    // The running kernel is not replaced either.
    boot_into(root.path(), &kernel, None, RELEASE, "#1 SMP");
    let checks = deployed(root.path(), &kernel, new.path()).checks;
    assert!(checks.iter().any(|check| check.id == "running" && check.outcome == Outcome::Fail));
}

#[test]
fn what_cannot_return_automatically_is_refused() {
    let (root, kernel, new) = machine(GRUB, RELEASE);
    let careful = Request { manual_recovery: false, ..request() };
    let done = on(root.path(), &kernel, |site| deploy(site, new.path(), &careful, Path::new("/bin/true"))).unwrap();
    let failed: Vec<&str> = done.checks.iter().filter(|c| c.outcome == Outcome::Fail).map(|c| c.id).collect();
    assert_eq!((failed.as_slice(), done.record.is_none()), (&["early-hang"][..], true));
    // The Raspberry Pi's firmware arms the watchdog itself.
    let (root, kernel, new) = machine(PI, RELEASE);
    let done = on(root.path(), &kernel, |site| deploy(site, new.path(), &careful, Path::new("/bin/true"))).unwrap();
    assert!(done.record.is_some(), "{:#?}", done.checks);
}

#[test]
fn whatever_fails_or_ends_in_between_the_old_kernel_boots_and_the_next_deployment_goes_through() {
    for loader in [GRUB, PI] {
        for how in [Fault::Error(28), Fault::Killed] {
            for at in 0.. {
                let (root, kernel, new) = machine(loader, RELEASE);
                let before = touched(root.path());
                let faulty = Faulty::new(&kernel, at, how);
                let _ = on(root.path(), &faulty, |site| deploy(site, new.path(), &request(), Path::new("/bin/true")));
                if faulty.count() <= at {
                    assert!(at > 5, "{loader}: {at} operations");
                    break;
                }
                punctual_testing::deploy::boots_the_old_kernel(loader, root.path());
                let next = deployed(root.path(), &kernel, new.path());
                assert!(next.record.is_some(), "{loader} {how:?} at {at}: {:#?}", next.checks);
                on(root.path(), &kernel, rollback).unwrap();
                same(&before, root.path());
            }
        }
    }
}
