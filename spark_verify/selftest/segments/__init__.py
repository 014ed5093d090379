"""The parser of segments against a plain one, on damaged files."""
