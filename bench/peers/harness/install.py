"""Installs the pinned dependencies of a peer into the peer's folder; only Debian packages are
installed system-wide.

Each function does nothing if its work is done already, and otherwise reports it on standard error.
If an installation fails, the peer is skipped with a message that names what to install by hand.
"""

import os
import shutil
import subprocess
import sys

from .proc import Failed

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def say(text):
    print(f"bench/peers: {text}", file=sys.stderr, flush=True)


def do(what, command, hint, **more):
    say(what)
    try:
        subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, **more
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failed(f"{what}: {error}. {hint}") from error


def folder(peer):
    return os.path.join(HOME, peer)


def text(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return None


def cargo(peer):
    """Builds the peer's Rust program with its Cargo.lock and returns the program's path."""
    home = folder(peer)
    target = os.path.join(home, "target")
    environment = {k: v for k, v in os.environ.items() if k != "CARGO_TARGET_DIR"}
    do(
        f"building {peer}",
        ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", target],
        "A Rust toolchain is needed: install rustup.",
        cwd=home,
        env=environment,
    )
    return os.path.join(target, "release", f"peer-{peer}")


def npm(peer):
    """Installs the packages of the peer's package-lock.json and returns node_modules."""
    home = folder(peer)
    modules, lock = os.path.join(home, "node_modules"), os.path.join(home, "package-lock.json")
    stamp = os.path.join(modules, ".installed")
    if text(stamp) != text(lock):
        # Without scripts: the postinstall script of a dependency reports installations to a third
        # party.
        do(
            f"installing the npm packages of {peer}",
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            "npm and its registry are needed.",
            cwd=home,
        )
        shutil.copy(lock, stamp)
    return modules


def pip(peer):
    """Creates a virtual environment from requirements.txt and returns its bin directory."""
    home = folder(peer)
    venv, pins = os.path.join(home, ".venv"), os.path.join(home, "requirements.txt")
    stamp, python = os.path.join(venv, "installed.txt"), os.path.join(venv, "bin", "python3")
    if text(stamp) != text(pins):
        need_pip()
        hint = "Python with pip and its index are needed."
        # Without its own pip, which Debian has in a separate package.
        make = [sys.executable, "-m", "venv", "--clear", "--without-pip", venv]
        do(f"making a Python for {peer}", make, hint)
        install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
        install += ["--disable-pip-version-check", "--no-input", "--no-deps", "-r", pins]
        do(f"installing the Python packages of {peer}", install, hint)
        shutil.copy(pins, stamp)
    return os.path.join(venv, "bin")


def need_pip():
    command = [sys.executable, "-m", "pip", "--version"]
    if subprocess.run(command, capture_output=True).returncode != 0:
        apt("python3-pip")


def apt(package):
    """Installs a Debian package. Needs Debian and root."""
    hint = f"On Debian, as root: apt-get install {package}"
    if not shutil.which("apt-get") or os.geteuid() != 0:
        raise Failed(f"{package} is needed and is not installed. {hint}")
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    do("updating the package lists", ["apt-get", "update", "-qq"], hint, env=environment)
    do(
        f"installing {package} with apt-get",
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package],
        hint,
        env=environment,
    )


def version_of(command):
    """Returns the first line of a program's version output, or "unknown"."""
    output = subprocess.run(command, capture_output=True, text=True).stdout
    return output.splitlines()[0].strip() if output else "unknown"
