"""Switch off CrewAI's telemetry, tracing and signal handlers.

CrewAI decides when it is imported whether it collects telemetry and takes over the process's signals, and makes a
folder for its data, in the user's own by the name of the working directory. Unless it is being tested, it traces a
user's first run, to offer the trace at the end, even if tracing is off. So this module has to be imported first.
"""

from __future__ import annotations

import os

for _name, _value in {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_STORAGE_DIR": os.getcwd(),
    "CREWAI_TESTING": "true",
    "CREWAI_TRACING_ENABLED": "false",
}.items():
    os.environ.setdefault(_name, _value)
