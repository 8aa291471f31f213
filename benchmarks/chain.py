"""The whole extraction chain on the bundled sample, cold, from the command line; beside the import of Dagster alone."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 3


def wall_s(*command: str, home: str) -> float:
    """The wall time of a process."""
    started = time.perf_counter()
    subprocess.run(command, env=os.environ | {"EVAL_PIPELINE_HOME": home}, capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> None:
    """Prints the medians."""
    command = str(Path(sys.executable).with_name("eval-pipeline"))
    cold, warm, alone = [], [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as home:
            cold.append(wall_s(command, "run", "extraction", home=home))
            warm.append(wall_s(command, "run", "extraction", home=home))
            alone.append(wall_s(sys.executable, "-c", "import dagster", home=home))
    print(f"extraction on the sample: {statistics.median(cold):.1f} s with an empty journal,")
    print(f"  {statistics.median(warm):.1f} s with a full one; import dagster alone {statistics.median(alone):.1f} s")


if __name__ == "__main__":
    main()
