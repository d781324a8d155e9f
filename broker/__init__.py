"""Sockets and everything a user touches: server, handlers, settings, command line."""
