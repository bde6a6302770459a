//! The dependencies of options in a tree's Kconfig files: enough to report what is missing, not enough to configure.

use super::Options;
use super::expr::{symbols, terms, value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const DEEPEST: usize = 32;

#[derive(Clone, Debug, Default)]
struct Definition {
    /// Expressions that must all hold for the option to be available.
    depends: Vec<String>,
    /// The condition under which the user can set the option; `None` if the user cannot.
    prompt: Option<String>,
    has_prompt: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Kconfig {
    options: BTreeMap<String, Vec<Definition>>,
    unread: Vec<String>,
}

const MAX_NAMED: usize = 4;

struct Block {
    /// The keyword that ends the block.
    end: &'static str,
    depends: Vec<String>,
}

struct Reader<'r> {
    tree: &'r Path,
    srcarch: &'r str,
    found: Kconfig,
    blocks: Vec<Block>,
    /// The option to which the next lines belong; `None` if they belong to the innermost block, or to nothing.
    current: Option<String>,
    in_block: bool,
}

impl Kconfig {
    /// Reads `Kconfig` of a tree and its includes. Unreadable files are mentioned in every explanation.
    pub fn of_tree(tree: &Path, srcarch: &str) -> Kconfig {
        let mut reader = Reader::new(tree, srcarch);
        reader.file(Path::new("Kconfig"), 0);
        reader.found
    }

    pub fn of_text(text: &str) -> Kconfig {
        let mut reader = Reader::new(Path::new(""), "");
        reader.text(text, Path::new(""), DEEPEST);
        reader.found
    }

    pub fn len(&self) -> usize {
        self.options.len()
    }

    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }

    pub fn why(&self, symbol: &str, wanted: &str, options: &Options) -> String {
        let Some(definitions) = self.options.get(symbol) else {
            return match self.unread.as_slice() {
                [] => "this kernel has no such option for this architecture: it has another name, or was added later"
                    .to_owned(),
                unread => format!("not found; {} could not be read", unread.join(", ")),
            };
        };
        if wanted == "n" {
            return "another option selects it".to_owned();
        }
        let missing: Vec<String> = definitions.iter().map(|d| unmet(d, options)).collect();
        if let Some(first) =
            missing.iter().find(|text| !text.is_empty()).filter(|_| missing.iter().all(|t| !t.is_empty()))
        {
            return format!("it depends on {first}");
        }
        let hidden = definitions.iter().all(|d| !d.has_prompt);
        let conditions: Vec<&String> = definitions.iter().filter_map(|d| d.prompt.as_ref()).collect();
        let closed = conditions.iter().find(|c| value(c, options) == Some(0));
        match closed {
            _ if hidden => "it cannot be set directly: only other options select it".to_owned(),
            Some(condition) => format!("it can be set only with {}", with_values(condition, options)),
            None => {
                "its dependencies are met: another member of a choice is set, or a range or a selecting option decides"
                    .to_owned()
            }
        }
    }
}

/// Returns the dependencies that are not met; empty if all are met, or if this is unknown.
fn unmet(definition: &Definition, options: &Options) -> String {
    let all = definition.depends.iter().flat_map(|depends| terms(depends));
    let off: Vec<String> = all.filter(|t| value(t, options) == Some(0)).map(|t| with_values(&t, options)).collect();
    off.join(" and ")
}

/// Returns an expression followed by the values of its options: `PCI || OF (PCI is off, OF is off)`.
fn with_values(expression: &str, options: &Options) -> String {
    let mut names = symbols(expression);
    names.dedup();
    let shown = names.iter().map(|name| match options.get(name).filter(|v| v.text() != "n") {
        Some(value) => format!("{name} is {value}"),
        None => format!("{name} is off"),
    });
    let mut shown: Vec<String> = shown.collect();
    if shown.len() > MAX_NAMED {
        shown.truncate(MAX_NAMED);
        shown.push("…".to_owned());
    }
    format!("{expression} ({})", shown.join(", "))
}

