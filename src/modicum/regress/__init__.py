"""Numbers predicted from a stream, with the memory it was given."""
