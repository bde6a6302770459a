"""Gives documents to the programs that take them: `python3 consumers.py NAME FOLDER FILE...`.

NAME is a function below, FOLDER holds what is on no path (docs/formats.md says how to get it). Exit code 0: every file was
accepted; 1: one was not; 77: the consumer is not here, and what to type to get it.
"""

import contextlib
import glob
import importlib
import io
import json
import os
import re
import shutil
import subprocess
import sys


def missing(how):
    print(how)
    sys.exit(77)


def module(name, how):
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(how)


def beside(folder, name, how):
    found = glob.glob(os.path.join(folder, "**", name), recursive=True)
    return found[0] if found else missing(how)


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def promtool(folder):
    on_path = shutil.which("promtool")
    return on_path or beside(folder, "promtool", "apt-get download prometheus && dpkg -x prometheus_*.deb FOLDER")


def prometheus(folder, files):
    tool = promtool(folder)
    for path in files:
        done = subprocess.run([tool, "check", "metrics"], input=text(path), capture_output=True, text=True)
        assert done.returncode == 0, (path, done.stdout, done.stderr)


def rules(folder, files):
    tool = promtool(folder)
    for path in files:
        words = ["test", "rules"] if path.endswith(".test.yml") else ["check", "rules"]
        done = subprocess.run([tool, *words, os.path.basename(path)], cwd=os.path.dirname(path), capture_output=True, text=True)
        assert done.returncode == 0, (path, done.stdout, done.stderr)


def dashboard(_folder, files):
    # The query language's own parser parses the queries of the Grafana dashboard.
    parser = module("promql_parser", "FOLDER/venv/bin/pip install promql-parser")
    for path in files:
        board = json.loads(text(path))
        queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
        assert queries, path
        for query in queries:
            for name, value in (("$host", "x"), ("$load", "x"), ("$__range", "1h"), ("$__rate_interval", "1m")):
                query = query.replace(name, value)
            parser.parse(query)


def lava(folder, files):
    how = "apt-get download lava-common lava-dispatcher && dpkg -x each FOLDER (Debian 12: Python 3.11)"
    shell = os.path.join("lava_dispatcher", "actions", "test", "shell.py")
    path = beside(folder, shell, how)
    sys.path[:0] = [os.path.dirname(p) for p in glob.glob(os.path.join(folder, "**", "lava_common"), recursive=True)]
    sys.path.insert(0, path[: -len(shell) - 1])
    dispatcher = module("lava_dispatcher.actions.test.shell", how)
    # The same pattern as in TestShellAction._reset_patterns.
    pattern = re.search(r'"signal": r"(.*)",', text(path)).group(1)
    match = module("lava_dispatcher.connection", how).SignalMatch()
    for path in files:
        body = text(path)
        lines = body.splitlines()
        signals = re.findall(pattern, body)
        assert len(signals) == len(lines), (path, len(signals), len(lines))
        for name, words in signals:
            assert name == "TESTCASE", name
            data = match.match(dispatcher.handle_testcase(words.split()))
            assert data["result"] in ("pass", "fail", "skip", "unknown"), data
            if "measurement" in data:
                assert isinstance(data["measurement"], float), data


def junit(_folder, files):
    junitparser = module("junitparser", "python3 -m venv FOLDER/venv && FOLDER/venv/bin/pip install junitparser")
    for path in files:
        read = junitparser.JUnitXml.fromfile(path)
        told = (read.tests, read.failures, read.errors)
        read.update_statistics()
        assert told == (read.tests, read.failures, read.errors), (path, told)


def junit_xsd(folder, files):
    xmlschema = module("xmlschema", "FOLDER/venv/bin/pip install xmlschema")
    how = "junit-10.xsd of jenkinsci/xunit-plugin (src/main/resources/…/model/xsd) into FOLDER"
    schema = xmlschema.XMLSchema(beside(folder, "junit-10.xsd", how))
    for path in files:
        schema.validate(path)


def kcidb(_folder, files):
    kcidb_io = module("kcidb_io", "FOLDER/venv/bin/pip install kcidb-io")
    for path in files:
        kcidb_io.schema.V5_3.validate(json.loads(text(path)))


