//! JSON of rt-tests (`rt_write_json` in rt-utils.c) and of jitterdebugger (`dump_stats`). Fixes two faults of rt-tests
//! first: it escapes nothing in `"cmdline:"`, and prints `-nan` for a mean of no samples.

mod threads;

use crate::block::{Block, Found, Loss};
use crate::cmdline::{self, Command};
use crate::lines::Counted;
use crate::{Error, Options, Unit, date, repair};
use punctual_model::{LostKind, MachineFacts};
use serde_json::Value;
use std::io::Read;

/// A larger file is no result of these tools.
const MOST_BYTES: usize = 32 << 20;

pub(crate) fn read<R: Read>(name: &str, input: &mut Counted<R>, options: &Options) -> Result<Found, Error> {
    let all = input.all(MOST_BYTES).map_err(|e| Error::io(name, e))?;
    let Some(bytes) = all else {
        let why =
            format!("more than {} MiB of JSON are not read: import the tool's histogram instead", MOST_BYTES >> 20);
        return Err(Error::TooLarge { file: name.into(), why });
    };
    let text = String::from_utf8_lossy(&bytes);
    let (value, repaired) = parse(&text).map_err(|e| Error::Form {
        file: name.into(),
        line: e.line() as u64,
        why: format!("this is no JSON: {e}"),
        next: "give the whole file, from { to }",
    })?;
    let mut found = if value.get("cpu").is_some() && value.get("thread").is_none() {
        jitterdebugger(&value, options)
    } else {
        rt_tests(&value, options)
    };
    if repaired {
        found.notes.push(
            "the JSON was not valid as it was and has been repaired: rt-tests does not escape its command".into(),
        );
    }
    Ok(found)
}

/// Parses the text as it is, otherwise repaired. `true`: repaired.
fn parse(text: &str) -> Result<(Value, bool), serde_json::Error> {
    match serde_json::from_slice(text.as_bytes()) {
        Ok(value) => Ok((value, false)),
        Err(first) => {
            let repaired = repaired(text);
            serde_json::from_slice(repaired.as_bytes()).map(|value| (value, true)).map_err(|_| first)
        }
    }
}

/// From the first brace to the last, cleaned like pasted text, with the command escaped.
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
    // This key follows it in every version.
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
        // The command may have been renamed; only oslat has a frequency.
        _ if threads::of(value, "thread").iter().any(|(_, t)| t.get("freq").is_some()) => "oslat",
        _ => "cyclictest",
    };
    (found.tool, found.format) = (Some(tool.into()), format!("{tool}-json"));
    let label = if tool == "oslat" { "gap of a busy loop" } else { "wakeup latency" };
    let mut block = Block { label: label.into(), ..Block::default() };
    let told = value.get("num_threads").and_then(Value::as_u64);
    for (number, one) in threads::of(value, "thread") {
        block.threads.push(match tool {
            "oslat" => threads::oslat(number, one),
            _ => threads::cyclic(number, one, value, &command, tool == "cyclictest", options),
        });
    }
    // Times are in whole seconds: the run may have been one second longer.
    let times = found.ended_real_ns.zip(found.started_real_ns).and_then(|(end, start)| end.checked_sub(start));
    for thread in &mut block.threads {
        thread.longest_ns = times.map(|ns| ns.saturating_add(1_000_000_000));
    }
    if let Some(told) = told.filter(|&told| told != block.threads.len() as u64) {
        let text = format!("{told} threads are told, the file has figures of {}", block.threads.len());
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
    let told =
        value.pointer("/sysinfo/resolution_in_ns").and_then(Value::as_u64).filter(|&ns| ns > 0 && ns <= 1_000_000);
    let unit_ns = options.unit.map(Unit::ns).or(told).unwrap_or(1_000);
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
