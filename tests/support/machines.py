"""Machines of a network: network namespaces at one bridge, each with an address of its own and a cable to pull.

A namespace lives as long as the process that holds it, so nothing is left behind. Making them takes root on Linux.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

NETWORK = "10.77.0"
HOME = "192.168.1"
"""Every home has the same network, as real ones do."""
ADVICE = "machines of their own take root on Linux, and the program `ip`"
_START_S = 20.0


def are_possible() -> bool:
    """True if this process may make network namespaces."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nsenter"):
        return False
    return subprocess.run(["unshare", "--net", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0


class _Namespace:
    def __init__(self) -> None:
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.pid = self._holder.pid
        self.path = Path(f"/proc/{self.pid}/ns/net")
        deadline = time.monotonic() + _START_S
        # Until `unshare` has done its work, the process is still in our own namespace.
        while self.path.readlink() == Path("/proc/self/ns/net").readlink():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    @property
    def inside(self) -> Sequence[str]:
        """What a command begins with that shall run there."""
        return ("nsenter", f"--net={self.path}")

    def ip(self, arguments: str) -> None:
        self.run("ip", *arguments.split())

    def run(self, *command: str) -> None:
        """Run a command there."""
        subprocess.run([*self.inside, *command], check=True)

    def end(self) -> None:
        self._holder.kill()
        self._holder.wait()


class Machine(_Namespace):
    """A machine at the bridge. Its files are those of every other machine."""

    def __init__(self, hub: _Namespace, number: int) -> None:
        super().__init__()
        self._hub = hub
        self._port = f"port{number}"
        self.address = f"{NETWORK}.{number}"
        hub.ip(f"link add {self._port} type veth peer name eth0 netns {self.pid}")
        hub.ip(f"link set {self._port} master hub up")
        self.ip("link set lo up")
        self.ip(f"address add {self.address}/24 dev eth0")
        self.ip("link set eth0 up")

    def cut_off(self) -> None:
        """Pull its cable: its processes live, and reach nobody. Connections are not closed."""
        self._hub.ip(f"link set {self._port} down")

    def connect(self) -> None:
        """Plug its cable in again."""
        self._hub.ip(f"link set {self._port} up")


class Home(_Namespace):
    """A machine behind a router of its own: it reaches the others, by the router's address, and nobody reaches it."""

    def __init__(self, router: Machine) -> None:
        super().__init__()
        self.address = f"{HOME}.2"
        self._router = router
        router.ip(f"link add inside type veth peer name eth0 netns {self.pid}")
        router.ip(f"address add {HOME}.1/24 dev inside")
        router.ip("link set inside up")
        self.ip("link set lo up")
        self.ip(f"address add {self.address}/24 dev eth0")
        self.ip("link set eth0 up")
        self.ip(f"route add default via {HOME}.1")
        router.run("sysctl", "-q", "net.ipv4.ip_forward=1")
        router.run("iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "eth0", "-j", "MASQUERADE")
        router.run("iptables", "-A", "FORWARD", "-i", "eth0", "-m", "state", "--state", "NEW,INVALID", "-j", "DROP")

    def cut_off(self) -> None:
        """Its router loses the line. Connections are not closed."""
        self._router.cut_off()

    def connect(self) -> None:
        """The line is back."""
        self._router.connect()


def have_routers() -> bool:
    """True if machines can be put behind routers."""
    return are_possible() and shutil.which("iptables") is not None


@contextmanager
def machines(count: int) -> Iterator[list[Machine]]:
    """Machines that reach each other and nobody else."""
    namespaces: list[_Namespace] = []
    try:
        hub = _Namespace()
        namespaces.append(hub)
        hub.ip("link add hub type bridge")
        hub.ip("link set hub up")
        network = []
        for number in range(1, count + 1):
            network.append(Machine(hub, number))
            namespaces.append(network[-1])
        yield network
    finally:
        for namespace in namespaces:
            namespace.end()
