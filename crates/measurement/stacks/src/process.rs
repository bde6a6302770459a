//! Tracks the mappings of a process, and unwinds and names its stacks.

use crate::elf::{Elf, FileId, Images};
use crate::perfmap::PerfMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Register values at the time the stack was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    pub ip: u64,
    pub sp: u64,
    pub fp: u64,
    /// Link register; not used on x86-64.
    pub lr: u64,
}

/// Code addresses, innermost first. Except for the first, each lies within the call instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack {
    pub addresses: Vec<u64>,
    /// True if the stack is longer than the copy.
    pub is_cut: bool,
    /// True if the outermost function was reached.
    pub is_whole: bool,
}

/// A function on a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    pub function: Option<String>,
    /// Source file as recorded by the compiler.
    pub file: Option<String>,
    pub line: Option<u32>,
    /// Path of the file that contains the code.
    pub module: Option<String>,
    /// Address in the image of `module`, as used by nm(1) and addr2line(1).
    pub address: Option<u64>,
}

#[derive(Clone, Debug)]
struct Mapping {
    start: u64,
    end: u64,
    /// Address in memory minus address in the file's image.
    bias: u64,
    path: PathBuf,
    elf: Option<Rc<Elf>>,
}

/// The mappings of a process, updated by the caller.
pub struct Process {
    pid: i32,
    mappings: Vec<Mapping>,
    unwinder: unwind::Unwinder,
    generated: Option<PerfMap>,
}

impl Process {
    pub fn new(pid: i32) -> Process {
        Process { pid, mappings: Vec::new(), unwinder: unwind::Unwinder::default(), generated: None }
    }

    /// Returns the mappings of a child process after fork(2), which are the same.
    pub fn forked(&self, pid: i32) -> Process {
        let mut child = Process::new(pid);
        for mapping in &self.mappings {
            child.insert(mapping.clone());
        }
        child
    }

    /// Adds an executable mapping of a file, which replaces the parts of others that it overlaps. Returns the file if it
    /// could be read.
    ///
    /// The kernel reports the first segment of a program or dynamic linker with the length of all segments, and unmaps what
    /// lies between these afterwards (elf_map() of fs/binfmt_elf.c). Others are mapped there, such as the vDSO.
    pub fn map(&mut self, images: &mut Images, start: u64, length: u64, offset: u64, path: &Path) -> Option<Rc<Elf>> {
        let end = start.checked_add(length)?;
        let overlapping: Vec<Mapping> =
            self.mappings.iter().filter(|one| one.start < end && start < one.end).cloned().collect();
        for old in overlapping {
            self.unwinder.remove(old.start);
            self.mappings.retain(|one| one.start != old.start);
            if old.start < start {
                self.insert(Mapping { end: start, ..old.clone() });
            }
            if end < old.end {
                self.insert(Mapping { start: end, ..old });
            }
        }
        let elf = if path.is_absolute() { images.of_process(self.pid, path) } else { None };
        let bias =
            elf.as_ref().and_then(|elf| elf.address_of(offset)).map_or(start, |address| start.wrapping_sub(address));
        self.insert(Mapping { start, end, bias, path: path.to_owned(), elf: elf.clone() });
        elf
    }

    fn insert(&mut self, mapping: Mapping) {
        if let Some(elf) = &mapping.elf {
            self.unwinder.add(mapping.start..mapping.end, mapping.bias, elf);
        }
        let at = self.mappings.partition_point(|one| one.start < mapping.start);
        self.mappings.insert(at, mapping);
    }

    /// Returns the memory address at which a file offset is mapped; `None` if it is not mapped.
    pub fn address_of(&self, file: FileId, offset: u64) -> Option<u64> {
        let of = |one: &&Mapping| one.elf.as_ref().is_some_and(|elf| elf.id() == file);
        self.mappings.iter().filter(of).find_map(|one| {
            let address = one.elf.as_ref()?.address_of(offset)?.wrapping_add(one.bias);
            (one.start..one.end).contains(&address).then_some(address)
        })
    }

    /// Unwinds a stack of at most `most` frames. `copy` begins at the stack pointer.
    pub fn unwind(&mut self, registers: Registers, copy: &[u8], most: usize) -> Stack {
        self.unwinder.unwind(registers, copy, most)
    }

    /// Returns the names of the functions of a stack, innermost first, including inlined ones.
    pub fn name(&mut self, stack: &Stack) -> Vec<Frame> {
        stack.addresses.iter().flat_map(|address| self.frames(*address)).collect()
    }

