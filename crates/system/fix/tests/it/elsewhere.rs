//! Unusual machines: cgroup v1, no systemd, missing programs. Impossible steps must be reported with the reason.

use punctual_audit::Profile;
use punctual_fix::{BootWish, Doing, FixOptions, How, Parameters, Plan, Request, undo};
use punctual_machine::Live;
use punctual_testing::fix::loaders::booted_by;
use punctual_testing::fix::{JOURNAL, Kernel, context, fix, materialise, plan, rules, tree};
use punctual_testing::machines;
use std::path::Path;

struct World {
    root: tempfile::TempDir,
    kernel: Kernel,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let machine = machines().into_iter().find(|machine| machine.ends_with("laptop-smt-6.8")).unwrap();
        let root = materialise(&machine);
        let kernel = Kernel::under(root.path());
        let world = World { root, kernel };
        for path in ["/sys/fs/cgroup", "/run/systemd"] {
            let _ = std::fs::remove_dir_all(world.at(path));
        }
        files.iter().for_each(|(path, text)| world.put(path, text));
        world
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn put(&self, path: &str, text: &str) {
        punctual_testing::fix::make_folders(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), text).unwrap();
    }

    fn plan(&self, id: &str, persist: bool) -> Plan {
        plan(rules(), self.root.path(), &self.kernel, &[id.to_owned()], persist, Profile::DedicatedCore)
    }
}

fn advice(plan: &Plan) -> String {
    plan.rules.iter().flat_map(|rule| &rule.manual).map(|what| format!("{what}\n")).collect()
}

fn steps(plan: &Plan) -> Vec<String> {
    plan.rules.iter().flat_map(|rule| &rule.steps).map(Doing::line).collect()
}

/// Adds a thread with a priority above all others, as the audit finds it.
fn rogue(world: &World, cgroup: &str) {
    let stat = "700 (multipathd) S 1 700 700 0 -1 0 0 0 0 0 1 1 0 0 -100 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 2 0 0 0";
    for folder in ["/proc/700", "/proc/700/task/700"] {
        world.put(&format!("{folder}/stat"), stat);
        world.put(&format!("{folder}/comm"), "multipathd\n");
        world.put(&format!("{folder}/status"), "Name:\tmultipathd\nCpus_allowed_list:\t0-3\n");
        world.put(&format!("{folder}/cmdline"), "/sbin/multipathd\0");
    }
    world.put("/proc/700/cgroup", cgroup);
}

#[test]
fn cgroup_v1_is_named() {
    for (files, said) in [
        (vec![("/sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n")], "cgroup v1 here (/sys/fs/cgroup/cpuset)"),
        (
            vec![("/proc/self/cgroup", "4:cpuset:/\n1:name=systemd:/\n")],
            "cgroup v1 here (/proc/self/cgroup: 4:cpuset:/)",
        ),
        // systemd's hybrid layout: version 2 without the controller, in addition to version 1.
        (
            vec![("/sys/fs/cgroup/cgroup.controllers", "\n"), ("/proc/self/cgroup", "7:cpu,cpuset:/\n0::/\n")],
            "cgroup v1 here (/proc/self/cgroup: 7:cpu,cpuset:/)",
        ),
        (vec![("/sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")], "cgroup v2 lacks the cpuset controller"),
        (vec![("/proc/self/cgroup", "0::/\n")], "cgroup v2 is not mounted"),
        (
            vec![
                ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n"),
                ("/proc/sys/kernel/osrelease", "6.1.0-28-amd64\n"),
            ],
            "unpins every other process: each gets all CPUs of its cgroup",
        ),
    ] {
        let world = World::new(&files);
        let before = tree(world.root.path());
        let plan = world.plan("iso-present", false);
        assert_eq!(steps(&plan), Vec::<String>::new());
        assert!(advice(&plan).contains(said), "{said}: {}", advice(&plan));
        fix(rules(), world.root.path(), &world.kernel, &plan, &FixOptions::default()).unwrap();
        assert_eq!(tree(world.root.path()), before);
    }
}

