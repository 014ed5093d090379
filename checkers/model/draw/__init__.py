"""Cases by a seed: settings and faults at random, those that make a planted bug show, and what is drawn apart
from them: wrong clocks, planned moves, settings that change."""
