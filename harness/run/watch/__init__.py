"""What is watched while a run goes on, and what ends it at once."""
