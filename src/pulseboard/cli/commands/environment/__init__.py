"""Commands about other programs: trainings to start, agents, shells, and the installation itself."""
