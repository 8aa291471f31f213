"""What is installed, held against the lock, and the lock against known vulnerabilities: `make check` runs this.

Exits 1 if packages contradict each other, if something else is installed than the lock says, or if a package has a
known vulnerability. Where the advisory service cannot be reached, or knows nothing even of an old package with many, it
says that nothing was audited; with --strict that is 1 too.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from packaging.markers import Marker

SERVICE = "EVAL_PIPELINE_ADVISORIES_URL"  # of another service than that of OSV which speaks as that does
PROBE = ("django", "1.2")  # of no house that audits itself; a service that knows nothing of it knows nothing
_PINNED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?==(?P<version>[^\s;]+)\s*(;\s*(?P<marker>[^\\]+))?")


@dataclass(frozen=True)
class Audit:
    """What an advisory service said: how many packages it was asked of, how many it knew, and what is wrong with them.

    `problem` is why it said nothing at all.
    """

    asked: int
    known: int
    vulnerabilities: tuple[str, ...]
    problem: str | None


def pinned(lock: Path) -> dict[str, str]:
    """The version that the lock gives each package that this machine needs."""
    found = (_PINNED.match(line) for line in lock.read_text("utf-8").splitlines())
    return {
        one["name"]: one["version"]
        for one in found
        if one and (one["marker"] is None or Marker(one["marker"].strip()).evaluate({"extra": ""}))
    }


def not_as_locked(pins: dict[str, str]) -> list[str]:
    """A clause for each package that is not installed in the version of the lock."""
    return [
        f"{name}: found {installed or 'nothing'}, expected {locked}"
        for name, locked in pins.items()
        if (installed := _installed(name)) != locked
    ]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def audited(lock: Path, *, asked: int) -> Audit:
    """What the advisory service says of the packages of a lock."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.txt"
        probe.write_text(f"{PROBE[0]}=={PROBE[1]} --hash=sha256:{'0' * 64}\n", "utf-8")
        command = [sys.executable, "-m", "pip_audit", "-r", str(lock), "-r", str(probe), "--disable-pip"]
        command += ["--require-hashes", "-f", "json", "--progress-spinner", "off", "-s", "osv"]
        if url := os.environ.get(SERVICE):
            command += ["--osv-url", url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        lines = done.stderr.strip().splitlines()
        return Audit(asked, 0, (), lines[-1].partition(": ")[0] if lines else f"exit status {done.returncode}")
    known = [one for one in packages if "skip_reason" not in one]
    if not any(one["vulns"] for one in known if one["name"] == PROBE[0]):
        return Audit(asked, 0, (), f"the service knows no vulnerability of {' '.join(PROBE)}, which has many")
    known = [one for one in known if one["name"] != PROBE[0]]
    return Audit(asked, len(known), tuple(_said(one, found) for one in known for found in one["vulns"]), None)


def _said(package: dict[str, Any], vulnerability: dict[str, Any]) -> str:
    mended = f", mended in {', '.join(vulnerability['fix_versions'])}" if vulnerability["fix_versions"] else ""
    return f"{package['name']} {package['version']}: {vulnerability['id']}{mended}"


def said_of(audit: Audit) -> str:
    """The audit in a sentence."""
    if audit.problem or not audit.known:
        return (
            f"NOT AUDITED: of {audit.asked} locked packages none was held against known vulnerabilities"
            f" ({audit.problem or 'the service knows none of them'}); run make check where the service can be reached"
        )
    if audit.vulnerabilities:
        return f"known vulnerabilities: {'; '.join(audit.vulnerabilities)}; raise these in the lock with make lock"
    return f"{audit.known} of {audit.asked} locked packages were audited: no known vulnerability"


def main() -> None:
    """Holds the packages against each other, against the lock, and against what is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", type=Path, nargs="?", default=Path("requirements.lock"))
    parser.add_argument("--strict", action="store_true", help="fail also where nothing could be audited")
    given = parser.parse_args()
    check = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    if check.returncode:
        sys.exit(f"installed packages contradict each other: {'; '.join(check.stdout.strip().splitlines())}")
    pins = pinned(given.lock)
    if not pins:
        sys.exit(f"{str(given.lock)!r} pins no package; make it with make lock")
    if faults := not_as_locked(pins):
        sys.exit(f"installed is not what {str(given.lock)!r} says: {'; '.join(faults)}; install it anew")
    audit = audited(given.lock, asked=len(pins))
    sentence = said_of(audit)
    if audit.vulnerabilities or (given.strict and not audit.known):
        sys.exit(sentence)
    sys.stdout.write(f"{sentence}\n")


if __name__ == "__main__":
    main()
