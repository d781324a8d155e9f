"""The parts of Produce: one partition of a request, what is looked at before an append, who may append."""
