"""What all tests share."""

from __future__ import annotations

from hypothesis import Phase, settings

# How long an example takes says something about the machine only: no test measures time.
settings.register_profile("default", deadline=None)
settings.load_profile("default")
# For hunts in mutated code, where it only matters whether something is found, not how small it can be made.
settings.register_profile("hunt", phases=(Phase.explicit, Phase.generate), max_examples=2000, deadline=None)
