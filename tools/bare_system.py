"""A Debian 12 of which only the smallest part and git are installed, made by debootstrap; each command runs in a new copy of it.

The copy is an overlay. All mounts are made in a mount namespace of the command's own, and its processes are in a process
namespace of their own, so that the kernel ends and unmounts everything with the first of them, however that one ends.
"""
import os
import pathlib
import shutil
import subprocess

SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEPT = ("http_proxy", "https_proxy", "no_proxy")
# Of /etc/apt: not auth.conf, since nothing of this system is secret.
OF_APT = ("sources.list", "sources.list.d", "apt.conf", "apt.conf.d", "preferences", "preferences.d", "keyrings", "trusted.gpg",
          "trusted.gpg.d")
# $1: the base, $2: a folder with the clone and a scratch folder, $3: the compilers' cache or nothing. The rest is the command.
INSIDE = """
set -e
base=$1 own=$2 cache=$3
shift 3
mkdir -p "$own/upper" "$own/work" "$own/root"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$own/upper,workdir=$own/work" "$own/root"
mkdir -p "$own/root/rota" "$own/root/scratch"
mount --bind "$own/clone" "$own/root/rota"
mount --bind "$own/scratch" "$own/root/scratch"
if [ -n "$cache" ]; then
  mkdir -p "$own/root/ccache"
  mount --bind "$cache" "$own/root/ccache"
fi
mount -t proc proc "$own/root/proc"
mount --rbind /sys "$own/root/sys"
mount --rbind /dev "$own/root/dev"
exec chroot "$own/root" "$@"
"""


class Failed(Exception):
    """The system cannot be made."""


def of_this_machine():
    """The name of this machine's release of Debian, or nothing."""
    try:
        lines = pathlib.Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition("=")[2].strip('"') for line in lines if line.startswith("VERSION_CODENAME=")), "")


def mirror():
    """The mirror that this machine uses, if it is of the same release."""
    for path in sorted(pathlib.Path("/etc/apt").glob("sources.list.d/*.sources")) if of_this_machine() == SUITE else ():
        text = path.read_text()
        for line in text.splitlines():
            if line.startswith("URIs:") and "debian" in line and SUITE in text:
                return line.split()[1]
    return MIRROR


def copy_apt(base):
    """Sources and settings of this machine, if it is of the same release."""
    if of_this_machine() != SUITE:
        return
    apt = base / "etc/apt"
    for name in OF_APT:
        source = pathlib.Path("/etc/apt", name)
        if source.is_dir():
            shutil.copytree(source, apt / name, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy2(source, apt / name)
        elif name == "sources.list":
            (apt / name).unlink(missing_ok=True)
    for key in pathlib.Path("/usr/share/keyrings").glob("*.gpg"):
        if not (base / "usr/share/keyrings" / key.name).exists():
            shutil.copy2(key, base / "usr/share/keyrings")


def make(base, log):
    """Makes the base in a new folder; what debootstrap says goes to the log."""
    if os.geteuid() != 0:
        raise Failed("a bare system can only be made by root")
    if not shutil.which("debootstrap"):
        raise Failed("debootstrap is not installed (Debian: debootstrap)")
    with open(log, "wb") as out:
        done = subprocess.run(["debootstrap", "--variant=minbase", "--include=git", SUITE, base, mirror()],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
    if done.returncode != 0:
        raise Failed(f"debootstrap has failed: {log}")
    copy_apt(base)
    for name in ("resolv.conf", "hosts"):
        if pathlib.Path("/etc", name).exists():
            shutil.copyfile(f"/etc/{name}", base / "etc" / name)
    # Packages that are installed start no daemons.
    policy = base / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    # The system is gone after one command: nothing that is installed need reach the disk.
    (base / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\n")


def command(base, own, script, variables, cache=None):
    """The words that run the script in a new copy of the base; `own` has the clone, in which it begins, and a scratch folder.

    A cache of compilers, if there is one, is the folder /ccache in it.
    """
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    given = {"HOME": "/root", "PATH": PATH, "LANG": "C.UTF-8", **kept, **variables}
    inside = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in given.items()),
              "bash", "-c", f"set -eo pipefail; cd /rota; {script}"]
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
            "bash", "-c", INSIDE, "bash", str(base), str(own), str(cache or ""), *inside]