#[test]
fn cgroup_v2_gets_a_partition() {
    let world = World::new(&[("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n")]);
    let plan = world.plan("iso-present", false);
    assert!(steps(&plan).iter().any(|step| step == "mkdir /sys/fs/cgroup/punctual-rt"), "{}", advice(&plan));
}

#[test]
fn not_all_cpus_are_isolated_where_all_are_not_known() {
    let world = World::new(&[("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n")]);
    let with_cpus = context(world.root.path(), Profile::DedicatedCore);
    for file in ["online", "isolated"] {
        std::fs::remove_file(world.at(&format!("/sys/devices/system/cpu/{file}"))).unwrap();
    }
    let machine = Live::under(world.root.path());
    let findings = rules().audit(&machine, &with_cpus);
    let ids = ["iso-present".to_owned()];
    let boot = |_: &BootWish| Ok(Vec::new());
    let request = Request {
        rules: rules(),
        machine: &machine,
        sys: &world.kernel,
        context: &with_cpus,
        pid: None,
        ids: &ids,
        persist: true,
        i_know: &[],
        boot: Some(&boot),
    };
    let mut findings: Vec<_> = findings.into_iter().filter(|finding| finding.id == "iso-present").collect();
    for finding in &mut findings {
        finding.state = punctual_model::State::Fail;
        finding.fix = Some("isolate".to_owned());
    }
    let plan = request.plan(&findings).unwrap();
    assert_eq!(steps(&plan), Vec::<String>::new());
    assert_eq!(plan.rules.len(), 1, "no kernel parameter either: {plan:#?}");
    assert!(advice(&plan).contains("cannot be read, so these may be all CPUs"), "{}", advice(&plan));
}

#[test]
fn without_systemd_a_rogue_thread_is_lowered_now_and_advised_for_good() {
    for (name, cgroup) in
        [("init", "1:cpu:/openrc.multipathd\n"), ("runit", "0::/\n"), ("bash", "0::/x/multipathd.service\n")]
    {
        let world = World::new(&[("/proc/1/comm", &format!("{name}\n"))]);
        rogue(&world, cgroup);
        let plan = world.plan("rogue-rt-task", true);
        assert_eq!(steps(&plan).len(), 1, "{plan:#?}");
        assert!(steps(&plan)[0].starts_with("thread 700"), "{plan:#?}");
        let said = format!("process 1 is `{name}`: lower its priority where it is started");
        assert!(advice(&plan).contains(&said), "{}", advice(&plan));
    }
}

#[test]
fn with_systemd_it_gets_a_drop_in() {
    let world = World::new(&[("/proc/1/comm", "systemd\n")]);
    rogue(&world, "0::/system.slice/multipathd.service\n");
    let plan = world.plan("rogue-rt-task", true);
    assert!(steps(&plan).iter().any(|step| step == "systemctl daemon-reload"), "{plan:#?}");
    world.kernel.missing.borrow_mut().insert("systemctl".to_owned());
    let plan = world.plan("rogue-rt-task", true);
    assert_eq!(steps(&plan).len(), 1, "{plan:#?}");
    assert!(advice(&plan).contains("the program `systemctl` is not installed"), "{}", advice(&plan));
}

