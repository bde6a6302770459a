use super::*;
use std::fs;
use std::path::Path;

const X86_64: u16 = 62;
const AARCH64: u16 = 183;
/// Addresses of the executable and the writable segment; the file has their content at these offsets.
const CODE: (u64, u64) = (0x40_1200, 0x200);
const DATA: (u64, u64) = (0x40_4280, 0x280);
/// Size of a segment's content in the file.
const SIZE: u64 = 0x40;

struct Note<'a> {
    owner: &'a [u8],
    kind: u32,
    /// Addresses of the instruction, of `.stapsdt.base` when the file was linked, and of the semaphore.
    words: [u64; 3],
    texts: &'a [u8],
}

fn note<'a>(words: [u64; 3], texts: &'a [u8]) -> Note<'a> {
    Note { owner: b"stapsdt\0", kind: 3, words, texts }
}

/// Writes an ELF file of 64 bits, whose `.stapsdt.base` is at the address `base`.
fn elf(machine: u16, base: Option<u64>, notes: &[Note]) -> Vec<u8> {
    let mut section = Vec::new();
    for Note { owner, kind, words, texts } in notes {
        let description: Vec<u8> =
            words.iter().flat_map(|word| word.to_le_bytes()).chain(texts.iter().copied()).collect();
        for word in [owner.len() as u32, description.len() as u32, *kind] {
            section.extend(word.to_le_bytes());
        }
        for part in [*owner, &description] {
            section.extend(part);
            section.resize(section.len().next_multiple_of(4), 0);
        }
    }
    let names = b"\0.note.stapsdt\0.stapsdt.base\0.shstrtab\0";
    let notes_at = DATA.1 + SIZE;
    let names_at = notes_at + section.len() as u64;
    let headers_at = (names_at + names.len() as u64).next_multiple_of(8);
    let mut sections = vec![[0; 7], [1, 7, 0, 0, notes_at, section.len() as u64, 4]];
    sections.extend(base.map(|base| [15, 1, 2, base, CODE.1, 1, 1]));
    sections.push([29, 3, 0, 0, names_at, names.len() as u64, 1]);
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".to_vec();
    file.extend(machine.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    for word in [CODE.0, 64, headers_at] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [64, 56, 2, 64, sections.len() as u16, sections.len() as u16 - 1] {
        file.extend(half.to_le_bytes());
    }
    // The second segment is twice as long in memory.
    for (flags, (address, offset), length) in [(PF_X | 4, CODE, SIZE), (PF_W | 4, DATA, 2 * SIZE)] {
        file.extend([1, flags].iter().flat_map(|word: &u32| word.to_le_bytes()));
        file.extend([offset, address, address, SIZE, length, 0x1000].iter().flat_map(|word| word.to_le_bytes()));
    }
    file.resize(notes_at as usize, 0x90);
    file.extend(section);
    file.extend(names);
    file.resize(headers_at as usize, 0);
    for [name, kind, flags, address, offset, size, align] in sections {
        file.extend([name as u32, kind as u32].iter().flat_map(|word| word.to_le_bytes()));
        file.extend([flags, address, offset, size].iter().flat_map(|word| word.to_le_bytes()));
        file.extend([0; 8]);
        file.extend([align, 0].iter().flat_map(|word: &u64| word.to_le_bytes()));
    }
    file
}

fn whole() -> Vec<u8> {
    let texts =
        [&b"vision\0frame\0-4@%eax 8@$-7 4@-20(%rbp) 8@%xmm0\0"[..], b"vision\0shown\08@%rdi\0", b"vision\0idle\0\0"];
    let at = |n: u64| CODE.0 + 8 * n;
    let notes = [
        note([at(1), 0, 0], texts[0]),
        note([at(2), 0, DATA.0 + 2], texts[1]),
        note([at(3), 0, 0], texts[2]),
        // The probe again, at its other place.
        note([at(4), 0, DATA.0 + 2], texts[1]),
    ];
    elf(X86_64, None, &notes)
}

#[test]
fn probes_have_the_offsets_of_their_instructions_and_semaphores() {
    let found = usdt_probes(&whole());
    let places: Vec<(&str, u64, Option<u64>)> =
        found.iter().map(|probe| (probe.name.as_str(), probe.offset, probe.semaphore)).collect();
    assert_eq!(
        places,
        [("frame", 0x208, None), ("shown", 0x210, Some(0x282)), ("idle", 0x218, None), ("shown", 0x220, Some(0x282))]
    );
    assert!(found.iter().all(|probe| probe.provider == "vision"));
    let fetched = |text: &str| UsdtArgument::Fetched(text.into());
    let arguments =
        [fetched("%ax:s32"), UsdtArgument::Constant(-7_i64 as u64), fetched("-20(%bp):u32"), UsdtArgument::Unknown];
    assert_eq!(found[0].arguments, arguments);
    assert!(found[2].arguments.is_empty());
}

/// prelink(8) moves a file by changing its addresses, but not those in the notes.
#[test]
fn notes_of_a_file_that_was_moved_are_corrected() {
    let texts = b"a\0b\0\0";
    let linked = 0x1000;
    let moved = CODE.0 - 0x200;
    let notes = [note([0x1000 + 0x208, linked, 0x1000 + DATA.0 - CODE.0 + 0x200], texts)];
    let found = usdt_probes(&elf(X86_64, Some(moved), &notes));
    assert_eq!(found.iter().map(|probe| (probe.offset, probe.semaphore)).collect::<Vec<_>>(), [(0x208, Some(0x280))]);
    // Without the section, or if the note has no address of it, the addresses are those of the file.
    assert!(usdt_probes(&elf(X86_64, None, &notes)).is_empty());
    let plain = [note([CODE.0, 0, 0], texts)];
    assert_eq!(usdt_probes(&elf(X86_64, Some(moved), &plain)).len(), 1);
}

#[test]
fn notes_that_contradict_the_file_are_left_out() {
    let good = &b"a\0b\0\0"[..];
    let code = CODE.0;
    let cases = [
        ("data", note([DATA.0, 0, 0], good)),
        ("beyond the code", note([code + SIZE, 0, 0], good)),
        ("a semaphore in code", note([code, 0, code], good)),
        ("a semaphore that the file does not have", note([code, 0, DATA.0 + SIZE], good)),
        ("no name", note([code, 0, 0], b"a\0\0\0")),
        ("a space in a name", note([code, 0, 0], b"a b\0c\0\0")),
        ("a control character", note([code, 0, 0], b"a\x1b\0c\0\0")),
        ("no end", note([code, 0, 0], b"a\0b")),
        ("another type", Note { kind: 4, ..note([code, 0, 0], good) }),
        ("another owner", Note { owner: b"GNU\0", ..note([code, 0, 0], good) }),
    ];
    for (why, wrong) in cases {
        assert!(usdt_probes(&elf(X86_64, None, &[wrong])).is_empty(), "{why}");
    }
    let mut short = whole();
    short[4] = 1;
    assert!(usdt_probes(&short).is_empty(), "32 bits");
    assert!(usdt_probes(b"#!/bin/sh\n").is_empty());
    // Cut anywhere, the file is no longer an ELF file, or lacks its section headers, which are last.
    let all = whole();
    assert!((0..all.len()).all(|end| usdt_probes(&all[..end]).is_empty()));
}

#[test]
fn arguments_are_fetched_as_the_kernel_names_them() {
    let fetched = |text: &str| UsdtArgument::Fetched(text.into());
    let constant = |value: i64| UsdtArgument::Constant(value as u64);
    let x86 = [
        ("8@%rax", fetched("%ax:u64")),
        ("-8@%rsp", fetched("%sp:s64")),
        ("4@%r10d", fetched("%r10:u32")),
        ("-2@%r15w", fetched("%r15:s16")),
        ("1@%r8b", fetched("%r8:u8")),
        ("1@%al", fetched("%ax:u8")),
        ("1@%sil", fetched("%si:u8")),
        ("2@%di", fetched("%di:u16")),
        ("4@%rbx", fetched("%bx:u32")),
        ("8@(%rax)", fetched("+0(%ax):u64")),
        ("-4@8(%r12)", fetched("+8(%r12):s32")),
        ("4@-20(%rbp)", fetched("-20(%bp):u32")),
        ("-4@$-1", constant(-1)),
        ("4@$-1", constant(0xffff_ffff)),
        ("8@$18446744073709551615", constant(-1)),
        ("1@$300", constant(44)),
    ];
    for (text, expected) in x86 {
        assert_eq!(argument(text, Architecture::X86_64), expected, "{text}");
    }
    let arm = [
        ("8@x0", fetched("%x0:u64")),
        ("-4@w30", fetched("%x30:s32")),
        ("-4@[sp, 60]", fetched("+60(%sp):s32")),
        ("8@[x29, -4]", fetched("-4(%x29):u64")),
        ("8@[x29,#16]", fetched("+16(%x29):u64")),
        ("8@[x1]", fetched("+0(%x1):u64")),
        ("4@42", constant(42)),
        ("-4@#-3", constant(-3)),
        ("8@xzr", constant(0)),
    ];
    for (text, expected) in arm {
        assert_eq!(argument(text, Architecture::Aarch64), expected, "{text}");
    }
    let unknown = [
        "8@8(%rax,%rdx,4)",
        "8@counter(%rip)",
        "8@8(%rip)",
        "1@%ah",
        "8@%eax",
        "8@%xmm0",
        "8f@%xmm0",
        "8@(%eax)",
        "8@%r16",
        "3@%rax",
        "%rax",
        "8@",
        "8@$",
        "8@$x",
        "8@%rax:u64 evil=+0(%di)",
        "8@9223372036854775808(%rax)",
    ];
    for text in unknown {
        assert_eq!(argument(text, Architecture::X86_64), UsdtArgument::Unknown, "{text}");
    }
    for text in ["8@[x0, x1]", "8@[x0, x1, lsl 3]", "8@x31", "8@w0", "8@[w0]", "8@x+1", "8@d0", "8@[sp", "8@x"] {
        assert_eq!(argument(text, Architecture::Aarch64), UsdtArgument::Unknown, "{text}");
    }
    assert_eq!(argument("8@r3", Architecture::PowerPc64), UsdtArgument::Unknown);
}

#[test]
fn brackets_keep_an_argument_together() {
    let all: Vec<&str> = operands("8@x0 -4@[sp, 60]  4@8(%rax, %rdx) 8@]x ").collect();
    assert_eq!(all, ["8@x0", "-4@[sp, 60]", "4@8(%rax, %rdx)", "8@]x"]);
    let arm = elf(AARCH64, None, &[note([CODE.0, 0, 0], b"a\0b\08@x0 -4@[sp, 60]\0")]);
    assert_eq!(usdt_probes(&arm)[0].arguments.len(), 2);
}

/// The fuzzer starts from this file: `UPDATE_GOLDEN=1` writes it.
#[test]
fn the_file_for_the_fuzzer_has_these_probes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/usdt.elf");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, whole()).unwrap();
    }
    assert!(fs::read(&path).unwrap() == whole());
}
