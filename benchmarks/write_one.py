"""One tool's logging, measured in this interpreter: write_overhead.py of the shared scripts, with ours among its tools.

python benchmarks/write_one.py SCRIPT TOOL OUT --mode scalars|histogram --steps N
"""

import importlib.util
import json
import sys
from argparse import Namespace

spec = importlib.util.spec_from_file_location("write_overhead", sys.argv[1])
overhead = importlib.util.module_from_spec(spec)
spec.loader.exec_module(overhead)


class Pulseboard(overhead.Tool):
    """`run.log` with the step's dict."""

    def setup(self):
        import pulseboard as pb

        self.run = pb.init(dir=self.out, run_id="r", telemetry_secs=0)

    def log(self, step, row):
        self.run.log(dict(zip(self.tags, row, strict=True)), step)

    def histogram(self, array, step):
        self.run.histogram("weights", array, step=step)

    def close(self):
        self.run.finish()

    def stored(self):
        import pulseboard as pb

        return sum(run.points for run in pb.read(self.out).values())


class PulseboardWriter(Pulseboard):
    """The drop-in for torch's SummaryWriter, one call a scalar."""

    def setup(self):
        from pulseboard import SummaryWriter

        self.writer = SummaryWriter(self.out)

    def log(self, step, row):
        add = self.writer.add_scalar
        for tag, value in zip(self.tags, row, strict=True):
            add(tag, value, step)

    def histogram(self, array, step):
        self.writer.add_histogram("weights", array, step)

    def close(self):
        self.writer.close()


overhead.TOOLS.update(pulseboard=Pulseboard, pulseboard_writer=PulseboardWriter)
tool, out, mode, steps = sys.argv[2], sys.argv[3], sys.argv[5], int(sys.argv[7])
print(json.dumps(overhead.one(Namespace(tool=tool, out=out, mode=mode, steps=steps, scalars=20, work=0, calls=20))))
