//! Kernel modules by name, with their dependencies.
//!
//! Packages have no modules.dep (depmod creates it at installation), so dependencies are read from each module's
//! `.modinfo` strings `depends=` and `softdep=pre:` (modinfo(8)).

use crate::error::VmError;
use crate::tools;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A module to load, uncompressed for insmod.
pub(crate) struct Module {
    pub name: String,
    pub object: Vec<u8>,
}

pub(crate) struct Index {
    files: BTreeMap<String, PathBuf>,
}

const SUFFIXES: [&str; 4] = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"];

impl Index {
    /// Indexes a modules folder or a kernel build folder.
    pub fn of(folder: &Path) -> Result<Index, VmError> {
        let mut files = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).map_err(VmError::file("read", &folder))? {
                let entry = entry.map_err(VmError::file("read", &folder))?;
                let kind = entry.file_type().map_err(VmError::file("read", entry.path()))?;
                if kind.is_dir() {
                    open.push(entry.path());
                } else if let Some(name) = module_name(&entry.file_name().to_string_lossy()) {
                    files.insert(name, entry.path());
                }
            }
        }
        Ok(Index { files })
    }

    /// Returns `wanted` and all dependencies in loading order. A name without a file is assumed to be built in.
    pub fn load_order(&self, wanted: &[&str]) -> Result<Vec<Module>, VmError> {
        let mut order: Vec<Module> = Vec::new();
        let mut open: Vec<String> = Vec::new();
        for name in wanted {
            self.visit(name, &mut open, &mut order)?;
        }
        Ok(order)
    }

    fn visit(&self, name: &str, open: &mut Vec<String>, order: &mut Vec<Module>) -> Result<(), VmError> {
        let name = name.replace('-', "_");
        let Some(path) = self.files.get(&name) else { return Ok(()) };
        if open.contains(&name) || order.iter().any(|m| m.name == name) {
            return Ok(());
        }
        let object = unpacked(path)?;
        open.push(name.clone());
        for needed in dependencies(&object) {
            self.visit(&needed, open, order)?;
        }
        open.pop();
        order.push(Module { name, object });
        Ok(())
    }
}

fn module_name(file: &str) -> Option<String> {
    SUFFIXES.iter().find_map(|s| file.strip_suffix(s)).map(|stem| stem.replace('-', "_"))
}

fn unpacked(path: &Path) -> Result<Vec<u8>, VmError> {
    let unpack = |program: &str| {
        tools::output(Command::new(program).arg("-dc").arg(path), &format!("install it: apt-get install {program}"))
    };
    match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => unpack("xz"),
        Some("zst") => unpack("zstd"),
        Some("gz") => unpack("gzip"),
        _ => fs::read(path).map_err(VmError::file("read", path)),
    }
}

fn dependencies(object: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for text in object.split(|b| *b == 0) {
        let Ok(text) = std::str::from_utf8(text) else { continue };
        if let Some(list) = text.strip_prefix("depends=") {
            found.extend(list.split(',').filter(|n| !n.is_empty()).map(str::to_owned));
        } else if let Some(list) = text.strip_prefix("softdep=pre:") {
            let before_post = list.split("post:").next().unwrap_or_default();
            found.extend(before_post.split_whitespace().map(str::to_owned));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, file: &str, modinfo: &str) {
        fs::create_dir_all(folder.join("kernel")).unwrap();
        fs::write(folder.join("kernel").join(file), format!("\x7fELF\0license=GPL\0{modinfo}\0name=x\0")).unwrap();
    }

    #[test]
    fn dependencies_come_first_and_loops_end() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.ko", "depends=b-c,d");
        write(folder.path(), "b-c.ko", "softdep=pre: d built_in post: e");
        write(folder.path(), "d.ko", "depends=a");
        write(folder.path(), "e.ko", "depends=");
        let index = Index::of(folder.path()).unwrap();
        let names: Vec<String> =
            index.load_order(&["a", "nowhere", "a"]).unwrap().into_iter().map(|m| m.name).collect();
        assert_eq!(names, ["d", "b_c", "a"]);
    }
}
