"""Sockets: a frame comes in, its answer goes out."""
