//! Kernels that do not match their name; verify detects each of them.

use punctual_deploy::{Check, Request, Site, commit, deploy, verify, worst};
use punctual_kernel::Outcome;
use punctual_machine::Live;
use punctual_testing::deploy::{GRUB, boot_into, machine, write};
use std::path::Path;

const RELEASE: &str = "6.12.9-rt1";
const RT: &str = "#1 SMP PREEMPT_RT Debian 6.12.9";

/// Deploys a good package, boots it, lets `inject` change the machine, and verifies.
fn verified(version: &str, runs: &str, inject: impl FnOnce(&Path)) -> (Vec<Check>, bool) {
    measured(version, runs, Some(true), inject)
}

fn measured(version: &str, runs: &str, is_good: Option<bool>, inject: impl FnOnce(&Path)) -> (Vec<Check>, bool) {
    let (root, kernel, new) = machine(GRUB, RELEASE);
    let net =
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0\t3\t0\t0\t0\t00000000\n";
    write(root.path(), "proc/net/route", net);
    write(root.path(), "sys/class/net/eth0/operstate", "up\n");
    write(root.path(), "sys/class/net/eth0/device/uevent", "x\n");
    let view = Live::under(root.path());
    let site = Site { root: root.path().to_owned(), sys: &kernel, view: &view };
    let request = Request { manual_recovery: true, skip: vec!["processor".into()], ..Request::default() };
    let record = deploy(&site, new.path(), &request, Path::new("/bin/true")).unwrap().record.unwrap();
    boot_into(root.path(), &kernel, Some(&record.id), runs, version);
    inject(root.path());
    let checks = verify(&site, &|| Ok((is_good, "12 us".into()))).unwrap();
    let is_kept = commit(&site, false).is_ok();
    (checks, is_kept)
}

fn failed(checks: &[Check]) -> Vec<&'static str> {
    checks.iter().filter(|check| check.outcome == Outcome::Fail).map(|check| check.id).collect()
}

#[test]
fn a_kernel_that_is_what_it_says_is_kept() {
    let (checks, is_kept) = verified(RT, RELEASE, |_| {});
    assert_eq!((worst(&checks), is_kept), (Outcome::Pass, true), "{checks:#?}");
}

#[test]
fn latency_without_a_limit_is_said_not_to_be_judged() {
    let latency = |is_good| {
        let (checks, is_kept) = measured(RT, RELEASE, is_good, |_| {});
        let check = checks.into_iter().find(|check| check.id == "latency").unwrap();
        (check.outcome, check.found.contains("not judged"), is_kept)
    };
    assert_eq!(latency(None), (Outcome::Warn, true, true));
    assert_eq!(latency(Some(true)), (Outcome::Pass, false, true));
    assert_eq!(latency(Some(false)), (Outcome::Fail, false, false));
}

#[test]
fn a_kernel_that_is_only_called_rt_is_caught() {
    for version in ["#1 SMP PREEMPT_DYNAMIC Debian 6.12.9", "#1 SMP 6.12.9-PREEMPT_RT-like", "#1 SMP PREEMPT"] {
        let (checks, is_kept) = verified(version, RELEASE, |_| {});
        assert_eq!((failed(&checks).as_slice(), is_kept), (&["preempt-rt"][..], false), "{version}");
    }
    let (checks, _) = verified(RT, RELEASE, |root| {
        write(root, &format!("boot/punctual/{RELEASE}/config"), "# CONFIG_PREEMPT_RT is not set\n");
    });
    assert_eq!(failed(&checks), ["config"]);
}

#[test]
fn another_kernel_than_the_deployed_one_is_caught() {
    let (checks, is_kept) = verified(RT, "6.12.8-rt1", |_| {});
    assert_eq!((failed(&checks).as_slice(), is_kept), (&["release"][..], false));
}

#[test]
fn modules_of_another_kernel_are_caught() {
    let module = format!("lib/modules/{RELEASE}/kernel/net.ko");
    for magic in ["6.12.8-rt1 SMP preempt_rt mod_unload ", "6.12.9-rt1 SMP preempt mod_unload "] {
        let (checks, is_kept) = verified(RT, RELEASE, |root| write(root, &module, format!("x\0vermagic={magic}\0")));
        assert_eq!((failed(&checks).as_slice(), is_kept), (&["vermagic"][..], false), "{magic}");
    }
}

#[test]
fn a_missing_spi_device_is_caught() {
    let (checks, is_kept) = verified(RT, RELEASE, |root| {
        std::fs::remove_dir_all(root.join("sys/bus/spi")).unwrap();
    });
    assert_eq!((failed(&checks).as_slice(), is_kept), (&["devices"][..], false));
    let found = &checks.iter().find(|check| check.id == "devices").unwrap().found;
    assert!(found.contains("spi: spi0.0 spidev"), "{found}");
}

#[test]
fn a_network_that_is_gone_is_caught() {
    let (checks, _) = verified(RT, RELEASE, |root| std::fs::remove_dir_all(root.join("sys/class/net/eth0")).unwrap());
    assert_eq!(failed(&checks), ["devices", "network"]);
    let (checks, _) = verified(RT, RELEASE, |root| write(root, "proc/net/route", "Iface\n"));
    assert_eq!(failed(&checks), ["network"]);
    let (checks, _) = verified(RT, RELEASE, |root| write(root, "sys/class/net/eth0/operstate", "down\n"));
    assert_eq!(failed(&checks), ["network"]);
}

#[test]
fn unknown_is_not_a_pass() {
    let (checks, is_kept) = verified(RT, RELEASE, |root| {
        std::fs::remove_file(root.join(format!("boot/punctual/{RELEASE}/config"))).unwrap();
    });
    assert_eq!((worst(&checks), is_kept), (Outcome::Unknown, false));
}
