from __future__ import annotations

from pathlib import Path

from trialbed_plugins.executors.sandbox._inside import make_folders, sandboxed_environment

GIVEN = {
    "PATH": "/usr/bin",
    "HOME": "/home/me",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "SSH_AUTH_SOCK": "/run/agent",
    "TRIALBED_STORE": "runs.db",
    "TRIALBED_WORKER": "mark",
    "OMP_NUM_THREADS": "2",
}


def test_home_and_temporary_files_are_the_workers_own(tmp_path):
    make_folders(tmp_path)
    environment = sandboxed_environment(GIVEN, tmp_path)
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        assert Path(environment[name]).is_dir()
        assert Path(environment[name]).is_relative_to(tmp_path)


def test_what_leads_to_the_users_programs_and_data_is_left_out(tmp_path):
    environment = sandboxed_environment(GIVEN, tmp_path)
    assert environment.keys() & GIVEN.keys() == {"PATH", "HOME", "TRIALBED_WORKER", "OMP_NUM_THREADS"}
