//! Variables and commands of boot scripts: U-Boot's, GRUB's, a shell's.

use crate::boot_file::keyword;
use std::collections::{BTreeMap, BTreeSet};

/// Joins each line of a shell file that ends in a backslash with the next one.
pub(crate) fn continued(text: &str) -> String {
    text.replace("\\\n", "")
}

/// Removes the quotes of a shell word, which ends at a blank outside them; `None` if a quote is not closed.
pub(crate) fn unquoted(value: &str) -> Option<String> {
    let (mut text, mut quote, mut escaped) = (String::new(), None, false);
    for c in value.chars() {
        match (quote, c) {
            _ if escaped => {
                text.push(c);
                escaped = false;
            }
            (Some('"') | None, '\\') => escaped = true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, c) if c.is_whitespace() => break,
            (_, c) => text.push(c),
        }
    }
    quote.is_none().then(|| text.trim_end().to_owned())
}

/// Returns the variable and its value if the line sets one that boot scripts of BeagleBone, Armbian and others pass to
/// the kernel. `APPEND` is used by boxes with Amlogic processors, `append` by LILO, `default_kernel_opts` by Alpine.
pub(crate) fn environment(line: &str) -> Option<(&str, String)> {
    const NAMES: &[&str] =
        &["cmdline", "optargs", "bootargs", "extraargs", "extraboardargs", "APPEND", "append", "default_kernel_opts"];
    let (name, value) = line.trim().split_once('=').map(|(name, value)| (name.trim_end(), value.trim_start()))?;
    // In a Raspberry Pi's config.txt, `cmdline=` names the file.
    let is_one = NAMES.contains(&name) && !value.ends_with(".txt");
    let value = || value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value).to_owned();
    is_one.then(|| (name, value()))
}

/// Returns true for an environment of U-Boot that names the device tree or the overlays of a board other than a
/// Raspberry Pi, whose device trees are called bcm27….dtb or bcm28….dtb: uEnv.txt of BeagleBones, armbianEnv.txt.
pub(crate) fn is_other_board(text: &str) -> bool {
    const NAMES: &[&str] = &["dtb", "fdtfile", "overlay_prefix"];
    let is_other = |value: &str| !value.is_empty() && !value.contains("bcm2") && !value.contains('$');
    let of_entry = |line: &str| ["fdt", "devicetree"].iter().find_map(|word| keyword(line, word)).map(str::to_owned);
    let is_entry = |line: &str| of_entry(line).is_some_and(|tree| tree.ends_with(".dtb") && is_other(&tree));
    text.lines().any(is_entry)
        || text.lines().filter_map(|line| line.trim().split_once('=')).any(|(name, value)| {
            let is_tree = NAMES.contains(&name) && is_other(value);
            is_tree || name.starts_with("uboot_overlay") || name == "enable_uboot_overlays"
        })
}

/// Returns true for the name of a file whose variables Armbian's boot script, or that of Orange Pi, reads.
pub(crate) fn is_armbian(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "armbianenv.txt" | "orangepienv.txt")
}

/// Joins the lines of a quoted `setenv bootargs`: the kernel takes the line breaks as blanks. A quote that is never
/// closed is left alone.
pub(crate) fn joined_quotes(text: &str) -> String {
    let mut all = String::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let own = line.trim();
        let open = open_quote(own).filter(|_| !own.starts_with('#'));
        match open.and_then(|quote| lines.clone().position(|next| next.contains(quote))) {
            Some(count) => {
                let rest: Vec<&str> = lines.by_ref().take(count + 1).map(str::trim).collect();
                all.extend([own, " ", &rest.join(" "), "\n"]);
            }
            None => all.push_str(line),
        }
    }
    all
}

/// Returns the quote that begins the value of `setenv bootargs` in a line and is not closed in it.
fn open_quote(line: &str) -> Option<char> {
    let quote = commands(line).into_iter().find_map(bootargs)?.chars().next()?;
    (matches!(quote, '"' | '\'') && line.matches(quote).count() % 2 == 1).then_some(quote)
}

/// Returns the value of `setenv bootargs …` or `env set bootargs …`.
pub(crate) fn bootargs(command: &str) -> Option<&str> {
    let rest = keyword(command, "setenv").or_else(|| keyword(keyword(command, "env")?, "set"))?;
    let value = keyword(rest, "bootargs")?;
    Some(["\"", "'"].iter().find_map(|q| value.strip_prefix(q)?.strip_suffix(q)).unwrap_or(value))
}

