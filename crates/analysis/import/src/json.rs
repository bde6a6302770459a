//! JSON of rt-tests (`rt_write_json` in rt-utils.c) and of jitterdebugger (`dump_stats`). Two faults of rt-tests are
//! corrected first: it does not escape `"cmdline:"`, and it prints `-nan` for the mean if there are no samples.

mod threads;

use crate::block::{Block, Found, Loss};
use crate::cmdline::{self, Command};
use crate::tools::{self, Line, Taken};
use crate::{Options, Unit, date, repair};
use punctual_model::{LostKind, MachineFacts};
use serde_json::Value;

/// Size limit of a document, bytes. No supported tool writes a larger one.
const MOST_BYTES: usize = 32 << 20;

/// Finds the JSON documents in a text. A document extends from a line that begins with a brace to the line with the
/// matching brace, or is the whole text.
pub(crate) struct Reader {
    open: Option<Open>,
    found: Vec<Found>,
    /// Number of documents that are not JSON or are truncated.
    broken: u64,
    why: Option<String>,
    options: Options,
}

struct Open {
    text: String,
    line: u64,
    before: Option<String>,
    /// Number of open braces.
    depth: i64,
    too_long: bool,
}

impl Reader {
    pub fn new(options: &Options) -> Reader {
        Reader { open: None, found: Vec::new(), broken: 0, why: None, options: options.clone() }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        match document(&open.text, &self.options) {
            _ if open.too_long => {
                self.broken += 1;
                self.why = Some(format!("a document has more than {} MiB", MOST_BYTES >> 20));
            }
            Ok(Some(mut found)) => {
                for block in &mut found.blocks {
                    (block.line, block.before) = (open.line, open.before.clone());
                }
                self.found.push(found);
            }
            Ok(None) => {}
            Err(why) => {
                self.broken += 1;
                self.why.get_or_insert(why.to_string());
            }
        }
    }
}

impl tools::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        if self.open.is_none() {
            // Messages of LAVA are JSON too, but a line such as `- {"dt": …}` does not begin with its brace.
            if !text.starts_with('{') || self.found.len() >= MOST_DOCUMENTS {
                return Taken::No;
            }
            // In a line of a container's log, or in the source text of a program, the message is text.
            let key =
                text.get(1..).map(str::trim_start).is_none_or(|rest| rest.is_empty() || rest.starts_with(['"', '}']));
            if !key || crate::peel::message(text).is_some() {
                return Taken::No;
            }
            let before = line.before.map(str::to_owned);
            self.open = Some(Open { text: String::new(), line: line.number, before, depth: 0, too_long: false });
        }
        // The document ended without its last brace.
        if !text.is_empty() && !text.starts_with(|c: char| "\"{}[],-tfn".contains(c) || c.is_ascii_digit()) {
            let begun = self.open.as_ref().is_some_and(|open| open.text.contains('"'));
            match begun {
                true => self.close(),
                false => self.open = None,
            }
            return Taken::No;
        }
        let Some(open) = &mut self.open else { return Taken::No };
        open.depth += depth(text);
        open.too_long |= open.text.len() > MOST_BYTES;
        if !open.too_long {
            open.text.push_str(line.text);
            open.text.push('\n');
        }
        // rt-tests and jitterdebugger print the last brace on a separate line.
        if open.depth <= 0 {
            self.close();
        }
        Taken::Yes
    }

    fn finish(mut self: Box<Self>, _: &Options) -> Option<Found> {
        let torn = self.open.is_some();
        self.close();
        let mut found = self.found.into_iter();
        let mut first = match found.next() {
            Some(first) => first,
            None if self.broken > 0 => Found { format: "json".into(), ..Found::default() },
            None => return None,
        };
        for other in found {
            first.tool = first.tool.filter(|tool| other.tool.as_ref() == Some(tool));
            first.blocks.extend(other.blocks);
            first.lost.extend(other.lost);
            first.notes.extend(other.notes);
        }
        if self.broken > 0 {
            let why = self.why.unwrap_or_default();
            let (kind, text) = match torn {
                true => (LostKind::Truncated, format!("the JSON ends too early: {why}")),
                false => (LostKind::Unreadable, format!("JSON documents could not be read: {why}")),
            };
            first.lost.push(Loss::problem(kind, Some(self.broken), text));
        }
        Some(first)
    }
}

/// Maximum number of documents in one text.
const MOST_DOCUMENTS: usize = 64;

/// Returns the number of opened minus closed braces, ignoring braces in strings.
fn depth(line: &str) -> i64 {
    let (mut depth, mut string, mut escaped) = (0, false, false);
    for byte in line.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            b'{' if !string => depth += 1,
            b'}' if !string => depth -= 1,
            _ => {}
        }
    }
    // A quote that rt-tests did not escape leaves a string open, which ends with its line.
    depth
}

/// Returns the result in a document; `None` if it is not from a known tool.
fn document(text: &str, options: &Options) -> Result<Option<Found>, serde_json::Error> {
    let (value, repaired) = parse(text)?;
    let jitter = value.get("cpu").is_some_and(Value::is_object) && value.get("thread").is_none();
    let mut found = match tools::JSON.iter().find_map(|reader| reader(&value, options)) {
        Some(found) => found,
        None if jitter => jitterdebugger(&value, options),
        None if value.get("thread").is_some_and(Value::is_object) => rt_tests(&value, options),
        None => return Ok(None),
    };
    if repaired {
        found.notes.push("the JSON was invalid and has been repaired: rt-tests does not escape its command".into());
    }
    Ok(Some(found))
}

