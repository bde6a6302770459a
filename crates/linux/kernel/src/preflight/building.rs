//! Checks tools, compiler and disk space, and whether source, patch and architecture match.

use super::{Check, Given, Outcome, check};
use crate::host::{HEADERS, PROGRAMS, install};
use crate::{Arch, RtBy, series};

/// Size in bytes of a build with modules.
const NEEDED: u64 = 4 << 30;

pub fn checks(given: &Given) -> Vec<Check> {
    vec![programs(given), headers(given), compiler(given), disk(given), out(given), supported(given), sublevel(given)]
}

fn programs(given: &Given) -> Check {
    let why = "a build stops after minutes with \"not found\"";
    let missing: Vec<&(&str, &str)> = PROGRAMS.iter().filter(|(name, _)| !given.host.programs.contains(name)).collect();
    if missing.is_empty() {
        return check("programs", why, Outcome::Pass, "all are installed", "");
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let fix = install(given.host.distribution.as_deref(), &packages);
    check("programs", why, Outcome::Fail, format!("missing: {}", names.join(", ")), &fix)
}

fn headers(given: &Given) -> Check {
    let why = "scripts/extract-cert.c: fatal error: openssl/bio.h; objtool needs gelf.h";
    let Some(there) = &given.host.headers else {
        return check("headers", why, Outcome::Unknown, "unknown without gcc", "install gcc and check again");
    };
    let missing: Vec<&(&str, &str)> = HEADERS.iter().filter(|(name, _)| !there.contains(name)).collect();
    if missing.is_empty() {
        return check("headers", why, Outcome::Pass, "the headers of OpenSSL and libelf are installed", "");
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let fix = install(given.host.distribution.as_deref(), &packages);
    check("headers", why, Outcome::Fail, format!("missing: {}", names.join(", ")), &fix)
}

fn compiler(given: &Given) -> Check {
    let why = "a compiler for another machine gives \"Exec format error\" or a kernel that does not boot";
    let arch = given.board.arch;
    let package = format!("gcc-{}", given.board.cross.trim_end_matches('-'));
    let fix = install(given.host.distribution.as_deref(), &[&package]);
    match &given.host.compiler {
        None => check("compiler", why, Outcome::Unknown, "not checked", &fix),
        Some(Err(error)) => check("compiler", why, Outcome::Fail, error.clone(), &fix),
        Some(Ok(machine)) if Arch::of_compiler(machine) == Some(arch) => {
            check("compiler", why, Outcome::Pass, format!("it compiles for {machine}"), "")
        }
        Some(Ok(machine)) => {
            let found = format!("it compiles for {machine}, but the board is {}", arch.name());
            check("compiler", why, Outcome::Fail, found, &fix)
        }
    }
}

fn disk(given: &Given) -> Check {
    let why = "a full disk stops the build after an hour";
    match given.host.free_bytes {
        None => check("disk", why, Outcome::Unknown, "the free space could not be determined", "df -h ."),
        Some(free) => {
            let outcome = if free >= NEEDED { Outcome::Pass } else { Outcome::Fail };
            check(
                "disk",
                why,
                outcome,
                format!("{:.1} GB free, 4.3 GB needed", free as f64 / 1e9),
                "give a folder elsewhere with --out",
            )
        }
    }
}

fn out(given: &Given) -> Check {
    let why = "make -C changes the folder first: a relative O= resolves to the wrong directory";
    match given.out {
        None => check(
            "out-absolute",
            why,
            Outcome::Unknown,
            "no build folder is given",
            "give it with --out \"$PWD/build\"",
        ),
        Some(out) if out.is_absolute() => check("out-absolute", why, Outcome::Pass, out.display().to_string(), ""),
        Some(out) => {
            let fix = format!("O=\"$PWD/{}\"", out.display());
            check("out-absolute", why, Outcome::Warn, format!("{} is relative", out.display()), &fix)
        }
    }
}

fn supported(given: &Given) -> Check {
    let why = "PREEMPT_RT cannot be selected if the series or the architecture lacks it";
    let Some(wanted) = given.series.or(given.tree.map(|tree| tree.series)) else {
        return check(
            "series-arch",
            why,
            Outcome::Unknown,
            "no series is given",
            "give it with --series X.Y, or --tree DIR",
        );
    };
    let Some(entry) = series().iter().find(|entry| entry.name == wanted) else {
        let found = format!("series {wanted} is unknown");
        return check(
            "series-arch",
            why,
            Outcome::Unknown,
            found,
            "look for ARCH_SUPPORTS_RT in arch/*/Kconfig of the source",
        );
    };
    let arch = given.board.arch;
    if !entry.archs.contains(&arch) {
        let fix = format!("punctual kernel plan --board {}", given.board.key);
        return check(
            "series-arch",
            why,
            Outcome::Fail,
            format!("{wanted} has no PREEMPT_RT on {}", arch.name()),
            &fix,
        );
    }
    let by = if entry.rt == RtBy::Mainline { "in mainline" } else { "by the published patch" };
    check("series-arch", why, Outcome::Pass, format!("{wanted} has PREEMPT_RT on {}, {by}", arch.name()), "")
}

fn sublevel(given: &Given) -> Check {
    let why = "a patch for another sublevel causes rejects or, worse, applies but does not compile";
    let needs = given.series.or(given.tree.map(|t| t.series)).and_then(|s| series().iter().find(|e| e.name == s));
    match (given.patch, given.tree) {
        (Some(patch), Some(tree)) if patch.release == tree => {
            check("patch-sublevel", why, Outcome::Pass, format!("{patch} on {tree}"), "")
        }
        (Some(patch), Some(tree)) => {
            let fix = format!("punctual kernel patch --release {tree} --index FILE --older FILE");
            check("patch-sublevel", why, Outcome::Fail, format!("{patch} on {tree}"), &fix)
        }
        (None, _) if needs.is_some_and(|entry| entry.rt == RtBy::Mainline) => {
            check("patch-sublevel", why, Outcome::Skip, "no patch is needed", "")
        }
        _ => {
            let fix = "give source and patch with --tree DIR --patch A.B.C-rtN";
            check("patch-sublevel", why, Outcome::Unknown, "source or patch is not given", fix)
        }
    }
}