#[test]
fn without_systemd_nothing_is_written_that_nobody_reads() {
    let world = World::new(&[
        ("/proc/1/comm", "runit\n"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
    ]);
    for program in ["systemd-tmpfiles", "tmpfiles", "systemctl"] {
        world.kernel.missing.borrow_mut().insert(program.to_owned());
    }
    let ids: Vec<String> = rules().iter().map(|rule| rule.id.clone()).collect();
    let plan = plan(rules(), world.root.path(), &world.kernel, &ids, true, Profile::DedicatedCore);
    let of_systemd =
        |line: &&String| ["tmpfiles.d", "/etc/systemd/", "systemctl"].iter().any(|part| line.contains(part));
    assert_eq!(steps(&plan).iter().filter(of_systemd).count(), 0, "{:?}", steps(&plan));
    assert!(advice(&plan).contains("nothing here reads tmpfiles.d"), "{}", advice(&plan));
    assert!(steps(&plan).iter().any(|step| step.contains("/etc/sysctl.d/")), "read by every init's sysctl");
}

#[test]
fn a_boot_loader_without_its_generator_is_left_alone() {
    let programs = ["update-grub", "grub-mkconfig", "u-boot-update", "grub2-editenv", "rpm-ostree", "snap"];
    for root in
        ["debian-12-grub", "debian-12-u-boot-menu", "rhel-9-kernelopts", "fedora-coreos-ostree", "ubuntu-core-24"]
    {
        let folder = booted_by(root);
        let kernel = Kernel::under(folder.path());
        kernel.missing.borrow_mut().extend(programs.map(str::to_owned));
        let before = tree(folder.path());
        let machine = Live::under(folder.path());
        let request = BootWish { add: vec!["isolcpus=2-3".to_owned()], remove: Vec::new() };
        let mut plan = Plan::default();
        Parameters::new(&machine, How::ForGood).keep(&kernel, &mut plan, &request);
        assert_eq!(steps(&plan), Vec::<String>::new(), "{root}");
        assert!(advice(&plan).contains("is not installed"), "{root}: {}", advice(&plan));
        fix(rules(), folder.path(), &kernel, &plan, &FixOptions::default()).unwrap();
        assert_eq!(tree(folder.path()), before, "{root}");
    }
}

/// Every rule is applied while none of the programs that it runs exists: errors must be clear, and undo must restore
/// everything.
#[test]
fn every_rule_without_any_program() {
    for machine in machines() {
        let root = materialise(&machine);
        let kernel = Kernel::under(root.path());
        let programs = ["systemctl", "modprobe", "swapoff", "swapon", "systemd-tmpfiles", "tmpfiles"];
        kernel.missing.borrow_mut().extend(programs.map(str::to_owned));
        let before = tree(root.path());
        let ids: Vec<String> = rules().iter().map(|rule| rule.id.clone()).collect();
        let plan = plan(rules(), root.path(), &kernel, &ids, true, Profile::DedicatedCore);
        let runs = plan.rules.iter().flat_map(|rule| &rule.steps).filter(|step| matches!(step, Doing::Run { .. }));
        assert_eq!(runs.count(), 0, "{}", machine.display());
        let options = FixOptions { i_know: true, ..FixOptions::default() };
        fix(rules(), root.path(), &kernel, &plan, &options).unwrap();
        assert!(undo(&kernel, Path::new(JOURNAL), &[]).unwrap().is_complete());
        assert_eq!(tree(root.path()), before, "{}", machine.display());
    }
}

/// A program may disappear between plan and fix, or be needed only by the inverse.
#[test]
fn a_program_that_is_gone_is_refused_before_anything_is_begun() {
    let swaps = "Filename Type Size Used Priority\n/dev/sda2 partition 4096 0 -2\n";
    let world = World::new(&[("/proc/swaps", swaps), ("/proc/sys/vm/swappiness", "60\n")]);
    let plan = world.plan("mem-swap", false);
    let step = plan.rules.iter().flat_map(|rule| &rule.steps).find(|step| matches!(step, Doing::Run { .. }));
    let step = step.unwrap_or_else(|| panic!("{}", advice(&plan)));
    assert!(punctual_fix::look(&world.kernel, step).is_ok());
    world.kernel.missing.borrow_mut().insert("swapon".to_owned());
    let why = punctual_fix::look(&world.kernel, step).unwrap_err();
    assert_eq!(why, "swapoff /dev/sda2: the program `swapon` is not installed");
    let plan = world.plan("mem-swap", false);
    assert_eq!(steps(&plan), ["echo 10 > /proc/sys/vm/swappiness"]);
    assert!(advice(&plan).contains("the program `swapon` is not installed"), "{}", advice(&plan));
}

#[test]
fn programs_are_looked_for_where_they_run() {
    use punctual_fix::{Real, System};
    assert!(!Real::new().lacks("sh"));
    assert!(Real::new().lacks("punctual-no-such-program"));
    assert!(!Real::under("/nowhere").lacks("punctual-no-such-program"), "that is not known");
}
