"""Share groups' records: who holds which offset of a partition, and what has become of it (KIP-932).

`partition.py` is the state machine, pure: time comes in, what has to be written comes out. Around it stand its limits, the reading
of records, the sessions of members and the requests that wait.
"""
