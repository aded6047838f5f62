"""The reason for which tasks cannot write the files of a table."""


class UnfitError(Exception):
    """The files of a table can only be written by Spark. The message contains the reason."""
