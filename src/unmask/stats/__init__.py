"""Statistics: arrays in, estimates out. Nothing here knows of models or needs torch."""
