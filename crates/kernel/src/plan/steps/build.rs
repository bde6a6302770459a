//! From a source to an installed kernel.

use super::{line, small};
use crate::plan::{Estimate, Situation, Source, Step, Wish};
use crate::{Arch, Patched, Series};

const MEASURED: &str = "on 2 CPUs of a PC, Debian's linux-source-6.12";

pub fn preflight(at: &Situation) -> Step {
    let command = format!("punctual kernel preflight --board {} --config build/.config", at.board.key);
    let mut step = small(
        "preflight",
        vec![
            format!("punctual kernel preflight --board {}", at.board.key),
            format!("{command}   # again, when it is configured"),
        ],
        "what is missing is known before an hour is spent",
        "",
    );
    step.time = Some(Estimate { minutes_min: 0, minutes_max: 1, basis: "it looks and changes nothing" });
    step
}

pub fn fetch(at: &Situation, source: &Source) -> Vec<Step> {
    match source {
        Source::Running | Source::Package { .. } => Vec::new(),
        Source::DistributionSource { package, .. } => vec![package_source(package)],
        Source::PiTree { branch, .. } => vec![pi_tree(branch)],
        Source::PiTreePatched { branch, patched, series } => {
            vec![pi_history(branch, *patched), patch_file(*series, *patched), apply(at)]
        }
        Source::Mainline { series } => vec![tarball(*series, None)],
        Source::StableRt { patched, series } => {
            vec![tarball(*series, *patched), patch_file(*series, *patched), apply(at)]
        }
    }
}

fn package_source(package: &str) -> Step {
    Step {
        title: format!("fetch {package}"),
        commands: vec![
            format!("sudo apt-get install {package}"),
            line("mkdir linux && tar -xf /usr/src/linux-source-*.tar.xz -C linux --strip-components=1"),
        ],
        why: "apt checks the signature chain and the checksum".to_owned(),
        time: Some(Estimate {
            minutes_min: 1,
            minutes_max: 5,
            basis: "unpacking took 14 s; the download of 150 MB depends on the line",
        }),
        disk_mb: Some(1850),
        risk: String::new(),
    }
}

fn pi_tree(branch: &str) -> Step {
    Step {
        title: format!("fetch the tree, branch {branch}"),
        commands: vec![format!("git clone --depth=1 --branch {branch} https://github.com/raspberrypi/linux")],
        why:
            "PREEMPT_RT is in the tree already, so one commit is enough; its commits are not signed: trust rests on TLS"
                .to_owned(),
        time: None,
        disk_mb: None,
        risk: String::new(),
    }
}

fn pi_history(branch: &str, patched: Option<Patched>) -> Step {
    let wanted = patched.map_or("RELEASE".to_owned(), |p| p.release.to_string());
    Step {
        title: format!("fetch the tree, branch {branch}, at the merge of {wanted}"),
        commands: vec![
            format!("git clone --filter=blob:none --no-checkout --branch {branch} https://github.com/raspberrypi/linux"),
            format!("git -C linux log --oneline --merges --grep 'v{wanted}'"),
            line("git -C linux checkout COMMIT && head -4 linux/Makefile"),
        ],
        why: "a patch fits one sublevel exactly, and only some sublevels were merged: read VERSION, PATCHLEVEL and SUBLEVEL; \
              a clone of depth 1 has no older commit"
            .to_owned(),
        time: None,
        disk_mb: None,
        risk: "where the sublevel was never merged, take the patch of another one from older/: never force a patch".to_owned(),
    }
}

fn tarball(series: Series, patched: Option<Patched>) -> Step {
    let release = patched.map_or(format!("{series}.N"), |p| p.release.as_released());
    let base = format!("https://cdn.kernel.org/pub/linux/kernel/v{}.x", series.major);
    Step {
        title: format!("fetch linux-{release}"),
        commands: vec![
            format!("curl -fL -C - -O {base}/linux-{release}.tar.xz"),
            format!("curl -fL -O {base}/linux-{release}.tar.sign"),
            format!("xz -dc linux-{release}.tar.xz | gpgv --keyring KEYRING linux-{release}.tar.sign -"),
            format!("mkdir linux && tar -xf linux-{release}.tar.xz -C linux --strip-components=1"),
        ],
        why: "the signature is of the uncompressed tarball; keys: https://www.kernel.org/signature.html".to_owned(),
        time: Some(Estimate {
            minutes_min: 1,
            minutes_max: 10,
            basis: "unpacking took 14 s; the download of 150 MB depends on the line",
        }),
        disk_mb: Some(1850),
        risk: if patched.is_some() {
            String::new()
        } else {
            "N: the newest of the series on https://www.kernel.org".to_owned()
        },
    }
}

