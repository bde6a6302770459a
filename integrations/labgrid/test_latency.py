"""Wakeup latency of a labgrid place: `pytest --lg-env env.yaml test_latency.py`.

The environment needs an SSHDriver (shell and file transfer); the binary is the static one of the board's architecture.
"""

import json
import os

DURATION = os.environ.get("PUNCTUAL_DURATION", "60s")
CLAIM = os.environ.get("PUNCTUAL_CLAIM", "max < 100us")
BINARY = os.environ.get("PUNCTUAL_BINARY", "dist/punctual-arm64")


def test_latency(target, record_property):
    ssh = target.get_driver("SSHDriver")
    ssh.put(BINARY, "/var/tmp/punctual")
    ssh.run_check("chmod 755 /var/tmp/punctual && rm -rf /var/tmp/run")
    out, err, code = ssh.run(
        f"/var/tmp/punctual prove --json --duration {DURATION} --claim '{CLAIM}' --out /var/tmp/run", timeout=86400
    )
    assert code in (0, 1, 3), err
    document = json.loads("\n".join(out))
    record_property("exit_code", code)
    assert code == 0, document["result"].get("verdict", err)
