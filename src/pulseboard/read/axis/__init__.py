"""axis: which column of a table counts the training, and the step of every row.

In: a table's columns of numbers, in the order the rows were logged. Out: one step per row, the rows where a training
was resumed or a second one begins, and a sentence that says how the steps were found. Knows no file format.
"""