/// Parses the text unchanged, or otherwise repaired. Returns `true` if it was repaired.
fn parse(text: &str) -> Result<(Value, bool), serde_json::Error> {
    match serde_json::from_slice(text.as_bytes()) {
        Ok(value) => Ok((value, false)),
        Err(first) => {
            let repaired = repaired(text);
            serde_json::from_slice(repaired.as_bytes()).map(|value| (value, true)).map_err(|_| first)
        }
    }
}

/// Returns the text from the first brace to the last, cleaned like pasted text, with the command escaped.
fn repaired(text: &str) -> String {
    let clean = repair::whole(text);
    let start = clean.find('{').unwrap_or(0);
    let end = clean.rfind('}').map_or(clean.len(), |at| at + 1);
    let body = clean.get(start..end).unwrap_or_default();
    let body = body.replace(": -nan", ": null").replace(": nan", ": null").replace(": inf", ": null");
    escape_command(&body).unwrap_or(body)
}

fn escape_command(body: &str) -> Option<String> {
    let key = "\"cmdline:\":";
    let value = body.find(key)? + key.len();
    let open = value + body.get(value..)?.find('"')? + 1;
    // In every version this key follows the command.
    let close = open + body.get(open..)?.find("\"rt_test_version:\"")?;
    let inner = body.get(open..close)?.trim_end().strip_suffix(',')?.trim_end().strip_suffix('"')?;
    let escaped = serde_json::to_string(inner).ok()?;
    Some(format!("{}{escaped},{}", body.get(..open - 1)?, body.get(close..)?))
}

fn rt_tests(value: &Value, options: &Options) -> Found {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let line = text("cmdline:").or_else(|| text("cmdline")).unwrap_or_default();
    let command = Command::parse(cmdline::words(line));
    let program = command.words.first().and_then(|w| w.rsplit('/').next()).unwrap_or_default().to_owned();
    let mut found = header(value);
    found.version = text("rt_test_version:").or_else(|| text("rt_test_version")).map(clean);
    found.started_real_ns = text("start_time").and_then(date::rfc2822);
    found.ended_real_ns = text("end_time").and_then(date::rfc2822);
    found.command = command.words.clone();
    let tool = match program.as_str() {
        "oslat" | "cyclicdeadline" | "cyclictest" => program.as_str(),
        // The program may have been renamed, but only oslat reports a frequency.
        _ if threads::of(value, "thread").iter().any(|(_, t)| t.get("freq").is_some()) => "oslat",
        // Only these two report their resolution.
        _ if value.get("resolution_in_ns").is_some() || program.is_empty() => "cyclictest",
        other => other,
    };
    (found.tool, found.format) = (Some(tool.into()), format!("{tool}-json"));
    let label = if tool == "oslat" { "gap of a busy loop" } else { "wakeup latency" };
    let mut block = Block { label: label.into(), ..Block::default() };
    let stated = value.get("num_threads").and_then(Value::as_u64);
    for (number, one) in threads::of(value, "thread") {
        block.threads.push(match tool {
            "oslat" => threads::oslat(number, one),
            _ => threads::cyclic(number, one, value, &command, tool == "cyclictest", options),
        });
    }
    // Times are in whole seconds, so the run may have been one second longer.
    let times = found.ended_real_ns.zip(found.started_real_ns).and_then(|(end, start)| end.checked_sub(start));
    for thread in &mut block.threads {
        thread.longest_ns = times.map(|ns| ns.saturating_add(1_000_000_000));
    }
    if let Some(stated) = stated.filter(|&stated| stated != block.threads.len() as u64) {
        let text = format!("{stated} threads are stated, but the file has results of {}", block.threads.len());
        block.lost.push(Loss::problem(LostKind::Disagreement, None, text));
    }
    if let Some(code) = value.get("return_code").and_then(Value::as_i64).filter(|&code| code != 0) {
        found.notes.push(format!("{tool} ended with exit code {code}"));
    }
    found.blocks.push(block);
    found
}

fn jitterdebugger(value: &Value, options: &Options) -> Found {
    let mut found = header(value);
    (found.tool, found.format) = (Some("jitterdebugger".into()), "jitterdebugger-json".into());
    let stated =
        value.pointer("/sysinfo/resolution_in_ns").and_then(Value::as_u64).filter(|&ns| ns > 0 && ns <= 1_000_000);
    let unit_ns = options.unit.map(Unit::ns).or(stated).unwrap_or(1_000);
    let mut block = Block { label: "wakeup latency".into(), ..Block::default() };
    for (number, one) in threads::of(value, "cpu") {
        block.threads.push(threads::jitterdebugger(number, one, unit_ns, options));
    }
    found.blocks.push(block);
    found
}

fn header(value: &Value) -> Found {
    let system = |key: &str| value.get("sysinfo").and_then(|s| s.get(key)).and_then(Value::as_str).map(clean);
    let realtime = value.pointer("/sysinfo/realtime").and_then(Value::as_u64);
    Found {
        host: system("nodename"),
        machine: MachineFacts {
            kernel_release: system("release"),
            kernel_version: system("version"),
            architecture: system("machine"),
            preempt_rt: realtime.map(|n| n != 0),
            ..MachineFacts::default()
        },
        ..Found::default()
    }
}

fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unescaped_command_is_repaired() {
        let text = "$ cat a\n{\n  \"cmdline:\": \"cyclictest --json=a\"b\\c.json -q\",\n  \"rt_test_version:\": \"2.40\",\n \"avg\": -nan\n}\n$";
        let (value, repaired) = parse(text).unwrap();
        assert!(repaired);
        assert_eq!(value["cmdline:"], "cyclictest --json=a\"b\\c.json -q");
        assert!(parse("{\"a\": ").is_err());
    }
}
