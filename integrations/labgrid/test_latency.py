"""Wakeup latency of a labgrid place: `pytest --lg-env env.yaml test_latency.py`.

The environment needs an SSHDriver (shell and file transfer); the binary is the static one of the board's architecture.
"""

import json
import os
import shlex

DURATION = os.environ.get("PUNCTUAL_DURATION", "60s")
CLAIM = os.environ.get("PUNCTUAL_CLAIM", "max < 100us")
BINARY = os.environ.get("PUNCTUAL_BINARY", "dist/punctual-0.1.0-arm64")


def test_latency(target, record_property):
    ssh = target.get_driver("SSHDriver")
    # A new directory that only this user can write to. In a shared directory, another user could replace the program.
    (folder,) = ssh.run_check("mktemp -d")
    try:
        ssh.put(BINARY, f"{folder}/punctual")
        ssh.run_check(f"chmod 755 {folder}/punctual")
        prove = [f"{folder}/punctual", "prove", "--json", "--duration", DURATION, "--claim", CLAIM, "--out", f"{folder}/run"]
        out, err, code = ssh.run(shlex.join(prove), timeout=86400)
    finally:
        ssh.run(f"rm -rf {folder}")
    assert code in (0, 1, 3), err
    document = json.loads("\n".join(out))
    record_property("exit_code", code)
    assert code == 0, document["result"].get("verdict", err)
