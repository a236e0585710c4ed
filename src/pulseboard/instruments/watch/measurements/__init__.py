"""measurements: what `pb.watch` measures, one group of tags per file. A new file here is found automatically.

A {part} in a tag is the first word of a parameter's name, a {layer} is its name up to the first number: `transformer`
and `transformer.h.0` of `transformer.h.0.mlp.c_fc.weight`.
"""