def sarif(folder, files):
    jsonschema = module("jsonschema", "FOLDER/venv/bin/pip install jsonschema")
    how = "sarif-2.1/schema/sarif-schema-2.1.0.json of oasis-tcs/sarif-spec into FOLDER"
    schema = json.loads(text(beside(folder, "sarif*2.1.0.json", how)))
    validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    for path in files:
        validator.validate(json.loads(text(path)))


def tap(_folder, files):
    if not shutil.which("perl"):
        missing("apt-get install perl")
    script = (
        "use TAP::Parser; my $p = TAP::Parser->new({tap => do {local $/; <STDIN>}}); my ($n, $ok, $todo) = (0, 0, 0);"
        "while (my $r = $p->next) { die 'unknown: ' . $r->as_string if $r->is_unknown;"
        " if ($r->is_test) { $n++; $ok++ if $r->is_actual_ok; $todo++ if $r->has_todo; } }"
        "die join('; ', $p->parse_errors) if $p->parse_errors; print \"$n $ok $todo\";"
    )
    for path in files:
        done = subprocess.run(["perl", "-e", script], input=text(path), capture_output=True, text=True)
        assert done.returncode == 0, (path, done.stderr)
        lines = text(path).splitlines()
        wanted = [sum(line.startswith(("ok ", "not ok ")) for line in lines), sum(line.startswith("ok ") for line in lines), 0]
        assert [int(n) for n in done.stdout.split()] == wanted, (path, done.stdout, wanted)


def ktap(folder, files):
    path = beside(folder, "kunit_parser.py", "tools/testing/kunit/*.py of a kernel source into FOLDER")
    sys.path.insert(0, os.path.dirname(path))
    parser = importlib.import_module("kunit_parser")
    printer = importlib.import_module("kunit_printer")
    for path in files:
        said = io.StringIO()
        lines = text(path).splitlines()
        with contextlib.redirect_stdout(said):
            words = [iter(lines)] if parser.parse_run_tests.__code__.co_argcount == 1 else [iter(lines), printer.Printer(said)]
            test = parser.parse_run_tests(*words)
        counts = test.counts
        assert counts.errors == 0, (path, said.getvalue()[-2000:])
        skipped = sum(line.endswith("# SKIP") for line in lines)
        wanted = (sum(line.startswith("ok ") for line in lines) - skipped, sum(line.startswith("not ok ") for line in lines))
        assert (counts.passed, counts.failed) == wanted, (path, counts, wanted)


def linaro(folder, files):
    how = "automated/lib/parse_rt_tests_results.py of Linaro/test-definitions into FOLDER"
    script = beside(folder, "parse_rt_tests_results.py", how)
    for path in files:
        if not text(path).startswith("{"):
            continue
        done = subprocess.run([sys.executable, script, "cyclictest", path], capture_output=True, text=True)
        threads = json.loads(text(path))["num_threads"]
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and len(lines) == 3 * threads + 1, (path, done.stdout, done.stderr)
        assert lines[2].startswith("t0-max-latency pass "), lines


def schemas(_folder, files):
    jsonschema = module("jsonschema", "FOLDER/venv/bin/pip install jsonschema")
    for path in files:
        jsonschema.Draft202012Validator.check_schema(json.loads(text(path)))


def perfetto(_folder, files):
    # Uses Perfetto's own messages: every byte must belong to a known field of the right type.
    how = "FOLDER/venv/bin/pip install perfetto protobuf"
    messages = module("perfetto.protos.perfetto.trace.perfetto_trace_pb2", how)
    unknown = module("google.protobuf.unknown_fields", how).UnknownFieldSet

    def walk(message, path):
        assert len(unknown(message)) == 0, (path, message.DESCRIPTOR.name, [f.field_number for f in unknown(message)])
        for field, value in message.ListFields():
            if field.message_type:
                for inner in value if field.is_repeated else [value]:
                    walk(inner, path)

    for path in files:
        trace = messages.Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        walk(trace, path)
        events = [event for packet in trace.packet for event in packet.ftrace_events.event]
        assert any(event.HasField("sched_switch") for event in events), path
        begun = [p.track_event for p in trace.packet if p.HasField("track_event") and p.track_event.type == 1]
        assert any(e.debug_annotations for e in begun), path


if __name__ == "__main__":
    name, folder, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    assert files, "no file was given"
    try:
        globals()[name](folder, files)
    except Exception as error:  # Any exception of a consumer is a refusal.
        print(f"{type(error).__name__}: {error}"[:4000])
        sys.exit(1)
