"""Whether the tasks of a suite exercise what a skill promises: `waza spec verify`. Nothing is run."""
