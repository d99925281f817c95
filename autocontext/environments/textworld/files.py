"""Game files: finding them, and refusing what is none before the interpreter, which is C and may crash, reads it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from autocontext.errors import GameFileError

_HEADER = 64
_VERSION = 8
_FULL_LENGTH = 0x1A
_CHECKSUM = 0x1C
_ADDRESSES = {0x04: "high memory", 0x06: "program start", 0x08: "dictionary", 0x0A: "objects", 0x0E: "static memory"}
_SCALE = 8  # the length in the header counts units of eight bytes


def find_game(path: str | Path) -> Path:
    """The absolute path of a sound `.z8` file.

    Raises:
        GameFileError: there is none; one line says what to do.
    """
    file = Path(path).expanduser().absolute()
    if file.suffix == ".json" and not file.with_suffix(".z8").is_file():
        raise GameFileError(f"{file} has no {file.stem}.z8 beside it; give the compiled .z8 game.")
    if file.suffix == ".json":
        file = file.with_suffix(".z8")
    if file.suffix == ".ulx":
        raise GameFileError(f"{file}: TextWorld plays no .ulx games since 1.7; compile the game again as .z8.")
    if not file.exists():
        raise GameFileError(f"{file} does not exist; give a .z8 game (`autocontext games make textworld` makes one).")
    if file.is_dir():
        raise GameFileError(f"{file} is a folder; give one of the .z8 games in it.")
    if file.suffix != ".z8":
        raise GameFileError(f"{file} is not a .z8 file; give a game compiled by TextWorld.")
    _check_story(file, _read(file))
    if has_infos(file):
        _check_infos(file.with_suffix(".json"))
    return file


def has_infos(file: Path) -> bool:
    """True when the game's `.json` lies beside it."""
    return file.with_suffix(".json").is_file()


def fingerprint(file: Path) -> str:
    """Hash of what makes it this game: the bytes of the `.z8` and of its `.json`, if it has one."""
    digest = hashlib.blake2b(_read(file), digest_size=16)
    if has_infos(file):
        digest.update(_read(file.with_suffix(".json")))
    return digest.hexdigest()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise GameFileError(f"{file} cannot be read ({error.strerror}); check its permissions.") from None


def _check_story(file: Path, story: bytes) -> None:
    again = "copy or compile it again."
    if not story:
        raise GameFileError(f"{file} is empty; {again}")
    if len(story) < _HEADER or story[0] != _VERSION:
        raise GameFileError(f"{file} is not a Z-machine game of version 8; give a .z8 game compiled by TextWorld.")
    length = _word(story, _FULL_LENGTH) * _SCALE
    if not _HEADER < length <= len(story):
        raise GameFileError(f"{file} is cut short ({len(story)} of {length} bytes); {again}")
    if sum(story[_HEADER:length]) & 0xFFFF != _word(story, _CHECKSUM):
        raise GameFileError(f"{file} is damaged (its checksum is wrong); {again}")
    for offset, what in _ADDRESSES.items():
        if not _HEADER <= _word(story, offset) < length:
            raise GameFileError(f"{file} is damaged (its {what} lies outside of it); {again}")


def _check_infos(file: Path) -> None:
    wrong = f"{file} is not the description of a TextWorld game; make the game again or remove that file."
    try:
        infos = json.loads(_read(file))
    except ValueError:
        raise GameFileError(wrong) from None
    if not isinstance(infos, dict) or not {"world", "grammar", "infos", "KB"} <= infos.keys():
        raise GameFileError(wrong)


def _word(story: bytes, offset: int) -> int:
    return int.from_bytes(story[offset : offset + 2], "big")