fn patch_file(series: Series, patched: Option<Patched>) -> Step {
    let base = format!("https://cdn.kernel.org/pub/linux/kernel/projects/rt/{series}");
    let name = patched.map_or("patch-A.B.C-rtN.patch".to_owned(), |p| format!("patch-{p}.patch"));
    Step {
        title: format!("fetch {name}"),
        commands: vec![
            format!("curl -fL -O {base}/{name}.xz || curl -fL -O {base}/older/{name}.xz"),
            format!("curl -fL -O {base}/{name}.sign || curl -fL -O {base}/older/{name}.sign"),
            format!("punctual kernel patch --tree linux --file {name}.xz --sign {name}.sign --keyring KEYRING"),
        ],
        why: "the release of the patch has to be the tree's; what was replaced by a newer one lies in older/"
            .to_owned(),
        time: Some(Estimate { minutes_min: 0, minutes_max: 1, basis: "a patch has less than 1 MB" }),
        disk_mb: Some(10),
        risk: String::new(),
    }
}

fn apply(_: &Situation) -> Step {
    small(
        "patch",
        vec![line("xz -dc patch-*-rt*.patch.xz | patch -p1 --fuzz=0 --forward --batch -d linux")],
        "the check before was a dry run with fuzz 0: what it refused is not applied",
        "a reject leaves *.rej files and a tree that is neither: unpack it anew",
    )
}

/// Is it built on a machine of the kernel's own architecture?
fn is_native(at: &Situation) -> bool {
    at.machine.as_ref().is_some_and(|machine| at.board.machines.contains(machine))
}

fn make(at: &Situation) -> String {
    let cross = if is_native(at) { String::new() } else { format!(" CROSS_COMPILE={}", at.board.cross) };
    format!("make -C linux O=\"$PWD/build\" ARCH={}{cross}", at.board.arch.name())
}

pub fn configure(at: &Situation, wish: &Wish, source: &Source) -> Step {
    let is_pi = matches!(source, Source::PiTree { .. } | Source::PiTreePatched { .. });
    let pi = at.board.pi.as_ref().filter(|_| is_pi).map(|pi| &pi.defconfig);
    let defconfig = pi.or(at.board.mainline.as_ref().map(|m| &m.defconfig)).map_or("defconfig", String::as_str);
    let cross = if is_native(at) { String::new() } else { format!(" --cross {}", at.board.cross) };
    let more: String = wish.fragments.iter().map(|name| format!(" --fragment {name}")).collect();
    let command = format!(
        "punctual kernel configure --tree linux --out build --arch {}{cross} --defconfig {defconfig} --fragment rt.config{more}",
        at.board.arch.name()
    );
    let mut step = small(
        "configure",
        vec![line("# put the lines below into rt.config"), command],
        "kconfig drops options whose dependencies are not met, PREEMPT_RT among them, with exit code 0: each is looked for in \
         the result",
        "",
    );
    step.disk_mb = Some(10);
    step
}

pub fn compile(at: &Situation) -> Step {
    let dtbs = if at.board.arch == Arch::X86 { "" } else { " dtbs" };
    let time = match at.board.arch {
        Arch::Arm64 if !is_native(at) => Some(Estimate { minutes_min: 12, minutes_max: 50, basis: MEASURED }),
        _ => None,
    };
    let heat = if is_native(at) && at.board.pi.is_some() {
        "hours on the board itself, and it throttles when hot: watch vcgencmd measure_temp, or build on a PC"
    } else {
        "a full disk stops it: it goes on where it was"
    };
    Step {
        title: "build".to_owned(),
        commands: vec![format!("nice {} -j\"$(nproc)\" {} modules{dtbs}", make(at), at.board.target)],
        why: "image, modules and device trees of one build belong together".to_owned(),
        time,
        disk_mb: Some(4000),
        risk: heat.to_owned(),
    }
}

pub fn install(at: &Situation) -> Step {
    if at.board.pi.is_some() {
        let modules = format!("{} INSTALL_MOD_PATH=\"$PWD/stage\" modules_install", make(at));
        return small(
            "put the files together",
            vec![modules, format!("{} INSTALL_DTBS_PATH=\"$PWD/stage/dtbs\" dtbs_install", make(at))],
            "nothing goes over the running kernel: the stage is copied beside it",
            "",
        );
    }
    let mut step = small(
        "package and install",
        vec![
            format!("{} -j\"$(nproc)\" bindeb-pkg", make(at)),
            line("sudo apt-get install ./linux-image-*-punctual-rt_*.deb"),
        ],
        "as a package it can be removed again; the name -punctual-rt keeps it beside the running kernel",
        "the boot loader may take it as its default at once: the old kernel stays in its menu",
    );
    step.time = None;
    step.disk_mb = None;
    step
}
