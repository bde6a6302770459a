//! Memory budget of a load: a small part of the available memory, considering cgroup limits, so that boards with 512 MB
//! and containers with 64 MB do not run out of memory.

use crate::mounts::{self, Mount};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the memory available to this process within the limits of the machine and its cgroups, bytes.
pub(crate) fn available() -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let cgroup = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let read = |path: &Path| fs::read_to_string(path).ok();
    let in_cgroup = memory_folders(&mounts::own(), &cgroup).into_iter().filter_map(|f| headroom(&f, &read)).min();
    // If nothing can be read, assumes that little memory is available.
    let on_machine = field(&meminfo, "MemAvailable:").map_or(64 << 20, |kb| kb * 1024);
    in_cgroup.map_or(on_machine, |limit| limit.min(on_machine))
}

/// Returns the first number after `key`.
fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the directories (v1 and v2) of the cgroups whose memory limits apply to this process: its own cgroup and its
/// ancestors up to the mount point.
fn memory_folders(mounts: &[Mount], cgroup: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let wanted = |m: &&Mount| match controllers {
            "" => m.kind == "cgroup2",
            list if list.split(',').any(|c| c == "memory") => {
                m.kind == "cgroup" && m.options.split(',').any(|o| o == "memory")
            }
            _ => false,
        };
        if let Some(mount) = mounts.iter().find(wanted) {
            // In a container without a cgroup namespace the path starts with the mount's root.
            let below = path.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or(path);
            let top = PathBuf::from(&mount.point);
            let own = top.join(below.trim_start_matches('/'));
            folders.extend(own.ancestors().take_while(|f| f.starts_with(&top)).map(Path::to_path_buf));
        }
    }
    folders
}

/// Returns a cgroup's memory limit minus its usage without reclaimable file cache, bytes; `None` without a limit.
fn headroom(folder: &Path, read: &impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let number = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
    let limits = ["memory.max", "memory.high", "memory.limit_in_bytes"];
    let limit = limits.into_iter().filter_map(number).min()?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let stat = read(&folder.join("memory.stat")).unwrap_or_default();
    let cache = field(&stat, "total_inactive_file ").or_else(|| field(&stat, "inactive_file ")).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cache)))
}

pub(crate) fn last_level_cache() -> Option<u64> {
    let base = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let size = |i: u32| parse_size(&fs::read_to_string(base.join(format!("index{i}/size"))).ok()?);
    (0..8).filter_map(size).max()
}

/// Parses a size such as `32K`, `8192K` or `1M`. Returns bytes.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_suffix('K') {
        Some(k) => k.parse::<u64>().ok()?.checked_mul(1 << 10),
        None => text.strip_suffix('M')?.parse::<u64>().ok()?.checked_mul(1 << 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(kind: &str, point: &str, root: &str, options: &str) -> Mount {
        Mount {
            device: (0, 30),
            root: root.into(),
            point: point.into(),
            kind: kind.into(),
            source: kind.into(),
            options: options.into(),
        }
    }

    #[test]
    fn v1_and_v2_folders() {
        let mounts = [
            mount("cgroup", "/sys/fs/cgroup/memory", "/", "rw,memory"),
            mount("cgroup2", "/sys/fs/cgroup/unified", "/", "rw"),
        ];
        let folders = memory_folders(&mounts, "4:memory:/a/b\n3:cpuset:/x\n0::/\n");
        let texts: Vec<_> = folders.iter().map(|f| f.to_str().unwrap()).collect();
        let wanted = ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"];
        assert_eq!(texts[..3], wanted);
        assert_eq!(texts[3].trim_end_matches('/'), "/sys/fs/cgroup/unified");
        assert_eq!(texts.len(), 4);
    }

    #[test]
    fn a_container_that_sees_the_hosts_path() {
        let mounts = [mount("cgroup", "/sys/fs/cgroup/memory", "/docker/abc", "rw,memory")];
        let folders = memory_folders(&mounts, "4:memory:/docker/abc\n");
        assert_eq!(folders[0].to_str().unwrap().trim_end_matches('/'), "/sys/fs/cgroup/memory");
    }

    #[test]
    fn headroom_of_both_versions() {
        let v2 = |path: &Path| match path.file_name()?.to_str()? {
            "memory.max" => Some("67108864\n".into()),
            "memory.high" => Some("max\n".into()),
            "memory.current" => Some("60000000\n".into()),
            "memory.stat" => Some("anon 1\ninactive_file 50000000\n".to_string()),
            _ => None,
        };
        assert_eq!(headroom(Path::new("/x"), &v2), Some(57_108_864));
        let v1 = |path: &Path| match path.file_name()?.to_str()? {
            "memory.limit_in_bytes" => Some("1000".into()),
            "memory.usage_in_bytes" => Some("4000".into()),
            _ => None,
        };
        assert_eq!(headroom(Path::new("/x"), &v1), Some(0));
        let none = |path: &Path| (path.file_name()? == "memory.max").then(|| "max".to_string());
        assert_eq!(headroom(Path::new("/x"), &none), None);
    }

    #[test]
    fn cache_sizes() {
        assert_eq!(parse_size("32K\n"), Some(32768));
        assert_eq!(parse_size("1M"), Some(1 << 20));
        assert_eq!(parse_size("x"), None);
        assert!(available() > 0);
    }
}