    fn frames(&mut self, address: u64) -> Vec<Frame> {
        let at = self.mappings.partition_point(|one| one.start <= address);
        let mapping = at.checked_sub(1).map(|at| &self.mappings[at]).filter(|one| address < one.end);
        let Some(mapping) = mapping else {
            let (pid, generated) = (self.pid, &mut self.generated);
            let map = generated.get_or_insert_with(|| PerfMap::of(pid));
            let (function, file) = map.find(address).map_or((None, None), |(name, file)| (Some(name), file));
            return vec![Frame { function, file, ..Frame::default() }];
        };
        let module = Some(mapping.path.to_string_lossy().into_owned());
        let Some(elf) = &mapping.elf else { return vec![Frame { module, ..Frame::default() }] };
        let address = address.wrapping_sub(mapping.bias);
        let frame =
            |(function, file, line)| Frame { function, file, line, module: module.clone(), address: Some(address) };
        elf.symbols().name(address).into_iter().map(frame).collect()
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod unwind {
    use super::{Registers, Stack};
    use crate::elf::Elf;
    use framehop::{CacheNative, ExplicitModuleSectionInfo, Module, Unwinder as _, UnwinderNative};
    use std::ops::Range;
    use std::sync::Arc;

    #[derive(Default)]
    pub struct Unwinder {
        unwinder: UnwinderNative<Arc<[u8]>, framehop::MayAllocateDuringUnwind>,
        cache: CacheNative<framehop::MayAllocateDuringUnwind>,
    }

    impl Unwinder {
        pub fn add(&mut self, range: Range<u64>, bias: u64, elf: &Elf) {
            let section =
                |name: &str| elf.section(name).map_or((None, None), |(range, bytes)| (Some(range), Some(bytes)));
            let (text_svma, text) = section(".text");
            let (eh_frame_svma, eh_frame) = section(".eh_frame");
            let (eh_frame_hdr_svma, eh_frame_hdr) = section(".eh_frame_hdr");
            let sections = ExplicitModuleSectionInfo {
                base_svma: 0,
                text_svma,
                text,
                got_svma: section(".got").0,
                eh_frame_svma,
                eh_frame,
                eh_frame_hdr_svma,
                eh_frame_hdr,
                debug_frame: section(".debug_frame").1,
                ..ExplicitModuleSectionInfo::default()
            };
            self.unwinder.add_module(Module::new(String::new(), range, bias, sections));
        }

        pub fn remove(&mut self, start: u64) {
            self.unwinder.remove_module(start);
        }

        pub fn unwind(&mut self, registers: Registers, copy: &[u8], most: usize) -> Stack {
            let Registers { ip, sp, fp, .. } = registers;
            let mut is_cut = false;
            let mut read = |address: u64| {
                let word = address.checked_sub(sp).and_then(|at| {
                    let at = usize::try_from(at).ok()?;
                    Some(u64::from_ne_bytes(copy.get(at..at.checked_add(8)?)?.try_into().ok()?))
                });
                is_cut |= word.is_none();
                word.ok_or(())
            };
            #[cfg(target_arch = "x86_64")]
            let start = framehop::x86_64::UnwindRegsX86_64::new(ip, sp, fp);
            #[cfg(target_arch = "aarch64")]
            let start = framehop::aarch64::UnwindRegsAarch64::new_with_ptr_auth_mask(
                // User addresses have at most 48 bits.
                framehop::aarch64::PtrAuthMask::from_max_known_address(0xffff_ffff_ffff),
                registers.lr,
                sp,
                fp,
            );
            let mut frames = self.unwinder.iter_frames(ip, start, &mut self.cache, &mut read);
            let (mut addresses, mut is_whole) = (Vec::new(), false);
            while addresses.len() < most {
                match frames.next() {
                    Ok(Some(frame)) => addresses.push(frame.address_for_lookup()),
                    Ok(None) => {
                        is_whole = true;
                        break;
                    }
                    Err(_) => break,
                }
            }
            Stack { addresses, is_cut, is_whole }
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unwind {
    use super::{Registers, Stack};
    use crate::elf::Elf;
    use std::ops::Range;

    /// Unwinder for architectures that framehop does not support; it returns only the innermost function.
    #[derive(Default)]
    pub struct Unwinder;

    impl Unwinder {
        pub fn add(&mut self, _: Range<u64>, _: u64, _: &Elf) {}
        pub fn remove(&mut self, _: u64) {}

        pub fn unwind(&mut self, registers: Registers, _: &[u8], _: usize) -> Stack {
            Stack { addresses: vec![registers.ip], is_cut: true, is_whole: false }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_within_another_leaves_its_rest() {
        let mut process = Process::new(0);
        let mut images = Images::default();
        for (start, length, path) in
            [(0x10_000, 0x42_000, "ld.so"), (0x40_000, 0x2_000, "[vdso]"), (0x8_000, 0x9_000, "a")]
        {
            process.map(&mut images, start, length, 0, Path::new(path));
        }
        let mut module = |address: u64| {
            let stack = Stack { addresses: vec![address], ..Stack::default() };
            process.name(&stack)[0].module.clone().unwrap_or_default()
        };
        let modules = [0x8_000, 0x10_010, 0x11_000, 0x3f_fff, 0x41_000, 0x42_000, 0x51_fff, 0x52_000].map(&mut module);
        assert_eq!(modules, ["a", "a", "ld.so", "ld.so", "[vdso]", "ld.so", "ld.so", ""]);
    }
}