impl<'r> Reader<'r> {
    fn new(tree: &'r Path, srcarch: &'r str) -> Reader<'r> {
        Reader { tree, srcarch, found: Kconfig::default(), blocks: Vec::new(), current: None, in_block: false }
    }

    fn file(&mut self, path: &Path, depth: usize) {
        match fs::read(self.tree.join(path)) {
            Ok(bytes) => self.text(&String::from_utf8_lossy(&bytes), path, depth),
            Err(_) => self.found.unread.push(path.display().to_string()),
        }
    }

    fn text(&mut self, text: &str, path: &Path, depth: usize) {
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let mut line = line.to_owned();
            while line.ends_with('\\') {
                line.pop();
                line.push_str(lines.next().unwrap_or_default());
            }
            let words = line.trim();
            if matches!(words, "help" | "---help---") {
                skip_help(&mut lines);
            } else if !words.is_empty() && !words.starts_with('#') {
                self.line(words, path, depth);
            }
        }
    }

    fn line(&mut self, line: &str, path: &Path, depth: usize) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "config" | "menuconfig" => self.option(rest),
            "if" => self.block("endif", Some(rest.to_owned())),
            "menu" => self.block("endmenu", None),
            "choice" => self.block("endchoice", None),
            "endif" | "endmenu" | "endchoice" => self.end(word),
            "comment" | "mainmenu" => (self.current, self.in_block) = (None, false),
            "source" | "rsource" | "osource" | "orsource" => self.include(word, rest, path, depth),
            "depends" => self.depends(rest.strip_prefix("on").unwrap_or(rest).trim()),
            "bool" | "tristate" | "string" | "int" | "hex" | "prompt" => self.prompt(rest),
            _ => {}
        }
    }

    fn option(&mut self, name: &str) {
        let depends = self.blocks.iter().flat_map(|block| block.depends.iter().cloned()).collect();
        let definition = Definition { depends, ..Definition::default() };
        self.found.options.entry(name.to_owned()).or_default().push(definition);
        (self.current, self.in_block) = (Some(name.to_owned()), false);
    }

    fn block(&mut self, end: &'static str, condition: Option<String>) {
        // An `if` block has no attributes: the lines after it start something new.
        self.in_block = condition.is_none();
        self.current = None;
        self.blocks.push(Block { end, depends: condition.into_iter().collect() });
    }

    fn end(&mut self, word: &str) {
        (self.current, self.in_block) = (None, false);
        if self.blocks.last().is_some_and(|block| block.end == word) {
            self.blocks.pop();
        }
    }

    fn definition(&mut self) -> Option<&mut Definition> {
        self.found.options.get_mut(self.current.as_ref()?)?.last_mut()
    }

    fn depends(&mut self, expression: &str) {
        // A comment may follow.
        let expression = expression.split('#').next().unwrap_or_default();
        let expression = expression.split_whitespace().collect::<Vec<_>>().join(" ");
        if self.in_block {
            self.blocks.last_mut().into_iter().for_each(|block| block.depends.push(expression.clone()));
        } else if let Some(definition) = self.definition() {
            definition.depends.push(expression);
        }
    }

    fn prompt(&mut self, rest: &str) {
        let Some(definition) = self.definition() else { return };
        let Some(inner) = rest.strip_prefix('"') else { return };
        definition.has_prompt = true;
        let behind = inner.split_once('"').map_or("", |(_, behind)| behind).trim();
        definition.prompt = behind.strip_prefix("if ").map(|condition| condition.trim().to_owned());
    }

    fn include(&mut self, word: &str, rest: &str, path: &Path, depth: usize) {
        (self.current, self.in_block) = (None, false);
        if depth >= DEEPEST {
            return;
        }
        let name = rest.trim_matches('"').replace("$(SRCARCH)", self.srcarch).replace("$(srctree)/", "");
        let folder = if word.ends_with("rsource") { path.parent().unwrap_or(Path::new("")) } else { Path::new("") };
        let included: PathBuf = folder.join(name);
        // `osource` may be absent.
        if !word.starts_with('o') || self.tree.join(&included).exists() {
            self.file(&included, depth + 1);
        }
    }
}

/// Skips a help text, which ends at a line that is indented less than its first line.
fn skip_help<'t>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'t str>>) {
    let indent = |line: &str| {
        line.chars()
            .take_while(|c| c.is_whitespace())
            .fold(0, |at, c| if c == '\t' { (at / 8 + 1) * 8 } else { at + 1 })
    };
    let mut first = None;
    while let Some(line) = lines.peek() {
        let depth = indent(line);
        let is_blank = line.trim().is_empty();
        if !is_blank && (depth == 0 || depth < *first.get_or_insert(depth)) {
            return;
        }
        lines.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{dropped, of_config, requested};

    const TEXT: &str = include_str!("../../tests/fixtures/Kconfig");

    fn why(fragment: &str, result: &str) -> Vec<String> {
        let (asked, got) = (requested(fragment).unwrap(), of_config(result));
        dropped(&asked, &got, &Kconfig::of_text(TEXT)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_unmet_dependency_is_named() {
        assert_eq!(
            why("CONFIG_PREEMPT_RT=y\n", "CONFIG_ARCH_SUPPORTS_RT=y\n"),
            ["CONFIG_PREEMPT_RT: requested y, is off: it depends on EXPERT (EXPERT is off)"]
        );
        assert_eq!(
            why("CONFIG_SPI_BCM2835=m\n", "CONFIG_GPIOLIB=y\n"),
            [
                "CONFIG_SPI_BCM2835: requested m, is off: it depends on SPI (SPI is off) and ARCH_BCM2835 || COMPILE_TEST \
              (ARCH_BCM2835 is off, COMPILE_TEST is off)"
            ]
        );
    }

    #[test]
    fn what_is_there_is_not_dropped() {
        assert!(why("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_S=\"\"\n", "CONFIG_A=y\n").is_empty());
    }

    #[test]
    fn other_reasons_are_told_apart() {
        let one = |fragment: &str, result: &str| why(fragment, result).pop().unwrap_or_default();
        assert!(one("CONFIG_NO_SUCH=y\n", "").contains("no such option"));
        assert!(one("CONFIG_ARCH_SUPPORTS_RT=y\n", "").contains("only other options select it"));
        assert!(one("CONFIG_HZ_1000=y\n", "CONFIG_HZ_250=y\n").contains("another member of a choice is set"));
        assert!(
            one("# CONFIG_FUTEX is not set\n", "CONFIG_FUTEX=y\n")
                .contains("requested off, is y: another option selects it")
        );
        assert!(one("CONFIG_BASE=y\n", "").contains("only with EXPERT (EXPERT is off)"));
        assert!(one("CONFIG_HELPED=y\n", "").contains("depends on NET (NET is off)"), "help text is not syntax");
    }
}
