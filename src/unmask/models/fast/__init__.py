"""Everything that only makes it faster, behind one switch."""
