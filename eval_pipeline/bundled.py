"""Where the files are that come with the house: plans, and the sample."""

from pathlib import Path

_BESIDE = Path(__file__).resolve().parent / "data"  # in an installed wheel
_CLONE = Path(__file__).resolve().parents[1] / "data"


def bundled(name: str) -> Path:
    """The path of a file or folder of data/."""
    return (_BESIDE if _BESIDE.is_dir() else _CLONE) / name
