use super::*;
use crate::Profile;
use proptest::prelude::*;
use punctual_machine::{Read, Recorded};
use punctual_units::{CpuId, Priority, Scheduling};

const CPU: &str = "/sys/devices/system/cpu";

fn put(machine: &mut Recorded, path: &str, text: &str) {
    machine.set(path, Read::Known(text.as_bytes().to_vec()));
}

fn machine(cores: &[&str]) -> Recorded {
    let mut machine = Recorded::default();
    let cpus: CpuList =
        cores.iter().flat_map(|core| core.parse::<CpuList>().unwrap().iter().collect::<Vec<_>>()).collect();
    put(&mut machine, &format!("{CPU}/online"), &cpus.to_string());
    put(&mut machine, &format!("{CPU}/isolated"), "");
    put(&mut machine, "/proc/interrupts", "  CPU0 CPU1\nLOC: 1 2 Local timer interrupts\n");
    put(&mut machine, "/proc/sys/kernel/osrelease", "6.12.0");
    put(&mut machine, "/proc/config.gz", "");
    for core in cores {
        for cpu in core.parse::<CpuList>().unwrap().iter() {
            put(&mut machine, &format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"), core);
        }
    }
    machine
}

fn plan_for(machine: &Recorded, count: usize, near: Option<&str>) -> Result<CpuPlan, PlanError> {
    let priority = Priority::try_from(90).unwrap();
    let context =
        Context { scheduling: Scheduling::Fifo { priority }, cpus: CpuList::new(), profile: Profile::DedicatedCore };
    Rules::embedded().plan_cpus(machine, &context, &PlanWish { count, near: near.map(str::to_owned) })
}

#[test]
fn the_last_core_of_four_is_taken() {
    let plan = plan_for(&machine(&["0", "1", "2", "3"]), 1, None).unwrap();
    assert_eq!((plan.isolated.to_string(), plan.housekeeping.to_string()), ("3".into(), "0-2".into()));
    let texts: Vec<&str> = plan.parameters.iter().map(|parameter| parameter.text.as_str()).collect();
    assert_eq!(texts, ["isolcpus=managed_irq,domain,3", "nohz_full=3", "rcu_nocbs=3", "irqaffinity=0-2"]);
}

#[test]
fn whole_cores_are_taken() {
    let plan = plan_for(&machine(&["0,4", "1,5", "2,6", "3,7"]), 2, None).unwrap();
    assert_eq!((plan.isolated.to_string(), plan.siblings_off.to_string()), ("2-3".into(), "6-7".into()));
    assert_eq!(plan.housekeeping.to_string(), "0-1,4-5");
    assert!(plan.commands.contains(&"echo 0 > /sys/devices/system/cpu/cpu7/online".to_owned()));
}

#[test]
fn slow_cores_and_the_first_cores_cache_are_avoided() {
    let mut machine = machine(&["0", "1", "2", "3", "4", "5"]);
    for (cpu, capacity) in [(0, 1024), (1, 1024), (2, 1024), (3, 1024), (4, 380), (5, 380)] {
        put(&mut machine, &format!("{CPU}/cpu{cpu}/cpu_capacity"), &capacity.to_string());
        put(&mut machine, &format!("{CPU}/cpu{cpu}/cache/index2/level"), "2");
    }
    for (cpu, shared) in [(0, "0,3"), (1, "1-2"), (2, "1-2"), (3, "0,3")] {
        put(&mut machine, &format!("{CPU}/cpu{cpu}/cache/index2/shared_cpu_list"), shared);
    }
    let plan = plan_for(&machine, 1, None).unwrap();
    assert_eq!(plan.isolated.to_string(), "2");
    assert!(plan.why.iter().any(|why| why.contains("CPUs 4-5 are slower")), "{:?}", plan.why);
    assert!(plan.doubts.iter().any(|doubt| doubt.contains("shared with CPU 1")), "{:?}", plan.doubts);
}

#[test]
fn near_a_device_is_on_its_node() {
    let mut machine = machine(&["0", "1", "2", "3"]);
    put(&mut machine, "/sys/class/net/eth0/device/local_cpulist", "0-1");
    assert_eq!(plan_for(&machine, 1, Some("eth0")).unwrap().isolated.to_string(), "1");
    let both = plan_for(&machine, 2, Some("eth0")).unwrap();
    assert!(both.doubts.iter().any(|doubt| doubt.contains("near the device")));
    assert!(matches!(plan_for(&machine, 1, Some("eth9")), Err(PlanError::NoDevice { .. })));
    assert!(matches!(plan_for(&machine, 1, Some("../x")), Err(PlanError::NoDevice { .. })));
}

#[test]
fn interrupts_are_moved_or_named() {
    let mut machine = machine(&["0", "1"]);
    let table =
        "  CPU0 CPU1\n 24: 5 7 PCI-MSI 1-edge eth0\n 25: 0 9 PCI-MSI 2-edge nvme0q1\n 26: 4 0 PCI-MSI 3-edge xhci\n";
    put(&mut machine, "/proc/interrupts", table);
    for (irq, asked, effective) in [(24, "0-1", "1"), (25, "1", "1"), (26, "0-1", "0")] {
        put(&mut machine, &format!("/proc/irq/{irq}/smp_affinity_list"), asked);
        put(&mut machine, &format!("/proc/irq/{irq}/effective_affinity_list"), effective);
    }
    let plan = plan_for(&machine, 1, None).unwrap();
    let found: Vec<_> = plan.interrupts.iter().map(|irq| (irq.device.as_str(), irq.count, irq.movable)).collect();
    assert_eq!(found, [("eth0", 7, Movable::Yes), ("nvme0q1", 9, Movable::LikelyManaged)]);
    assert!(plan.commands.iter().any(|command| command.starts_with("echo 0 > /proc/irq/24/smp_affinity_list")));
    assert!(!plan.commands.iter().any(|command| command.contains("/irq/25/")));
}

#[test]
fn what_cannot_be_planned_is_said() {
    assert!(matches!(plan_for(&machine(&["0-1"]), 1, None), Err(PlanError::OneCore(_))));
    assert!(matches!(plan_for(&machine(&["0", "1"]), 2, None), Err(PlanError::TooMany { most: 1, .. })));
    assert!(matches!(plan_for(&Recorded::default(), 1, None), Err(PlanError::Unknown(_))));
    let mut closed = machine(&["0", "1"]);
    closed.set(&format!("{CPU}/cpu1/topology/thread_siblings_list"), Read::Denied);
    assert!(plan_for(&closed, 1, None).unwrap().doubts.iter().any(|doubt| doubt.contains("shares its core")));
}

proptest! {
    #[test]
    fn every_online_cpu_is_in_one_set(cores in 2_u32..20, threads in 1_u32..4, count in 1_usize..8) {
        let lists: Vec<String> = (0..cores)
            .map(|core| (0..threads).map(|n| CpuId(core + n * cores)).collect::<CpuList>().to_string())
            .collect();
        let texts: Vec<&str> = lists.iter().map(String::as_str).collect();
        match plan_for(&machine(&texts), count, None) {
            Ok(plan) => {
                let all: CpuList =
                    plan.isolated.iter().chain(plan.siblings_off.iter()).chain(plan.housekeeping.iter()).collect();
                prop_assert_eq!(all.len(), (cores * threads) as usize);
                prop_assert_eq!(plan.isolated.len(), count);
                prop_assert_eq!(plan.siblings_off.len(), count * (threads as usize - 1));
                prop_assert!(plan.housekeeping.contains(CpuId(0)));
            }
            Err(error) => prop_assert!(count > cores as usize - 1, "{}", error),
        }
    }
}

#[test]
fn a_release_decides_which_parameters_have_an_effect() {
    for (release, word, expected) in [
        ("6.12.48", "rcutree.enable_rcu_lazy=1", None),
        ("6.6.9", "rcutree.enable_rcu_lazy=1", Some((true, "since Linux 6.8"))),
        ("6.1.0-28-amd64", "workqueue.unbound_cpus=0", Some((true, "since Linux 6.6"))),
        ("5.14.0-503.el9.x86_64", "workqueue.unbound_cpus=0", Some((false, "unless it was backported"))),
        ("5.10.0", "iommu.strict=1", Some((true, "was added in Linux 5.14"))),
        ("5.4.61-rt37-v8+", "isolcpus=managed_irq,domain,3", Some((true, "was added in Linux 5.6"))),
        ("6.12.1", "sched_debug", Some((true, "until Linux 5.10"))),
        ("3.9.0", "nohz_full=1", Some((true, "since Linux 3.10"))),
    ] {
        let mut machine = machine(&["0", "1"]);
        put(&mut machine, "/proc/sys/kernel/osrelease", release);
        put(&mut machine, "/proc/config.gz", "CONFIG_RCU_LAZY=y\nCONFIG_IOMMU_DMA=y\nCONFIG_CPU_ISOLATION=y\n");
        let scheduling = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
        let context = Context { scheduling, cpus: CpuList::new(), profile: Profile::DedicatedCore };
        let found = Rules::embedded().misfit(&machine, &context, word);
        match expected {
            None => assert_eq!(found, None, "{word} on {release}"),
            Some((is_certain, why)) => {
                let is_so =
                    found.as_ref().is_some_and(|found| found.is_certain == is_certain && found.why.contains(why));
                assert!(is_so, "{word} on {release}: {found:?}");
            }
        }
    }
}
