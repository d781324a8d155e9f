"""What exactly-once depended on, request by request: written while a broker runs, read and checked afterwards.

An entry is an object of plain values, a line of JSON in a file; `entries.py` says what it holds. Nothing here is imported by a plain
`oncelog serve`.
"""
