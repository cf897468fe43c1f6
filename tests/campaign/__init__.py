"""A campaign of faults: ``python -m tests.campaign --minutes 60`` interrupts, breaks and wears out rye for that long.

It is in no suite. Each part makes trials from a seed and counts what it did; a trial after which something is lost,
wrong or unexplained is a finding, which names the seed that repeats it.
"""
