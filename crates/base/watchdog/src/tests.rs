use super::*;
use std::process::Stdio;
use std::sync::Mutex;

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

/// This is a single test, because an expired limit kills all processes that this process has started.
#[test]
fn what_does_not_end_is_named_and_ended() {
    let long = Duration::from_secs(600);
    drop(limit("nothing", Duration::ZERO));
    assert!(END.get().is_none() && state().all.is_empty(), "no limit without a program that ends");

    end_with(|why| SAID.lock().unwrap().push(why.to_owned()), |_| ());
    let all = output(&mut sh("echo out; echo err >&2; exit 3"), long).unwrap();
    assert_eq!((all.status.code(), &all.stdout[..], &all.stderr[..]), (Some(3), &b"out\n"[..], &b"err\n"[..]));

    let began = Instant::now();
    let short = Duration::from_millis(300);
    for (script, word) in [
        ("exec sleep 600", "sh takes longer than 300 ms"),
        // The shell's child holds the pipe open too.
        ("sleep 600 & exec sleep 600", "sh takes longer than 300 ms"),
        ("kill -STOP $$", "(sh) is stopped: `kill -CONT "),
    ] {
        let error = output(&mut sh(script), short).unwrap_err();
        assert!(error.kind() == io::ErrorKind::TimedOut && error.to_string().contains(word), "{error}");
    }

    the_thread_receives_no_signal();
    the_parts_of_a_command_share_a_limit();

    // A limit that starts later and ends earlier, one that is renewed, and one that ends in time.
    let (later, renewed) = (limit("the later one", long), limit("the renewed one", Duration::from_secs(3)));
    drop(limit("the quick one", short));
    let mut child = sh("exec sleep 600").spawn().unwrap();
    let over = limit("the peer's answer", short);
    while SAID.lock().unwrap().is_empty() {
        renewed.renew();
        thread::sleep(Duration::from_millis(10));
        assert!(began.elapsed() < Duration::from_secs(120));
    }
    assert_eq!(child.wait().unwrap().code(), None, "killed");
    let said = SAID.lock().unwrap().join("\n");
    assert!(
        said.starts_with("the peer's answer takes longer than 300 ms: ") && said.contains("(sleep) sleeps in "),
        "{said}"
    );
    drop((over, later, renewed));
    assert!(state().all.keys().all(|id| id & KILLED != 0), "what is dropped is not waited for");
}

/// A signal that this thread received would end the program, although the others wait for it.
fn the_thread_receives_no_signal() {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let is_watchdog = |task: &std::path::PathBuf| std::fs::read_to_string(task.join("comm")).unwrap() == "watchdog\n";
    let status = std::fs::read_to_string(tasks.into_iter().find(is_watchdog).unwrap().join("status")).unwrap();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
    let blocked = u64::from_str_radix(blocked.trim(), 16).unwrap();
    // SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM: bit n - 1 for signal n.
    for number in [1, 2, 3, 10, 12, 14, 15] {
        assert_ne!(blocked & (1 << (number - 1)), 0, "signal {number}: {status}");
    }
}

#[test]
fn times_read_as_they_were_given() {
    for (ms, text) in [(300, "300 ms"), (10_000, "10 s"), (1_500, "1.5 s"), (600_000, "10 min"), (70_000, "70 s")] {
        assert_eq!(seconds(Duration::from_millis(ms)), text);
    }
}

fn the_parts_of_a_command_share_a_limit() {
    let now = || {
        let waits = state();
        let wait =
            waits.all.values().find(|wait| wait.what.starts_with("the start") || wait.what.starts_with("the phase"));
        wait.map(|wait| (wait.what.clone(), wait.part.clone().unwrap_or_default(), wait.most, wait.end))
    };
    let is = |what: &str, part: &str, most: Duration| {
        let (its_what, its_part, its_most, end) = now().unwrap();
        assert_eq!((its_what.as_str(), its_part.as_str(), its_most), (what, part, most));
        end
    };
    let minute = Duration::from_secs(60);
    command();
    let begun = is("the start of the command", "", SHORT);
    command();
    assert_eq!(is("the start of the command", "", SHORT), begun, "not again");
    starting("the phase 1", minute);
    assert_eq!(is("the start of the command", "the phase 1", SHORT + minute), begun + minute, "no second start");
    measuring("the phase 1", minute);
    is("the phase 1", "", SHORT + minute);
    ending();
    let end = is("the phase 1, ended early,", "its end", SHORT);
    concluding("the explanation");
    assert_eq!(is("the phase 1, ended early,", "the explanation", SHORT), end, "no second end");
    starting("the phase 2", Duration::ZERO);
    is("the start of the phase 2", "", SHORT);
    measuring("the phase 2", Duration::ZERO);
    let end = is("the phase 2", "", SHORT);
    concluding("the verdict");
    assert_eq!(is("the phase 2", "the verdict", SHORT), end, "it was not early");
    unlimited();
    assert!(now().is_none());
}
