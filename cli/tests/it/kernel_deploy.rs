//! Tests `punctual kernel deploy` and `prove --target`: errors before anything is done, and runs over a real sshd.

use crate::common;

use common::punctual;
use punctual_testing::sshd::Sshd;

fn ran(words: &[&str]) -> (i32, String, String) {
    let output = punctual().args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_is_no_target_or_no_time_is_refused() {
    for target in ["pi", "ssh://", "ssh://-oProxyCommand=x", "ssh://a b"] {
        for command in [&["kernel", "status"][..], &["kernel", "deploy", "k.deb"], &["prove"]] {
            let (code, _, said) = ran(&[command, &["--target", target]].concat());
            assert!(code == 2 && said.contains("ssh://user@host"), "{target}: {code} {said}");
        }
    }
    let (code, _, said) = ran(&["kernel", "deploy", "k.deb", "--limit", "1s"]);
    assert!(code == 2 && said.contains("the minimum is 30s"), "{code} {said}");
    assert_eq!(ran(&["kernel", "deploy", "k.deb", "--local", "--target", "ssh://pi"]).0, 2);
    assert_eq!(ran(&["kernel", "deploy", "k.deb", "--binary", "x"]).0, 2);
}

#[test]
#[ignore = "live: timing"]
fn nothing_is_deployed_under_a_measurement_unless_asked_to() {
    let place = tempfile::tempdir().unwrap();
    let words = ["measure", "-q", "-D", "60s", "--no-sync", "--out"];
    let mut measuring = punctual().args(words).arg(place.path().join("run")).spawn().unwrap();
    let named = format!("PID {}", measuring.id());
    let begun = std::time::Instant::now();
    // Deployment is refused as soon as the measurement is in the register.
    let refused = loop {
        let (code, _, said) = ran(&["kernel", "deploy", "k.deb"]);
        if said.contains(&named) || begun.elapsed().as_secs() > 30 {
            break (code, said);
        }
    };
    assert!(refused.0 == 4 && refused.1.contains("nothing was changed"), "{refused:?}");
    let (_, _, said) = ran(&["kernel", "deploy", "k.deb", "--while-measuring"]);
    assert!(said.contains("its result becomes inconclusive") && said.contains("k.deb"), "{said}");
    measuring.kill().unwrap();
    measuring.wait().unwrap();
}

#[test]
#[ignore = "live: sshd, ssh"]
fn a_run_is_made_there_and_brought_back() {
    if common::is_not_tested("the host that ssh reaches has another processor") {
        return;
    }
    let sshd = match Sshd::start() {
        Ok(sshd) => sshd,
        Err(why) => return eprintln!("not tested: {why}: apt-get install openssh-server"),
    };
    let link = sshd.link();
    let (target, config) = (link.target.to_string(), link.config.unwrap().display().to_string());
    let out = sshd.folder().join("run").display().to_string();
    let on = ["--target", &target, "--ssh-config", &config, "--out", &out];
    let words = ["measure", "-D", "300ms", "--no-sync", "--claim", "max < 1h"];
    let (code, text, said) = ran(&[&words[..], &on].concat());
    assert_eq!(code, 0, "{text}{said}");
    assert!(text.contains(&out) && !text.contains("/jobs/"), "{text}");
    let (code, text, said) = ran(&["report", &out, "--format", "json"]);
    assert!(code == 0 && text.contains("\"complete\""), "{code} {text}{said}");
    // The directory exists now, which is an error. A failed claim has the same exit code as on the local machine.
    assert_eq!(ran(&[&words[..], &on].concat()).0, 2);
    let other = sshd.folder().join("other").display().to_string();
    let on = ["--target", &target, "--ssh-config", &config, "--out", &other];
    assert_eq!(ran(&[&["measure", "-D", "300ms", "--no-sync", "--claim", "max < 1ns"][..], &on].concat()).0, 1);
}
