"""`waza ablate`: what each part of a skill gives, measured by leaving it out."""
