"""A scenario as text: what is read of it, where each key stands, and the words of a complaint."""
