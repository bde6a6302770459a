//! Parameters that are built into the kernel: no boot file can change them.

use punctual_audit::Profile;
use punctual_fix::{BootWish, Request};
use punctual_machine::Live;
use punctual_testing::fix::{Kernel, context, rules};
use std::cell::RefCell;

/// Returns the steps left to the user, and the parameters to change, for a rule on a kernel with this configuration.
fn planned(rule: &str, config: &str, cmdline: &str) -> (Vec<String>, BootWish) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/cmdline", cmdline),
        ("proc/sys/kernel/osrelease", "6.12.9\n"),
        ("proc/sys/kernel/arch", "x86_64\n"),
        ("boot/config-6.12.9", config),
    ] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let (machine, kernel) = (Live::under(root.path()), Kernel::under(root.path()));
    let context = context(root.path(), Profile::ControlLoop);
    let findings = rules().audit(&machine, &context);
    let wish = RefCell::new(BootWish::default());
    let chain = |request: &BootWish| {
        *wish.borrow_mut() = request.clone();
        Ok(Vec::new())
    };
    let ids = [rule.to_owned()];
    let request = Request {
        rules: rules(),
        machine: &machine,
        sys: &kernel,
        context: &context,
        pid: None,
        ids: &ids,
        persist: true,
        i_know: &[],
        boot: Some(&chain),
    };
    let plan = request.plan(&findings).unwrap();
    let manual = plan.rules.into_iter().flat_map(|rule| rule.manual).collect();
    (manual, wish.into_inner())
}

#[test]
fn what_is_built_in_is_not_removed() {
    let x86 = "CONFIG_X86_64=y\nCONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE=\"quiet idle=poll\"\n";
    let (manual, wish) = planned("cpu-idle-poll", x86, "quiet idle=poll ro\n");
    assert!(wish.is_empty(), "{wish:?}");
    let said = manual.iter().find(|line| line.contains("CONFIG_CMDLINE")).unwrap();
    assert!(said.contains("`idle=poll`") && said.contains("build the kernel"), "{said}");

    let other = x86.replace("quiet idle=poll", "quiet");
    let (_, wish) = planned("cpu-idle-poll", &other, "quiet idle=poll ro\n");
    assert_eq!(wish.remove, ["idle"]);
}

#[test]
fn what_only_the_kernel_sets_is_not_replaced() {
    let arm = "CONFIG_ARM64=y\nCONFIG_CMDLINE_FROM_BOOTLOADER=y\nCONFIG_CMDLINE=\"root=/dev/sda1 nohlt\"\n";
    let (manual, wish) = planned("cpu-idle-poll", arm, "root=/dev/sda1 nohlt\n");
    assert!(wish.is_empty() && manual.iter().all(|line| !line.is_empty()), "{wish:?} {manual:?}");
}
