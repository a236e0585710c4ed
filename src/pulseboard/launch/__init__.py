"""launch: a command in, a recorded run out, for trainings that know nothing of Pulseboard.

The parent process records the run and reads what the training prints. Inside the training, a sitecustomize module
(bootstrap/) waits for torch and watches what it trains. Nothing about the training changes: not its output, not its
exit code, not its random numbers.
"""
