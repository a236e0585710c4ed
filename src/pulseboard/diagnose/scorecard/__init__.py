"""A case and its profile to a scorecard: the tables of the profile's document, filled in for one run.

In: a case. Out: each metric with its value and the document's verdict, ranges by stage, checks, the decision flow with
every question answered, matching patterns, and how often things are logged compared with what is asked.

The document's numbers count here as they are written. Detectors, which are calibrated on healthy runs, do not read
scorecards, and scorecards never raise or lower a finding.
"""
