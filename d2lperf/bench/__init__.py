"""`d2lperf bench`: how fast the course's own parts are, as ratios taken in one run."""