/// Returns the commands of a line, separated by `;` outside quotes; for a line that sets a variable, the commands in
/// its value.
pub(crate) fn commands(line: &str) -> Vec<&str> {
    let line = line.split_once('=').filter(|(name, _)| is_name(name)).map_or(line, |(_, commands)| commands);
    let mut quote = None;
    let is_end = |c: char| {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None => return c == ';',
            Some(_) => {}
        }
        false
    };
    line.split(is_end).map(str::trim).collect()
}

/// Stands for the words that a script adds only under a condition.
const CONDITIONAL: &str = "${condition}";

/// Stands for the words that the boot script adds to those of the environment.
const SCRIPT: &str = "${script}";

/// Returns the command line that a boot script sets. The last of several `setenv bootargs` counts; it may refer to the
/// value set by earlier ones. The effect of one inside an `if` is unknown.
pub(crate) fn script(text: &str) -> String {
    let (mut set, mut depth) = (String::new(), 0_usize);
    for command in run(text) {
        let (first, rest) = command.split_once([' ', '\t']).unwrap_or((command, ""));
        let own = match first {
            "if" | "for" | "while" => {
                depth += 1;
                continue;
            }
            "fi" | "done" => {
                depth = depth.saturating_sub(1);
                continue;
            }
            "then" | "else" | "do" => rest.trim(),
            _ => command,
        };
        match bootargs(own) {
            Some(_) if depth > 0 => set = format!("{set} {CONDITIONAL}"),
            Some(value) => set = value.replace("${bootargs}", &set).replace("$bootargs", &set),
            None => {}
        }
    }
    let of_grub: Vec<String> = text.lines().filter_map(grub_variable).filter_map(unquoted).collect();
    // Another file that starts the kernel uses these variables, among others.
    let others = if of_grub.is_empty() { "" } else { CONDITIONAL };
    let of_env: Vec<(&str, String)> = text.lines().filter_map(environment).collect();
    // Only bootargs is the complete line. To the other variables, U-Boot's script adds the root file system, consoles
    // and more.
    let is_part = set.is_empty() && of_env.iter().any(|(name, _)| *name != "bootargs");
    let script = if is_part { SCRIPT } else { "" };
    let of_env = of_env.into_iter().map(|(_, value)| value);
    let all = of_env.chain(of_grub).chain([set, others.to_owned(), script.to_owned()]);
    let all: Vec<String> = all.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
    filled(&all.join(" "), &assigned(text))
}

/// Returns the commands of a script. Of an environment (`name=commands`), returns those that U-Boot runs, or all if
/// that is unknown.
fn run(text: &str) -> Vec<&str> {
    let mut macros: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.trim().split_once('=')).collect();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    match ["uenvcmd", "bootcmd"].iter().find_map(|name| macros.remove(name)) {
        Some(entry) => expanded(entry, &mut macros),
        None => lines.flat_map(commands).collect(),
    }
}

