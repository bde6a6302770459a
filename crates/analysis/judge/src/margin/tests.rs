use super::*;
use proptest::prelude::*;
use punctual_model::AppWithout;

/// A thread pinned to CPU 0 with a period, a CPU time, and `late(NAME) = 0`.
fn member(at: usize, rank: u8, period: u64, work: u64) -> Member {
    let name = format!("t{at}");
    Member {
        limits: vec![(period, format!("late({name}) = 0"))],
        name,
        tid: at as i32 + 1,
        cpus: Some("0".parse().unwrap()),
        rank: Some(rank),
        demand: Ok((period, work)),
        jitter: 0,
        carried: period.saturating_sub(work),
        blocking: 0,
        taken: 0.0,
        delayed_by: Vec::new(),
        sleeps: false,
        chain: None,
        observed: 0,
        most: Vec::new(),
        why_not: None,
    }
}

#[test]
fn margins_are_those_of_the_vector() {
    // The response times are 3, 11 and 26.
    let members = [member(0, 30, 20, 3), member(1, 20, 30, 8), member(2, 10, 50, 12)];
    assert_eq!(margin(&members, 2).response_ns, Some(Nanos(26)));
    let most = margin(&members, 2).longer_ns.unwrap().0;
    let with = |extra| {
        let mut members = members.to_vec();
        members[2].demand = Ok((50, 12 + extra));
        response(&members, 2)
    };
    assert!(with(most).is_ok() && with(most + 1).is_err());
    assert_eq!(margin(&members, 2).breaks.as_deref(), Some("late(t2) = 0"));
    // The most urgent thread may be later only as long as the other threads are in time.
    assert!(margin(&members, 0).later_ns.unwrap().0 <= 17);
}

#[test]
fn what_cannot_be_analysed_is_said() {
    let mut members = [member(0, 30, 20, 3), member(1, 20, 30, 8)];
    members[0].demand = Err("t0 has no period".into());
    members[0].why_not = Some("t0 has no period".into());
    assert_eq!(margin(&members, 0).why_not.as_deref(), Some("t0 has no period"));
    assert_eq!(margin(&members, 1).why_not.as_deref(), Some("t0 has no period, and may run before t1"));
    // On another CPU the thread does not matter.
    members[0].cpus = Some("1".parse().unwrap());
    assert!(margin(&members, 1).why_not.is_none());
    members[0].cpus = None;
    assert!(margin(&members, 1).why_not.is_some(), "it may be anywhere");
}

#[test]
fn a_claim_that_breaks_already_has_no_margin_and_cpu_times_have_their_own() {
    let mut members = [member(0, 30, 20, 15), member(1, 20, 30, 8)];
    let found = margin(&members, 1);
    assert_eq!((found.longer_ns, found.breaks.as_deref()), (None, Some("late(t1) = 0")));
    members[1].demand = Ok((30, 1));
    members[0].most = vec![(16, "late(t0) = 0".into())];
    assert_eq!(margin(&members, 0).longer_ns, Some(Nanos(1)));
}

#[test]
fn threads_of_several_cpus_have_more_before_them() {
    let pinned = [member(0, 30, 20, 3), member(1, 20, 30, 8)];
    let mut free = pinned.clone();
    free.iter_mut().for_each(|member| member.cpus = Some("0-1".parse().unwrap()));
    assert!(margin(&free, 1).response_ns > margin(&pinned, 1).response_ns);
    assert!(margin(&free, 1).longer_ns < margin(&pinned, 1).longer_ns);
}

#[test]
fn a_bound_for_several_cpus_that_is_too_large_is_no_finding() {
    let mut members = [0, 1, 2, 3].map(|at| member(at, 40 - at as u8, 50, 8));
    members.iter_mut().for_each(|member| member.cpus = Some("0-1".parse().unwrap()));
    let why = margin(&members, 3).why_not.unwrap();
    assert_eq!(why, "late(t3) = 0 is not analysed: t3 may run on several CPUs, where the bounds are too large");
    members[3].observed = 51;
    assert_eq!(margin(&members, 3).why_not.as_deref(), Some("late(t3) = 0 was broken"));
}

#[test]
fn a_longer_cpu_time_never_makes_a_bound_for_several_cpus_smaller() {
    let mut members = [member(0, 30, 97, 10), member(1, 20, 500, 60)];
    members.iter_mut().for_each(|member| member.cpus = Some("0-1".parse().unwrap()));
    let bound = |extra: u64| {
        let mut members = members.clone();
        members[0].demand = Ok((97, 10 + extra));
        response(&members, 1).unwrap_or(u64::MAX)
    };
    assert!((0..97).all(|extra| bound(extra) <= bound(extra + 1)));
}

fn cycles(without: Vec<AppWithout>) -> AppCycles {
    AppCycles {
        load: "idle".into(),
        thread: "t1".into(),
        cycles: 100,
        skipped: 0,
        overruns: 0,
        response_ns: 1_000,
        behind_ns: 0,
        ran_ns: 900,
        blocked_ns: 0,
        delays: Vec::new(),
        worst: Vec::new(),
        longest_ns: vec![20],
        other_delays_ns: 3,
        without,
    }
}

