"""The commands of waza, one file each."""