/// Replaces `run name…` by the commands that these names stand for; each name is replaced only the first time.
fn expanded<'t>(line: &'t str, macros: &mut BTreeMap<&str, &'t str>) -> Vec<&'t str> {
    let mut all = Vec::new();
    for command in commands(line) {
        match keyword(command, "run") {
            Some(names) => {
                for name in names.split_whitespace() {
                    let line = macros.remove(name);
                    all.extend(line.map(|line| expanded(line, macros)).unwrap_or_default());
                }
            }
            None => all.push(command),
        }
    }
    all
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the variables that the file sets once and unconditionally.
pub(crate) fn assigned(text: &str) -> BTreeMap<String, String> {
    let (mut values, mut unknown, mut depth) = (BTreeMap::new(), BTreeSet::new(), 0_usize);
    for line in continued(text).lines().map(str::trim) {
        match line.split([' ', '\t', ';']).next().unwrap_or_default() {
            "if" | "for" | "while" | "menuentry" | "submenu" | "function" => depth += 1,
            "fi" | "done" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let set = commands(line).into_iter().filter_map(|one| {
            keyword(one, "setenv").or_else(|| keyword(keyword(one, "env")?, "set"))?.split_whitespace().next()
        });
        unknown.extend(set.map(str::to_owned));
        let Some((name, value)) = line.strip_prefix("set ").unwrap_or(line).split_once('=') else { continue };
        let value = unquoted(value).filter(|value| !value.contains('`') && !value.contains("$("));
        let is_certain = is_name(name) && depth == 0 && !values.contains_key(name);
        match value.filter(|_| is_certain) {
            Some(value) => drop(values.insert(name.to_owned(), value)),
            None => drop(unknown.insert(name.to_owned())),
        }
    }
    values.retain(|name: &String, _| !unknown.contains(name));
    values
}

/// Replaces variables by their values, which may contain variables, too.
pub(crate) fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    const DEEPEST: usize = 4;
    const LONGEST: usize = 8192;
    let mut text = text.to_owned();
    for _ in 0..DEEPEST {
        let mut next = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('$') {
            next.push_str(before);
            rest = match variable(after).and_then(|(name, behind)| Some((values.get(name)?, behind))) {
                Some((value, behind)) if next.len() < LONGEST => {
                    next.push_str(value);
                    behind
                }
                _ => {
                    next.push('$');
                    after
                }
            };
        }
        next.push_str(rest);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Replaces a shell's command substitutions, whose output is unknown, by a variable.
pub(crate) fn without_commands(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some(at) = [rest.find("$("), rest.find('`')].into_iter().flatten().min() {
        let (before, from) = rest.split_at(at);
        all.extend([before, "${command}"]);
        let mut depth = 0_usize;
        let is_end = |c: char| match c {
            '(' => {
                depth += 1;
                false
            }
            ')' => {
                depth = depth.saturating_sub(1);
                depth == 0
            }
            _ => false,
        };
        let end = match from.strip_prefix('`') {
            Some(inner) => inner.find('`').map(|end| end + 1),
            None => from.find(is_end),
        };
        rest = end.and_then(|end| from.get(end + 1..)).unwrap_or_default();
    }
    all + rest
}

/// Returns the name after a `$`, with or without braces, and the rest.
fn variable(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('{') {
        return inner.split_once('}');
    }
    Some(text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())))
}

/// Returns the value of a variable with words for the kernel in a file that GRUB's menu reads
/// (`set otherbootargs="…"`).
pub(crate) fn grub_variable(line: &str) -> Option<&str> {
    let (name, value) = line.trim().strip_prefix("set ")?.split_once('=')?;
    (name.ends_with("bootargs") || name.ends_with("cmdline")).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_a_shells() {
        for (value, word) in [
            ("'a'b\"c d\"", Some("abc d")),
            ("a b", Some("a")),
            ("a'b", None),
            ("\"a # b\" # c", Some("a # b")),
            ("a\\ b", Some("a b")),
        ] {
            assert_eq!(unquoted(value).as_deref(), word, "{value}");
        }
    }

    #[test]
    fn a_variable_is_filled_where_its_value_is_certain() {
        let text = "a=1\nset b=\"$a ${c}\"\nd=`x`\ne=1\ne=2\nif x; then\n  c=3\nfi\nf=$f\nsetenv a 2\n";
        let known: Vec<(String, String)> = assigned(text).into_iter().collect();
        assert_eq!(known, [("b".to_owned(), "$a ${c}".to_owned()), ("f".to_owned(), "$f".to_owned())]);
        let values = assigned("a=1\nb=\"$a ${c}\"\n");
        assert_eq!(filled("x=${b}y $b $ab ${a}${ $", &values), "x=1 ${c}y 1 ${c} $ab 1${ $");
    }

    #[test]
    fn what_a_command_prints_is_unknown() {
        for (text, known) in [
            ("a $(cat $(x) b) c", "a ${command} c"),
            ("a=`x y`,2", "a=${command},2"),
            ("a $(x", "a ${command}"),
            ("a $b", "a $b"),
        ] {
            assert_eq!(without_commands(text), known);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(?s)([a-c]=|\\$|\\{|\\}|[a-c]|run |setenv bootargs |uenvcmd=|;|.{0,5}|\n){0,30}") {
            let _ = (script(&text), filled(&text, &assigned(&text)), without_commands(&text));
        }
    }
}
