"""Servers that play a script, for what real servers never do."""
