"""Train each foreign base for a second or two; a process of its own, because the frameworks warn and start threads.

Arguments: the directory, the fault or healthy, the names of the bases.
"""

import os
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from zoo.foreign.base import all_bases, train


def main() -> None:
    directory, fault, *names = sys.argv[1:]
    bases = [all_bases()[name] for name in names]
    for base in bases:
        base.preload()
    for base in bases:
        child = os.fork()
        if child == 0:
            try:
                train(base, fault=fault, seed=0, directory=Path(directory), tiny=True)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
