"""A network that fails: forwards connections to a port, and cuts them after some bytes."""

import contextlib
import random
import socket
import threading


class CuttingProxy:
    """Listens on a port of this machine. Each connection is cut after `budget()` bytes; None: never."""

    def __init__(self, port, budget):
        self._target, self._budget = port, budget
        self.cuts = 0
        self.all_left = None
        """How many bytes may still pass on any connection; None: any number."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            left = [self._budget()]
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._forward, args=(source, target, left), daemon=True).start()

    def _forward(self, source, target, left):
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                if self.all_left is not None:
                    data, self.all_left = data[: self.all_left], max(self.all_left - len(data), 0)
                if left[0] is not None:
                    data, left[0] = data[: left[0]], max(left[0] - len(data), 0)
                target.sendall(data)
                if left[0] == 0 or self.all_left == 0:
                    self.cuts += 1
                    break
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self):
        self._listener.close()


def random_budgets(seed, *, low, high, share):
    """Some connections are cut after `low` to `high` bytes, the others never."""
    rng = random.Random(seed)
    return lambda: rng.randint(low, high) if rng.random() < share else None
