"""Models: loading, and the engines that answer queries and embed words."""
