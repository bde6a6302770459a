"""The keys that the package reads are in the schema of the report, so that none is read in vain."""

import json
import unittest
from pathlib import Path

SCHEMA = Path(__file__).resolve().parents[3] / "docs/schemas/document-report.schema.json"

#: Paths of the document; [] is each element.
READ = """
exit_code
result.verdict.outcome result.verdict.headline
result.phases[].id result.phases[].load result.phases[].value
result.phases[].cpus[].cpu result.phases[].cpus[].released result.phases[].cpus[].ran result.phases[].cpus[].skipped
result.phases[].cpus[].min_ns result.phases[].cpus[].mean_ns result.phases[].cpus[].max_ns
result.phases[].cpus[].raw.quantiles[].name result.phases[].cpus[].raw.quantiles[].value_ns
result.worst[].phase result.worst[].cpu result.worst[].cycle result.worst[].latency_ns result.worst[].release_utc
result.explained[].phase result.explained[].cpu result.explained[].latency_ns result.explained[].victim.verdict
result.application.cycles[].load result.application.cycles[].thread result.application.cycles[].cycles
result.application.cycles[].ran_ns result.application.cycles[].blocked_ns result.application.cycles[].behind_ns
result.application.cycles[].delays[].class result.application.cycles[].delays[].ns
""".split()


def has(schema, node, path):
    """True if the path exists below a node of the schema."""
    if "$ref" in node:
        return has(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[1]], path)
    for choice in node.get("anyOf", []) + node.get("oneOf", []):
        if has(schema, choice, path):
            return True
    if not path:
        return True
    if path[0] == "[]":
        return "items" in node and has(schema, node["items"], path[1:])
    return path[0] in node.get("properties", {}) and has(schema, node["properties"][path[0]], path[1:])


class Schema(unittest.TestCase):
    def test_what_is_read_is_there(self):
        schema = json.loads(SCHEMA.read_text())
        for path in READ:
            self.assertTrue(has(schema, schema, path.replace("[]", ".[]").split(".")), path)
        for path in ("result.explained[].victims", "result.moon", "result.worst[].latency"):
            self.assertFalse(has(schema, schema, path.replace("[]", ".[]").split(".")), path)


if __name__ == "__main__":
    unittest.main()
