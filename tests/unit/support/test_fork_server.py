"""What the fork server starts is a process like any other: its own streams, folder, status and death."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.support.processes import Processes, children_of


def test_a_command_has_its_own_folder_streams_and_status(tmp_path: Path) -> None:
    (tmp_path / "message.json").write_text("{}")
    processes = Processes(tmp_path)
    judged = processes.run("validate", "--json", "message.json")
    assert (judged.returncode, judged.stderr, json.loads(judged.stdout)["valid"]) == (1, "", False)
    wrong = processes.run("validate", "--nonsense")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--nonsense" in wrong.stderr


def test_a_process_can_be_killed_and_leaves_a_session_of_its_own(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        player = processes.start("player", manager="http://127.0.0.1:1/mcp")
        assert os.getsid(player.pid) == player.pid
        assert player.is_running
        assert player.pid not in children_of(os.getpid())
        player.signal(signal.SIGKILL)
        assert player.wait() == -signal.SIGKILL
