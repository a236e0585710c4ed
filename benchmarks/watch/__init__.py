"""watch: what `pb.watch` adds to a training step, compared with other tools that watch a model."""