fn by(tid: Option<i32>, ns: u64) -> AppWithout {
    let class = if tid.is_some() { Class::HigherPriority } else { Class::Irq };
    let name = tid.map_or("timer".into(), |tid| format!("thread-{tid}"));
    AppWithout {
        class,
        tid,
        name,
        cycles: 9,
        released: 0,
        ns,
        sure_ns: ns,
        longest_ns: Vec::new(),
        least_ns: Vec::new(),
    }
}

/// Returns the thread t1 with the rank 50 after its cycles were observed, beside t0 (tid 1, rank 40).
fn observed(own: &AppCycles) -> Member {
    let mut member = member(1, 50, 100, 10);
    member.observe(&[own], &[(1, Some(40)), (2, Some(50))]);
    member
}

#[test]
fn what_the_analysis_does_not_cover_is_no_margin() {
    let why = |own: &AppCycles| observed(own).why_not.unwrap_or_default();
    assert!(why(&cycles(vec![by(Some(77), 11)])).contains("thread-77, whose releases are unknown"));
    assert!(why(&cycles(vec![by(Some(1), 5)])).contains("in spite of its lower priority"));
    let sleeps = observed(&AppCycles { blocked_ns: 1, ..cycles(Vec::new()) });
    assert!(sleeps.why_not.as_ref().unwrap().contains("sleeps in its cycles"));
    // A less urgent thread may meet two of its jobs in short succession.
    let below = margin(&[Member { limits: Vec::new(), ..sleeps }, member(2, 10, 1_000, 10)], 1).why_not.unwrap();
    assert_eq!(below, "t1 sleeps in its cycles, and may run before t2");
    assert!(why(&AppCycles { longest_ns: Vec::new(), ..cycles(Vec::new()) }).contains("earlier version"));
    let negligible = observed(&cycles(vec![by(Some(77), 9), by(None, 100)]));
    assert_eq!((negligible.why_not.as_deref(), negligible.blocking), (None, 3));
    assert!((negligible.taken - 0.109).abs() < 1e-9);
}

#[test]
fn whoever_a_thread_may_wait_for_and_whoever_is_in_a_chain_has_no_margin() {
    let mut members = [member(0, 60, 100, 10), member(1, 50, 100, 10)];
    members[0].sleeps = true;
    members[0].why_not = Some("it sleeps".into());
    assert!(margin(&members, 1).why_not.unwrap().contains("t0, whose response a claim limits, is not analysed"));
    let mut members = [member(0, 60, 100, 10), member(1, 50, 100, 10)];
    members[1].chain = Some("chain(t0 > t1) < 20ms".into());
    for at in 0..2 {
        assert!(margin(&members, at).why_not.unwrap().starts_with("chain(t0 > t1) < 20ms limits t1 as well"));
    }
}

#[test]
fn interrupts_and_the_share_of_ordinary_threads_leave_less() {
    let longer = |members: &[Member]| margin(members, 0).longer_ns.unwrap().0;
    let mut members = [member(0, 60, 1_000, 10)];
    assert_eq!(longer(&members), 940);
    members[0].taken = 0.5;
    // The thread itself may then use at most 45 % of the CPU.
    assert_eq!(longer(&members), 440);
    members[0].limits = vec![(400, "response(t0) < 401ns".into())];
    assert_eq!(longer(&members), 190);
}

/// Simulates preemptive scheduling of tasks with fixed priorities, the most urgent one first, whose jobs are
/// released at these offsets. Returns true if every job ends within its period.
fn is_in_time(tasks: &[(u64, u64, u64)], until: u64) -> bool {
    let mut left = vec![0u64; tasks.len()];
    for t in 0..until {
        for ((period, work, offset), left) in tasks.iter().zip(&mut left) {
            if t >= *offset && (t - offset) % period == 0 {
                if *left > 0 {
                    return false;
                }
                *left = *work;
            }
        }
        if let Some(next) = left.iter().position(|left| *left > 0) {
            left[next] -= 1;
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn with_the_margin_all_are_in_time_and_beyond_it_not(
        all in proptest::collection::vec((5u64..40, 1u64..6, 0u64..40), 1..5), which in 0usize..4
    ) {
        let members: Vec<Member> =
            all.iter().enumerate().map(|(n, (period, work, _))| member(n, 90 - n as u8, *period, *work)).collect();
        let at = which % members.len();
        let found = margin(&members, at);
        let with = |extra: u64, is_synchronous: bool| -> Vec<(u64, u64, u64)> {
            all.iter().enumerate().map(|(n, (period, work, offset))| {
                (*period, work + if n == at { extra } else { 0 }, if is_synchronous { 0 } else { *offset })
            }).collect()
        };
        match found.longer_ns {
            Some(longer) => {
                // A more urgent thread may be too late whatever this one does.
                prop_assume!((0..members.len()).all(|at| response(&members, at).is_ok()));
                prop_assert!(is_in_time(&with(longer.0, false), 2_000));
                prop_assert!(is_in_time(&with(longer.0, true), 2_000));
                // One nanosecond more breaks a claim of a thread that this one delays.
                let longer = with(longer.0 + 1, true);
                let share: f64 = longer.iter().map(|(period, work, _)| *work as f64 / *period as f64).sum();
                prop_assert!(share > REAL_TIME_SHARE || !is_in_time(&longer, 2_000));
            }
            None => prop_assert!(found.why_not.is_some()),
        }
    }
}
