"""What all tests share."""

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("waza", deadline=None)
settings.load_profile("waza")
